#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http.h"
#include "http_takes.h"
#include "json.h"
#include "jsonrpc.h"

/* One item of an Accept header (RFC 9110, section 12.5.1). */
static unsigned
takes_item(const char *s, size_t len)
{
	static const struct {
		const char	*type;
		unsigned	 takes;
	} types[] = {
		{ "application/json", TAKES_JSON }, { "*/*", TAKES_JSON },
		{ "application/*", TAKES_JSON },
		{ "text/event-stream", TAKES_SSE }, { "text/*", TAKES_SSE }
	};
	size_t i;

	while (len > 0 && (s[len - 1] == ' ' || s[len - 1] == '\t'))
		len--;
	for (i = 0; i < sizeof types / sizeof types[0]; i++)
		if (len == strlen(types[i].type) &&
		    strncasecmp(s, types[i].type, len) == 0)
			return types[i].takes;
	return 0;
}

unsigned
http_takes(const struct http_request *r)
{
	const char *s = http_header(r, "Accept");
	unsigned takes = 0;

	if (s == NULL)
		return TAKES_JSON;
	while (*s != '\0') {
		s += strspn(s, ", \t");
		takes |= takes_item(s, strcspn(s, ";,"));
		s += strcspn(s, ",");
	}
	return takes;
}

/* Versions are dates, so they compare as texts. */
int
http_is_modern(const struct http_request *r)
{
	const char *version = http_header(r, "MCP-Protocol-Version");

	return version != NULL && strcmp(version, "2026-07-28") >= 0;
}

void
http_refuse(struct http_request *r, int status, const char *why)
{
	json_t *error = rpc_error(NULL, RPC_INVALID_REQUEST, why, NULL);
	size_t len;
	char *line = json_line(error, &len);

	http_reply(r, status, "application/json", line, len);
	free(line);
	json_decref(error);
}
