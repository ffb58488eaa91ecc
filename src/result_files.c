#include "config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "job.h"
#include "json.h"
#include "media_type.h"
#include "mem.h"
#include "picture_size.h"
#include "result.h"
#include "result_parts.h"
#include "run_store.h"

/* A text up to this size is in the answer, not behind a link. */
#define EMBED_MAX	4096
/* All of them together. */
#define EMBED_ALL_MAX	16384

static const char	too_large[] = "too large for an answer";

static const char *
picture_type(const struct job_file *f)
{
	return f->whole ? media_picture(f->data, f->len) : NULL;
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
shown_file(const struct parts *p, const struct job_file *f)
{
	struct job_file small = *f;

	if (f->small == NULL || p->options->max_images == 0)
		return *f;
	small.data = f->small;
	small.len = f->small_len;
	return small;
}

/* Whatever the worker says; a picture without a size would not be shown. */
static int
side_fits(const struct parts *p, const struct job_file *f)
{
	uint32_t side;

	if (p->options->max_image_px == 0)
		return 1;
	side = picture_side(f->data, f->len);
	return side > 0 && side <= p->options->max_image_px;
}

/* An image has no member for a name, and no client minds more of _meta. */
static json_t *
picture_meta(const struct parts *p, const struct job_file *f)
{
	json_t *meta = json_pack("{s:o}", "adder/name", json_text(f->name,
	    strlen(f->name)));
	char *uri;

	if (f->kept == NULL)
		return meta;
	uri = run_uri(p->run_id, f->kept);
	json_object_set_new(meta, "adder/uri", json_string(uri));
	free(uri);
	return meta;
}

static int
add_picture(struct parts *p, const struct job_file *f)
{
	const struct job_file shown = shown_file(p, f);
	const char *mime = picture_type(&shown);
	size_t cost = base64_length(shown.len);
	char *data;

	if (mime == NULL || !side_fits(p, &shown) ||
	    (p->options->max_images > 0 &&
	    p->images + cost > p->options->max_images) ||
	    take_room(p, cost + 6 * strlen(f->name) + 512) == -1)
		return -1;
	data = base64_encode(shown.data, shown.len);
	json_array_append_new(p->content, json_pack("{s:s, s:s, s:s, s:o}",
	    "type", "image", "data", data, "mimeType", mime, "_meta",
	    picture_meta(p, f)));
	free(data);
	p->images += cost;
	p->shown++;
	return 0;
}

static int
add_embedded(struct parts *p, const struct job_file *f, const char *uri)
{
	int text = media_is_text(f->data, f->len);
	size_t cost = text ? json_text_cost(f->data, f->len) :
	    base64_length(f->len);
	json_t *resource;
	char *own = NULL, *data;

	if (take_room(p, cost + 3 * strlen(f->name) + 256) == -1)
		return -1;
	if (uri == NULL)
		uri = own = run_uri(p->run_id, f->name);
	resource = json_pack("{s:s, s:s}", "uri", uri, "mimeType",
	    result_mime(f));
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
	free(own);
	return 0;
}

/* Where a file is kept, the caller's to free; NULL if it is not. */
static char *
keep(struct parts *p, const struct job_file *f)
{
	const char *uri;

	if (f->kept != NULL)
		return run_uri(p->run_id, f->kept);
	if (!f->whole)
		return NULL;
	uri = parts_keep(p, f->name, result_mime(f), xmemdupz(f->data,
	    f->len), f->len);
	return uri == NULL ? NULL : xstrdup(uri);
}

/* For peers that know links. */
static int
add_link(struct parts *p, const struct job_file *f, const char *uri)
{
	if (!p->options->links ||
	    take_room(p, 2 * strlen(uri) + 256) == -1)
		return -1;
	json_array_append_new(p->content, json_pack(
	    "{s:s, s:s, s:o, s:s, s:I}", "type", "resource_link", "uri", uri,
	    "name", json_text(f->name, strlen(f->name)), "mimeType",
	    result_mime(f), "size", (json_int_t)f->size));
	return 0;
}

const char *
result_mime(const struct job_file *f)
{
	if (f->whole)
		return media_type(f->name, f->data, f->len, 1);
	return f->mime[0] != '\0' ? f->mime : "application/octet-stream";
}

static int
is_small_text(const struct parts *p, const struct job_file *f)
{
	return f->len <= EMBED_MAX && p->embedded + f->len <= EMBED_ALL_MAX &&
	    media_is_text(f->data, f->len);
}

/* A file that is whole or kept: in the answer if it is a small text or if
 * there is no other way, else as a link. */
static const char *
show_file(struct parts *p, const struct job_file *f, const char *uri)
{
	int small = f->whole && is_small_text(p, f);

	if (uri != NULL && !small && add_link(p, f, uri) == 0)
		return "linked: read_file reads it";
	if (f->whole && !(f->shown && uri == NULL) &&
	    add_embedded(p, f, uri) == 0) {
		if (small)
			p->embedded += f->len;
		return "attached";
	}
	return uri != NULL ? "kept: resources/list names it" : too_large;
}

/* What became of a file: words for the line that names them. */
static const char *
add_file(struct parts *p, const struct job_file *f)
{
	const char *words;
	char *uri;

	if (picture_type(f) != NULL && !f->shown && add_picture(p, f) == 0)
		return "shown";
	uri = keep(p, f);
	if (uri == NULL && !f->whole)
		return f->why != NULL ? f->why : too_large;
	words = show_file(p, f, uri);
	free(uri);
	return f->shown ? "the picture above" : words;
}

/* A name within a line of ours: one with a newline could pretend to be what we
 * say, and one with an escape sequence more than that. */
static void
write_name(FILE *line, const char *name)
{
	for (; *name != '\0'; name++)
		putc(iscntrl((unsigned char)*name) ? '?' : *name, line);
}

/* One picture, and a line about it if it is not shown as it is. */
static void
add_image(struct parts *p, const struct job_file *f, FILE *line)
{
	int shown = add_picture(p, f) == 0;
	const char *mime = picture_type(f);
	char *uri = NULL;

	if (shown && shown_file(p, f).data == f->data)
		return;
	if (mime != NULL)
		uri = keep(p, f);
	if (uri != NULL)
		add_link(p, f, uri);
	fputs(ftell(line) == 0 ? "pictures: " : "; ", line);
	write_name(line, f->name);
	fprintf(line, " (%" PRIu64 " bytes) is %s", f->size, shown ?
	    "shown smaller than it is" : mime == NULL ?
	    "left out: it is damaged" : "left out: it is too large");
	if (uri != NULL)
		fprintf(line, ", and whole at %s", uri);
	free(uri);
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
    size_t kept_more, size_t left_out)
{
	size_t i, at, len;
	FILE *line;
	char *text;

	if (n == 0 && left_out == 0 && kept_more == 0)
		return;
	/* The line stands before the files that it names. */
	at = json_array_size(p->content);
	line = open_memstream(&text, &len);
	fputs("files: ", line);
	for (i = 0; i < n; i++) {
		const char *words = add_file(p, &files[i]);

		fputs(i == 0 ? "" : ", ", line);
		write_name(line, files[i].name);
		fprintf(line, " (%" PRIu64 " bytes, %s%s)", files[i].size,
		    words == files[i].why || words == too_large ?
		    "left out: " : "", words);
	}
	if (kept_more > 0)
		fprintf(line, "%s%zu more kept: resources/list names them",
		    n == 0 ? "" : ", ", kept_more);
	if (left_out > 0)
		fprintf(line, "%s%zu more left out", n + kept_more == 0 ? "" :
		    ", ", left_out);
	fclose(line);
	json_array_insert_new(p->content, at, json_pack("{s:s, s:o}", "type",
	    "text", "text", json_text(text, len)));
	free(text);
}
