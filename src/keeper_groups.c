#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/time.h>

#include <event2/event.h>

#include "cgroup.h"
#include "keeper_groups.h"
#include "log.h"
#include "mem.h"

#define RETRY_MS	20
#define TRIES_MAX	50

struct group {
	TAILQ_ENTRY(group)	entry;
	uint64_t		id;
	int			tries;
};

struct keeper_groups {
	struct cgroup_root	*cgroup;
	struct event		*ev_retry;
	TAILQ_HEAD(, group)	 left;
};

static void	on_retry(evutil_socket_t, short, void *);

struct keeper_groups *
keeper_groups_new(struct event_base *base, struct cgroup_root *cgroup)
{
	struct keeper_groups *g = xcalloc(1, sizeof *g);

	g->cgroup = cgroup;
	g->ev_retry = event_new(base, -1, 0, on_retry, g);
	TAILQ_INIT(&g->left);
	return g;
}

/* Whether it is gone; what is in it is killed if it is not. */
static int
remove_one(struct keeper_groups *g, uint64_t id)
{
	if (cgroup_remove(g->cgroup, id) == 0 || errno == ENOENT)
		return 1;
	cgroup_kill(g->cgroup, id);
	return 0;
}

static void
forget(struct keeper_groups *g, struct group *one)
{
	TAILQ_REMOVE(&g->left, one, entry);
	free(one);
}

void
keeper_groups_free(struct keeper_groups **gp)
{
	struct keeper_groups *g = *gp;
	struct group *one;

	if (g == NULL)
		return;
	*gp = NULL;
	while ((one = TAILQ_FIRST(&g->left)) != NULL) {
		remove_one(g, one->id);
		forget(g, one);
	}
	event_free(g->ev_retry);
	free(g);
}

static void
retry_soon(struct keeper_groups *g)
{
	static const struct timeval tv = { 0, RETRY_MS * 1000 };

	if (!event_pending(g->ev_retry, EV_TIMEOUT, NULL))
		event_add(g->ev_retry, &tv);
}

void
keeper_groups_remove(struct keeper_groups *g, uint64_t id)
{
	struct group *one;

	if (remove_one(g, id))
		return;
	one = xcalloc(1, sizeof *one);
	one->id = id;
	TAILQ_INSERT_TAIL(&g->left, one, entry);
	retry_soon(g);
}

static void
on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct keeper_groups *g = arg;
	struct group *one, *next;

	for (one = TAILQ_FIRST(&g->left); one != NULL; one = next) {
		next = TAILQ_NEXT(one, entry);
		if (remove_one(g, one->id))
			forget(g, one);
		else if (++one->tries == TRIES_MAX) {
			log_errorx("control group of worker %" PRIu64
			    " is not empty long after its end", one->id);
			forget(g, one);
		}
	}
	if (!TAILQ_EMPTY(&g->left))
		retry_soon(g);
}
