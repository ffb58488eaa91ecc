#include "config.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "filter_shorten.h"
#include "filter_writer.h"

#define LOAD_WORD	(BPF_LD | BPF_W | BPF_ABS)
#define LOAD_NR		offsetof(struct seccomp_data, nr)
#define LOAD_ARCH	offsetof(struct seccomp_data, arch)

/* What a number leads to: an instruction of the old program that returns, or
 * one that looks at an argument. */
struct range {
	uint32_t	first;
	unsigned	target;
};

struct shorten {
	const struct sock_filter *old;
	unsigned		 n_old;
	unsigned		*written;	/* 1 + the new place of each */
	struct range		*ranges;
	unsigned		 n_ranges;
	struct filter_writer	 out;
};

static int
compare(const struct sock_filter *i, uint32_t a)
{
	switch (BPF_OP(i->code)) {
	case BPF_JEQ:
		return a == i->k;
	case BPF_JGT:
		return a > i->k;
	case BPF_JGE:
		return a >= i->k;
	default:
		return -1;
	}
}

/* The next instruction for a value a; 0 for one that is not understood. */
static unsigned
jump(const struct shorten *s, unsigned pc, uint32_t a)
{
	const struct sock_filter *i = &s->old[pc];
	int holds;

	if (i->code == (BPF_JMP | BPF_JA))
		return pc + 1 + i->k;
	if (BPF_CLASS(i->code) != BPF_JMP || BPF_SRC(i->code) != BPF_K ||
	    (holds = compare(i, a)) == -1)
		return 0;
	return pc + 1 + (holds ? i->jt : i->jf);
}

static int
is_load(const struct sock_filter *i, uint32_t offset)
{
	return i->code == LOAD_WORD && i->k == offset;
}

/* Where the call nr of this machine's architecture gets to, 0 if that is not
 * understood: no program begins with what it ends in. */
static unsigned
follow(const struct shorten *s, uint32_t nr)
{
	unsigned pc = 2 + s->old[1].jt;
	uint32_t a = 0;

	while (pc != 0 && pc < s->n_old) {
		if (is_load(&s->old[pc], LOAD_NR)) {
			a = nr;
			pc++;
		} else if (s->old[pc].code == LOAD_WORD ||
		    s->old[pc].code == (BPF_RET | BPF_K))
			return pc;
		else
			pc = jump(s, pc, a);
	}
	return 0;
}

static int
same_target(const struct shorten *s, unsigned a, unsigned b)
{
	return a == b || (s->old[a].code == (BPF_RET | BPF_K) &&
	    s->old[b].code == (BPF_RET | BPF_K) &&
	    s->old[a].k == s->old[b].k);
}

static int
compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Answers only change where a number is compared with: *edges, the caller's,
 * gets all of these. */
static unsigned
find_edges(const struct shorten *s, uint32_t *edges)
{
	unsigned i, n = 0;

	edges[n++] = 0;
	for (i = 0; i < s->n_old; i++)
		if (BPF_CLASS(s->old[i].code) == BPF_JMP) {
			edges[n++] = s->old[i].k;
			edges[n++] = s->old[i].k + 1;
		}
	qsort(edges, n, sizeof *edges, compare_u32);
	return n;
}

static int
find_ranges(struct shorten *s)
{
	uint32_t *edges = malloc((2 * s->n_old + 1) * sizeof *edges);
	unsigned i, n, target;
	struct range *last = NULL;

	s->ranges = malloc((2 * s->n_old + 1) * sizeof *s->ranges);
	n = edges != NULL && s->ranges != NULL ? find_edges(s, edges) : 0;
	for (i = 0; i < n; i++) {
		if ((target = follow(s, edges[i])) == 0)
			break;
		if (last != NULL && same_target(s, last->target, target))
			continue;
		last = &s->ranges[s->n_ranges++];
		last->first = edges[i];
		last->target = target;
	}
	free(edges);
	return n > 0 && i == n ? 0 : -1;
}

/* "ld; and #0; jeq #0", how libseccomp compares the upper half of an argument
 * that is looked at in its lower half only; 0 if it is not that. */
static unsigned
skip_empty_mask(const struct shorten *s, unsigned pc)
{
	const struct sock_filter *i = &s->old[pc];
	unsigned next;

	if (pc + 2 >= s->n_old || i[0].code != LOAD_WORD ||
	    i[1].code != (BPF_ALU | BPF_AND | BPF_K) || i[1].k != 0)
		return 0;
	next = jump(s, pc + 2, 0);
	/* What was loaded must be of no use to what follows. */
	return next < s->n_old && (s->old[next].code == LOAD_WORD ||
	    s->old[next].code == (BPF_RET | BPF_K)) ? next : 0;
}

/* Writes the old instruction and all that it leads to; where it is now. */
static unsigned
copy(struct shorten *s, unsigned pc)
{
	const struct sock_filter *i;
	unsigned to, other;

	if (pc >= s->n_old)
		return filter_writer_fail(&s->out);
	if (s->written[pc] != 0)
		return s->written[pc] - 1;
	i = &s->old[pc];
	if (i->code == (BPF_RET | BPF_K))
		return filter_writer_return(&s->out, i->k);
	if ((to = skip_empty_mask(s, pc)) != 0)
		to = copy(s, to);
	else if (i->code == (BPF_JMP | BPF_JA))
		to = copy(s, pc + 1 + i->k);
	else if (BPF_CLASS(i->code) == BPF_JMP) {
		to = copy(s, pc + 1 + i->jt);
		other = copy(s, pc + 1 + i->jf);
		to = filter_writer_branch(&s->out, i->code, i->k, to, other);
	} else
		to = filter_writer_before(&s->out, i->code, i->k,
		    copy(s, pc + 1));
	s->written[pc] = to + 1;
	return to;
}

/* Numbers between two ranges that lead to the same are compared with one by
 * one, up to so many; that takes one instruction for each and not two. */
#define SINGLE_MAX	4

/* How many ranges from here on are such numbers and what is around them. */
static unsigned
count_group(const struct shorten *s, unsigned from)
{
	const struct range *r = s->ranges + from;
	unsigned n = 1;

	while (n / 2 < SINGLE_MAX && from + n + 1 < s->n_ranges &&
	    r[n].first + 1 == r[n + 1].first &&
	    same_target(s, r[n + 1].target, r[0].target))
		n += 2;
	return n;
}

static unsigned
write_group(struct shorten *s, unsigned from, unsigned n)
{
	const struct range *r = s->ranges + from;
	unsigned i, to = copy(s, r[0].target), single;

	for (i = 1; i < n; i += 2) {
		single = copy(s, r[i].target);
		to = filter_writer_branch(&s->out, BPF_JMP | BPF_JEQ | BPF_K,
		    r[i].first, single, to);
	}
	return to;
}

/* Writes a search among the groups [from, to), of which each is told by its
 * first range. */
static unsigned
write_search(struct shorten *s, const unsigned *groups, unsigned from,
    unsigned to)
{
	unsigned mid = from + (to - from) / 2, above, below;

	if (to - from == 1)
		return write_group(s, groups[from],
		    groups[from + 1] - groups[from]);
	above = write_search(s, groups, mid, to);
	below = write_search(s, groups, from, mid);
	return filter_writer_branch(&s->out, BPF_JMP | BPF_JGE | BPF_K,
	    s->ranges[groups[mid]].first, above, below);
}

static int
write_program(struct shorten *s)
{
	unsigned *groups = malloc((s->n_ranges + 1) * sizeof *groups);
	unsigned n = 0, at = 0, bad, top;

	if (groups == NULL)
		return -1;
	while (at < s->n_ranges) {
		groups[n++] = at;
		at += count_group(s, at);
	}
	groups[n] = at;
	top = write_search(s, groups, 0, n);
	free(groups);
	top = filter_writer_before(&s->out, LOAD_WORD, LOAD_NR, top);
	bad = copy(s, 2 + s->old[1].jf);
	top = filter_writer_branch(&s->out, s->old[1].code, s->old[1].k, top,
	    bad);
	filter_writer_before(&s->out, LOAD_WORD, LOAD_ARCH, top);
	return s->out.failed ? -1 : 0;
}

static int
begins_as_expected(const struct syscall_filter *f)
{
	return f->n > 2 && is_load(&f->insns[0], LOAD_ARCH) &&
	    f->insns[1].code == (BPF_JMP | BPF_JEQ | BPF_K);
}

int
filter_shorten(struct syscall_filter *f)
{
	struct shorten s = { .old = f->insns, .n_old = f->n };
	struct sock_filter *insns;
	int rv = 0;

	if (!begins_as_expected(f))
		return 0;
	s.written = calloc(f->n, sizeof *s.written);
	if (s.written == NULL || filter_writer_init(&s.out, f->n) == -1)
		rv = -1;
	else if (find_ranges(&s) == 0 && write_program(&s) == 0 &&
	    s.out.n < f->n) {
		if ((insns = filter_writer_finish(&s.out)) == NULL)
			rv = -1;
		else {
			free(f->insns);
			f->insns = insns;
			f->n = s.out.n;
		}
	}
	filter_writer_free(&s.out);
	free(s.ranges);
	free(s.written);
	if (rv == -1)
		errno = ENOMEM;
	return rv;
}
