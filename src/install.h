#ifndef ADDER_INSTALL_H
#define ADDER_INSTALL_H

#include <stddef.h>

struct conf;
struct event_base;
struct install;
struct msg_INSTALL_EXITED;
struct supervisor;

/* An environment of packages, as the installer reports it: checked, but its
 * packages are strangers' code. */
struct install_result {
	int	 plain;		/* workers have everything already */
	char	*path;		/* below deps.dir */
	char	*site;		/* the directory in it to import from */
	char	*modules;	/* names to import, comma-separated */
	int	 shadows;	/* it has packages that every worker has, too */
	int	 made;		/* it was not there before */
	unsigned evicted;	/* others that made room */
};

struct install_observer {
	/* What the installer does, as text that is not ours. */
	void	(*progress)(const char *what, void *arg);
	/* The end, once, when its process is gone: the result, or NULL and
	 * why, a sentence and maybe the resolver's last lines.  The record is
	 * to be freed, also from inside the call. */
	void	(*done)(const struct install_result *, const char *why,
		    void *arg);
};

/*
 * Has packages found or installed by an installer below the keeper.
 * packages: as packages.h makes it; keep: names of environments, space
 * separated, that are in use.  Nothing is called from inside.
 */
struct install	*install_start(struct event_base *, const struct conf *,
		    struct supervisor *, const char *packages,
		    const char *keep, const struct install_observer *,
		    void *arg);
/* Kills it, if it still runs. */
void		 install_free(struct install **);
/* What the keeper reports; another one's is ignored. */
void		 install_exited(struct install *,
		    const struct msg_INSTALL_EXITED *);

#endif
