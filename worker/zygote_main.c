#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "mem.h"
#include "proto.h"
#include "zygote.h"
#include "zygote_fds.h"

/*
 * adder-zygote: started by the keeper, never by hand.  Standard error is
 * the log, descriptor 3 the control socket.  Everything that Python will
 * take from its surroundings is settled here, before it starts.
 */

static const struct option options[] = {
	{ "generation",	required_argument, NULL, 'g' },
	{ "python-env",	required_argument, NULL, 'p' },
	{ "modules",	required_argument, NULL, 'm' },
	{ "warm-file",	required_argument, NULL, 'w' },
	{ "scratch",	required_argument, NULL, 's' },
	{ "deps-dir",	required_argument, NULL, 'D' },
	{ "layers",	required_argument, NULL, 'l' },
	{ "uid-base",	required_argument, NULL, 'u' },
	{ "processes",	no_argument,	   NULL, 'P' },
	{ "compact",	no_argument,	   NULL, 'c' },
	{ "prefault",	no_argument,	   NULL, 'F' },
	{ "debug",	no_argument,	   NULL, 'd' },
	{ NULL, 0, NULL, 0 }
};

static void	usage(void) __attribute__((noreturn));

static void
usage(void)
{
	fprintf(stderr, "usage: adder-zygote --generation N --scratch DIR\n"
	    "    [--python-env DIR] [--modules a,b,c] [--warm-file FILE]\n"
	    "    [--layers a,b,c] [--uid-base N] [--processes] [--compact]\n"
	    "    [--prefault] [--deps-dir DIR] [--debug]\n"
	    "adderd starts this program, with its control socket as "
	    "descriptor %d.\n", ZYGOTE_FD_CONTROL);
	exit(2);
}

static int
parse_options(int argc, char **argv, struct zygote_options *o)
{
	int ch, debug = 0;
	const char *bad;
	size_t len;

	while ((ch = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (ch) {
		case 'g':
			o->generation = strtoull(optarg, NULL, 10);
			break;
		case 'p':
			o->python_env = optarg;
			break;
		case 'm':
			o->modules = optarg;
			break;
		case 'w':
			o->warm_file = optarg;
			break;
		case 's':
			o->scratch = optarg;
			break;
		case 'D':
			o->deps_dir = optarg;
			break;
		case 'l':
			if (jail_set_parse(optarg, &o->layers, &bad, &len) ==
			    -1)
				fatalx("--layers: no layer %s", bad);
			break;
		case 'u':
			o->uid_base = strtoul(optarg, NULL, 10);
			break;
		case 'P':
			o->processes = 1;
			break;
		case 'c':
			o->compact = 1;
			break;
		case 'F':
			o->prefault = 1;
			break;
		case 'd':
			debug = 1;
			break;
		default:
			usage();
		}
	if (o->scratch == NULL || optind != argc)
		usage();
	return debug;
}

/* See zygote_fds.h; nothing else stays open. */
static void
reserve_fds(void)
{
	int fd, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null == -1)
		fatal("/dev/null");
	if (dup2(null, STDIN_FILENO) == -1 ||
	    dup2(STDERR_FILENO, STDOUT_FILENO) == -1 ||
	    dup3(STDERR_FILENO, ZYGOTE_FD_LOG, O_CLOEXEC) == -1)
		fatal("reserving descriptors");
	for (fd = ZYGOTE_FD_CONTROL + 1; fd < ZYGOTE_FD_LOG; fd++)
		if (fd != null && dup3(null, fd, O_CLOEXEC) == -1)
			fatal("reserving descriptor %d", fd);
	if (fcntl(ZYGOTE_FD_CONTROL, F_SETFD, FD_CLOEXEC) == -1)
		fatal("control socket at descriptor %d", ZYGOTE_FD_CONTROL);
	if (close_range(ZYGOTE_FD_RESERVED, ~0U, 0) == -1)
		fatal("closing other descriptors");
}

/* What CPython expects of the process that starts it. */
static void
reset_signals(void)
{
	sigset_t none;
	int sig;

	for (sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void
put_env(const char *name, const char *value)
{
	if (setenv(name, value, 1) == -1)
		fatal("environment");
}

/* Matplotlib writes a font cache once, and then only reads it. */
static void
put_mplconfig(const struct zygote_options *o)
{
	char *dir;

	xasprintf(&dir, "%s/matplotlib", o->scratch);
	if (mkdir(dir, 0755) == -1 && errno != EEXIST)
		fatal("%s", dir);
	put_env("MPLCONFIGDIR", dir);
	free(dir);
}

static void
put_path(const struct zygote_options *o)
{
	char *path;

	xasprintf(&path, "%s%s/usr/local/bin:/usr/bin:/bin", o->python_env,
	    *o->python_env == '\0' ? "" : "/bin:");
	put_env("PATH", path);
	free(path);
}

/* One thread in each numeric library: a fork copies only the one that
 * forks, and OpenBLAS and OpenMP do not survive losing theirs. */
static void
make_environment(const struct zygote_options *o)
{
	static const char *const threads[] = { "OPENBLAS_NUM_THREADS",
	    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
	    "VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS" };
	const char *tz = getenv("TZ");
	char *zone = xstrdup(tz == NULL || *tz == '\0' ? "UTC" : tz);
	size_t i;

	clearenv();
	put_env("TZ", zone);
	put_env("LANG", "C.UTF-8");
	put_env("HOME", "/nonexistent");
	put_env("MPLBACKEND", "Agg");
	put_path(o);
	put_mplconfig(o);
	for (i = 0; i < sizeof threads / sizeof threads[0]; i++)
		put_env(threads[i], "1");
	free(zone);
}

int
main(int argc, char **argv)
{
	struct zygote_options o = { .python_env = "", .modules = "",
	    .warm_file = "", .deps_dir = "" };
	pid_t parent = getppid();
	char *scratch;

	log_init("adder-zygote", LOG_LEVEL_INFO);
	if (parse_options(argc, argv, &o))
		log_set_level(LOG_LEVEL_DEBUG);
	scratch = realpath(o.scratch, NULL);
	if (scratch == NULL)
		fatal("scratch directory %s", o.scratch);
	o.scratch = scratch;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1)
		fatal("parent death signal");
	if (getppid() != parent)
		return 1;	/* the keeper died meanwhile */
	reserve_fds();
	reset_signals();
	/* Two malloc arenas, or RLIMIT_AS allows a job only a few threads. */
	mallopt(M_ARENA_MAX, 2);
	make_environment(&o);
	return zygote_run(&o);
}
