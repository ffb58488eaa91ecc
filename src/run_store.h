#ifndef ADDER_RUN_STORE_H
#define ADDER_RUN_STORE_H

#include <stddef.h>
#include <stdint.h>

/*
 * What recent runs left behind that did not go out whole with their answer:
 * output, pictures and files, in memory, bounded by bytes and age; and what
 * files.dir holds, by the same names.  The name
 * of an item is adder://run/<run_id>/<path>; a run id cannot be guessed, so
 * whoever knows it may read it, but a list has the items of one owner only.
 */

struct file_dir;
struct run_store;

struct run_item {
	char		*uri;
	char		*name;		/* its path, as the run had it */
	char		*mime;
	char		*data;		/* NUL-terminated beyond len; NULL:
					 * in files.dir */
	size_t		 len;
	uint64_t	 serial;	/* grows from item to item */
};

struct run_store	*run_store_new(void);
void	 run_store_free(struct run_store **);
/* Calls up, not back, for each item that comes (added) or goes; owner is
 * NULL if it is gone. */
void	 run_store_observe(struct run_store *, void (*)(const struct run_item *,
	    const void *owner, int added, void *arg), void *arg);
/* Bytes 0 keeps nothing. */
void	 run_store_bound(struct run_store *, uint64_t bytes, uint64_t age_us);
/*
 * Takes over data (malloc'd, with a NUL beyond len) and keeps it, at the cost
 * of the oldest runs.  The item is valid until the store is called again;
 * NULL if it is larger than all that may be kept.
 */
const struct run_item	*run_store_add(struct run_store *, const char *run_id,
	    const void *owner, const char *name, const char *mime, char *data,
	    size_t len);
/* Whether an item of so many bytes would be kept. */
int	 run_store_fits(const struct run_store *, size_t len);
/* files.dir, borrowed; NULL for none. */
void	 run_store_set_dir(struct run_store *, struct file_dir *);
int	 run_store_has_dir(const struct run_store *);
/* Whether anything is kept at all. */
int	 run_store_keeps(const struct run_store *);
/* NULL if there is none, or not any more. */
const struct run_item	*run_store_find(struct run_store *, const char *uri);
/* The owner's first item after a serial (0 for the first of all); name: who
 * the owner is to files.dir, "" if that is not known. */
const struct run_item	*run_store_next(struct run_store *,
	    const void *owner, const char *name, uint64_t after);
/* At most len bytes of an item from offset, malloc'd, with a NUL beyond them;
 * NULL if they cannot be read (any more). */
char	*run_store_read(struct run_store *, const struct run_item *,
	    size_t offset, size_t len, size_t *got);
/* The owner may list what files.dir has of this run. */
void	 run_store_own(struct run_store *, const char *run_id,
	    const void *owner);
/* The owner is gone: its items can be read but are in no list. */
void	 run_store_disown(struct run_store *, const void *owner);
/* Drops what is too old; 0, or microseconds until the next one is. */
uint64_t run_store_expire(struct run_store *);
/* Bytes kept, with what keeping them takes. */
uint64_t run_store_bytes(const struct run_store *);
/* The URI that an item of this name gets; the caller frees. */
char	*run_uri(const char *run_id, const char *name);

#endif
