#ifndef ADDER_INTERPS_H
#define ADDER_INTERPS_H

/*
 * Ends the interpreters that a program made besides its own and left, as
 * CPython does at its end since 3.13: with a warning, and so that what they
 * have buffered is written.
 */
void	interps_end(void);

#endif
