#include "config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base64.h"
#include "job.h"
#include "json.h"
#include "mem.h"
#include "result_parts.h"
#include "utf8.h"

/* The kinds of picture that clients show, by their first bytes: a wrong
 * type poisons a conversation, so the worker's word is not taken for it. */
static const struct {
	const char	*mime;
	size_t		 at, len;
	const char	*magic;
} pictures[] = {
	{ "image/png",	0, 8, "\x89PNG\r\n\x1a\n" },
	{ "image/jpeg",	0, 3, "\xff\xd8\xff" },
	{ "image/gif",	0, 4, "GIF8" },
	{ "image/webp",	8, 4, "WEBP" }
};

static const struct {
	const char	*suffix;
	const char	*mime;
} types[] = {
	{ ".csv",	"text/csv" },
	{ ".html",	"text/html" },
	{ ".json",	"application/json" },
	{ ".md",	"text/markdown" },
	{ ".pdf",	"application/pdf" },
	{ ".py",	"text/x-python" },
	{ ".svg",	"image/svg+xml" },
	{ ".tex",	"text/x-tex" },
	{ ".xlsx",
	    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" },
	{ ".xml",	"application/xml" },
	{ ".zip",	"application/zip" }
};

#define NITEMS(a)	(sizeof (a) / sizeof (a)[0])

static const char *
picture_type(const struct job_file *f)
{
	size_t i;

	for (i = 0; f->whole && i < NITEMS(pictures); i++)
		if (f->len >= pictures[i].at + pictures[i].len &&
		    memcmp(f->data + pictures[i].at, pictures[i].magic,
		    pictures[i].len) == 0)
			return pictures[i].mime;
	return NULL;
}

static const char *
file_type(const struct job_file *f, int is_text)
{
	const char *dot = strrchr(f->name, '.');
	size_t i;

	for (i = 0; dot != NULL && i < NITEMS(types); i++)
		if (strcasecmp(dot, types[i].suffix) == 0)
			return types[i].mime;
	return is_text ? "text/plain" : "application/octet-stream";
}

/* adder://run/<run_id>/<path>, percent-encoded as RFC 3986 section 2.1. */
static char *
file_uri(const char *run_id, const char *path)
{
	char *uri = xmalloc(strlen("adder://run//") + strlen(run_id) +
	    3 * strlen(path) + 1);
	char *p = uri + sprintf(uri, "adder://run/%s/", run_id);

	for (; *path != '\0'; path++) {
		unsigned char c = *path;

		if (isalnum(c) || strchr("-._~/", c) != NULL)
			*p++ = c;
		else
			p += sprintf(p, "%%%02X", c);
	}
	*p = '\0';
	return uri;
}

static int
take_room(struct parts *p, size_t cost)
{
	if (cost > p->left)
		return -1;
	p->left -= cost;
	return 0;
}

static int
add_picture(struct parts *p, const struct job_file *f, const char *mime)
{
	char *data;

	if (take_room(p, base64_length(f->len) + 128) == -1)
		return -1;
	data = base64_encode(f->data, f->len);
	json_array_append_new(p->content, json_pack("{s:s, s:s, s:s}",
	    "type", "image", "data", data, "mimeType", mime));
	free(data);
	return 0;
}

static int
add_resource(struct parts *p, const char *run_id, const struct job_file *f)
{
	int is_text = utf8_valid(f->data, f->len) &&
	    memchr(f->data, '\0', f->len) == NULL;
	size_t cost = is_text ? json_text_cost(f->data, f->len) :
	    base64_length(f->len);
	json_t *resource;
	char *uri, *data;

	if (take_room(p, cost + 3 * strlen(f->name) + 256) == -1)
		return -1;
	uri = file_uri(run_id, f->name);
	resource = json_pack("{s:s, s:s}", "uri", uri, "mimeType",
	    file_type(f, is_text));
	if (is_text)
		json_object_set_new(resource, "text", json_text(f->data,
		    f->len));
	else {
		data = base64_encode(f->data, f->len);
		json_object_set_new(resource, "blob", json_string(data));
		free(data);
	}
	json_array_append_new(p->content, json_pack("{s:s, s:o}", "type",
	    "resource", "resource", resource));
	free(uri);
	return 0;
}

/* What became of a file: a word for the line that names them. */
static const char *
add_file(struct parts *p, const char *run_id, const struct job_file *f)
{
	const char *mime = picture_type(f);

	if (!f->whole)
		return "left out, too large";
	if (mime != NULL)
		return add_picture(p, f, mime) == 0 ? "shown" :
		    "left out, too large";
	return add_resource(p, run_id, f) == 0 ? "attached" :
	    "left out, too large";
}

void
parts_images(struct parts *p, const struct job_file *images, size_t n)
{
	size_t i, missing = 0;

	for (i = 0; i < n; i++) {
		const char *mime = picture_type(&images[i]);

		if (mime == NULL || add_picture(p, &images[i], mime) == -1)
			missing++;
	}
	if (missing > 0)
		json_array_append_new(p->content, json_pack("{s:s, s:o}",
		    "type", "text", "text", json_textf("%zu %s left out: too "
		    "large, or damaged.", missing,
		    missing == 1 ? "picture was" : "pictures were")));
}

void
parts_files(struct parts *p, const char *run_id, const struct job_file *files,
    size_t n, size_t left_out)
{
	size_t i, at, len;
	FILE *line;
	char *text;

	if (n == 0 && left_out == 0)
		return;
	/* The line stands before the files that it names. */
	at = json_array_size(p->content);
	line = open_memstream(&text, &len);
	fputs("files: ", line);
	for (i = 0; i < n; i++)
		fprintf(line, "%s%s (%" PRIu64 " bytes, %s)",
		    i == 0 ? "" : ", ", files[i].name, files[i].size,
		    add_file(p, run_id, &files[i]));
	if (left_out > 0)
		fprintf(line, "%s%zu more left out", n == 0 ? "" : ", ",
		    left_out);
	fclose(line);
	json_array_insert_new(p->content, at, json_pack("{s:s, s:o}", "type",
	    "text", "text", json_text(text, len)));
	free(text);
}
