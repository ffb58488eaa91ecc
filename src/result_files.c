#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base64.h"
#include "job.h"
#include "json.h"
#include "mem.h"
#include "result.h"
#include "result_parts.h"
#include "run_store.h"
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

static int
take_room(struct parts *p, size_t cost)
{
	if (cost > p->left)
		return -1;
	p->left -= cost;
	return 0;
}

/* What is shown of a picture: itself, or the smaller one made of it. */
static struct job_file
shown_file(const struct job_file *f)
{
	struct job_file small = *f;

	if (f->small == NULL)
		return *f;
	small.data = f->small;
	small.len = f->small_len;
	return small;
}

static int
add_picture(struct parts *p, const struct job_file *f)
{
	const struct job_file shown = shown_file(f);
	const char *mime = picture_type(&shown);
	size_t cost = base64_length(shown.len);
	char *data;

	if (mime == NULL || (p->options->max_images > 0 &&
	    p->images + cost > p->options->max_images) ||
	    take_room(p, cost + 128) == -1)
		return -1;
	data = base64_encode(shown.data, shown.len);
	json_array_append_new(p->content, json_pack("{s:s, s:s, s:s}",
	    "type", "image", "data", data, "mimeType", mime));
	free(data);
	p->images += cost;
	p->shown++;
	return 0;
}

static int
is_text(const struct job_file *f)
{
	return utf8_valid(f->data, f->len) &&
	    memchr(f->data, '\0', f->len) == NULL;
}

static int
add_embedded(struct parts *p, const struct job_file *f)
{
	int text = is_text(f);
	size_t cost = text ? json_text_cost(f->data, f->len) :
	    base64_length(f->len);
	json_t *resource;
	char *uri, *data;

	if (take_room(p, cost + 3 * strlen(f->name) + 256) == -1)
		return -1;
	uri = run_uri(p->run_id, f->name);
	resource = json_pack("{s:s, s:s}", "uri", uri, "mimeType",
	    file_type(f, text));
	if (text)
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

/* The URI of a file that is kept, and for peers that know it a link. */
static const char *
add_link(struct parts *p, const struct job_file *f, const char *mime)
{
	const char *uri = parts_keep(p, f->name, mime, xmemdupz(f->data,
	    f->len), f->len);

	if (uri == NULL || !p->options->links ||
	    take_room(p, 2 * strlen(uri) + 256) == -1)
		return uri;
	json_array_append_new(p->content, json_pack(
	    "{s:s, s:s, s:o, s:s, s:I}", "type", "resource_link", "uri", uri,
	    "name", json_text(f->name, strlen(f->name)), "mimeType", mime,
	    "size", (json_int_t)f->len));
	return uri;
}

const char *
result_mime(const struct job_file *f)
{
	const char *mime = picture_type(f);

	return mime != NULL ? mime : file_type(f, f->whole && is_text(f));
}

/* What became of a file: words for the line that names them. */
static const char *
add_file(struct parts *p, const struct job_file *f)
{
	const char *mime = picture_type(f);

	if (!f->whole)
		return "left out, too large";
	if (mime != NULL && add_picture(p, f) == 0)
		return "shown";
	if (mime == NULL)
		mime = file_type(f, is_text(f));
	if (p->options->links && add_link(p, f, mime) != NULL)
		return "linked: read_file reads it";
	return add_embedded(p, f) == 0 ? "attached" : "left out, too large";
}

/* One picture, and a line about it if it is not shown as it is. */
static void
add_image(struct parts *p, const struct job_file *f, FILE *line)
{
	int shown = add_picture(p, f) == 0;
	const char *mime = picture_type(f), *uri = NULL;

	if (shown && f->small == NULL)
		return;
	if (mime != NULL)
		uri = add_link(p, f, mime);
	fprintf(line, "%s%s (%" PRIu64 " bytes) is %s", ftell(line) == 0 ?
	    "pictures: " : "; ", f->name, f->size, shown ?
	    "shown smaller than it is" : mime == NULL ?
	    "left out: it is damaged" : "left out: it is too large");
	if (uri != NULL)
		fprintf(line, ", and whole at %s", uri);
}

void
parts_images(struct parts *p, const struct job_file *images, size_t n)
{
	size_t i, len;
	FILE *line;
	char *text;

	if (n == 0)
		return;
	line = open_memstream(&text, &len);
	for (i = 0; i < n; i++)
		add_image(p, &images[i], line);
	fclose(line);
	if (len > 0)
		json_array_append_new(p->content, json_pack("{s:s, s:o}",
		    "type", "text", "text", json_text(text, len)));
	free(text);
}

void
parts_files(struct parts *p, const struct job_file *files, size_t n,
    size_t left_out)
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
		    add_file(p, &files[i]));
	if (left_out > 0)
		fprintf(line, "%s%zu more left out", n == 0 ? "" : ", ",
		    left_out);
	fclose(line);
	json_array_insert_new(p->content, at, json_pack("{s:s, s:o}", "type",
	    "text", "text", json_text(text, len)));
	free(text);
}
