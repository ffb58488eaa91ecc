#ifndef ADDER_ADDR_H
#define ADDER_ADDR_H

/* One entry of listen.tcp or listen.http, not yet resolved. */
struct addr {
	char	host[256];
	char	port[6];
};

/*
 * Takes the next entry of a comma-separated list of host:port, [v6]:port
 * or port (then on 127.0.0.1) and moves the cursor behind it.  1: *a is
 * filled in; 0: the list is used up; -1: *why (static) says what is wrong.
 */
int	addr_next(const char **cursor, struct addr *a, const char **why);
/* Whether only this machine reaches it: localhost, 127.0.0.0/8 or ::1. */
int	addr_is_loopback(const struct addr *);

#endif
