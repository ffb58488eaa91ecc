#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"

/* adderd beside this program, as in a build tree, else the installed one. */
static const char *
find_adderd(char *buf, size_t size)
{
	char *slash;
	ssize_t n = readlink("/proc/self/exe", buf, size - 8);

	buf[n > 0 ? n : 0] = '\0';
	slash = strrchr(buf, '/');
	if (slash != NULL) {
		strcpy(slash + 1, "adderd");
		if (access(buf, X_OK) == 0)
			return buf;
	}
	return ADDER_SBINDIR "/adderd";
}

/* A server of our own, that serves whatever its jail is worth: the report
 * is what is wanted. */
static struct ctl_client *
start_own(int argc, char **argv)
{
	char path[PATH_MAX], *args[32];
	int i, n = 0;

	args[n++] = (char *)find_adderd(path, sizeof path);
	args[n++] = (char *)"--stdio";
	args[n++] = (char *)"-o";
	args[n++] = (char *)"sandbox.mode=off";
	args[n++] = (char *)"-o";
	args[n++] = (char *)"log.level=error";
	for (i = 0; i < argc && n < 31; i++)
		args[n++] = argv[i];
	args[n] = NULL;
	return ctl_client_spawn(args);
}

/* The report, when the self-test has come to its end. */
static json_t *
wait_for_report(struct ctl_client *client)
{
	json_t *report;

	for (;;) {
		report = ctl_client_call(client, "adder/doctor",
		    json_object());
		if (json_is_true(json_object_get(report, "complete")))
			return report;
		json_decref(report);
		poll(NULL, 0, 50);
	}
}

static const char *
text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s != NULL ? s : "";
}

static void
print_layers(const json_t *report)
{
	json_t *one;
	size_t i;

	json_array_foreach(json_object_get(report, "layers"), i, one) {
		printf("  %-14s %s", text(one, "layer"), text(one, "state"));
		if (strcmp(text(one, "layer"), "landlock") == 0 &&
		    strcmp(text(one, "state"), "enforced") == 0)
			printf(", version %d", (int)json_integer_value(
			    json_object_get(report, "landlock_abi")));
		if (*text(one, "reason") != '\0')
			printf(" (%s)", text(one, "reason"));
		putchar('\n');
		if (*text(one, "consequence") == '\0')
			continue;
		printf("%17swithout it %s\n", "", text(one, "consequence"));
		printf("%17sremedy: %s\n", "", text(one, "remedy"));
	}
}

static int
print_checks(const json_t *report)
{
	int broken = 0;
	json_t *one;
	size_t i;

	json_array_foreach(json_object_get(report, "checks"), i, one) {
		int held = strcmp(text(one, "state"), "held") == 0;

		printf("  %-14s %-7s %s (%s)\n", text(one, "check"),
		    text(one, "state"), text(one, "attempt"),
		    text(one, "detail"));
		broken |= !held;
	}
	return broken;
}

/* 0 if what is asked for holds. */
static int
verdict(const json_t *report)
{
	static const char *const tiers[] = { "none", "weak", "medium",
	    "strong", "strong+" };
	int have = -1, want = -1, i;
	json_t *one;
	size_t n;

	for (i = 0; i < 5; i++) {
		if (strcmp(text(report, "tier"), tiers[i]) == 0)
			have = i;
		if (strcmp(text(report, "minimum"), tiers[i]) == 0)
			want = i;
	}
	json_array_foreach(json_object_get(report, "checks"), n, one)
		if (strcmp(text(one, "state"), "held") != 0)
			return 1;
	return have < want;
}

static void
print_report(const json_t *report)
{
	printf("sandbox: %s (sandbox.minimum is %s)\n", text(report, "tier"),
	    text(report, "minimum"));
	print_layers(report);
	puts("self-test, by the way that every call takes: what a program "
	    "tried");
	if (json_array_size(json_object_get(report, "checks")) == 0)
		puts("  switched off (sandbox.selftest)");
	else if (print_checks(report))
		puts("THE JAIL DOES NOT HOLD.");
}

int
ctl_doctor(const char *sock, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "own", no_argument, NULL, 'o' },
		{ NULL, 0, NULL, 0 }
	};
	struct ctl_client *client;
	int opt, as_json = 0, own = 0, status;
	json_t *report;

	while ((opt = getopt_long(argc, argv, "+", options, NULL)) != -1)
		switch (opt) {
		case 'j':
			as_json = 1;
			break;
		case 'o':
			own = 1;
			break;
		default:
			return CTL_EXIT_USAGE;
		}
	if (!own && optind != argc)
		ctl_die(CTL_EXIT_USAGE, "options for adderd (%s) need --own, "
		    "which starts one", argv[optind]);
	client = own || access(sock, F_OK) == -1 ?
	    start_own(argc - optind, argv + optind) : ctl_client_open(sock);
	report = wait_for_report(client);
	ctl_client_close(&client);
	if (as_json) {
		json_dumpf(report, stdout, JSON_INDENT(2));
		putchar('\n');
	} else
		print_report(report);
	status = verdict(report);
	json_decref(report);
	if (fflush(stdout) != 0)
		ctl_die(CTL_EXIT_OUTPUT, "cannot write the report to "
		    "standard output");
	return status;
}
