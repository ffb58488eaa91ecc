#include "config.h"

#include "channel.h"
#include "job_verdict.h"
#include "msg.h"
#include "worker_private.h"
#include "worker_proc.h"

/* What a worker does while it waits for its job. */

void
worker_proc_prefault(struct worker_proc *w, uint64_t pages)
{
	struct msg_PREFAULT m = { .pages = pages };
	struct writer out;

	msg_encode_PREFAULT(&out, &m);
	channel_send(w->channel, &out);
	w->prefault_asked = 1;
}

int
worker_on_prefaulted(struct worker_proc *w, const struct frame *f, char *why)
{
	struct msg_PREFAULTED m;

	if (msg_decode_PREFAULTED(f, &m, why) == -1)
		return -1;
	w->prefault_asked = 0;
	w->prefaulted += m.copied;
	w->prefault_done = !m.more;
	if (w->state == WORKER_PARKED)
		w->observer->prefaulted(w, w->arg);
	return 0;
}
