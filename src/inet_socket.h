#ifndef ADDER_INET_SOCKET_H
#define ADDER_INET_SOCKET_H

#include <stddef.h>
#include <sys/socket.h>

struct addr;

/* Takes over a bound, close-on-exec, non-blocking socket that does not
 * listen yet; address is "127.0.0.1:7000" or "[::1]:7000".  -1 with *why. */
typedef int (*inet_bound)(int fd, const char *address, void *arg,
		    char **why);

/*
 * Binds every address that the entry resolves to and can be had; one is
 * enough.  key names the setting in errors.  -1 with *why (the caller's).
 */
int	inet_open(const struct addr *, const char *key, inet_bound,
	    void *arg, char **why);
/* The same form of an address, "?" if it has none. */
void	inet_name(const struct sockaddr *, socklen_t, char *buf, size_t len);
/* No delay for small answers, and dead peers are found. */
void	inet_set_options(int fd);

#endif
