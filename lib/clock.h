#ifndef ADDER_CLOCK_H
#define ADDER_CLOCK_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* CLOCK_MONOTONIC in microseconds. */
uint64_t	clock_us(void);
/* The clock of the CPU time that a process uses (clock_getcpuclockid(3)). */
clockid_t	clock_of_process(pid_t);
/* What it shows, in microseconds; 0 if the process is gone. */
uint64_t	clock_cpu_us(clockid_t);

#endif
