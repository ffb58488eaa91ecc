#ifndef ADDER_PYEND_H
#define ADDER_PYEND_H

struct pyjob;

/*
 * The end of an interpreter as a program sees it (Py_FinalizeEx): threads
 * joined, atexit handlers, finalizers of what __main__ holds, streams and C
 * buffers flushed.  What only frees memory is left to the end of the
 * process.
 */

/* In the zygote, after all imports: -1 with an exception set. */
int	pyend_init(void);
/* Everything in order; pictures of open figures go out after the atexit
 * handlers.  Sets the job's status to 120 where CPython would. */
void	pyend_run(struct pyjob *);
/* Touches the pages that pyend_run() will need. */
void	pyend_trial(void);
/* In a zygote: the modules that there are now belong to it, and are left
 * alone at the end of a program.  -1 with a Python exception set. */
int	pyend_adopt(void);

/* At the end of a program after which the interpreter goes on, in a session:
 * pictures of open figures go out and streams are flushed, and that is all. */
void	pyend_pause(void);

#endif
