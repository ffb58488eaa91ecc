#ifndef ADDER_LEADER_LINK_H
#define ADDER_LEADER_LINK_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Packets between the leader of a session and its states, all of them forks
 * of one process.  What a state says is believed by nobody: the kernel adds
 * who sent a packet (SCM_CREDENTIALS, unix(7)), and that is what counts.
 */
enum link_op {
	LINK_CALL,	/* to a state: fork, and run a job in the child */
	LINK_BRANCH,	/* to a state: fork, and be another state */
	LINK_HELLO,	/* from the child, on its own link */
	LINK_FAILED	/* from the state: it could not fork */
};

struct link_message {
	uint32_t	op;		/* enum link_op */
	uint32_t	in_place;	/* LINK_CALL: do not fork */
	uint64_t	call;		/* LINK_CALL */
};

/* Of LINK_CALL; LINK_BRANCH has only the last as its one descriptor. */
enum { LINK_FD_JOB, LINK_FD_STDOUT, LINK_FD_STDERR, LINK_FD_LINK, LINK_FDS };

/* A pair; what comes in at [0] tells its sender.  -1 with errno. */
int	link_pair(int fds[2]);
/* -1 with errno; descriptors stay the caller's. */
int	link_send(int sock, const struct link_message *, const int *fds,
	    int nfds);
/*
 * 1: a message with *nfds descriptors, close-on-exec and the caller's, and
 * the process id of who sent it, 0 if that is not told.  0: the other side
 * is gone.  -1 with errno, EPROTO if it is no message (its descriptors are
 * closed).
 */
int	link_recv(int sock, struct link_message *, int fds[LINK_FDS],
	    int *nfds, pid_t *sender, int flags);

#endif
