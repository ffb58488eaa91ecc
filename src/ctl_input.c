#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base64.h"
#include "ctl.h"
#include "mem.h"

/* What the command line names, as a call of a tool carries it. */

/* All of a stream, the caller's to free; name is for the error message. */
static char *
read_all(FILE *in, const char *name, size_t *len)
{
	char *text = NULL;
	size_t size = 0, n;

	*len = 0;
	do {
		if (size - *len < 65536) {
			size = size * 2 + 65536;
			text = xreallocarray(text, size, 1);
		}
		n = fread(text + *len, 1, size - *len, in);
		*len += n;
	} while (n > 0);
	if (ferror(in))
		ctl_die(CTL_EXIT_INPUT, "cannot read %s: %s", name,
		    strerror(errno));
	return text;
}

static char *
read_path(const char *path, size_t *len)
{
	FILE *in = fopen(path, "r");
	char *text;

	if (in == NULL)
		ctl_die(CTL_EXIT_INPUT, "cannot open %s: %s", path,
		    strerror(errno));
	text = read_all(in, path, len);
	fclose(in);
	return text;
}

json_t *
ctl_input_text(const char *path)
{
	int is_stdin = strcmp(path, "-") == 0;
	size_t len;
	char *text = is_stdin ? read_all(stdin, "standard input", &len) :
	    read_path(path, &len);
	json_t *json = json_stringn(text, len);

	if (json == NULL)
		ctl_die(CTL_EXIT_INPUT, "%s is no UTF-8 text, which is all "
		    "that the protocol carries; convert it first", is_stdin ?
		    "standard input" : path);
	free(text);
	return json;
}

json_t *
ctl_input_argument(const char *what, const char *text)
{
	json_t *json = json_string(text);

	if (json == NULL)
		ctl_die(CTL_EXIT_USAGE, "what %s names is no UTF-8 "
		    "text, which is all that the protocol carries", what);
	return json;
}

double
ctl_input_seconds(const char *what, const char *value)
{
	char *end;
	double n = strtod(value, &end);

	if (end == value || *end != '\0' || !isfinite(n) || n <= 0)
		ctl_die(CTL_EXIT_USAGE, "%s must be a number of seconds "
		    "above 0, not \"%s\"", what, value);
	return n;
}

/* Where the program finds a file if nothing is said: as here, where that is
 * below this directory, else by the last component alone. */
static const char *
place_of(const char *path)
{
	const char *last = strrchr(path, '/');

	while (strncmp(path, "./", 2) == 0)
		path += 2;
	if (last == NULL || (*path != '/' && strstr(path, "../") == NULL))
		return path;
	return last + 1;
}

/* The path, and the place after the last colon where the whole names no
 * file; the caller frees the path. */
static char *
split(const char *text, const char **place)
{
	const char *colon = strrchr(text, ':');

	if (colon == NULL || access(text, F_OK) == 0) {
		*place = place_of(text);
		return xstrdup(text);
	}
	*place = colon + 1;
	return xmemdupz(text, colon - text);
}

json_t *
ctl_input_file(const char *text)
{
	const char *place;
	char *path = split(text, &place), *data, *encoded;
	size_t len;
	json_t *file = json_object(), *content;

	data = read_path(path, &len);
	content = json_stringn(data, len);
	json_object_set_new(file, "path", ctl_input_argument("--file",
	    place));
	if (content != NULL)
		json_object_set_new(file, "text", content);
	else {
		encoded = base64_encode(data, len);
		json_object_set_new(file, "base64", json_string(encoded));
		free(encoded);
	}
	free(data);
	free(path);
	return file;
}
