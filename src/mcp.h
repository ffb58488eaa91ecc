#ifndef ADDER_MCP_H
#define ADDER_MCP_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/*
 * The Model Context Protocol, between a carrier (stdio, a socket) and the
 * dispatcher.  Nothing here knows how bytes travel: a session is fed
 * messages and hands messages to its carrier.
 */

struct conf;
struct dispatcher;
struct event_base;
struct mcp;
struct selftest;
struct rpc_id_scan;
struct session;

/* What HTTP says of a message beside its body; NULL where it says nothing. */
struct mcp_headers {
	const char	*version;	/* MCP-Protocol-Version */
	const char	*method;	/* Mcp-Method */
	const char	*name;		/* Mcp-Name */
	int		 streams;	/* messages may precede the answer */
};

struct mcp_carrier {
	/* Sends one message: a line of ASCII without its newline.  Must not
	 * end the session. */
	void	(*send)(void *arg, const char *text, size_t len);
	/* Every request so far is answered or cancelled.  Must not end the
	 * session. */
	void	(*settled)(void *arg);
	/* A handshake came over HTTP: the session, new and without one, that
	 * it is for, to be above this one; NULL to refuse.  May be NULL. */
	struct session *(*handshake)(void *arg);
	/* Lets go of the peer, which will come back for what is sent from
	 * here on.  NULL, or of no effect, where it cannot. */
	void	(*cut)(void *arg);
};

/* conf is referenced; the dispatcher must live longer. */
struct mcp	*mcp_new(struct event_base *, struct conf *,
		    struct dispatcher *);
/* After all its sessions. */
void		 mcp_free(struct mcp **);
void		 mcp_set_conf(struct mcp *, struct conf *);
/* A list is another than it was, or a resource: tells those who asked, not
 * at once and only once for what happens in the meantime.  owner is who has
 * it in its list, as struct result_options has it; NULL for all. */
void		 mcp_resources_changed(struct mcp *, const void *owner);
void		 mcp_resource_updated(struct mcp *, const char *uri);
/* Whether there is a handshake for this version; NULL, none named, will do. */
int		 mcp_serves(const char *version);
/* What runs leave is kept there, too; borrowed, NULL for nowhere. */
struct file_dir;
void		 mcp_set_files(struct mcp *, struct file_dir *);
/* For adder/doctor; NULL where there is none. */
void		 mcp_set_selftest(struct mcp *, const struct selftest *);
/* Of clients, those below others not counted. */
unsigned	 mcp_sessions(const struct mcp *);
/* The answer to adder/status; the caller's. */
json_t		*mcp_status(const struct mcp *);

/* One connection of one peer; name is for the log and copied. */
struct session	*session_new(struct mcp *, const struct mcp_carrier *,
		    void *arg, const char *name);
/*
 * A session below another: with its own carrier, but one with it for what a
 * handshake settles and for who owns what.  With shared_ids, calls of all
 * below one are found by their ids from each.  The parent's carrier may be
 * NULL; it is freed after them.
 */
struct session	*session_below(struct session *parent, int shared_ids,
		    const struct mcp_carrier *, void *arg);
/* The least that is applied to its calls (enum policy of proto.h). */
void		 session_set_policy(struct session *, int policy);
/* A name for who the peer is, the same when it comes again: who has one is
 * shown what earlier connections of that name left, and has their sessions of
 * sandbox_initialize; those of nobody known end with this session.  Copied,
 * cut at 127 bytes. */
void		 session_set_owner(struct session *, const char *);
/* Cancels its calls; nothing more is sent. */
void		 session_free(struct session **);
/* One line from the peer. */
void		 session_receive(struct session *, const char *, size_t);
/* One message that came with headers. */
void		 session_receive_http(struct session *, const char *, size_t,
		    const struct mcp_headers *);
/* The status that HTTP has for what was sent last, 200 by default. */
int		 session_status(const struct session *);
/* Whether a handshake is through. */
int		 session_initialized(const struct session *);
/* Whether an answer may be preceded by notifications. */
int		 session_streams(const struct session *);
/* Whether it is of a version whose clients take up a stream that broke. */
int		 session_resumes(const struct session *);
/* The peer will send no more: ends what only waits for news. */
void		 session_ended(struct session *);
/* The peer sent a line longer than max bytes, which was skipped. */
void		 session_overlong(struct session *, uint64_t len, size_t max,
		    const struct rpc_id_scan *);
/* The carrier is full: output of running jobs is not read until off. */
void		 session_hold(struct session *, int on);
/* Requests that wait for their answer. */
unsigned	 session_open(const struct session *);
/* Ends every call with this error, sent to the peer. */
void		 session_abort(struct session *, const char *why);

#endif
