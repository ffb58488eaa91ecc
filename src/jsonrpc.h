#ifndef ADDER_JSONRPC_H
#define ADDER_JSONRPC_H

#include <stddef.h>

#include <jansson.h>

/* JSON-RPC 2.0, section 5.1; then one of MCP before 2026-07-28, and three
 * of MCP from then on. */
enum rpc_code {
	RPC_PARSE_ERROR		= -32700,
	RPC_INVALID_REQUEST	= -32600,
	RPC_UNKNOWN_METHOD	= -32601,
	RPC_INVALID_PARAMS	= -32602,
	RPC_INTERNAL_ERROR	= -32603,
	RPC_UNKNOWN_RESOURCE	= -32002,
	RPC_HEADER_MISMATCH	= -32020,
	RPC_MISSING_CAPABILITY	= -32021,
	RPC_UNSUPPORTED_VERSION	= -32022
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE, RPC_INVALID };

/* One message; everything but why is borrowed from the parsed value. */
struct rpc_message {
	enum rpc_kind	 kind;
	json_t		*id;		/* string or integer; NULL if none */
	const char	*method;
	json_t		*params;	/* an object; NULL if absent or null */
	const char	*why;		/* RPC_INVALID: a static sentence */
};

/* Why a text is no message at all. */
struct rpc_fault {
	enum rpc_code	 code;
	json_t		*id;		/* owned; NULL if none was found */
	char		 why[256];
};

/*
 * Parses one line.  NULL with *fault filled in if it is not JSON; valid
 * JSON that the library refuses is repaired first (json_repair.h), and the
 * id is looked for even in a broken text, so that the client does not wait
 * for an answer that never comes.
 */
json_t	*rpc_parse(const char *, size_t len, struct rpc_fault *fault);
/* An id by itself, a new reference; NULL if it may be none. */
json_t	*rpc_id_read(const char *, size_t len);
/* Sorts a value that is no array. */
void	 rpc_classify(const json_t *, struct rpc_message *);

/* Whole messages; id is borrowed, result, data and params are taken over.
 * An error without an id (NULL) has no such member: clients refuse null. */
json_t	*rpc_result(json_t *id, json_t *result);
json_t	*rpc_error(json_t *id, enum rpc_code, const char *why, json_t *data);
json_t	*rpc_notification(const char *method, json_t *params);

#endif
