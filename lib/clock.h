#ifndef ADDER_CLOCK_H
#define ADDER_CLOCK_H

#include <stdint.h>
#include <sys/types.h>

/* CLOCK_MONOTONIC in microseconds. */
uint64_t	clock_us(void);
/* CPU time that a process has used so far, in microseconds, as the kernel
 * counts it (clock_getcpuclockid(3)); 0 if the process is gone. */
uint64_t	clock_process_cpu_us(pid_t);

#endif
