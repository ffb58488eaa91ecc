#ifndef ADDER_CALLBACKS_H
#define ADDER_CALLBACKS_H

/*
 * Has libffi, and so ctypes, make its callbacks in memory that no other
 * process shares.  To be called before ctypes is imported; where there is no
 * ctypes, or its libffi cannot be reached, nothing is done.
 */
void	callbacks_settle(void);

#endif
