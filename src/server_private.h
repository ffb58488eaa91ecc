#ifndef ADDER_SERVER_PRIVATE_H
#define ADDER_SERVER_PRIVATE_H

#include <stdint.h>
#include <sys/queue.h>

#include "server.h"
#include "transport.h"

/* What the server*.c files share. */

struct client;
struct event;
struct file_dir;
struct http;
struct http_mcp;
struct http_pair;
struct http_health;
struct http_run;

#define SERVER_SIGNALS	5

struct server {
	struct event_base	*base;
	const struct server_options *options;
	struct conf		*conf;
	struct dispatcher	*dispatcher;
	struct file_dir		*files;		/* NULL for none */
	struct mcp		*mcp;
	struct selftest		*selftest;	/* NULL where it is off */
	struct listeners	*listeners;
	struct http		*http;
	struct http_mcp		*http_mcp;
	struct http_pair	*http_pair;
	struct http_health	*health;
	struct http_run		*http_run;
	TAILQ_HEAD(, client)	 clients;
	unsigned		 nclients;
	struct event		*ev_signals[SERVER_SIGNALS];
	struct event		*ev_ready;
	uint64_t		 ready_generation;
	uint64_t		 ready_until_us;
	struct event		*ev_stop;
	int			 stopping;
	int			 status;	/* for exit */
};

/* Ends the server in order; for the second time, at once. */
void	server_stop(struct server *);
/* Whether anybody is still to be sent something. */
int	server_has_clients(const struct server *);

/* --- server_files.c; -1 with *why, one sentence */

int	server_files_open(struct server *, char **why);
int	server_files_load(struct server *, char **why);
void	server_files_set_conf(struct server *);
void	server_files_free(struct server *);

/* --- client.c */

/* Takes over the descriptors. */
void	client_new(struct server *, enum transport_kind, int in, int out,
	    const char *name);
/* Answers what is open with this error and sends what is unsent. */
void	clients_stop(struct server *, const char *why);
void	clients_free(struct server *);
void	clients_set_conf(struct server *);

#endif
