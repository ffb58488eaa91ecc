#ifndef ADDER_SANDBOX_RLIMIT_H
#define ADDER_SANDBOX_RLIMIT_H

#include <stdint.h>

#include "limit.h"

/*
 * Sets the resource limits of this process from a job's limits; base_as is
 * the address space in bytes that the libraries take already.  A limit of 0
 * is left as it is.  -1 with errno.
 */
int	rlimit_apply(const struct limits *, uint64_t base_as);
/* The same for what a job asks for below what its worker was made with;
 * nothing is ever raised. */
int	rlimit_lower(const struct limits *made_with, const struct limits *job,
	    uint64_t base_as);

/* Where a process runs one job after the other: CPU time from now on.  Only
 * the soft limit, as what is lowered stays so; 0 is none. */
int	rlimit_cpu_from_now(uint64_t cpu_ms);

#endif
