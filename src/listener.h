#ifndef ADDER_LISTENER_H
#define ADDER_LISTENER_H

#include "transport.h"

struct conf;
struct event_base;
struct listeners;
struct stat;

/* Takes over a connected, close-on-exec socket; name is for the log. */
typedef void (*listener_accept)(int fd, enum transport_kind,
    const char *name, void *arg);

/* Opens all that listen.unix and listen.tcp name, maybe none.  NULL with
 * *why (the caller's to free) if one of them cannot be opened. */
struct listeners *listeners_open(struct event_base *, const struct conf *,
		    listener_accept, void *arg, char **why);
/* Closes them, and removes the file of a Unix socket if it is still ours. */
void		 listeners_free(struct listeners **);
/* Who removes that file where we may not. */
void		 listeners_set_remover(struct listeners *,
		    void (*)(const char *, const struct stat *, void *),
		    void *arg);
unsigned	 listeners_count(const struct listeners *);
/* While paused, further clients wait in the kernel's queue. */
void		 listeners_pause(struct listeners *, int on);

#endif
