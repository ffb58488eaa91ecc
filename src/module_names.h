#ifndef ADDER_MODULE_NAMES_H
#define ADDER_MODULE_NAMES_H

#include <stddef.h>

/* The package that has the module, which goes by another name; NULL if none
 * is known, which mostly means that both names are the same.  module need not
 * end after len bytes.  A static string. */
const char	*module_package(const char *module, size_t len);

#endif
