/* Events of whatever a program prints: a reader of event streams finds one
 * event in them, and in it the same text. */
#include "config.h"

#include <string.h>

#include <jansson.h>

#include "fuzz.h"
#include "http.h"
#include "http_private.h"
#include "http_sse.h"
#include "json.h"
#include "mem.h"
#include "utf8.h"

static char	*stream;
static size_t	 stream_len;

/* Stand in for those of http_request.c, which the linker then leaves out. */
void
http_stream_start(struct http_request *r, int status, const char *type)
{
	FUZZ_CHECK(status == 200 && strcmp(type, "text/event-stream") == 0);
}

void
http_stream_write(struct http_request *r, const char *data, size_t len)
{
	stream = xreallocarray(stream, stream_len + len + 1, 1);
	memcpy(stream + stream_len, data, len);
	stream_len += len;
	stream[stream_len] = '\0';
}

/* The data of the one event of the stream, as HTML, section 9.2.6 reads it:
 * a line ends with CR, LF or both, and an empty one ends an event. */
static char *
only_event(size_t *len)
{
	size_t at = 0, n, fields = 0, events = 0;
	char *data = NULL;

	while (at < stream_len) {
		n = strcspn(stream + at, "\r\n");
		FUZZ_CHECK(at + n < stream_len && stream[at + n] == '\n');
		if (n == 0 && fields > 0) {
			events++;
			fields = 0;
		} else if (n > 0 && stream[at] != ':') {
			fields++;
			if (strncmp(stream + at, "data: ", 6) == 0) {
				FUZZ_CHECK(data == NULL);
				*len = n - 6;
				data = xmemdupz(stream + at + 6, *len);
			} else
				FUZZ_CHECK(n == 13 && memcmp(stream + at,
				    "event: stdout", 13) == 0);
		}
		at += n + 1;
	}
	FUZZ_CHECK(events == 1 && fields == 0 && data != NULL);
	return data;
}

int
LLVMFuzzerTestOneInput(const uint8_t *in, size_t in_len)
{
	struct http_request r = { .sse = 0 };
	json_t *sent = json_pack("{s:o}", "text", json_text((const char *)in,
	    in_len)), *got;
	size_t len;
	char *line = json_line(sent, &len);

	stream_len = 0;
	http_sse_start(&r);
	http_sse_beat(&r);
	http_sse_send(&r, "stdout", line, len);
	http_sse_beat(&r);
	http_sse_beat(&r);
	free(line);
	line = only_event(&len);
	got = json_loadb(line, len, JSON_ALLOW_NUL, NULL);
	FUZZ_CHECK(got != NULL && json_equal(sent, got));
	if (utf8_valid((const char *)in, in_len))
		FUZZ_CHECK(json_string_length(json_object_get(got, "text")) ==
		    in_len && memcmp(json_string_value(json_object_get(got,
		    "text")), in, in_len) == 0);
	json_decref(got);
	json_decref(sent);
	free(line);
	return 0;
}
