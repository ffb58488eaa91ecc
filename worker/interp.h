#ifndef ADDER_INTERP_H
#define ADDER_INTERP_H

#include "pycompat.h"

/*
 * The embedded interpreter and the small Python part of ours ("glue") that
 * is compiled into this program.
 */

/*
 * Starts CPython as `python3 main.py` would find it with an empty
 * environment: ADDER_PYTHON_EXE, or the interpreter of the virtual
 * environment python_env ("" for none).  -1 with *why, one sentence (the
 * caller's to free).
 */
int	interp_start(const char *python_env, char **why);
/*
 * A function of the glue module (a borrowed reference that lives as long as
 * the process), or NULL where that module has none of this name.  Glue runs
 * with builtins of its own, which programs do not change.
 */
PyObject *interp_glue(const char *module, const char *name);
/* Calls a glue function with the arguments of Py_BuildValue(format), a
 * parenthesised tuple.  A new reference, or NULL with an exception set. */
PyObject *interp_call(const char *module, const char *name,
	    const char *format, ...);
/* The pending exception as "Type: message" for a log (the caller frees),
 * after which none is pending; never NULL. */
char	*interp_take_error(void);
/* PySys_GetObject that answers None where the attribute is gone. */
PyObject *interp_sys(const char *name);

#endif
