#include "config.h"

#include <stdlib.h>

#include "filter_writer.h"

/* How far a branch goes is a byte; up to two instructions come between it and
 * where it was measured from. */
#define NEAR	250

int
filter_writer_init(struct filter_writer *w, unsigned max)
{
	w->n = 0;
	w->max = max;
	w->failed = 0;
	w->last_first = calloc(max, sizeof *w->last_first);
	return w->last_first == NULL ? -1 : 0;
}

void
filter_writer_free(struct filter_writer *w)
{
	free(w->last_first);
	w->last_first = NULL;
}

unsigned
filter_writer_fail(struct filter_writer *w)
{
	w->failed = 1;
	return 0;
}

static unsigned
write_one(struct filter_writer *w, __u16 code, __u32 k, __u8 jt, __u8 jf)
{
	if (w->failed || w->n == w->max)
		return filter_writer_fail(w);
	w->last_first[w->n] = (struct sock_filter){ code, jt, jf, k };
	return w->n++;
}

/* The instructions between the next one to be written and at. */
static unsigned
distance(const struct filter_writer *w, unsigned at)
{
	return w->n - at - 1;
}

unsigned
filter_writer_return(struct filter_writer *w, __u32 value)
{
	unsigned at;

	for (at = w->n; at > 0 && distance(w, at - 1) <= NEAR; at--)
		if (w->last_first[at - 1].code == (BPF_RET | BPF_K) &&
		    w->last_first[at - 1].k == value)
			return at - 1;
	return write_one(w, BPF_RET | BPF_K, value, 0, 0);
}

/* The same instruction, or one that leads to it, near. */
static unsigned
bring_near(struct filter_writer *w, unsigned at)
{
	if (w->failed || distance(w, at) <= NEAR)
		return at;
	if (w->last_first[at].code == (BPF_RET | BPF_K))
		return filter_writer_return(w, w->last_first[at].k);
	return write_one(w, BPF_JMP | BPF_JA, distance(w, at), 0, 0);
}

unsigned
filter_writer_before(struct filter_writer *w, __u16 code, __u32 k,
    unsigned next)
{
	if (!w->failed && distance(w, next) > 0)
		write_one(w, BPF_JMP | BPF_JA, distance(w, next), 0, 0);
	return write_one(w, code, k, 0, 0);
}

unsigned
filter_writer_branch(struct filter_writer *w, __u16 code, __u32 k,
    unsigned jt, unsigned jf)
{
	jt = bring_near(w, jt);
	jf = bring_near(w, jf);
	return write_one(w, code, k, distance(w, jt), distance(w, jf));
}

struct sock_filter *
filter_writer_finish(const struct filter_writer *w)
{
	struct sock_filter *insns = calloc(w->n, sizeof *insns);
	unsigned i;

	for (i = 0; insns != NULL && i < w->n; i++)
		insns[i] = w->last_first[w->n - 1 - i];
	return insns;
}
