#ifndef ADDER_ZYGOTE_FDS_H
#define ADDER_ZYGOTE_FDS_H

/*
 * Descriptors of the zygote are reserved before Python starts, so that no
 * Python object ever owns a number that a worker uses for something else:
 * 0-2 standard, 3 the control socket, 4 the Landlock ruleset, 5 the directory
 * /proc, 6-8 /dev/null, 9 the log.
 */
#define ZYGOTE_FD_RULESET	4	/* gone once a worker is confined */
#define ZYGOTE_FD_PROC		5	/* gone once a worker is confined */
#define ZYGOTE_FD_LOG		9	/* the log pipe, gone once confined */
#define ZYGOTE_FD_RESERVED	10	/* first number that is not reserved */

#endif
