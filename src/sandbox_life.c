#include "config.h"

#include <stdlib.h>
#include <sys/time.h>

#include <event2/event.h>

#include "clock.h"
#include "conf.h"
#include "log.h"
#include "mem.h"
#include "sandbox_record.h"
#include "units.h"

static void
arm(struct sandbox *sb, uint64_t due_us)
{
	uint64_t now = clock_us(), left = due_us > now ? due_us - now : 0;
	struct timeval tv = { left / 1000000, left % 1000000 };

	event_add(sb->ev_expire, &tv);
}

void
sandbox_rest(struct sandbox *sb)
{
	uint64_t due;

	sb->used_us = clock_us();
	due = sb->used_us + sb->idle_ms * 1000;
	arm(sb, due < sb->until_us ? due : sb->until_us);
}

void
sandbox_on_expire(int fd, short what, void *arg)
{
	struct sandbox *sb = arg;
	struct sandboxes *all = sb->family->all;
	char text[32], *why;

	/* Not in the middle of a call: its end comes here again. */
	if (sandbox_is_busy(sb))
		return;
	if (clock_us() >= sb->until_us) {
		duration_text(all->conf->sessions_max_age, text, sizeof text);
		xasprintf(&why, "it was as old as a session may be, %s "
		    "(sessions.max_age)", text);
	} else {
		duration_text(sb->idle_ms, text, sizeof text);
		xasprintf(&why, "nothing was run in it for %s, its ttl; ask "
		    "sandbox_initialize for a longer one", text);
	}
	all->counts.expired++;
	sandbox_end(sb, VERDICT_LOST, why);
}

static uint64_t
memory_of(const struct sandboxes *all)
{
	const struct family *f;
	uint64_t sum = 0;

	TAILQ_FOREACH(f, &all->families, entry)
		if (f->leader != NULL)
			sum += f->leader->memory;
	return sum;
}

/* Of a family that would free something. */
static struct sandbox *
unused_for_longest(struct sandboxes *all, const struct sandbox *spare)
{
	struct sandbox *sb, *found = NULL;

	TAILQ_FOREACH(sb, &all->list, entry)
		if (sb != spare && sb->family->turn == NULL &&
		    !sandbox_is_busy(sb) && sb->family->leader != NULL &&
		    sb->family->leader->memory > 0 &&
		    (found == NULL || sb->used_us < found->used_us))
			found = sb;
	return found;
}

void
sandboxes_shrink(struct sandboxes *all, const struct sandbox *spare)
{
	struct sandbox *sb;
	char text[32], *why;

	all->counts.memory = memory_of(all);
	while (all->conf->sessions_memory > 0 &&
	    all->counts.memory > all->conf->sessions_memory &&
	    (sb = unused_for_longest(all, spare)) != NULL) {
		size_text(all->conf->sessions_memory, text, sizeof text);
		xasprintf(&why, "all sessions together held more memory than "
		    "%s (sessions.memory), and it was unused for longest",
		    text);
		all->counts.evicted++;
		/* Its leader tells later what is really free. */
		if (sb->family->members == 1)
			sb->family->leader->memory = 0;
		sandbox_end(sb, VERDICT_LOST, why);
		all->counts.memory = memory_of(all);
	}
}
