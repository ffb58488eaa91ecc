#include "config.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "fdutil.h"
#include "log.h"
#include "log_pipe.h"
#include "mem.h"

#define LINE_BYTES_MAX	4096

struct log_pipe {
	LIST_ENTRY(log_pipe) entry;
	const char	*who;
	struct event	*ev;
	struct evbuffer	*in;
	unsigned	 left;		/* lines that are not dropped yet */
};

static LIST_HEAD(, log_pipe) log_pipes = LIST_HEAD_INITIALIZER(log_pipes);

static void
relay(struct log_pipe *lp, const char *line, size_t len)
{
	if (lp->left == 0)
		return;
	if (lp->left != UINT_MAX && --lp->left == 0)
		log_warnx("no more lines of this %s are shown", lp->who);
	log_relay(lp->who, line, len);
}

static void
log_pipe_lines(struct log_pipe *lp, int all)
{
	size_t len;
	char *line;

	while ((line = evbuffer_readln(lp->in, &len, EVBUFFER_EOL_LF)) !=
	    NULL) {
		relay(lp, line, len);
		free(line);
	}
	len = evbuffer_get_length(lp->in);
	if (len > LINE_BYTES_MAX || (all && len > 0)) {
		relay(lp, (char *)evbuffer_pullup(lp->in, -1), len);
		evbuffer_drain(lp->in, len);
	}
}

static void
log_pipe_close(struct log_pipe *lp)
{
	LIST_REMOVE(lp, entry);
	close(event_get_fd(lp->ev));
	event_free(lp->ev);
	evbuffer_free(lp->in);
	free(lp);
}

void
log_pipe_close_all(void)
{
	while (!LIST_EMPTY(&log_pipes))
		log_pipe_close(LIST_FIRST(&log_pipes));
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct log_pipe *lp = arg;
	int n = evbuffer_read(lp->in, fd, LINE_BYTES_MAX);

	log_pipe_lines(lp, n == 0);
	if (n == 0)
		log_pipe_close(lp);
}

int
log_pipe_open(struct event_base *base, const char *who)
{
	return log_pipe_open_bounded(base, who, UINT_MAX);
}

int
log_pipe_open_bounded(struct event_base *base, const char *who,
    unsigned lines)
{
	struct log_pipe *lp;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) == -1 || fd_set_nonblock(fds[0]) == -1) {
		log_warn("no pipe for the log of the %s", who);
		return open("/dev/null", O_WRONLY | O_CLOEXEC);
	}
	lp = xcalloc(1, sizeof *lp);
	LIST_INSERT_HEAD(&log_pipes, lp, entry);
	lp->who = who;
	lp->left = lines;
	lp->in = evbuffer_new();
	lp->ev = event_new(base, fds[0], EV_READ | EV_PERSIST, on_readable,
	    lp);
	event_add(lp->ev, NULL);
	return fds[1];
}
