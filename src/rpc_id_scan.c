#include "config.h"

#include <string.h>

#include "jsonrpc.h"
#include "rpc_id_scan.h"

static void
add(struct rpc_id_scan *s, char c)
{
	if (s->len < RPC_ID_BYTES)
		s->token[s->len++] = c;
}

/* A value of the message itself has come to its end. */
static void
end_value(struct rpc_id_scan *s)
{
	if (s->len == 0)
		return;
	if (s->wanted && s->len < RPC_ID_BYTES) {
		memcpy(s->id, s->token, s->len);
		s->id_len = s->len;
	}
	s->wanted = 0;
	s->len = 0;
}

static void
end_string(struct rpc_id_scan *s)
{
	s->quoted = 0;
	if (s->depth != 1)
		return;
	if (!s->key_next) {
		end_value(s);
		return;
	}
	s->wanted = s->len == 4 && memcmp(s->token, "\"id\"", 4) == 0;
	s->key_next = 0;
	s->len = 0;
}

static void
in_string(struct rpc_id_scan *s, char c)
{
	if (s->depth == 1)
		add(s, c);
	if (s->escaped)
		s->escaped = 0;
	else if (c == '\\')
		s->escaped = 1;
	else if (c == '"')
		end_string(s);
}

static void
open_level(struct rpc_id_scan *s, char c)
{
	if (s->depth++ == 0)
		s->object = s->key_next = c == '{';
	/* No list and no object is an id. */
	s->wanted = 0;
	s->len = 0;
}

static void
close_level(struct rpc_id_scan *s)
{
	if (s->depth == 1)
		end_value(s);
	if (s->depth > 0)
		s->depth--;
}

static void
outside(struct rpc_id_scan *s, char c)
{
	switch (c) {
	case '"':
		s->quoted = 1;
		s->len = 0;
		if (s->depth == 1)
			add(s, c);
		break;
	case '{':
	case '[':
		open_level(s, c);
		break;
	case '}':
	case ']':
		close_level(s);
		break;
	case ',':
		if (s->depth == 1) {
			end_value(s);
			s->key_next = s->object;
		}
		break;
	case ' ':
	case '\t':
	case '\r':
		if (s->depth == 1)
			end_value(s);
		break;
	case ':':
		break;
	default:
		if (s->depth == 1)
			add(s, c);
	}
}

void
rpc_id_scan(struct rpc_id_scan *s, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (s->quoted)
			in_string(s, text[i]);
		else
			outside(s, text[i]);
}

json_t *
rpc_id_scanned(const struct rpc_id_scan *s)
{
	return s->id_len == 0 || !s->object ? NULL : rpc_id_read(s->id,
	    s->id_len);
}
