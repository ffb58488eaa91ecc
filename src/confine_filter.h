#ifndef ADDER_CONFINE_FILTER_H
#define ADDER_CONFINE_FILTER_H

/* Loads the server's own system call filter: what a libevent daemon with open
 * sockets needs, and EPERM for the rest; with files also
 * what writes them.  -1 with errno. */
int	confine_filter_load(int files);

#endif
