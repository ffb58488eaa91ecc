#ifndef ADDER_PYERROR_H
#define ADDER_PYERROR_H

struct pyjob;

/* In the zygote: -1 with an exception set. */
int	pyerror_init(void);
/*
 * Deals with the pending exception as CPython does with one that nothing
 * caught (PyErr_Print): SystemExit, sys.excepthook, the traceback.  Sends
 * EXCEPTION and sets how the job ended.
 */
void	pyerror_handle(struct pyjob *);
/* Address space kept back so that an error can be reported when a job has
 * used all of its memory; taken in the worker, before the job. */
void	pyerror_keep_reserve(void);

#endif
