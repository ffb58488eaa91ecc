#ifndef ADDER_JAIL_FILTER_SHORTEN_H
#define ADDER_JAIL_FILTER_SHORTEN_H

#include "filter_program.h"

/*
 * Replaces a program by one that gives every call the same answer with fewer
 * instructions.  What loading a filter costs grows with their number: the
 * kernel translates each into machine code, and does so for each process
 * (bpf_prog_create_from_user() in Linux).  libseccomp names every number by
 * itself; here whole ranges of numbers are told apart.
 *
 * A program of another shape than libseccomp's is left as it is.  -1 with
 * errno when there is no memory; the program is then as it was.
 */
int	filter_shorten(struct syscall_filter *);

#endif
