#ifndef ADDER_FILE_INDEX_H
#define ADDER_FILE_INDEX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/*
 * Which runs files.dir holds, and which files of each: names and sizes in
 * memory, so that a list or a look-up costs no disk.
 */

#define RUN_ID_MAX	40
#define OWNER_MAX	128	/* bytes of an owner's name, with its NUL */

struct kept_file {
	char		*path;		/* as the run had it, any bytes */
	char		*type;		/* media type */
	uint64_t	 size;
};

struct kept_run {
	TAILQ_ENTRY(kept_run) entry;	/* least recently used first */
	TAILQ_ENTRY(kept_run) made;	/* oldest first */
	struct kept_run	*next;		/* in its chain */
	char		 id[RUN_ID_MAX];
	char		 session[RUN_ID_MAX * 2]; /* "" for none */
	char		 owner[OWNER_MAX]; /* whom a list shows it; "" nobody */
	const void	*holder;	/* a connection that is shown it, too */
	int64_t		 made_ms;	/* since 1970 */
	int64_t		 used_ms;
	uint64_t	 serial;	/* of its first file */
	uint64_t	 cost;		/* bytes on disk, rounded up */
	struct kept_file *files;
	size_t		 nfiles;
};

struct file_index {
	TAILQ_HEAD(kept_lru, kept_run)	lru;
	TAILQ_HEAD(kept_age, kept_run)	age;
	struct kept_run	*chains[4096];
	uint64_t	 cost;
	uint64_t	 nfiles;
	size_t		 nruns;
};

/* Serials of what is kept, in memory and on disk, grow from one to the next;
 * the first of n new ones. */
uint64_t file_serials(size_t n);

struct file_index *file_index_new(void);
void	 file_index_free(struct file_index **);
/* Takes the run over, as the most recently used and newest. */
void	 file_index_add(struct file_index *, struct kept_run *);
/* Takes it out again; the caller's to free with kept_run_free(). */
void	 file_index_remove(struct file_index *, struct kept_run *);
struct kept_run *file_index_find(const struct file_index *, const char *id);
void	 file_index_used(struct file_index *, struct kept_run *, int64_t ms);
/* The first file after a serial that an owner (by name) or a holder is shown;
 * *run is whose it is.  NULL if there is none. */
const struct kept_file *file_index_next(const struct file_index *,
	    const char *owner, const void *holder, uint64_t after,
	    const struct kept_run **run);
const struct kept_file *kept_run_file(const struct kept_run *,
	    const char *path);
/* Adds a file; its strings are copied. */
void	 kept_run_add(struct kept_run *, const char *path, const char *type,
	    uint64_t size);
void	 kept_run_free(struct kept_run **);

#endif
