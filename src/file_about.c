#include "config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "beneath.h"
#include "file_about.h"
#include "file_index.h"
#include "mem.h"

#define FIRST_LINE	"adder run 1\n"

char *
path_encode(const char *path)
{
	char *out = xmalloc(3 * strlen(path) + 1), *p = out;

	for (; *path != '\0'; path++) {
		unsigned char c = *path;

		if (c < 0x80 && (isalnum(c) || strchr("-._~/", c) != NULL))
			*p++ = c;
		else
			p += sprintf(p, "%%%02X", c);
	}
	*p = '\0';
	return out;
}

static int
hex_value(char c)
{
	static const char digits[] = "0123456789ABCDEFabcdef";
	const char *at = c == '\0' ? NULL : strchr(digits, c);

	if (at == NULL)
		return -1;
	return at - digits < 16 ? at - digits : at - digits - 6;
}

int
path_decode(char *text)
{
	char *in = text, *out = text;
	int hi, lo;

	for (; *in != '\0'; in++) {
		if (*in != '%') {
			*out++ = *in;
			continue;
		}
		hi = hex_value(in[1]);
		lo = hi == -1 ? -1 : hex_value(in[2]);
		if (lo == -1 || (hi == 0 && lo == 0))
			return -1;
		*out++ = hi << 4 | lo;
		in += 2;
	}
	*out = '\0';
	return 0;
}

void
file_about_write(const struct kept_run *r, FILE *out)
{
	char *path;
	size_t i;

	/* Their number tells a list of which the end is lost. */
	fprintf(out, FIRST_LINE "made %" PRId64 "\nowner %s\nfiles %zu\n",
	    r->made_ms, r->owner, r->nfiles);
	for (i = 0; i < r->nfiles; i++) {
		path = path_encode(r->files[i].path);
		fprintf(out, "file %" PRIu64 " %s %s\n", r->files[i].size,
		    r->files[i].type, path);
		free(path);
	}
}

/* "5120 image/png plots/a.png" */
static int
read_file_line(struct kept_run *r, char *line)
{
	char *end, *type, *path;
	uint64_t size = strtoull(line, &end, 10);

	if (end == line || *end != ' ')
		return -1;
	type = end + 1;
	path = strchr(type, ' ');
	if (path == NULL || path == type)
		return -1;
	*path++ = '\0';
	if (path_decode(path) == -1 ||
	    beneath_trouble(path, strlen(path)) != NULL)
		return -1;
	kept_run_add(r, path, type, size);
	return 0;
}

static int
read_line(struct kept_run *r, char *line, size_t *nfiles)
{
	if (strncmp(line, "file ", 5) == 0)
		return read_file_line(r, line + 5);
	if (strncmp(line, "made ", 5) == 0) {
		r->made_ms = strtoll(line + 5, NULL, 10);
		return 0;
	}
	if (strncmp(line, "files ", 6) == 0) {
		*nfiles = strtoull(line + 6, NULL, 10);
		return 0;
	}
	if (strncmp(line, "owner ", 6) != 0 ||
	    strlen(line + 6) >= sizeof r->owner)
		return -1;
	strcpy(r->owner, line + 6);
	return 0;
}

int
file_about_read(struct kept_run *r, FILE *in)
{
	char *line = NULL;
	size_t room = 0, nfiles = SIZE_MAX;
	ssize_t n;
	int rv = -1;

	n = getline(&line, &room, in);
	if (n > 0 && strcmp(line, FIRST_LINE) == 0)
		rv = 0;
	while (rv == 0 && (n = getline(&line, &room, in)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		rv = read_line(r, line, &nfiles);
	}
	free(line);
	/* An older version did not write their number. */
	return r->made_ms == 0 || (nfiles != SIZE_MAX &&
	    nfiles != r->nfiles) ? -1 : rv;
}
