#ifndef ADDER_KEEPER_GUARD_H
#define ADDER_KEEPER_GUARD_H

/*
 * adderd, re-executed with its control socket at KEEPER_FD_CONTROL: runs the
 * keeper in a child, and another one when that dies.  The server cannot start
 * one itself any more once it has given up its rights; this process keeps
 * them, and does nothing else.  Returns the exit status.
 */
int	keeper_main(int debug);

#endif
