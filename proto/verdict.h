#ifndef ADDER_VERDICT_H
#define ADDER_VERDICT_H

/* How a job ended: the same word in answers, logs, metrics and manuals. */
#define VERDICT_LIST(X)							\
	X(OK,        "ok")		/* ran to its end */		\
	X(EXCEPTION, "exception")	/* an uncaught exception */	\
	X(EXIT,      "exit")		/* a non-zero exit status */	\
	X(TIMEOUT,   "timeout")		/* wall-clock limit */		\
	X(CPU,       "cpu")		/* CPU time limit */		\
	X(MEMORY,    "memory")		/* memory limit */		\
	X(OUTPUT,    "output")		/* wrote far beyond its limit */ \
	X(FILES,     "files")		/* scratch bytes or file count */ \
	X(PIDS,      "pids")		/* processes and threads */	\
	X(SIGNAL,    "signal")		/* died from a signal of its own */ \
	X(DENIED,    "denied")		/* a call the jail refuses */	\
	X(CANCELLED, "cancelled")	/* by the client */		\
	X(BUSY,      "busy")		/* the queue was full */	\
	X(INSTALL,   "install")		/* its packages could not be had */ \
	X(LOST,      "lost")		/* the worker vanished */	\
	X(INTERNAL,  "internal")	/* a fault of adder itself */

enum verdict {
#define X(name, text) VERDICT_##name,
	VERDICT_LIST(X)
#undef X
	VERDICT_COUNT
};

const char	*verdict_name(enum verdict);

#endif
