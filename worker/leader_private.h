#ifndef ADDER_LEADER_PRIVATE_H
#define ADDER_LEADER_PRIVATE_H

#include <poll.h>
#include <stdint.h>
#include <sys/types.h>

struct frame;

/* What the leader*.c files share. */

#define LEADER_STATES	64
#define LEADER_TIDS	64

struct leader_state {
	uint64_t	id;
	pid_t		pid;		/* 0 for none here */
	int		link;
	pid_t		tids[LEADER_TIDS]; /* threads beside its first */
	int		ntids;
	int		many;		/* more threads than are remembered */
};

struct leader {
	int		own_pid_ns;
	struct leader_state states[LEADER_STATES];
	pid_t		seen;		/* no process above was looked at */
};

/* Links to states, and to the process of the call under way. */
#define LEADER_LINKS	(LEADER_STATES + 1)

/* --- leader_call.c */

/* The first state, to be filled in, and then its pid. */
struct leader_state *leader_init(void);
void	leader_first(pid_t);
/* What adderd says; the descriptors stay the caller's, and one more place is
 * behind them. */
void	leader_frame(const struct frame *, int *fds, int nfds);
/* Which links are to be waited for, and that something came from one. */
void	leader_poll(struct pollfd [LEADER_LINKS]);
void	leader_polled(const struct pollfd [LEADER_LINKS]);
/* A process wants to fork. */
void	leader_answer_gate(int gate);
/* A child may have ended. */
void	leader_reap(void);

/* --- leader_sweep.c */

/*
 * Ends every process of the namespace but states and keep (0 for none), and
 * notes threads of those.  Where there is no pid namespace none can be there.
 * -1 if that cannot be done: then nothing of the session may go on.
 */
int	leader_sweep(struct leader *, struct leader_state *keep);
/* Whether threads of it live on; forgets those that do not. */
int	leader_threads(struct leader_state *);

/* --- leader_look.c */

/*
 * Finds out whether a state whose child never came is dead itself: one that
 * is being killed closes all that it has, some time before it can be reaped.
 * If so, it is reaped before this returns (leader_reap()).
 */
void	leader_look_after(struct leader_state *);

/* --- leader_gate.c */

/* Answers one request for a fork: it is permitted if it is the one that a
 * process was told to make.  1 if it was permitted. */
int	leader_gate_answer(int gate, pid_t permitted);

#endif
