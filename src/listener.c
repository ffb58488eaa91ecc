#include "config.h"

#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/listener.h>

#include "addr.h"
#include "conf.h"
#include "inet_socket.h"
#include "listener.h"
#include "log.h"
#include "mem.h"
#include "unix_socket.h"

/* Pause after accept(2) failed for want of descriptors or memory. */
#define ACCEPT_PAUSE_S	1

struct listener {
	TAILQ_ENTRY(listener)	 entry;
	struct listeners	*all;
	struct evconnlistener	*ev;
	enum transport_kind	 kind;
};

struct listeners {
	struct event_base	*base;
	TAILQ_HEAD(, listener)	 list;
	unsigned		 count;
	struct unix_socket	*unix_socket;
	listener_accept		 accept;
	void			*arg;
	int			 paused;
	struct event		*ev_resume;	/* after an accept error */
	void	(*remover)(const char *, const struct stat *, void *);
	void	*remover_arg;
};

static void
name_unix(int fd, char *buf, size_t len)
{
	struct ucred cred;
	socklen_t n = sizeof cred;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) == -1)
		snprintf(buf, len, "unix client");
	else
		snprintf(buf, len, "unix client (uid %ld, pid %ld)",
		    (long)cred.uid, (long)cred.pid);
}

static void
on_accept(struct evconnlistener *ev, evutil_socket_t fd, struct sockaddr *sa,
    int sa_len, void *arg)
{
	struct listener *l = arg;
	char name[128], address[96];

	if (l->kind == TRANSPORT_UNIX)
		name_unix(fd, name, sizeof name);
	else {
		inet_set_options(fd);
		inet_name(sa, sa_len, address, sizeof address);
		snprintf(name, sizeof name, "tcp client (%s)", address);
	}
	l->all->accept(fd, l->kind, name, l->all->arg);
}

static void
set_enabled(struct listeners *ls)
{
	struct listener *l;
	int on = !ls->paused && !event_pending(ls->ev_resume, EV_TIMEOUT,
	    NULL);

	TAILQ_FOREACH(l, &ls->list, entry)
		if (on)
			evconnlistener_enable(l->ev);
		else
			evconnlistener_disable(l->ev);
}

static void
on_resume(evutil_socket_t fd, short what, void *arg)
{
	set_enabled(arg);
}

/* The waiting connection would wake us again at once, without end. */
static void
on_accept_error(struct evconnlistener *ev, void *arg)
{
	static const struct timeval pause = { ACCEPT_PAUSE_S, 0 };
	struct listener *l = arg;

	log_warn("cannot accept a client, trying again in %d s",
	    ACCEPT_PAUSE_S);
	event_add(l->all->ev_resume, &pause);
	set_enabled(l->all);
}

static int
add(struct listeners *ls, int fd, enum transport_kind kind, char **why)
{
	struct listener *l = xcalloc(1, sizeof *l);

	l->all = ls;
	l->kind = kind;
	l->ev = evconnlistener_new(ls->base, on_accept, l,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 128, fd);
	if (l->ev == NULL) {
		xasprintf(why, "cannot listen: %s", strerror(errno));
		close(fd);
		free(l);
		return -1;
	}
	evconnlistener_set_error_cb(l->ev, on_accept_error);
	TAILQ_INSERT_TAIL(&ls->list, l, entry);
	ls->count++;
	return 0;
}

static int
on_bound(int fd, const char *address, void *arg, char **why)
{
	if (add(arg, fd, TRANSPORT_TCP, why) == -1)
		return -1;
	/* Tests, and whoever asked for port 0, read the port here. */
	log_info("listening on tcp %s", address);
	return 0;
}

static int
open_unix(struct listeners *ls, const struct conf *conf, char **why)
{
	int fd;

	ls->unix_socket = unix_socket_open(conf->listen_unix,
	    strtoul(conf->listen_unix_mode, NULL, 8),
	    conf->listen_unix_group, &fd, why);
	if (ls->unix_socket == NULL)
		return -1;
	if (add(ls, fd, TRANSPORT_UNIX, why) == -1)
		return -1;
	log_info("listening on unix %s", conf->listen_unix);
	return 0;
}

struct listeners *
listeners_open(struct event_base *base, const struct conf *conf,
    listener_accept accept_cb, void *arg, char **why)
{
	struct listeners *ls = xcalloc(1, sizeof *ls);
	const char *cursor = conf->listen_tcp, *trouble;
	struct addr a;
	int rv = 0;

	*why = NULL;
	ls->base = base;
	ls->accept = accept_cb;
	ls->arg = arg;
	TAILQ_INIT(&ls->list);
	ls->ev_resume = event_new(base, -1, 0, on_resume, ls);
	if (conf->listen_unix[0] != '\0')
		rv = open_unix(ls, conf, why);
	while (rv == 0 && addr_next(&cursor, &a, &trouble) == 1)
		rv = inet_open(&a, "listen.tcp", on_bound, ls, why);
	if (rv == -1)
		listeners_free(&ls);
	return ls;
}

void
listeners_free(struct listeners **lsp)
{
	struct listeners *ls = *lsp;
	struct listener *l;

	if (ls == NULL)
		return;
	*lsp = NULL;
	/* First the file: from then on nobody finds a socket that is dead. */
	unix_socket_close(&ls->unix_socket, ls->remover, ls->remover_arg);
	while ((l = TAILQ_FIRST(&ls->list)) != NULL) {
		TAILQ_REMOVE(&ls->list, l, entry);
		evconnlistener_free(l->ev);
		free(l);
	}
	event_free(ls->ev_resume);
	free(ls);
}

void
listeners_set_remover(struct listeners *ls,
    void (*remover)(const char *, const struct stat *, void *), void *arg)
{
	ls->remover = remover;
	ls->remover_arg = arg;
}

unsigned
listeners_count(const struct listeners *ls)
{
	return ls->count;
}

void
listeners_pause(struct listeners *ls, int on)
{
	if (ls->paused == on)
		return;
	ls->paused = on;
	set_enabled(ls);
}
