/*
 * adderctl: a client for people and scripts.  It talks MCP to the Unix
 * socket of adderd, like any other client, and knows one method more,
 * adder/status.
 */
#include "config.h"

#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"

#define DEFAULT_SOCKET	"/run/adder/adderd.sock"

static const struct command {
	const char	*name;
	const char	*synopsis;
	int		(*run)(const char *sock, int argc, char **argv);
} commands[] = {
	{ "doctor", "doctor [--json] [--own [-- adderd-option ...]]",
	    ctl_doctor },
	{ "run", "run [-i] [-d package]... [-f file[:name]]... [-o dir]\n"
	    "                    [-S session_id] [-t seconds] file | -",
	    ctl_run },
	{ "session", "session start [-d package]... [-t seconds] |\n"
	    "                    fork session_id | stop session_id",
	    ctl_session },
	{ "status", "status [--json]", ctl_status },
};

#define NCOMMANDS	(sizeof commands / sizeof commands[0])

void
ctl_die(int status, const char *fmt, ...)
{
	va_list ap;

	fputs("adderctl: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	/* What is allocated is the system's now, and no leak. */
	fflush(stdout);
	_exit(status);
}

static void
print_usage(FILE *out)
{
	size_t i;

	fputs("usage: adderctl -h | -V\n", out);
	for (i = 0; i < NCOMMANDS; i++)
		fprintf(out, "       adderctl [-s socket] %s\n",
		    commands[i].synopsis);
}

static void __attribute__((noreturn))
usage(void)
{
	print_usage(stderr);
	exit(CTL_EXIT_USAGE);
}

static const struct command *
find_command(const char *name)
{
	size_t i;

	for (i = 0; i < NCOMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	fprintf(stderr, "adderctl: there is no command \"%s\"\n", name);
	usage();
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	const char *sock = getenv("ADDER_SOCKET");
	const struct command *command;
	static char name[32];
	int opt;

	if (sock == NULL || *sock == '\0')
		sock = DEFAULT_SOCKET;
	/* "+": options after the command belong to the command. */
	while ((opt = getopt_long(argc, argv, "+hs:V", options,
	    NULL)) != -1) {
		switch (opt) {
		case 'h':
			print_usage(stdout);
			puts("The socket is " DEFAULT_SOCKET ", or what "
			    "ADDER_SOCKET says; see adderctl(8).");
			return 0;
		case 's':
			sock = optarg;
			break;
		case 'V':
			puts(PACKAGE_STRING);
			return 0;
		default:
			usage();
		}
	}
	if (optind == argc)
		usage();
	command = find_command(argv[optind]);
	argc -= optind;
	argv += optind;
	/* getopt(3) puts it before what it says of an option. */
	snprintf(name, sizeof name, "adderctl: %s", command->name);
	argv[0] = name;
	optind = 0;		/* glibc: start over with another argv */
	/* A server that goes away is an error message, not a signal. */
	signal(SIGPIPE, SIG_IGN);
	return command->run(sock, argc, argv);
}
