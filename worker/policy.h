#ifndef ADDER_POLICY_H
#define ADDER_POLICY_H

#include "pycompat.h"

#include "pack.h"

/*
 * policy = restricted.  What a program names is checked in Python
 * (py/restricted.py); what it does is watched by an audit hook (PEP 578),
 * which refuses effects: opening files outside the libraries, os, processes,
 * sockets, native code.  Neither is a boundary: the jail is.
 */

/* In the zygote, once. */
int	policy_init(void);
/*
 * Restricts the namespace of the program and arms the hook.  0; -1 if the
 * program may not run: *why then is a sentence, the caller's to free.
 */
int	policy_restrict(PyObject *ns, struct slice source, char **why);
/* Off while our own code works for a restricted job. */
void	policy_arm(int on);
/*
 * From the end of a program on, before its objects go: refuses to start
 * threads and processes in the words of CPython, where it does so.
 */
void	policy_end(void);
/* Whether it was armed. */
int	policy_armed(void);

#endif
