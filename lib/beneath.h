#ifndef ADDER_BENEATH_H
#define ADDER_BENEATH_H

#include <sys/types.h>

/*
 * Files below a directory, by a path that somebody else chose.  No part of
 * the path is followed if it is a link or on another file system: openat2(2)
 * with RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and RESOLVE_NO_XDEV (Linux 5.6);
 * where that call is not to be had, each part is opened by itself.
 */

#define BENEATH_PATH_MAX	1000	/* bytes of a path */
#define BENEATH_DEPTH_MAX	16	/* parts of a path */

/* NULL if the path is fit to be used, else what it must be: the rest of a
 * sentence that begins with "a path must". */
const char	*beneath_trouble(const char *path, size_t len);
/* As openat(2), with O_CLOEXEC; -1 with errno. */
int	beneath_open(int dirfd, const char *path, int flags, mode_t mode);
/* Makes the directories that path names before its last slash, where they are
 * not there.  -1 with errno. */
int	beneath_make_dirs(int dirfd, const char *path);
/*
 * A new file at path, open for writing, with the directories that it needs.
 * What lies there goes: a link is removed and not followed, a directory is
 * left, with EISDIR.  -1 with errno.
 */
int	beneath_create(int dirfd, const char *path, mode_t mode);

#endif
