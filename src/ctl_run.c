#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "mem.h"

struct run_options {
	const char	*file;		/* "-" is standard input */
	const char	*save_dir;	/* NULL: only name what came */
	const char	*session;	/* NULL: a process of its own */
	double		 timeout;	/* seconds, 0 for the server's */
	int		 pass_stdin;
	json_t		*files;		/* for the argument files */
	json_t		*packages;	/* for the argument dependencies */
};

static void
parse_options(int argc, char **argv, struct run_options *o)
{
	static const struct option options[] = {
		{ "dep", required_argument, NULL, 'd' },
		{ "file", required_argument, NULL, 'f' },
		{ "session", required_argument, NULL, 'S' },
		{ "timeout", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 }
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "d:f:io:S:t:", options,
	    NULL)) != -1) {
		switch (opt) {
		case 'd':
			json_array_append_new(o->packages,
			    ctl_input_argument("--dep", optarg));
			break;
		case 'f':
			json_array_append_new(o->files,
			    ctl_input_file(optarg));
			break;
		case 'i':
			o->pass_stdin = 1;
			break;
		case 'o':
			o->save_dir = optarg;
			break;
		case 'S':
			o->session = optarg;
			break;
		case 't':
			o->timeout = ctl_input_seconds("run: the timeout",
			    optarg);
			break;
		default:
			exit(CTL_EXIT_USAGE);
		}
	}
	if (argc - optind != 1)
		ctl_die(CTL_EXIT_USAGE, "run: name one file with a program, "
		    "or - for standard input");
	o->file = argv[optind];
	if (o->pass_stdin && strcmp(o->file, "-") == 0)
		ctl_die(CTL_EXIT_USAGE, "run: standard input cannot be both "
		    "the program and, by -i, what it reads; name a file");
}

static json_t *
call_arguments(const struct run_options *o)
{
	json_t *args = json_object();

	json_object_set_new(args, "code", ctl_input_text(o->file));
	if (o->timeout > 0)
		json_object_set_new(args, "timeout", json_real(o->timeout));
	if (o->pass_stdin)
		json_object_set_new(args, "stdin", ctl_input_text("-"));
	if (o->session != NULL)
		json_object_set_new(args, "session_id",
		    ctl_input_argument("--session", o->session));
	if (json_array_size(o->packages) > 0)
		json_object_set(args, "dependencies", o->packages);
	if (json_array_size(o->files) > 0)
		json_object_set(args, "files", o->files);
	/* A terminal takes any length, and files come at once. */
	return json_pack("{s:s, s:o, s:{s:b}}", "name", "run_python",
	    "arguments", args, "_meta", "adder/whole", 1);
}

static void
print_text(const json_t *text, FILE *out)
{
	const char *s = json_string_value(text);
	size_t len = json_string_length(text);

	fwrite(s, 1, len, out);
	/* What adderd says about a run ends without a newline. */
	if (out == stderr && len > 0 && s[len - 1] != '\n')
		fputc('\n', out);
}

/*
 * The answer's content: if the program printed anything, the first block is
 * its standard output, exactly; every other text is said about the run.
 */
static int
print_content(const json_t *content, int has_stdout, const char *save_dir)
{
	const json_t *block, *text;
	unsigned saved = 0;
	size_t i;
	int failed = 0;

	json_array_foreach(content, i, block) {
		text = json_object_get(block, "text");
		if (json_is_string(text))
			print_text(text, i == 0 && has_stdout ? stdout :
			    stderr);
		else if (ctl_save(block, save_dir, ++saved) == -1)
			failed = 1;
	}
	if (fflush(stdout) != 0) {
		fprintf(stderr, "adderctl: cannot write to standard output: "
		    "%s\n", strerror(errno));
		failed = 1;
	}
	return failed ? -1 : 0;
}

static int
exit_status(const json_t *receipt, int is_error)
{
	const char *verdict = json_string_value(
	    json_object_get(receipt, "verdict"));
	json_int_t sig = json_integer_value(
	    json_object_get(receipt, "signal"));
	const json_t *code = json_object_get(receipt, "exit_code");

	if (verdict == NULL)
		return is_error ? CTL_EXIT_ENDED : 0;
	if (strcmp(verdict, "ok") == 0)
		return 0;
	if (strcmp(verdict, "exception") == 0)
		return 1;
	if (strcmp(verdict, "timeout") == 0)
		return CTL_EXIT_TIMEOUT;
	if (strcmp(verdict, "exit") == 0 && json_is_integer(code))
		return (int)(json_integer_value(code) & 0xff);
	if (strcmp(verdict, "signal") == 0 && sig > 0)
		return CTL_EXIT_SIGNAL + (int)sig;
	return CTL_EXIT_ENDED;
}

int
ctl_run(const char *sock, int argc, char **argv)
{
	struct run_options options = { .files = json_array(),
	    .packages = json_array() };
	struct ctl_client *client;
	const json_t *receipt;
	json_t *params, *result;
	int status;

	parse_options(argc, argv, &options);
	params = call_arguments(&options);
	json_decref(options.files);
	json_decref(options.packages);
	client = ctl_client_open(sock);
	result = ctl_client_call(client, "tools/call", params);
	ctl_client_close(&client);

	receipt = json_object_get(json_object_get(result, "_meta"),
	    "adder/receipt");
	status = exit_status(receipt,
	    json_is_true(json_object_get(result, "isError")));
	if (print_content(json_object_get(result, "content"),
	    json_integer_value(json_object_get(receipt, "stdout_bytes")) > 0,
	    options.save_dir) == -1 && status == 0)
		status = CTL_EXIT_OUTPUT;
	json_decref(result);
	return status;
}
