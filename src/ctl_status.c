#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "mem.h"

/* Calls fn with the dotted name of every value that is no object. */
static void
walk(const char *name, const json_t *value,
    void (*fn)(const char *name, const json_t *value, int *width), int *width)
{
	const char *key;
	json_t *item;
	char *full;

	if (!json_is_object(value)) {
		fn(name, value, width);
		return;
	}
	json_object_foreach((json_t *)value, key, item) {
		xasprintf(&full, "%s%s%s", name, *name == '\0' ? "" : ".",
		    key);
		walk(full, item, fn, width);
		free(full);
	}
}

static void
measure(const char *name, const json_t *value, int *width)
{
	int len = (int)strlen(name);

	if (len > *width)
		*width = len;
}

/* A text of several lines goes under its own first line. */
static void
print_lines(const char *text, int indent)
{
	size_t len;

	for (;;) {
		len = strcspn(text, "\n");
		printf("%.*s\n", (int)len, text);
		text += len;
		if (*text == '\n')
			text++;
		if (*text == '\0')
			return;
		printf("%*s", indent, "");
	}
}

static void
print_row(const char *name, const json_t *value, int *width)
{
	char *text;

	printf("%-*s  ", *width, name);
	if (json_is_string(value)) {
		print_lines(json_string_value(value), *width + 2);
		return;
	}
	text = json_dumps(value, JSON_ENCODE_ANY);
	puts(text != NULL ? text : "");
	free(text);
}

int
ctl_status(const char *sock, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 }
	};
	struct ctl_client *client;
	json_t *status;
	int opt, as_json = 0, width = 0;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt != 'j')
			return CTL_EXIT_USAGE;
		as_json = 1;
	}
	if (optind != argc)
		ctl_die(CTL_EXIT_USAGE, "status takes no argument, but got "
		    "\"%s\"", argv[optind]);
	client = ctl_client_open(sock);
	status = ctl_client_call(client, "adder/status", json_object());
	ctl_client_close(&client);

	if (as_json) {
		json_dumpf(status, stdout, JSON_INDENT(2));
		putchar('\n');
	} else {
		walk("", status, measure, &width);
		walk("", status, print_row, &width);
	}
	json_decref(status);
	if (fflush(stdout) != 0)
		ctl_die(CTL_EXIT_OUTPUT, "cannot write the status to "
		    "standard output");
	return 0;
}
