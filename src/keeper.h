#ifndef ADDER_KEEPER_H
#define ADDER_KEEPER_H

#include <sys/types.h>

/* The keeper's life, as a child of its guard and with its control socket at
 * KEEPER_FD_CONTROL.  Returns the exit status when adderd or the guard is
 * gone, and nothing else is there then. */
int	keeper_serve(pid_t guard);

#endif
