#ifndef ADDER_FILE_DIR_H
#define ADDER_FILE_DIR_H

#include <stddef.h>
#include <stdint.h>

/*
 * files.dir: what runs made, kept on disk.
 *
 *	lock				held by the adderd that uses it
 *	runs/ID/about, runs/ID/files/	a run
 *	sessions/SESSION/ID/		the same, of a run in a session
 *
 * A run is written below a name that begins with a dot and renamed once it is
 * whole, so that whenever adderd is killed there are whole runs and names to
 * be removed, nothing else.  Runs go, the least recently used first, when
 * they would have more than the quota, and when they are too old.
 */

struct file_dir;
struct file_index;
struct kept_file;
struct kept_run;

/* All as the conf has them. */
struct file_bounds {
	uint64_t	 quota;		/* bytes on disk */
	uint64_t	 age_ms;
	uint64_t	 run_bytes;	/* of one run */
	uint64_t	 run_files;
};

/* Bytes that a file takes, counted in whole pages. */
#define FILE_COST(size)	(((size) + 4095) / 4096 * 4096)

/* Makes the directory if it is not there, for user if adderd is root, and
 * locks it.  NULL with *why, one sentence. */
struct file_dir	*file_dir_open(const char *path, const char *user,
		    char **why);
/* Finds what is there and removes what is not whole; with the rights that
 * adderd serves with.  -1 with *why. */
int	 file_dir_load(struct file_dir *, char **why);
void	 file_dir_free(struct file_dir **);
void	 file_dir_bound(struct file_dir *, const struct file_bounds *);
/* Calls up, not back, for each run that goes; NULL for no more. */
void	 file_dir_observe(struct file_dir *, void (*)(const struct kept_run *,
	    void *arg), void *arg);
const struct file_bounds *file_dir_bounds(const struct file_dir *);
const struct file_index *file_dir_index(const struct file_dir *);

/* The directory in which a session's runs lie ("" for none), made if need be;
 * the caller closes it.  -1 with errno. */
int	 file_dir_parent(struct file_dir *, const char *session);
/* Makes room, at the cost of other runs, for bytes that are about to be
 * written; -1 if there is none.  They count until they are released. */
int	 file_dir_reserve(struct file_dir *, uint64_t bytes);
void	 file_dir_release(struct file_dir *, uint64_t bytes);
/* Takes over a run that has been written and lies under its own name. */
void	 file_dir_admit(struct file_dir *, struct kept_run *);

/* A run by its id, NULL if it is not kept (any more). */
struct kept_run	*file_dir_run(struct file_dir *, const char *id);
/* At most len bytes from offset, malloc'd with a NUL beyond them; NULL if
 * they cannot be read.  Reading counts as using. */
char	*file_dir_read(struct file_dir *, struct kept_run *,
	    const struct kept_file *, uint64_t offset, size_t len,
	    size_t *got);
/* A connection that lists no more. */
void	 file_dir_disown(struct file_dir *, const void *holder);
/* Removes what is too old; 0, or microseconds until something is. */
uint64_t file_dir_expire(struct file_dir *);

#endif
