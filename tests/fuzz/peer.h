#ifndef ADDER_FUZZ_PEER_H
#define ADDER_FUZZ_PEER_H

#include <stddef.h>

struct conf;

/* A configuration of defaults and "key=value" texts, the last of them NULL;
 * made once. */
struct conf	*fuzz_conf(const char **overrides);
/* Fails unless it is one line of ASCII that holds one JSON-RPC message, or a
 * list of them, as clients of MCP accept them: no member is null, and a
 * response has a result or an error. */
void		 fuzz_check_message(const char *, size_t);

#endif
