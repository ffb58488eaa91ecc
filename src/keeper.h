#ifndef ADDER_KEEPER_H
#define ADDER_KEEPER_H

/* The keeper's life, with its control socket at KEEPER_FD_CONTROL.  Returns
 * the exit status when adderd is gone. */
int	keeper_serve(void);

#endif
