#ifndef ADDER_SEEN_H
#define ADDER_SEEN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * What lay in the scratch directory before a run began, so that a file that
 * the run did not touch is not taken for one of its own.  A file is the same
 * if its path, inode, size and times are; times move in steps of a few
 * milliseconds, so one that had just been written is compared by content,
 * too.
 */

#define SEEN_HASH_INIT	UINT64_C(0xcbf29ce484222325)

void	seen_forget(void);
/* Remembers a file; hash is of its content, 0 where it is not needed. */
void	seen_add(const char *path, const struct stat *, uint64_t hash);
/* The same for a file that has taken the place of one that was known. */
void	seen_replace(const char *path, const struct stat *, uint64_t hash);
/* As seen_add(), with a hash of the open file if it was written just now. */
void	seen_add_fd(const char *path, const struct stat *, int fd);
/* Whether it is known and has not changed.  dirfd is what path is below. */
int	seen_unchanged(const char *path, const struct stat *, int dirfd);
/* Goes on hashing from a hash. */
uint64_t seen_hash(uint64_t, const void *, size_t);

#endif
