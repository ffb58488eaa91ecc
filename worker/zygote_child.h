#ifndef ADDER_ZYGOTE_CHILD_H
#define ADDER_ZYGOTE_CHILD_H

#include <stdint.h>

struct msg_ZYGOTE_FORK;
struct zygote_jail;

/* Descriptors that travel with ZYGOTE_FORK, in this order. */
enum { CHILD_FD_CONTROL, CHILD_FD_LOG, CHILD_FDS };

struct zygote_memory {
	uint64_t	size;		/* address space, bytes */
	uint64_t	resident;	/* bytes */
};

/*
 * Turns a fresh fork of a zygote into the zygote of an environment: its own
 * control socket and log, its packages on sys.path and readable, and, if that
 * is asked for and the jail can hold it, imported.  What it then takes of
 * memory is in *memory.  -1 with *why, a sentence the caller frees: then it
 * may fork no worker.
 */
int	zygote_child_become(struct zygote_jail *,
	    const struct msg_ZYGOTE_FORK *, const int fds[CHILD_FDS],
	    struct zygote_memory *memory, char **why);

#endif
