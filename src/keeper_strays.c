#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "fdutil.h"
#include "keeper_strays.h"
#include "keeper_workers.h"
#include "log.h"
#include "mem.h"

#define SPARED_MAX	64
/* A scan costs some milliseconds, so the ends of many workers share one. */
#define SCAN_MS		100
/* Generations of orphans, each made by the death of the one before. */
#define ROUNDS_MAX	100

struct keeper_strays {
	struct keeper_workers	*workers;
	struct event		*ev_scan;
	unsigned		 forking;	/* zygotes under way */
	pid_t			 spared[SPARED_MAX];
};

static void	on_scan(evutil_socket_t, short, void *);

struct keeper_strays *
keeper_strays_new(struct event_base *base, struct keeper_workers *workers)
{
	struct keeper_strays *s = xcalloc(1, sizeof *s);

	s->workers = workers;
	s->ev_scan = event_new(base, -1, 0, on_scan, s);
	return s;
}

void
keeper_strays_free(struct keeper_strays **sp)
{
	struct keeper_strays *s = *sp;

	if (s == NULL)
		return;
	*sp = NULL;
	event_free(s->ev_scan);
	free(s);
}

void
keeper_strays_spare(struct keeper_strays *s, pid_t pid, int on)
{
	int i;

	for (i = 0; i < SPARED_MAX; i++)
		if (s->spared[i] == (on ? 0 : pid)) {
			s->spared[i] = on ? pid : 0;
			return;
		}
	if (on)
		log_warnx("more than %d zygotes and installers at once",
		    SPARED_MAX);
}

void
keeper_strays_wait(struct keeper_strays *s, int on)
{
	if (on)
		s->forking++;
	else
		s->forking--;
}

static int
is_spared(const struct keeper_strays *s, pid_t pid)
{
	int i;

	for (i = 0; i < SPARED_MAX; i++)
		if (s->spared[i] == pid)
			return 1;
	return 0;
}

/* Parent and session of a process, from /proc/PID/stat (proc(5)). */
static int
process_stat(const char *pid, pid_t *parent, pid_t *session)
{
	char path[64], buf[512], *p;
	int group;

	snprintf(path, sizeof path, "/proc/%.32s/stat", pid);
	if (fd_read_file(path, buf, sizeof buf) <= 0)
		return -1;
	/* The name in parentheses may hold anything. */
	p = strrchr(buf, ')');
	if (p == NULL || sscanf(p + 1, " %*c %d %d %d", parent, &group,
	    session) != 3)
		return -1;
	return 0;
}

static int
is_stray(const struct keeper_strays *s, pid_t pid, pid_t session)
{
	if (s == NULL)
		return 1;
	if (keeper_workers_has_pid(s->workers, pid) || is_spared(s, pid))
		return 0;
	return !keeper_workers_has_pid(s->workers, session);
}

static int
kill_and_reap(pid_t pid)
{
	/* Our own child, not reaped yet: the pid cannot be another's. */
	return kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid;
}

/* The number of strays that were ended. */
static int
scan(const struct keeper_strays *s)
{
	pid_t self = getpid(), parent, session;
	struct dirent *e;
	DIR *proc = opendir("/proc");
	int n = 0;

	if (proc == NULL)
		return 0;
	while ((e = readdir(proc)) != NULL) {
		if (!isdigit((unsigned char)e->d_name[0]) ||
		    process_stat(e->d_name, &parent, &session) == -1 ||
		    parent != self)
			continue;
		if (is_stray(s, atoi(e->d_name), session))
			n += kill_and_reap(atoi(e->d_name));
	}
	closedir(proc);
	return n;
}

void
keeper_strays_sweep(struct keeper_strays *s)
{
	int round;

	for (round = 0; round < ROUNDS_MAX; round++)
		if (scan(s) == 0)
			return;
	log_warnx("what a worker left behind goes on after %d rounds",
	    ROUNDS_MAX);
}

void
keeper_strays_look(struct keeper_strays *s)
{
	struct timeval tv = { 0, SCAN_MS * 1000 };

	if (!event_pending(s->ev_scan, EV_TIMEOUT, NULL))
		event_add(s->ev_scan, &tv);
}

static void
on_scan(evutil_socket_t fd, short what, void *arg)
{
	struct keeper_strays *s = arg;

	if (s->forking > 0 || keeper_workers_pending(s->workers))
		keeper_strays_look(s);
	else
		keeper_strays_sweep(s);
}

void
keeper_strays_of(struct keeper_strays *s, pid_t worker)
{
	kill(-worker, SIGKILL);
	keeper_strays_look(s);
}
