#include "config.h"

#include "pycompat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "caps.h"
#include "clock.h"
#include "compact.h"
#include "fdpass.h"
#include "fdutil.h"
#include "holes.h"
#include "interp.h"
#include "log.h"
#include "mem.h"
#include "msg.h"
#include "namespaces.h"
#include "preload.h"
#include "root.h"
#include "runtime.h"
#include "runtime_private.h"
#include "sandbox.h"
#include "spawn.h"
#include "zygote.h"
#include "zygote_child.h"
#include "zygote_early.h"
#include "zygote_jail.h"
#include "zygote_settle.h"

/* Address space that a program may reserve, in times its memory limit,
 * where something else holds what it touches. */
#define RESERVE_FACTOR	3

/* Descriptors that travel with WORKER_FORK, in this order. */
enum { FD_JOB, FD_STDOUT, FD_STDERR, FORK_FDS };

static const struct zygote_options *opt;
static struct zygote_jail jail;
static char	*packages;	/* "name version\n" lines */
static char	**directories;	/* that imports come from, for the jail */
static uint64_t	vm_size;	/* address space before any job, bytes */
static uint64_t	resident;	/* resident set then, bytes */

/* Pages of address space and resident, as bytes (statm of proc(5)). */
static void
memory_size(uint64_t *size, uint64_t *rss)
{
	unsigned long long pages[2] = { 0, 0 };
	FILE *fp = fopen("/proc/self/statm", "re");

	if (fp != NULL) {
		if (fscanf(fp, "%llu %llu", &pages[0], &pages[1]) != 2)
			log_warnx("/proc/self/statm cannot be read");
		fclose(fp);
	}
	*size = pages[0] * sysconf(_SC_PAGESIZE);
	*rss = pages[1] * sysconf(_SC_PAGESIZE);
}

static int
answer(struct writer *w, const int *fds, int nfds)
{
	int rv = control_send(ZYGOTE_FD_CONTROL, w, fds, nfds);

	if (rv == -1)
		log_warn("answer to the keeper");
	wr_free(w);
	return rv;
}

static unsigned long long
ms_since(uint64_t start)
{
	return (clock_us() - start) / 1000;
}

static void
note_memory(void)
{
	memory_size(&vm_size, &resident);
}

static int
send_ready(uint64_t import_ms)
{
	struct msg_ZYGOTE_READY m = { .generation = opt->generation,
	    .pid = getpid(), .import_ms = import_ms };
	char layers[512];
	struct writer w;

	m.rss_kib = resident / KIB;
	m.python = slice_of(PY_VERSION);
	m.packages = slice_of(packages);
	m.sessions = zygote_jail_has_sessions(&jail);
	m.layers = slice_of(jail_set_format(jail.layers, layers,
	    sizeof layers));
	/* The list must not keep a zygote from serving. */
	while (frame_rule(FRAME_ZYGOTE_READY, ZYGOTE_TO_KEEPER,
	    m.packages.len + KIB) != NULL)
		m.packages.len /= 2;
	msg_encode_ZYGOTE_READY(&w, &m);
	return answer(&w, NULL, 0);
}

static int	serve(void);

static int
fail(char *why)
{
	log_errorx("zygote %llu cannot serve: %s",
	    (unsigned long long)opt->generation, why);
	free(why);
	return 1;
}

static int
refuse(uint64_t worker, const char *what, int err)
{
	struct msg_WORKER_REFUSED m = { .worker = worker };
	struct writer w;
	char *reason;
	int rv;

	xasprintf(&reason, "%s: %s", what, strerror(err));
	log_warnx("worker %llu: %s", (unsigned long long)worker, reason);
	m.reason = slice_of(reason);
	msg_encode_WORKER_REFUSED(&w, &m);
	rv = answer(&w, NULL, 0);
	free(reason);
	return rv;
}

static int
forked(uint64_t worker, pid_t pid, int pidfd)
{
	struct msg_WORKER_FORKED m = { .worker = worker, .pid = pid };
	struct writer w;
	int rv;

	msg_encode_WORKER_FORKED(&w, &m);
	rv = answer(&w, &pidfd, 1);
	close(pidfd);
	return rv;
}

static int
fork_worker(const struct msg_WORKER_FORK *m, const int *fds)
{
	struct sandbox s = { .fd_job = fds[FD_JOB],
	    .fd_stdout = fds[FD_STDOUT], .fd_stderr = fds[FD_STDERR],
	    .keeper = getppid(), .jail = &jail, .base_as = vm_size,
	    .uid = jail.uid_base + m->worker % JAIL_UIDS_WORKERS,
	    .limits = m->limits, .ended = runtime_ended,
	    .session = m->session };
	uint64_t now = clock_us();
	int pidfd = -1, err;
	pid_t pid;

	/* The control group holds memory; what a program only reserves, as
	 * under plain CPython, need not be there. */
	if (jail.layers & JAIL_BIT(JAIL_CGROUP))
		s.base_as += RESERVE_FACTOR * m->limits.memory;
	if (jail.layers & JAIL_BIT(JAIL_MOUNT))
		strcpy(s.scratch, JAIL_SCRATCH);
	else if ((size_t)snprintf(s.scratch, sizeof s.scratch, "%s/%llu",
	    opt->scratch, (unsigned long long)m->worker) >= sizeof s.scratch)
		return refuse(m->worker, "scratch directory", ENAMETOOLONG);
	/* Python is not told: see afterfork.h. */
	pid = spawn_worker(namespaces_worker_flags(jail.layers), &pidfd);
	if (pid == 0 && s.session)
		runtime_session(&s, now);
	if (pid == 0)
		runtime_main(&s, now);
	err = errno;
	if (pid == -1)
		return refuse(m->worker, "fork failed", err);
	return forked(m->worker, pid, pidfd);
}

/* In the fork: the zygote of an environment, to its end. */
static int
live_as_child(const struct msg_ZYGOTE_FORK *m, const int *fds)
{
	static struct zygote_options child;
	struct zygote_memory memory;
	uint64_t start = clock_us();
	char *why;

	child = *opt;
	child.generation = m->child;
	child.deps_dir = "";
	opt = &child;
	if (zygote_child_become(&jail, m, fds, &memory, &why) == -1)
		return fail(why);
	vm_size = memory.size;
	resident = memory.resident;
	free(packages);
	packages = xstrdup("");
	if (send_ready((clock_us() - start) / 1000) == -1)
		return 1;
	return serve();
}

static int
fork_zygote(const struct msg_ZYGOTE_FORK *m, const int *fds)
{
	int pidfd = -1;
	pid_t pid;

	pid = spawn_worker(0, &pidfd);
	if (pid == 0)
		_exit(live_as_child(m, fds));
	if (pid == -1)
		log_warn("zygote %llu: fork", (unsigned long long)m->child);
	return zygote_say_forked(m->child, pid == -1 ? 0 : pid, pidfd);
}

static int
serve_zygote_fork(const struct frame *f, const int *fds, int nfds)
{
	struct msg_ZYGOTE_FORK m;
	char why[MSG_WHY_BYTES];

	if (msg_decode_ZYGOTE_FORK(f, &m, why) == -1) {
		log_warnx("control: ZYGOTE_FORK: %s", why);
		return -1;
	}
	if (m.path.len == 0)	/* an early one, asked for too late */
		return zygote_say_forked(m.child, 0, -1);
	if (m.generation != opt->generation || nfds != CHILD_FDS ||
	    opt->deps_dir[0] == '\0') {
		log_warnx("control: ZYGOTE_FORK is not for this zygote");
		return -1;
	}
	return fork_zygote(&m, fds);
}

/* One packet of the keeper's.  0 to go on, -1 to end. */
static int
serve_packet(const struct frame *f, const int *fds, int nfds)
{
	struct msg_WORKER_FORK m;
	char why[MSG_WHY_BYTES];

	if (f->type == FRAME_ZYGOTE_FORK)
		return serve_zygote_fork(f, fds, nfds);
	if (f->type != FRAME_WORKER_FORK) {
		log_warnx("control: %s is not for a zygote",
		    frame_name(f->type));
		return -1;
	}
	if (msg_decode_WORKER_FORK(f, &m, why) == -1) {
		log_warnx("control: WORKER_FORK: %s", why);
		return -1;
	}
	if (m.generation != opt->generation)
		return refuse(m.worker, "request for another generation",
		    ESTALE);
	if (nfds != FORK_FDS)
		return refuse(m.worker, "three descriptors are needed",
		    EINVAL);
	return fork_worker(&m, fds);
}

static int
serve(void)
{
	static char buf[CONTROL_FRAME_MAX];
	int fds[FRAME_FDS_MAX], nfds, rv;
	const char *why;
	struct frame f;

	do {
		rv = control_recv(ZYGOTE_FD_CONTROL, KEEPER_TO_ZYGOTE, buf,
		    &f, fds, &nfds, &why);
		if (rv == 0)
			return 0;	/* the keeper is gone, or wants us to */
		if (rv == -1) {
			if (why != NULL)
				log_warnx("control: %s", why);
			else
				log_warn("control");
			return 1;
		}
		rv = serve_packet(&f, fds, nfds);
		while (nfds > 0)
			close(fds[--nfds]);
	} while (rv == 0);
	return 1;
}

static int
prepare_jail(char **why)
{
	jail.layers = opt->layers;
	jail.uid_base = opt->uid_base;
	jail.processes = opt->processes;
	jail.deps_dir = opt->deps_dir;
	return zygote_jail_prepare(&jail, why);
}

/* The directories that imports come from stay readable. */
static int
enter_jail(char **why)
{
	/* Before /proc is gone. */
	note_memory();
	return zygote_jail_enter(&jail, (const char *const *)directories,
	    opt->scratch, why);
}

static int
compact_memory(void)
{
	struct compact_result r;
	const char *step;

	if (!opt->compact)
		return -1;
	if (compact(&r, &step) == -1) {
		log_warn("memory is not compacted, so that forks are slower "
		    "(zygote.compact): %s", step);
		return -1;
	}
	log_info("memory compacted: %zu mappings before, %zu after, %zu MiB",
	    r.mappings_before, r.mappings_after, r.bytes >> 20);
	return 0;
}

static int
look(char **why)
{
	FILE *status = fopen("/proc/self/status", "re");
	FILE *maps = fopen("/proc/self/maps", "re");
	int rv = preload_verify(status, maps, why);

	if (status != NULL)
		fclose(status);
	if (maps != NULL)
		fclose(maps);
	return rv == -1 ? -1 : preload_verify_fds(why);
}

/* Garbage may hold what is in the way. */
static int
verify(char **why)
{
	if (look(why) == 0)
		return 0;
	free(*why);
	preload_collect();
	return look(why);
}

/* All that is done in Python; what is made here is older than the freeze of
 * the garbage collector, so that a worker's collections stay small. */
static int
prepare_python(char **why)
{
	if (preload_hook_figures(why) == -1)
		return -1;
	/* The list is long in the making, and that of an early zygote is
	 * asked for by nobody. */
	packages = opt->early ? xstrdup("") : preload_packages();
	directories = preload_directories();
	if (runtime_init() == -1) {
		*why = interp_take_error();
		return -1;
	}
	if (preload_settle(!opt->early, why) == -1 ||
	    zygote_settle(opt->layers, why) == -1)
		return -1;
	return verify(why);
}

/* What makes each fork faster, and all of them wait. */
static void
prepare_memory(void)
{
	log_debug("%zu KiB of holes in the memory filled",
	    holes_fill() / KIB);
	if (compact_memory() == 0 && opt->prefault)
		runtime_rehearse();
}

/* All before the first fork; start: clock_us() when it began. */
static int
prepare(uint64_t start, char **why)
{
	if (interp_start(opt->python_env, why) == -1 ||
	    preload(opt->modules, why) == -1)
		return -1;
	log_debug("imported after %llu ms", ms_since(start));
	/* In both of them, if there are two from now on. */
	opt = zygote_early_fork(opt);
	if (!opt->early) {
		preload_warm(opt->warm_file);
		log_debug("warmed up after %llu ms", ms_since(start));
	}
	if (prepare_python(why) == -1 || prepare_jail(why) == -1)
		return -1;
	log_debug("settled after %llu ms", ms_since(start));
	if (!opt->early)
		prepare_memory();
	return enter_jail(why);
}

int
zygote_run(const struct zygote_options *o)
{
	uint64_t start = clock_us();
	char *why;

	opt = o;
	if (spawn_init() == -1) {
		log_warn("neither the kernel (prctl PR_GET_TID_ADDRESS) nor "
		    "the C library tells where the thread id is kept, "
		    "without which workers cannot be forked");
		return 1;
	}
	if (prepare(start, &why) == -1)
		return fail(why);
	if (send_ready(ms_since(start)) == -1)
		return 1;
	return serve();
}
