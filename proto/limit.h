#ifndef ADDER_LIMIT_H
#define ADDER_LIMIT_H

#include <stdint.h>

/* What one job may use.  0 means no limit of this kind.
 * field, conf key below "limits." */
#define LIMIT_LIST(X)							\
	X(timeout_ms,   "timeout")	/* wall clock, milliseconds */	\
	X(cpu_ms,       "cpu")		/* CPU time, milliseconds */	\
	X(memory,       "memory")	/* bytes beyond the libraries */ \
	X(output,       "output")	/* bytes kept of each stream */	\
	X(scratch,      "scratch")	/* bytes of files */		\
	X(files,        "files")	/* number of files */		\
	X(pids,         "pids")		/* processes and threads */	\
	X(fds,          "fds")		/* open descriptors */

/* A session is two processes while a call runs, the state before it and the
 * call: all of them together may use so many times the memory of a job. */
#define LIMIT_SESSION_MEMORY	2

struct limits {
#define X(field, key) uint64_t field;
	LIMIT_LIST(X)
#undef X
};

struct writer;
struct reader;

/* As one msgpack map under the current key. */
void	limits_pack(struct writer *, const struct limits *);
/* Reads the map under key; an error is remembered in the reader. */
void	limits_unpack(struct reader *, const char *key, struct limits *);

#endif
