#ifndef ADDER_FIXTURE_H
#define ADDER_FIXTURE_H

struct mcp;

/*
 * The tools, prompts and resources that the official conformance suite asks
 * of a server that it tests, behind our own methods, sessions and jobs.  Only
 * adderd --conformance-fixtures has them; never where others can reach it,
 * as they have anybody ask anything of a client.
 */
void	fixture_install(struct mcp *);

#endif
