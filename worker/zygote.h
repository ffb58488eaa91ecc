#ifndef ADDER_ZYGOTE_H
#define ADDER_ZYGOTE_H

#include <stdint.h>

#include "layers.h"

/* What the keeper tells on the command line. */
struct zygote_options {
	uint64_t	 generation;
	const char	*python_env;	/* "" for the system's packages */
	const char	*modules;
	const char	*warm_file;	/* "" for none */
	const char	*scratch;	/* absolute, holds those of workers */
	const char	*deps_dir;	/* holds environments; "" for none */
	jail_set	 layers;
	unsigned	 uid_base;
	int		 processes;
	int		 compact;
	int		 prefault;	/* find out what for */
	int		 early;		/* serves until another one is warm */
};

/*
 * The zygote's life: start Python, import, fork an early zygote if that is
 * asked for (zygote_early.h), warm, check, say ZYGOTE_READY, then fork a
 * worker for each WORKER_FORK until the control socket closes.
 * Returns the exit status.
 */
int	zygote_run(const struct zygote_options *);

#endif
