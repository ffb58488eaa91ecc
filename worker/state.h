#ifndef ADDER_STATE_H
#define ADDER_STATE_H

#include <stdint.h>

/*
 * A state of a session: a process that holds its variables and waits for
 * what its leader says.  A call is run by a fork of it, so that it stays
 * behind as it was.
 *
 * The fork is a raw clone(2) from C, at a point where nothing of Python is
 * under way, in a process of one thread: what Python does after a fork
 * (PyOS_AfterFork_Child) would make another process of it, with random
 * numbers seeded anew, but here the child is to go on as the same.
 *
 * A program has run in this process, and may have changed any of it.  That
 * is its own affair: see leader.h for what holds nevertheless.
 */

/* Runs a job that is to be read from WORKER_FD_JOB, in the process that
 * keeps what it does. */
typedef void (*state_call)(uint64_t call, int in_place, void *arg);

/* The life of a state, with its end of a link (leader_link.h). */
void	state_serve(int link, state_call, void *arg)
	    __attribute__((noreturn));

#endif
