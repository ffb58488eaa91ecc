#ifndef ADDER_KEEPER_ZYGOTE_H
#define ADDER_KEEPER_ZYGOTE_H

#include <stdint.h>
#include <sys/types.h>

struct msg_ZYGOTE_START;

/* Forks and executes adder-zygote with control at ZYGOTE_FD_CONTROL, its
 * output to log_fd, and scratch as the parent of scratch directories.  Both
 * descriptors stay the caller's.  The pid, or -1 with errno. */
pid_t	keeper_zygote_exec(const struct msg_ZYGOTE_START *,
	    const char *scratch, int control, int log_fd);

#endif
