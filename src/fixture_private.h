#ifndef ADDER_FIXTURE_PRIVATE_H
#define ADDER_FIXTURE_PRIVATE_H

#include "mcp_private.h"

/* What the fixture*.c files share. */

struct fixture_tool {
	const char	*name;
	const char	*about;
	const char	*schema;	/* NULL: takes no arguments */
	/* One of these: a program for run_python, a result, or a method. */
	const char	*program;
	const char	*result;
	json_t		*(*call)(struct request *);
};

/* JSON with ' in place of ", which no text of ours needs. */
json_t	*fixture_json(const char *);
/* Whether the client has this capability, as the request or, before
 * 2026-07-28, the handshake says. */
int	 fixture_client_has(const struct request *, const char *capability);
/* Fails with what is missing. */
json_t	*fixture_missing(struct request *, const char *capability);

/* --- fixture_tools.c */

json_t	*fixture_tool_list(void);
/* NULL if there is none. */
const struct fixture_tool *fixture_tool_find(const char *name);
json_t	*fixture_tool_call(const struct fixture_tool *, struct request *);

/* --- fixture_ask.c: requests of ours to a client with a handshake */

json_t	*fixture_sampling(struct request *);
json_t	*fixture_elicitation(struct request *);
json_t	*fixture_defaults(struct request *);
json_t	*fixture_enums(struct request *);
void	 fixture_answered(struct session *, const json_t *message);

/* --- fixture_state.c: results that ask for more (MCP 2026-07-28, "Multi
 * round-trip requests") */

/* Goes by the name in the request; done is the result once all is there. */
json_t	*fixture_rounds(struct request *, json_t *done);
json_t	*fixture_round_tool(struct request *);

/* --- fixture_data.c: prompts, resources, completion.  NULL after
 * mcp_fail(); *known 0 if it is not one of them. */

void	 fixture_data_list(const char *method, json_t *result);
json_t	*fixture_prompt(struct request *, int *known);
json_t	*fixture_read(struct request *, int *known);
json_t	*fixture_watch(struct request *, int *known);
json_t	*fixture_complete(struct request *, int *known);

#endif
