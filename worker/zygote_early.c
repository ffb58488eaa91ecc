#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "fdpass.h"
#include "fdutil.h"
#include "log.h"
#include "msg.h"
#include "spawn.h"
#include "zygote.h"
#include "zygote_child.h"
#include "zygote_early.h"
#include "zygote_fds.h"

int
zygote_say_forked(uint64_t child, pid_t pid, int pidfd)
{
	struct msg_ZYGOTE_FORKED m = { .child = child, .pid = pid };
	struct writer w;
	int rv;

	msg_encode_ZYGOTE_FORKED(&w, &m);
	rv = control_send(ZYGOTE_FD_CONTROL, &w, &pidfd, pid != 0);
	if (rv == -1)
		log_warn("answer to the keeper");
	wr_free(&w);
	fd_close(&pidfd);
	return rv;
}

/* The numbers that zygote_fds.h reserves, with what the fork is to have at
 * them; those it was sent are above. */
static void
take_descriptors(const int fds[CHILD_FDS])
{
	int log_fd = fds[CHILD_FD_LOG];

	if (dup3(fds[CHILD_FD_CONTROL], ZYGOTE_FD_CONTROL, O_CLOEXEC) == -1 ||
	    dup2(log_fd, STDOUT_FILENO) == -1 ||
	    dup2(log_fd, STDERR_FILENO) == -1 ||
	    dup3(log_fd, ZYGOTE_FD_LOG, O_CLOEXEC) == -1)
		fatal("descriptors of an early zygote");
}

/* In the fork.  What is not inherited is done again: see zygote_main.c. */
static const struct zygote_options *
become_early(const struct zygote_options *parent, uint64_t generation,
    pid_t keeper, const int fds[CHILD_FDS])
{
	static struct zygote_options own;

	take_descriptors(fds);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1)
		fatal("parent death signal");
	if (getppid() != keeper)
		_exit(1);	/* it died meanwhile */
	own = *parent;
	own.generation = generation;
	own.early = 1;
	return &own;
}

static const struct zygote_options *
fork_early(const struct zygote_options *o, uint64_t generation,
    const int fds[CHILD_FDS])
{
	pid_t keeper = getppid(), pid;
	int pidfd = -1;

	pid = spawn_worker(0, &pidfd);
	if (pid == 0)
		return become_early(o, generation, keeper, fds);
	if (pid == -1)
		log_warn("early zygote %llu: fork",
		    (unsigned long long)generation);
	if (zygote_say_forked(generation, pid == -1 ? 0 : pid, pidfd) == -1)
		exit(1);
	return o;
}

/* The one frame that may come so early. */
static const struct zygote_options *
take_frame(const struct zygote_options *o, const struct frame *f,
    const int *fds, int nfds)
{
	char why[MSG_WHY_BYTES] = "it is not for a zygote that imports";
	struct msg_ZYGOTE_FORK m;

	if (f->type != FRAME_ZYGOTE_FORK ||
	    msg_decode_ZYGOTE_FORK(f, &m, why) == -1)
		fatalx("control: %s: %s", frame_name(f->type), why);
	if (m.generation != o->generation || m.path.len != 0 ||
	    nfds != CHILD_FDS)
		fatalx("control: ZYGOTE_FORK is not for an early zygote");
	return fork_early(o, m.child, fds);
}

const struct zygote_options *
zygote_early_fork(const struct zygote_options *o)
{
	static char buf[CONTROL_FRAME_MAX];
	struct pollfd control = { .fd = ZYGOTE_FD_CONTROL, .events = POLLIN };
	int fds[FRAME_FDS_MAX], nfds, rv;
	const char *why = NULL;
	struct frame f;

	if (poll(&control, 1, 0) != 1)
		return o;
	rv = control_recv(ZYGOTE_FD_CONTROL, KEEPER_TO_ZYGOTE, buf, &f, fds,
	    &nfds, &why);
	if (rv == 0)
		exit(0);	/* the keeper is gone */
	if (rv == -1)
		fatalx("control: %s", why != NULL ? why : strerror(errno));
	o = take_frame(o, &f, fds, nfds);
	while (nfds > 0)
		close(fds[--nfds]);
	return o;
}
