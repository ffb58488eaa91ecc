#ifndef ADDER_SELFTEST_H
#define ADDER_SELFTEST_H

#include <stddef.h>

/*
 * adderd tries to break out of its own jail at every start, by the way that
 * every call takes.  The first part decides in some milliseconds whether
 * anything is served; where an early zygote serves first, it is made behind
 * that one, and again behind the one that is warm before that serves.  The
 * second, on limits, follows then beside the calls.
 */
#define SELFTEST_LIST(X)						\
X(READ_FILE, "read-file", "read a file of adderd's")			\
X(CONNECT, "connect", "connect to a listener of adderd's")		\
X(SIGNAL, "signal", "signal adderd or its parent")			\
X(TRACE, "trace", "trace adderd or its parent")				\
X(SEE, "see", "see another process")					\
X(UNSHARE, "unshare", "make a user namespace")				\
X(WRITE_LIBRARY, "write-library", "write to the libraries")		\
X(WORK, "work", "do ordinary work")					\
X(TIME, "time", "run beyond its time")					\
X(OUTPUT, "output", "write without end")				\
X(SCRATCH, "scratch", "fill the disk")					\
X(MEMORY, "memory", "take all memory")

enum selftest_check {
#define X(name, text, what) SELFTEST_##name,
	SELFTEST_LIST(X)
#undef X
	SELFTEST_CHECKS
};

/* The checks before this one are made before anything is served. */
#define SELFTEST_LIMITS	SELFTEST_TIME

enum selftest_state { SELFTEST_OPEN, SELFTEST_HELD, SELFTEST_BROKEN };

struct conf;
struct dispatcher;
struct selftest;

/*
 * Prepares it while adderd still has its rights: a file and a listener that
 * no job may reach.  NULL with *why (the caller's to free).
 */
struct selftest	*selftest_new(struct dispatcher *, struct conf *, char **why);
void		 selftest_free(struct selftest **);
/* Runs it; no other job is dispatched until the first part has held.
 * broken: called from the loop with a sentence when a check has failed; NULL
 * to only note it. */
void		 selftest_run(struct selftest *,
		    void (*broken)(const char *why, void *), void *arg);
const char	*selftest_name(enum selftest_check);
const char	*selftest_what(enum selftest_check);
enum selftest_state selftest_state(const struct selftest *,
		    enum selftest_check);
/* A word on how it went; "" while it is open. */
const char	*selftest_detail(const struct selftest *,
		    enum selftest_check);
/* Whether every check has ended. */
int		 selftest_complete(const struct selftest *);

#endif
