#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "json.h"
#include "mem.h"
#include "result.h"
#include "result_parts.h"
#include "run_store.h"
#include "utf8.h"

/* Most that one stream, or another text, may take of a result: two of each
 * leave room for the reason, which matters most. */
#define STREAM_COST_MAX	(3 * 1024 * 1024)
#define TEXT_COST_MAX	(1024 * 1024)

/* A text of which the middle may be missing; valid UTF-8. */
struct excerpt {
	const char	*head, *tail;
	size_t		 head_len, tail_len;
	uint64_t	 dropped;	/* bytes between them */
};

const char *
parts_keep(struct parts *p, const char *name, const char *mime, char *data,
    size_t len)
{
	const struct run_item *item;

	if (p->options->store == NULL || p->run_id[0] == '\0') {
		free(data);
		return NULL;
	}
	item = run_store_add(p->options->store, p->run_id, p->options->owner,
	    name, mime, data, len);
	return item == NULL ? NULL : item->uri;
}

/* All the text there is, as one piece to be cut in the middle. */
static void
excerpt_split(struct excerpt *e)
{
	if (e->tail_len > 0)
		return;
	e->tail = e->head;
	e->tail_len = e->head_len;
}

/* Cuts the excerpt further until it has at most max bytes and costs no more
 * than cost. */
static int
excerpt_fit(struct excerpt *e, size_t max, size_t cost)
{
	size_t head, tail, before = e->head_len + e->tail_len;

	if (before <= max && json_text_cost(e->head, e->head_len) +
	    json_text_cost(e->tail, e->tail_len) <= cost)
		return 0;
	excerpt_split(e);
	head = e->head_len < max - max / 2 ? e->head_len : max - max / 2;
	tail = e->tail_len < max / 2 ? e->tail_len : max / 2;
	head = utf8_whole_end(e->head, head);
	tail -= utf8_whole_start(e->tail + e->tail_len - tail, tail);
	head = json_text_prefix(e->head, head, cost / 2);
	tail = json_text_suffix(e->tail + e->tail_len - tail, tail, cost / 2);
	e->tail += e->tail_len - tail;
	e->head_len = head;
	e->tail_len = tail;
	e->dropped += before - head - tail;
	return 1;
}

static void
append(struct parts *p, const char *label, const struct excerpt *e,
    const char *stream, const char *uri)
{
	char *gap = NULL, *text;
	size_t n, len, gap_len = 0, label_len = strlen(label);
	json_t *block;

	if (e->dropped > 0 && uri != NULL)
		gap_len = xasprintf(&gap, "\n[... %" PRIu64 " bytes of %s "
		    "left out; to go on: read_file {\"uri\": \"%s\", "
		    "\"offset\": %zu} ...]\n", e->dropped, stream, uri,
		    e->head_len);
	else if (e->dropped > 0)
		gap_len = xasprintf(&gap, "\n[... %" PRIu64 " bytes of %s "
		    "left out ...]\n", e->dropped, stream);
	len = label_len + e->head_len + gap_len + e->tail_len;
	text = xmalloc(len + 1);
	memcpy(text, label, label_len);
	n = label_len;
	memcpy(text + n, e->head, e->head_len);
	n += e->head_len;
	if (gap_len > 0)
		memcpy(text + n, gap, gap_len);
	n += gap_len;
	memcpy(text + n, e->tail, e->tail_len);
	block = json_pack("{s:s, s:o}", "type", "text", "text",
	    json_text(text, len));
	json_array_append_new(p->content, block);
	n = json_text_cost(text, len) + 64;
	p->left -= n < p->left ? n : p->left;
	free(gap);
	free(text);
}

static size_t
at_most(size_t cost, const struct parts *p)
{
	return cost < p->left ? cost : p->left;
}

/* "value: 42", or the label on a line of its own before several lines. */
static char *
make_label(const char *label, const char *text, size_t len)
{
	char *s;

	if (label == NULL)
		return xstrdup("");
	xasprintf(&s, "%s:%s", label,
	    memchr(text, '\n', len) == NULL ? " " : "\n");
	return s;
}

void
parts_text(struct parts *p, const char *label, const char *name,
    const char *text, size_t len, size_t max)
{
	struct excerpt e = { .tail = "" };
	char *clean = utf8_clean(text, len, &len);
	char *prefix = make_label(label, clean, len);
	const char *uri = NULL;

	e.head = clean;
	e.head_len = len;
	if (excerpt_fit(&e, max, at_most(TEXT_COST_MAX, p))) {
		p->cut = 1;
		uri = parts_keep(p, name, "text/plain", xmemdupz(clean, len),
		    len);
	}
	append(p, prefix, &e, label == NULL ? name : label, uri);
	free(prefix);
	free(clean);
}

/* All that the job kept of a stream; where it kept no more, it says so. */
static char *
whole_output(const struct job_output *out, const char *stream, size_t *len)
{
	char *text;
	FILE *f = open_memstream(&text, len);

	fwrite(out->head, 1, out->head_len, f);
	if (out->dropped > 0)
		fprintf(f, "\n[... %" PRIu64 " bytes of %s were not kept "
		    "(limits.output) ...]\n", out->dropped, stream);
	fwrite(out->tail == NULL ? "" : out->tail, 1, out->tail_len, f);
	fclose(f);
	return text;
}

static const char *
keep_output(struct parts *p, const char *stream, const struct job_output *out)
{
	size_t len;
	char *text;

	if (p->options->store == NULL)
		return NULL;
	text = whole_output(out, stream, &len);
	return parts_keep(p, stream, "text/plain", text, len);
}

void
parts_output(struct parts *p, const char *label, const char *stream,
    const struct job_output *out, size_t max)
{
	struct excerpt e = { .dropped = out->dropped };
	size_t head_len = out->head_len, skip = 0;
	const char *uri = NULL;
	char *head, *tail, *prefix;

	if (out->total == 0)
		return;
	/* Where bytes are missing, a character may be cut in two. */
	if (out->dropped > 0) {
		head_len = utf8_whole_end(out->head, out->head_len);
		skip = utf8_whole_start(out->tail, out->tail_len);
		e.dropped += out->head_len - head_len + skip;
	}
	head = utf8_clean(out->head, head_len, &e.head_len);
	tail = utf8_clean(out->tail == NULL ? "" : out->tail + skip,
	    out->tail_len - skip, &e.tail_len);
	e.head = head;
	e.tail = tail;
	if (excerpt_fit(&e, max, at_most(STREAM_COST_MAX, p))) {
		p->cut = 1;
		uri = keep_output(p, stream, out);
	}
	prefix = label == NULL ? xstrdup("") : NULL;
	if (label != NULL)
		xasprintf(&prefix, "%s:\n", label);
	append(p, prefix, &e, stream, uri);
	free(prefix);
	free(tail);
	free(head);
}
