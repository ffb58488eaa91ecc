#ifndef ADDER_RPC_ID_SCAN_H
#define ADDER_RPC_ID_SCAN_H

#include <stddef.h>

#include <jansson.h>

/*
 * Looks for the id of a message that is too long to be kept, as its bytes go
 * by: clients write the members in any order, and one that is not told which
 * of its requests was refused waits for ever.
 */
#define RPC_ID_BYTES	256

struct rpc_id_scan {
	size_t		depth;
	int		object;		/* the message is one */
	int		quoted;		/* within a string, */
	int		escaped;	/* behind a backslash */
	int		key_next;	/* the next string is a key */
	int		wanted;		/* the next value is that of "id" */
	char		token[RPC_ID_BYTES];	/* at depth 1 */
	size_t		len;		/* RPC_ID_BYTES: it is longer */
	char		id[RPC_ID_BYTES];	/* its text, the last one */
	size_t		id_len;
};

/* Starts from a zeroed one; takes the next bytes of the message. */
void	 rpc_id_scan(struct rpc_id_scan *, const char *, size_t len);
/* A new reference; NULL if none, or none that may be one, has gone by. */
json_t	*rpc_id_scanned(const struct rpc_id_scan *);

#endif
