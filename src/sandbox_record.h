#ifndef ADDER_SANDBOX_RECORD_H
#define ADDER_SANDBOX_RECORD_H

#include <sys/queue.h>

#include "job_record.h"
#include "leader_proc.h"
#include "sandboxes.h"

/* What the sandbox*.c files share. */

#define HANDLE_BYTES	80

/* A leader and who uses it. */
struct family {
	TAILQ_ENTRY(family)	 entry;
	struct sandboxes	*all;
	struct leader_proc	*leader;	/* NULL: there is no source */
	/* Whose job is runnable, or runs; that job, NULL once it runs. */
	struct sandbox		*turn;
	struct job		*job;
	struct sandbox		*branching;	/* not there yet */
	unsigned		 members;
	int			 dying;		/* its leader is gone */
	uint64_t		 generation;	/* 0: that of all */
	char			*environment;	/* held by it, or NULL */
	char			*packages;	/* asked for, or NULL */
};

struct sandbox {
	TAILQ_ENTRY(sandbox)	 entry;
	char			 handle[HANDLE_BYTES];
	char			*owner;
	enum policy		 policy;
	struct family		*family;
	uint64_t		 state;		/* of the leader */
	int			 waits;		/* for its leader or branch */
	struct job		*opener;	/* until it is there, or NULL */
	TAILQ_HEAD(, job)	 jobs;		/* wait for their turn */
	uint64_t		 idle_ms;
	uint64_t		 until_us;	/* absolute end */
	uint64_t		 used_us;
	struct event		*ev_expire;
};

/* A handle that was, for an answer that says what became of it. */
struct tombstone {
	TAILQ_ENTRY(tombstone)	 entry;
	char			 handle[HANDLE_BYTES];
	char			*owner;
	char			*why;
};

struct sandboxes {
	struct event_base	*base;
	struct conf		*conf;
	struct keeper_proc	*keeper;
	uint64_t		 generation;
	int			 log_fd;	/* lines of leaders */
	int			 known;		/* a source was there, */
	int			 barred;	/* which can have none */
	TAILQ_HEAD(, sandbox)	 list;
	TAILQ_HEAD(, family)	 families;
	TAILQ_HEAD(tombstones, tombstone) tombs;
	unsigned		 ntombs;
	unsigned		 n;
	unsigned		 waiting;	/* jobs, not those runnable */
	struct sandboxes_counts	 counts;
	const struct sandboxes_observer *observer;
	void			*arg;
};

/* --- sandbox_handle.c */

/* "<node>_<128 random bits>"; node is cleaned of what is no letter, digit or
 * dash. */
void	sandbox_handle_make(char out[HANDLE_BYTES], const char *node);
/* Remembers what became of one; why is taken over. */
void	sandbox_bury(struct sandboxes *, const struct sandbox *, char *why);
/* NULL if it never was, was somebody else's, or is forgotten. */
const char *sandbox_epitaph(const struct sandboxes *, const char *handle,
	    const char *owner);
void	sandbox_forget_dead(struct sandboxes *);

/* --- sandbox_life.c */

/* From now on it is unused: it ends when it was that for too long. */
void	sandbox_rest(struct sandbox *);
/* Ends the ones unused for longest until the others fit into sessions.memory;
 * spare is left alone. */
void	sandboxes_shrink(struct sandboxes *, const struct sandbox *spare);
void	sandbox_on_expire(int fd, short what, void *arg);

/* --- sandbox_family.c */

struct family *family_new(struct sandboxes *);
/* One whose leader comes from elsewhere. */
struct family *family_new_from(struct sandboxes *,
	    const struct sandbox_source *);
void	family_free(struct family *);
/* Lets the job run whose turn it is, if it can. */
void	family_offer(struct family *);

/* --- sandbox_open.c */

/* It is there: the job that waits for it, if one does, is told. */
void	sandbox_opened(struct sandbox *);

/* --- sandboxes.c */

struct sandbox *sandbox_new(struct sandboxes *, struct family *,
	    const char *owner, enum policy, uint64_t ttl_ms);
/* Ends it; why, taken over, is for those who ask for it later.  Its jobs fail
 * as cancelled where the owner wanted it, and else as lost. */
void	sandbox_end(struct sandbox *, enum verdict, char *why);
int	sandbox_is_busy(const struct sandbox *);

#endif
