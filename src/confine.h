#ifndef ADDER_CONFINE_H
#define ADDER_CONFINE_H

struct conf;

/*
 * Gives up every right that adderd does not need once it listens and its
 * keeper runs: root's user id for conf's user, capabilities, new privileges,
 * files other than the configuration, its tokens and files.dir (Landlock),
 * most system calls (seccomp).  conf_file: NULL if there is none.  -1 with
 * *why, a sentence the caller frees.
 */
int	confine_server(const struct conf *, const char *conf_file,
	    char **why);

#endif
