#ifndef ADDER_GLUE_MODULE_H
#define ADDER_GLUE_MODULE_H

#include "pycompat.h"

/* The object that glue code knows as "adder": what it needs of C.  A new
 * reference; not in sys.modules. */
PyObject *glue_module_new(void);

#endif
