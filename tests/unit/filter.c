#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "filter_shorten.h"
#include "filter_writer.h"
#include "syscall_filter.h"
#include "unit.h"

/* What the kernel does with the instructions that a filter of ours has. */
static uint32_t
answer(const struct syscall_filter *f, const struct seccomp_data *data)
{
	const struct sock_filter *i;
	uint32_t a = 0;
	unsigned pc;

	for (pc = 0; pc < f->n; pc++) {
		i = &f->insns[pc];
		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(i->k % 4 == 0 && i->k < sizeof *data);
			memcpy(&a, (const char *)data + i->k, sizeof a);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			pc += a > i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= i->k ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			fail_msg("an instruction %#x", i->code);
		}
	}
	fail_msg("the end of a program");
	return 0;
}

static void
expect_same(const struct syscall_filter *a, const struct syscall_filter *b,
    const struct seccomp_data *data)
{
	uint32_t x = answer(a, data), y = answer(b, data);

	if (x != y)
		fail_msg("call %d arch %#x args %#llx %#llx %#llx: %#x, %#x",
		    data->nr, data->arch, data->args[0], data->args[1],
		    data->args[2], x, y);
}

/* Values that the rules ask about, and what is near them. */
static uint64_t
some_argument(uint32_t *seed, const struct syscall_filter *f)
{
	uint64_t v = f->insns[unit_random(seed) % f->n].k;

	switch (unit_random(seed) % 5) {
	case 0:
		return v;
	case 1:
		return v + unit_random(seed) % 3 - 1;
	case 2:
		return v | (uint64_t)unit_random(seed) << 32;
	case 3:
		return unit_random(seed) % 64;
	default:
		return 1ull << unit_random(seed) % 64;
	}
}

static void
compare_all(const struct syscall_filter *a, const struct syscall_filter *b,
    uint32_t arch)
{
	struct seccomp_data data = { .arch = arch };
	static const uint32_t numbers[] = { 0, 1023, 0x3fffffff, 0x40000000,
	    0x40000001, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff };
	uint32_t seed = 20;
	size_t i;
	int k;

	for (i = 0; i < NITEMS(numbers); i++) {
		data.nr = numbers[i];
		expect_same(a, b, &data);
	}
	for (data.nr = 0; data.nr < 600; data.nr++)
		for (i = 0; i < 300; i++) {
			for (k = 0; k < 6; k++)
				data.args[k] = some_argument(&seed, a);
			expect_same(a, b, &data);
		}
	data.arch ^= 0x40;
	for (data.nr = 0; data.nr < 600; data.nr++)
		expect_same(a, b, &data);
}

static void
free_filter(struct syscall_filter *f)
{
	filter_free(f);
	assert_null(f->insns);
}

static void
compare_policy(const struct filter_options *o)
{
	struct syscall_filter lengthy, brief;

	assert_int_equal(filter_compile(o, &lengthy), 0);
	assert_int_equal(filter_build(o, &brief), 0);
	assert_true(brief.n * 3 < lengthy.n * 2);
	compare_all(&lengthy, &brief, lengthy.insns[1].k);
	filter_patch_pid(&lengthy, 1);
	filter_patch_pid(&brief, 1);
	compare_all(&lengthy, &brief, lengthy.insns[1].k);
	free_filter(&lengthy);
	free_filter(&brief);
}

/* Every policy that there is, and a worker's with each of its switches. */
static void
test_policies(void **state)
{
	static const enum filter_role roles[] = { FILTER_WORKER, FILTER_STATE,
	    FILTER_LEADER };
	struct filter_options o;
	size_t i;
	int bits;

	for (i = 0; i < NITEMS(roles); i++)
		for (bits = 0; bits < 16; bits++) {
			memset(&o, 0, sizeof o);
			o.role = roles[i];
			o.processes = bits & 1;
			o.own_pid_ns = bits >> 1 & 1;
			o.own_root = bits >> 2 & 1;
			o.memory_cgroup = bits >> 3 & 1;
			compare_policy(&o);
		}
	for (bits = 0; bits < 4; bits++) {
		memset(&o, 0, sizeof o);
		o.zygote = bits & 1;
		o.installer = !o.zygote;
		o.network = o.installer && bits >> 1;
		compare_policy(&o);
	}
}

/* What is known of a worker's policy, asked of the short program alone. */
static void
test_what_a_worker_may(void **state)
{
	enum { ALLOW = SECCOMP_RET_ALLOW, TRAP = SECCOMP_RET_TRAP,
	    ERRNO = SECCOMP_RET_ERRNO };
	static const struct {
		struct seccomp_data	data;
		uint32_t		answer;
	} known[] = {
		{ { .nr = SYS_read }, ALLOW },
		{ { .nr = SYS_mmap }, ALLOW },
		{ { .nr = SYS_ptrace }, TRAP },
		{ { .nr = SYS_mount }, TRAP },
		{ { .nr = SYS_bpf }, TRAP },
		{ { .nr = SYS_clone3 }, ERRNO | ENOSYS },
		{ { .nr = SYS_clone, .args = { SIGCHLD } }, ERRNO | EPERM },
		{ { .nr = SYS_clone, .args = { CLONE_THREAD } }, ALLOW },
		{ { .nr = SYS_clone, .args = { CLONE_THREAD | CLONE_NEWUSER } },
		    TRAP },
		{ { .nr = SYS_fcntl, .args = { 0, F_GETFD } }, ALLOW },
		{ { .nr = SYS_fcntl, .args = { 0, F_SETOWN } }, TRAP },
		{ { .nr = SYS_ioctl, .args = { 0, FIONREAD } }, ALLOW },
		{ { .nr = SYS_ioctl, .args = { 0, TIOCSTI } }, TRAP },
		{ { .nr = SYS_kill, .args = { 1, SIGTERM } }, TRAP },
#ifdef __x86_64__
		{ { .nr = 0x40000000 | SYS_read }, SECCOMP_RET_KILL_PROCESS },
#endif
	};
	struct filter_options o = { .own_pid_ns = 1 };
	struct seccomp_data data;
	struct syscall_filter f;
	size_t i;

	assert_int_equal(filter_build(&o, &f), 0);
	filter_patch_pid(&f, 1);
	for (i = 0; i < NITEMS(known); i++) {
		data = known[i].data;
		data.arch = f.insns[1].k;
		assert_int_equal(answer(&f, &data), known[i].answer);
		data.arch = ~data.arch;
		assert_int_equal(answer(&f, &data), SECCOMP_RET_KILL_PROCESS);
	}
	free_filter(&f);
}

/* A program that is not understood is left alone. */
static void
test_other_shapes(void **state)
{
	static const struct sock_filter any[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 7, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};
	struct syscall_filter f;
	unsigned n;

	for (n = 1; n <= NITEMS(any); n++) {
		f.n = n;
		f.insns = malloc(n * sizeof *f.insns);
		memcpy(f.insns, any, n * sizeof *f.insns);
		assert_int_equal(filter_shorten(&f), 0);
		assert_int_equal(f.n, n);
		assert_memory_equal(f.insns, any, n * sizeof *f.insns);
		free_filter(&f);
	}
}

/* Further than a branch can go. */
static void
test_far(void **state)
{
	struct filter_writer w;
	struct seccomp_data data = { .nr = 0 };
	struct syscall_filter f;
	unsigned ends[2], top, i;

	assert_int_equal(filter_writer_init(&w, 2000), 0);
	ends[0] = filter_writer_return(&w, SECCOMP_RET_ALLOW);
	ends[1] = filter_writer_before(&w, BPF_LD | BPF_W | BPF_ABS, 0,
	    filter_writer_return(&w, SECCOMP_RET_TRAP));
	top = filter_writer_return(&w, SECCOMP_RET_KILL_PROCESS);
	for (i = 0; i < 600; i++)
		top = filter_writer_branch(&w, BPF_JMP | BPF_JEQ | BPF_K, i,
		    ends[i % 2], top);
	filter_writer_before(&w, BPF_LD | BPF_W | BPF_ABS, 0, top);
	assert_false(w.failed);
	f.n = w.n;
	f.insns = filter_writer_finish(&w);
	filter_writer_free(&w);
	for (data.nr = 0; data.nr < 600; data.nr++)
		assert_int_equal(answer(&f, &data), data.nr % 2 ?
		    SECCOMP_RET_TRAP : SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&f, &data), SECCOMP_RET_KILL_PROCESS);
	free_filter(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_what_a_worker_may),
		cmocka_unit_test(test_other_shapes),
		cmocka_unit_test(test_far),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
