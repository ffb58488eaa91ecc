#include "config.h"

#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>

#include "http_private.h"

/*
 * evhttp takes the first of two headers and reads some that it should
 * refuse.  A proxy in front of us may choose otherwise and see other requests
 * in the same bytes, so nothing that can be read in two ways is answered.
 */

static unsigned
count(const struct evkeyvalq *headers, const char *name)
{
	const struct evkeyval *h;
	unsigned n = 0;

	TAILQ_FOREACH(h, headers, next)
		n += strcasecmp(h->key, name) == 0;
	return n;
}

static int
has_controls(const struct evkeyvalq *headers)
{
	const struct evkeyval *h;

	TAILQ_FOREACH(h, headers, next)
		if (strpbrk(h->key, " \t\r\n") != NULL || h->key[0] == '\0' ||
		    strpbrk(h->value, "\r\n") != NULL)
			return 1;
	return 0;
}

/* Such as GET /run\rX HTTP/1.1: where a line ends is then a question. */
static int
uri_has_controls(const char *uri)
{
	for (; *uri != '\0'; uri++)
		if ((unsigned char)*uri <= ' ' || *uri == 0x7f)
			return 1;
	return 0;
}

static const char *
check_length(const struct evkeyvalq *headers, int has_body)
{
	const char *length = evhttp_find_header(headers, "Content-Length");
	const char *encoding = evhttp_find_header(headers,
	    "Transfer-Encoding");

	if (length != NULL && encoding != NULL)
		return "A request must not have both Content-Length and "
		    "Transfer-Encoding.";
	if (encoding != NULL && strcasecmp(encoding, "chunked") != 0)
		return "The only Transfer-Encoding that is read is chunked.";
	if (length != NULL && (length[0] == '\0' ||
	    length[strspn(length, "0123456789")] != '\0'))
		return "The Content-Length must be a decimal number.";
	/* evhttp would take it for the next request. */
	if (!has_body && (encoding != NULL ||
	    (length != NULL && strspn(length, "0") != strlen(length))))
		return "A request of this method must not have a body.";
	return NULL;
}

/* evhttp answers in the version of the request, whatever that may be. */
static const char *
check_version(struct evhttp_request *req)
{
	int known = req->major == 1;

	if (!known || req->minor > 1) {
		req->major = 1;
		req->minor = 1;
	}
	return known ? NULL : "The versions of HTTP that are spoken here are "
	    "1.0 and 1.1.";
}

const char *
http_shape(struct evhttp_request *req)
{
	static const char *const single[] = { "Host", "Content-Length",
	    "Transfer-Encoding", "Content-Type", "Authorization", "Origin",
	    "Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Method",
	    "Mcp-Name" };
	const struct evkeyvalq *headers = evhttp_request_get_input_headers(
	    req);
	enum evhttp_cmd_type method = evhttp_request_get_command(req);
	const char *why = check_version(req);
	size_t i;

	if (why != NULL)
		return why;
	if (uri_has_controls(evhttp_request_get_uri(req)))
		return "The path has a blank or a control character.";
	if (has_controls(headers))
		return "A header has a blank in its name or a line break in "
		    "its value.";
	for (i = 0; i < sizeof single / sizeof single[0]; i++)
		if (count(headers, single[i]) > 1)
			return "A header that may come once came twice.";
	if (count(headers, "Host") == 0 && req->major == 1 &&
	    req->minor >= 1)
		return "A request of HTTP/1.1 needs the header Host.";
	return check_length(headers, method == EVHTTP_REQ_POST ||
	    method == EVHTTP_REQ_PUT || method == EVHTTP_REQ_PATCH);
}
