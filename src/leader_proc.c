#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "conf.h"
#include "control_queue.h"
#include "fdpass.h"
#include "fdutil.h"
#include "job_record.h"
#include "keeper_proc.h"
#include "leader_proc.h"
#include "log.h"
#include "mem.h"

#define READY_S		30
/* What JSON readers take for exact. */
#define NUMBER_MAX	(1ull << 53)
/* Packets handled in one turn of the loop. */
#define BATCH_MAX	64

static void	on_settle(struct worker_proc *, int, void *);
static void	on_stuck(struct worker_proc *, void *);
static void	on_call_over(struct worker_proc *, void *);
static void	on_call_exited(struct worker_proc *, void *);
static void	on_link(evutil_socket_t, short, void *);
static void	on_late(evutil_socket_t, short, void *);

static const struct worker_host call_host = { on_settle, on_stuck };
/* A call is parked from the start and never returned. */
static const struct worker_observer call_observer = {
	NULL, NULL, NULL, NULL, on_call_over, on_call_exited
};

#define SEND(l, fds, nfds, T, ...)					\
	do {								\
		struct msg_##T m_ = { __VA_ARGS__ };			\
		struct writer w_;					\
									\
		msg_encode_##T(&w_, &m_);				\
		control_queue_send((l)->queue, &w_, fds, nfds);		\
	} while (0)

static void
ask_for_fork(struct leader_proc *l, uint64_t generation,
    const struct conf *conf, int sock, int log_fd)
{
	struct msg_WORKER_FORK m = { .generation = generation,
	    .worker = l->id, .session = 1 };
	int fds[3] = { sock, log_fd, log_fd };

	worker_proc_limits(conf, &m.limits);
	keeper_worker_fork(l->keeper, &m, fds);
}

struct leader_proc *
leader_proc_new(struct event_base *base, struct keeper_proc *keeper,
    uint64_t generation, const struct conf *conf, int log_fd,
    const struct leader_observer *observer, void *arg)
{
	static const struct timeval ready = { READY_S, 0 }, now = { 0, 0 };
	struct leader_proc *l = xcalloc(1, sizeof *l);
	int pair[2];

	l->id = worker_proc_next_id();
	l->base = base;
	l->keeper = keeper;
	l->observer = observer;
	l->arg = arg;
	l->sock = -1;
	l->next_call = l->next_state = 1;
	l->ev_start = event_new(base, -1, 0, on_late, l);
	if (control_pair(pair) == -1) {
		log_warn("session: no descriptors for its link");
		event_add(l->ev_start, &now);
		return l;
	}
	l->sock = pair[0];
	(void)fd_set_nonblock(l->sock);
	l->queue = control_queue_new(base, l->sock);
	l->ev_read = event_new(base, l->sock, EV_READ | EV_PERSIST, on_link,
	    l);
	event_add(l->ev_read, NULL);
	event_add(l->ev_start, &ready);
	ask_for_fork(l, generation, conf, pair[1], log_fd);
	close(pair[1]);
	return l;
}

void
leader_proc_free(struct leader_proc **lp)
{
	struct leader_proc *l = *lp;

	if (l == NULL)
		return;
	*lp = NULL;
	if (l->call != NULL)
		worker_proc_free(&l->call);
	if (l->queue != NULL)
		control_queue_free(&l->queue);
	if (l->ev_read != NULL)
		event_free(l->ev_read);
	event_free(l->ev_start);
	fd_close(&l->sock);
	free(l);
}

void
leader_proc_kill(struct leader_proc *l)
{
	if (l->killed)
		return;
	l->killed = 1;
	keeper_worker_kill(l->keeper, l->id);
}

int
leader_proc_call(struct leader_proc *l, uint64_t state, struct job *job)
{
	int theirs[3], i;

	l->call = worker_proc_new_call(l->base, &call_host, l, &call_observer,
	    l, theirs);
	if (l->call == NULL)
		return -1;
	l->call_id = l->next_call++;
	SEND(l, theirs, 3, SESSION_CALL, .state = state, .call = l->call_id);
	for (i = 0; i < 3; i++)
		close(theirs[i]);
	worker_proc_assign(l->call, job);
	return 0;
}

uint64_t
leader_proc_branch(struct leader_proc *l, uint64_t state)
{
	uint64_t branch = l->next_state++;

	l->branching++;
	SEND(l, NULL, 0, SESSION_BRANCH, .state = state, .branch = branch);
	return branch;
}

void
leader_proc_stop(struct leader_proc *l, uint64_t state)
{
	if (l->queue != NULL)
		SEND(l, NULL, 0, SESSION_STOP, .state = state);
}

/* --- the call under way */

static void
on_settle(struct worker_proc *w, int keep, void *arg)
{
	struct leader_proc *l = arg;

	SEND(l, NULL, 0, SESSION_SETTLE, .call = l->call_id, .keep = keep);
}

static void
on_stuck(struct worker_proc *w, void *arg)
{
	struct leader_proc *l = arg;

	log_warnx("session %llu pid %ld: no word on a call that is over; it "
	    "is ended", (unsigned long long)l->id, (long)l->pid);
	leader_proc_kill(l);
}

/* Its answer is out, or it was dropped; on_call_exited() follows. */
static void
on_call_over(struct worker_proc *w, void *arg)
{
}

static void
on_call_exited(struct worker_proc *w, void *arg)
{
	struct leader_proc *l = arg;

	worker_proc_free(&l->call);
}

static void
settle(struct leader_proc *l, const struct msg_SESSION_SETTLED *m, int oom)
{
	l->asking = 0;
	worker_proc_settled(l->call, m, oom);
	l->observer->free_again(l, m->fate, l->arg);
}

/* Killed by nobody that we know of: was it for want of memory? */
static int
is_unclear(const struct leader_proc *l, const struct msg_SESSION_SETTLED *m)
{
	const struct job *job = l->call->job;

	return job != NULL && !job->condemned && !job->has_done &&
	    m->status != -1 && WIFSIGNALED(m->status) &&
	    WTERMSIG(m->status) == SIGKILL;
}

static void
on_settled(struct leader_proc *l, const struct msg_SESSION_SETTLED *m)
{
	if (l->call == NULL || m->call != l->call_id || l->asking)
		return;
	/* What it holds now is good to know in any case. */
	keeper_worker_look(l->keeper, l->id);
	if (is_unclear(l, m)) {
		l->settled = *m;
		l->asking = 1;
		return;
	}
	settle(l, m, 0);
}

void
leader_proc_uses(struct leader_proc *l, const struct msg_WORKER_USES *m)
{
	int oom = m->kills > l->kills;

	l->kills = m->kills;
	l->memory = m->memory;
	if (l->asking)
		settle(l, &l->settled, oom);
	l->observer->uses(l, l->arg);
}

/* --- the leader */

static void
become_ready(struct leader_proc *l)
{
	if (l->ready || !l->said_parked || l->pid == 0)
		return;
	l->ready = 1;
	event_del(l->ev_start);
	SEND(l, NULL, 0, SESSION_BEGIN, .version = PROTO_VERSION);
	l->observer->ready(l, l->arg);
}

void
leader_proc_forked(struct leader_proc *l, pid_t pid)
{
	l->pid = pid;
	become_ready(l);
}

void
leader_proc_ended(struct leader_proc *l, const char *why)
{
	struct msg_SESSION_SETTLED m = { .fate = SESSION_GONE, .status = -1 };

	if (l->call != NULL && l->asking)
		worker_proc_settled(l->call, &l->settled, 0);
	else if (l->call != NULL)
		worker_proc_settled(l->call, &m, 0);
	l->observer->gone(l, why, l->arg);
}

static void
on_late(evutil_socket_t fd, short what, void *arg)
{
	struct leader_proc *l = arg;

	if (l->sock == -1)
		leader_proc_ended(l, "adderd was out of descriptors");
	else
		leader_proc_kill(l);
}

#define DECODE(T)							\
	struct msg_##T m;						\
									\
	if (msg_decode_##T(f, &m, why) == -1)				\
		break

/* A leader may come from a zygote that has run code of strangers. */
static int
is_sound(struct msg_SESSION_SETTLED *m, char *why)
{
	if (m->fate != SESSION_KEPT && m->fate != SESSION_ROLLED_BACK &&
	    m->fate != SESSION_GONE) {
		snprintf(why, MSG_WHY_BYTES, "there is no such fate");
		return 0;
	}
	if (m->cpu_us > NUMBER_MAX)
		m->cpu_us = 0;
	if (m->peak_kib > NUMBER_MAX)
		m->peak_kib = 0;
	return 1;
}

static int
handle_frame(struct leader_proc *l, const struct frame *f, char *why)
{
	switch (f->type) {
	case FRAME_PARKED: {
		DECODE(PARKED);
		l->said_parked = 1;
		become_ready(l);
		return 0;
	}
	case FRAME_SESSION_SETTLED: {
		DECODE(SESSION_SETTLED);
		if (!is_sound(&m, why))
			break;
		on_settled(l, &m);
		return 0;
	}
	case FRAME_SESSION_BRANCHED: {
		DECODE(SESSION_BRANCHED);
		if (l->branching == 0)
			break;
		l->branching--;
		l->observer->branched(l, &m, l->arg);
		return 0;
	}
	case FRAME_SESSION_LOST: {
		DECODE(SESSION_LOST);
		l->observer->state_lost(l, m.state, l->arg);
		return 0;
	}
	default:
		break;
	}
	return -1;
}

/* 1 if there may be more. */
static int
read_one(struct leader_proc *l, char *buf)
{
	char why[MSG_WHY_BYTES] = "not expected";
	int fds[FRAME_FDS_MAX], nfds, rv;
	const char *rule;
	struct frame f;

	rv = control_recv(l->sock, LEADER_TO_SERVER, buf, &f, fds, &nfds,
	    &rule);
	if (rv == -1 && (errno == EAGAIN || errno == EINTR))
		return 0;
	while (nfds > 0)
		close(fds[--nfds]);
	if (rv == 1 && handle_frame(l, &f, why) == 0)
		return 1;
	/* A plain end says nothing: the keeper will. */
	event_del(l->ev_read);
	if (rv != 0) {
		log_warnx("session %llu pid %ld: ended for a bad frame: %s",
		    (unsigned long long)l->id, (long)l->pid,
		    rv == 1 ? why : rule != NULL ? rule : "no frame");
		leader_proc_kill(l);
	}
	return 0;
}

static void
on_link(evutil_socket_t fd, short what, void *arg)
{
	static char buf[CONTROL_FRAME_MAX];
	struct leader_proc *l = arg;
	int i;

	for (i = 0; i < BATCH_MAX && read_one(l, buf); i++)
		;
}
