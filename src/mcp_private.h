#ifndef ADDER_MCP_PRIVATE_H
#define ADDER_MCP_PRIVATE_H

#include <stdint.h>
#include <sys/queue.h>

#include "job.h"
#include "jsonrpc.h"
#include "mcp.h"
#include "proto.h"

/* What the mcp_*.c files share. */

struct event;
struct file_dir;
struct listen;
struct live;
struct progress;
struct result_options;
struct run_store;
struct tool;

/* Revisions with an initialize handshake, oldest first. */
enum mcp_version { MCP_2024_11_05, MCP_2025_03_26, MCP_2025_06_18,
    MCP_2025_11_25, MCP_VERSIONS };

/* A message belongs to an era, a connection does not: a peer may probe one
 * and go on in the other. */
enum mcp_era { ERA_LEGACY = 1 << 0, ERA_MODERN = 1 << 1 };

/* RFC 5424 severities by MCP's names, mildest first. */
enum mcp_level { LEVEL_DEBUG, LEVEL_INFO, LEVEL_NOTICE, LEVEL_WARNING,
    LEVEL_ERROR, LEVEL_CRITICAL, LEVEL_ALERT, LEVEL_EMERGENCY, LEVELS };

/* Lists that clients are told of when they change. */
enum mcp_change { CHANGED_TOOLS = 1 << 0, CHANGED_PROMPTS = 1 << 1,
    CHANGED_RESOURCES = 1 << 2 };

/* URIs of resources that a peer wants to hear of: each with whether it has
 * changed since it was told. */
#define WATCHED_MAX	100

struct mcp {
	struct event_base	*base;
	struct conf		*conf;
	struct dispatcher	*dispatcher;
	const struct selftest	*selftest;
	TAILQ_HEAD(, session)	 sessions;	/* those below none */
	unsigned		 nsessions;
	struct event		*ev_changed;
	uint64_t		 changed_us;	/* when it was told last */
	unsigned		 nwatched;	/* URIs of all peers */
	const struct mcp_fixtures *fixtures;	/* NULL but for tests */
	struct run_store	*store;
	struct event		*ev_expire;
};

struct session {
	struct mcp		*mcp;
	struct session		*parent;	/* NULL but for one below */
	TAILQ_HEAD(, session)	 children;
	TAILQ_ENTRY(session)	 sibling;	/* or another below none */
	int			 shared_ids;
	const struct mcp_headers *headers;	/* of what is received now */
	int			 status;	/* for HTTP */
	const struct mcp_carrier *carrier;
	void			*arg;
	char			*name;
	unsigned long long	 number;	/* of all, ever */
	enum mcp_version	 version;
	enum policy		 policy;	/* the least for its calls */
	char			 owner[128];	/* "" for nobody known */
	int			 initialized;
	enum mcp_level		 log_level;	/* LEVELS: send no log */
	json_t			*client;	/* what it can do; fixtures */
	unsigned		 changed;	/* and not told yet */
	json_t			*watched;	/* NULL if none */
	int			 held;
	unsigned		 open;
	TAILQ_HEAD(, call)	 calls;
	unsigned		 ncalls;
};

/*
 * What arrived together is answered together: one request, or the requests
 * of a batch.  It is freed when the last of them is answered or dropped.
 */
struct exchange {
	struct session	*session;
	unsigned	 open;		/* requests without an answer */
	json_t		*batch;		/* the answers, NULL for one alone */
};

/* A call of a tool that has no answer yet. */
struct call {
	TAILQ_ENTRY(call)	 entry;
	struct session		*session;
	struct exchange		*exchange;
	enum mcp_era		 era;
	json_t			*id;
	struct job		*job;		/* NULL while it waits */
	char			*note;		/* for the answer, or NULL */
	struct progress		*progress;	/* NULL if not asked for */
	enum mcp_level		 log_level;	/* LEVELS: send no log */
	struct live		*live;		/* NULL if not asked for */
	struct listen		*listen;	/* NULL for a tool's */
	int			 whole;		/* the answer has no budget */
	/* A tool that could not answer yet is tried again. */
	const struct tool	*tool;
	json_t			*args;
	struct event		*ev_again;
	uint64_t		 give_up_us;
};

/* A request on its way through a method. */
struct request {
	enum mcp_era	 era;
	struct session	*session;
	struct exchange	*exchange;
	json_t		*id;
	const char	*method;
	json_t		*params;	/* an object, never NULL */
	/* Set by mcp_fail(). */
	json_t		*error;
};

/* What a server that the conformance suite tests has besides. */
struct mcp_fixtures {
	/* Whether what the request names is one of them; then the result is
	 * that of a method. */
	int	(*run)(struct request *, json_t **result);
	/* Adds to what a method made. */
	void	(*add)(struct request *, json_t *result);
	/* A peer answered a request of theirs. */
	void	(*answered)(struct session *, const json_t *message);
};

/* --- mcp_session.c */

/* Where the settings of a handshake are, and who owns what runs leave. */
struct session *session_root(struct session *);
/* Who has the sessions of sandbox_initialize that are made here: its owner,
 * or it alone. */
#define HOLDER_BYTES	160
void	 session_holder(struct session *, char [HOLDER_BYTES]);
/* Puts one that is below another below this one, and shares ids. */
void	 session_move(struct session *, struct session *parent);
/* For a request alone; what is in a batch has no status. */
void	 exchange_status(struct exchange *, int status);

void	 session_send(struct session *, json_t *message);	/* takes it */
struct exchange *exchange_new(struct session *, int batch);
/* A request that will be answered once by exchange_answer or _drop. */
void	 exchange_open(struct exchange *);
/* Takes the answer; the exchange may be gone afterwards. */
void	 exchange_answer(struct exchange *, json_t *answer);
void	 exchange_drop(struct exchange *);

/* --- mcp.c */

/* The error of a request; returns NULL for a method to return.  data is
 * taken over and may be NULL. */
json_t	*mcp_fail(struct request *, enum rpc_code, json_t *data,
	    const char *, ...) __attribute__((format(printf, 4, 5)));
/* The same for a member of the parameters, or of an object among them, that is
 * not what is expected, "a string". */
json_t	*mcp_wrong(struct request *, const json_t *object, const char *member,
	    const char *expected);

/* --- mcp_era.c */

enum mcp_flag { ALONE = 1 << 2,		/* never in a batch */
    CACHED = 1 << 3,			/* clients may keep the result */
    UNCACHED = 1 << 4 };		/* and here say so, but not this */

/* The era of a message is the message's own claim. */
enum mcp_era era_of(const json_t *params);
/* What the message and its headers say of versions; -1 after mcp_fail(). */
int	 era_check(struct request *);
/* The same for what is no request: NULL, or what is wrong. */
const char *era_trouble(const struct session *);
/* Adds what every result of the modern era has; flags are the method's. */
json_t	*era_finish(enum mcp_era, unsigned flags, json_t *result);
json_t	*mcp_discover(struct request *);

/* --- mcp_init.c: parts of both handshakes */

/* The names of all versions with a handshake, newest first; NULL at the
 * end. */
const char *const *mcp_legacy_versions(void);
json_t	*mcp_capabilities(void);
json_t	*mcp_server_info(void);
json_t	*mcp_instructions(const struct conf *);

/* --- methods: the result (owned), or NULL after mcp_fail(), or NULL
 * without it where the answer comes later. */

json_t	*mcp_initialize(struct request *);		/* mcp_init.c */
json_t	*mcp_ping(struct request *);			/* mcp_lists.c */
json_t	*mcp_set_level(struct request *);
json_t	*mcp_tools_list(struct request *);
json_t	*mcp_prompts_list(struct request *);
json_t	*mcp_prompts_get(struct request *);
json_t	*mcp_complete(struct request *);
json_t	*mcp_resources_list(struct request *);	/* mcp_resources.c */
json_t	*mcp_templates_list(struct request *);
json_t	*mcp_resources_read(struct request *);
json_t	*mcp_status_method(struct request *);		/* mcp_status.c */
json_t	*mcp_doctor(struct request *);			/* mcp_doctor.c */
json_t	*mcp_tools_call(struct request *);		/* mcp_call.c */

json_t	*mcp_subscribe(struct request *);		/* mcp_changed.c */
json_t	*mcp_unsubscribe(struct request *);
json_t	*mcp_listen(struct request *);			/* mcp_listen.c */

/* --- mcp_call.c: calls in flight */

/* With the progress and log that the request asks for. */
struct call *call_new(struct request *);
struct call *call_find(struct session *, const json_t *id);
/* Whether the peer has as many as it may. */
int	 call_full(const struct session *);
/* Ends it and what it runs, without an answer. */
void	 call_cancel(struct call *);
/* Ends it with this answer, taken over. */
void	 call_answer(struct call *, json_t *answer);
void	 call_pause(struct call *, int on);

/* --- mcp_resources.c: what runs left behind */

void	 resources_init(struct mcp *);
void	 resources_set_conf(struct mcp *);
void	 resources_set_dir(struct mcp *, struct file_dir *);
void	 resources_free(struct mcp *);
/* What an answer to this peer may hold. */
void	 resources_options(struct session *, int whole,
	    struct result_options *);

/* --- mcp_notify.c: notifications of ours */

/* Progress of one call; token is borrowed, NULL is returned if it is none
 * (it must be a string or an integer). */
struct progress *progress_new(struct session *, json_t *token);
void	 progress_free(struct progress **);
void	 progress_started(struct progress *);
/* What it waits for; shown until it starts. */
void	 progress_waits(struct progress *, const char *what);
void	 progress_output(struct progress *, const char *, size_t);
/* A log message, if the wish (what the peer asked for) is no higher than
 * its level; data is taken. */
void	 notify_log(struct session *, enum mcp_level wish, enum mcp_level,
	    const char *logger, json_t *data);
/* LEVELS if there is none of that name. */
enum mcp_level level_parse(const char *);

/* --- mcp_changed.c: what is another than it was */

void	 changed_init(struct mcp *);
void	 changed_free(struct mcp *);
/* Lists (enum mcp_change); owner as for mcp_resources_changed(). */
void	 mcp_changed(struct mcp *, unsigned what, const void *owner);
/* Tells those who can be told now, or soon. */
void	 changed_tell(struct mcp *);
/* What the peer of a handshake asked for, when it leaves. */
void	 changed_forget(struct session *);
/* Sends what has changed, each with meta (borrowed, or NULL), and forgets
 * that; watched may be NULL. */
void	 changed_send(struct session *, unsigned *what, json_t *watched,
	    json_t *meta);

/* --- mcp_listen.c: requests that are answered by news */

void	 listen_free(struct mcp *, struct listen **);
void	 listen_mark(struct call *, unsigned what);
void	 listen_mark_uri(struct call *, const char *uri);
void	 listen_tell(struct call *);
/* Ends it in order. */
void	 listen_end(struct call *);

/* --- mcp_live.c: output of a call that runs */

/* NULL if the peer's wish leaves nothing to send. */
struct live *live_new(struct session *, json_t *id, enum mcp_level wish);
void	 live_free(struct live **);
void	 live_output(struct live *, enum job_stream, const char *, size_t);
/* Sends what waits, right before the answer. */
void	 live_finish(struct live *);

#endif
