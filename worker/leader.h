#ifndef ADDER_LEADER_H
#define ADDER_LEADER_H

#include <stdint.h>

#include "msg.h"
#include "state.h"

struct sandbox;

/*
 * The leader of a session: the worker that the zygote forked, and in a pid
 * namespace process 1 of it.  It runs no program, ever, and no Python once it
 * leads.  It makes the first state (state.h) before any program has run, is
 * the parent of each that follows, and is the only one with a link to adderd.
 * What it reports is what the kernel tells it: who lives, how a process ended
 * and what it used.  At the end of a call it ends all processes but states.
 *
 * A program can reach neither it nor its memory: signals do not pass to pid 1
 * of a namespace, ptrace and its like are refused, and nothing is shared but
 * links on which the kernel names the sender.
 */

/* Says parked, makes the first state when it is told to begin, and serves
 * until the link to adderd closes or no state is left. */
void	leader_serve(const struct sandbox *, const struct msg_PARKED *parked,
	    state_call, void *arg) __attribute__((noreturn));

#endif
