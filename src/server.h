#ifndef ADDER_SERVER_H
#define ADDER_SERVER_H

struct conf;

struct server_options {
	const char	*file;		/* for reload; NULL for none */
	const char *const *overrides;
	int		 stdio;
	int		 debug;		/* whatever log.level says */
	int		 fixtures;	/* of the conformance suite */
};

/* Serves until it is told to stop; takes over the conf.  The exit status. */
int	server_run(struct conf *, const struct server_options *);

#endif
