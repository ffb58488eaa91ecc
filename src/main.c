#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf.h"
#include "http_access.h"
#include "installer.h"
#include "keeper_guard.h"
#include "log.h"
#include "mem.h"
#include "server.h"
#include "stdio_fds.h"
#include "system_names.h"

#define DEFAULT_FILE	ADDER_SYSCONFDIR "/adder/adderd.conf"

/* Exit statuses, as in adderd(8). */
#define EXIT_RUNTIME	1
#define EXIT_USAGE	2

struct command {
	struct server_options	 server;
	const char		**overrides;	/* NULL-terminated */
	size_t			 noverrides;
	int			 check;
	int			 dump;
};

static const char	usage_text[] =
    "usage: adderd [-dnT] [-f file] [-o key=value] [--stdio]\n"
    "       adderd -h | -V | --sample-conf\n";

static const char	help_text[] =
    "  -f file       configuration file (" DEFAULT_FILE " if it exists;\n"
    "                with --stdio, none)\n"
    "  -o key=value  sets a key of the configuration; may be repeated\n"
    "  -n            checks the configuration and ends\n"
    "  -T            prints the effective configuration and ends\n"
    "  -d            logs everything\n"
    "  -h            prints this and ends\n"
    "  -V            prints the version and ends\n"
    "  --stdio       serves the client on standard input and output\n"
    "  --sample-conf prints every key with its default and ends\n"
    "See adderd(8) and adderd.conf(5).\n";

static void
add_override(struct command *c, const char *text)
{
	c->overrides = xreallocarray(c->overrides, c->noverrides + 2,
	    sizeof *c->overrides);
	c->overrides[c->noverrides++] = text;
	c->overrides[c->noverrides] = NULL;
}

/* -1 to go on, or an exit status. */
static int
parse(int argc, char **argv, struct command *c)
{
	enum { OPT_STDIO = 256, OPT_SAMPLE, OPT_FIXTURES };
	static const struct option options[] = {
		{ "stdio", no_argument, NULL, OPT_STDIO },
		{ "sample-conf", no_argument, NULL, OPT_SAMPLE },
		{ "conformance-fixtures", no_argument, NULL, OPT_FIXTURES },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "df:hno:TV", options,
	    NULL)) != -1)
		switch (opt) {
		case 'd':
			c->server.debug = 1;
			break;
		case 'f':
			c->server.file = optarg;
			break;
		case 'h':
			printf("%s%s", usage_text, help_text);
			return 0;
		case 'n':
			c->check = 1;
			break;
		case 'o':
			add_override(c, optarg);
			break;
		case 'T':
			c->dump = 1;
			break;
		case 'V':
			puts("adder " PACKAGE_VERSION);
			return 0;
		case OPT_STDIO:
			c->server.stdio = 1;
			break;
		case OPT_FIXTURES:
			c->server.fixtures = 1;
			break;
		case OPT_SAMPLE:
			conf_sample(stdout);
			return 0;
		default:
			fputs(usage_text, stderr);
			return EXIT_USAGE;
		}
	if (optind == argc)
		return -1;
	fprintf(stderr, "adderd: unexpected argument \"%s\"\n%s",
	    argv[optind], usage_text);
	return EXIT_USAGE;
}

/*
 * A client that starts us on a pipe must not meet the sockets of a daemon
 * that the system's file describes, so --stdio reads no file by itself.
 */
static void
choose_file(struct command *c)
{
	if (c->server.file == NULL && !c->server.stdio &&
	    access(DEFAULT_FILE, F_OK) == 0)
		c->server.file = DEFAULT_FILE;
}

/* What -n should find too: tokens that are missing or wrong. */
static int
check_access(const struct conf *conf)
{
	struct http_access *access;
	char *why;

	access = http_access_new(conf, &why);
	if (access == NULL) {
		fprintf(stderr, "adderd: %s\n", why);
		free(why);
		return -1;
	}
	http_access_free(&access);
	return 0;
}

/* And users and groups that there are none of. */
static int
check_names(const struct conf *conf)
{
	char *why;

	if (system_names_check(conf, &why) == 0)
		return 0;
	fprintf(stderr, "adderd: %s\n", why);
	free(why);
	return -1;
}

static int
run(struct command *c)
{
	struct conf *conf;
	char *why;

	choose_file(c);
	c->server.overrides = c->overrides;
	conf = conf_load(c->server.file, c->overrides, &why);
	if (conf == NULL) {
		fprintf(stderr, "adderd: %s\n", why);
		free(why);
		return EXIT_USAGE;
	}
	if (check_access(conf) == -1 || check_names(conf) == -1) {
		conf_unref(&conf);
		return EXIT_USAGE;
	}
	if (c->dump)
		conf_dump(conf, stdout);
	if (c->dump || c->check) {
		conf_unref(&conf);
		return fflush(stdout) == 0 ? 0 : EXIT_RUNTIME;
	}
	if (!c->server.stdio && conf->listen_unix[0] == '\0' &&
	    conf->listen_tcp[0] == '\0' && conf->listen_http[0] == '\0') {
		fputs("adderd: there is nothing to serve: set listen.unix, "
		    "listen.tcp or listen.http, or use --stdio\n", stderr);
		conf_unref(&conf);
		return EXIT_USAGE;
	}
	return server_run(conf, &c->server);
}

int
main(int argc, char **argv)
{
	struct command c = { .check = 0 };
	int status;

	/* What is made for others must be theirs to enter; each thing that is
	 * not for others says so by its mode. */
	umask(022);
	/* Keeper and installer are this program, executed again with
	 * descriptors of their own; they must not be touched first. */
	if (argc >= 2 && strcmp(argv[1], "--keeper") == 0)
		return keeper_main(argc >= 3 && strcmp(argv[2], "-d") == 0);
	if (argc >= 2 && strcmp(argv[1], "--installer") == 0)
		return installer_main(argc - 2, argv + 2);
	stdio_fds_secure();
	log_init("adderd", LOG_LEVEL_INFO);
	status = parse(argc, argv, &c);
	if (status == -1)
		status = run(&c);
	free(c.overrides);
	return status;
}
