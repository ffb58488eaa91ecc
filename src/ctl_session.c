#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

/* Sessions from a shell: adderctl session start | fork id | stop id. */

/* Calls the tool, prints the session_id that it answers with, and returns the
 * exit status. */
static int
call(const char *sock, const char *tool, json_t *arguments)
{
	struct ctl_client *client = ctl_client_open(sock);
	json_t *result = ctl_client_call(client, "tools/call",
	    json_pack("{s:s, s:o}", "name", tool, "arguments", arguments));
	const char *id = json_string_value(json_object_get(json_object_get(
	    result, "structuredContent"), "session_id"));
	const char *said = json_string_value(json_object_get(json_array_get(
	    json_object_get(result, "content"), 0), "text"));
	int failed = json_is_true(json_object_get(result, "isError"));

	ctl_client_close(&client);
	if (failed)
		fprintf(stderr, "adderctl: %s\n", said != NULL ? said :
		    "the server gave no reason");
	else if (id != NULL)
		puts(id);
	json_decref(result);
	if (fflush(stdout) != 0)
		ctl_die(CTL_EXIT_OUTPUT, "cannot write to standard output");
	return failed ? CTL_EXIT_ENDED : 0;
}

static int
start(const char *sock, int argc, char **argv)
{
	static const struct option options[] = {
		{ "dep", required_argument, NULL, 'd' },
		{ "ttl", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 }
	};
	json_t *arguments = json_object(), *packages = json_array();
	int opt;

	while ((opt = getopt_long(argc, argv, "d:t:", options, NULL)) != -1)
		switch (opt) {
		case 'd':
			json_array_append_new(packages,
			    ctl_input_argument("--dep", optarg));
			break;
		case 't':
			json_object_set_new(arguments, "ttl", json_real(
			    ctl_input_seconds("session: the ttl", optarg)));
			break;
		default:
			exit(CTL_EXIT_USAGE);
		}
	if (optind != argc)
		ctl_die(CTL_EXIT_USAGE, "session: start takes no argument, "
		    "not \"%s\"", argv[optind]);
	if (json_array_size(packages) > 0)
		json_object_set(arguments, "dependencies", packages);
	json_decref(packages);
	return call(sock, "sandbox_initialize", arguments);
}

static int
with_id(const char *sock, const char *tool, int argc, char **argv)
{
	if (argc != 2)
		ctl_die(CTL_EXIT_USAGE, "session: %s needs one session_id, "
		    "as start printed it", argv[0]);
	return call(sock, tool, json_pack("{s:o}", "session_id",
	    ctl_input_argument(argv[0], argv[1])));
}

int
ctl_session(const char *sock, int argc, char **argv)
{
	if (argc < 2)
		ctl_die(CTL_EXIT_USAGE, "session: say start, fork or stop");
	if (strcmp(argv[1], "start") == 0) {
		argv[1] = argv[0];	/* what getopt(3) names */
		return start(sock, argc - 1, argv + 1);
	}
	if (strcmp(argv[1], "fork") == 0)
		return with_id(sock, "sandbox_fork", argc - 1, argv + 1);
	if (strcmp(argv[1], "stop") == 0)
		return with_id(sock, "sandbox_stop", argc - 1, argv + 1);
	ctl_die(CTL_EXIT_USAGE, "session: say start, fork or stop, not "
	    "\"%s\"", argv[1]);
}
