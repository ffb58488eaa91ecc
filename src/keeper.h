#ifndef ADDER_KEEPER_H
#define ADDER_KEEPER_H

/* The keeper's whole life: adderd, re-executed with its control socket at
 * KEEPER_FD_CONTROL.  Returns the exit status. */
int	keeper_main(int debug);

#endif
