#ifndef ADDER_CTL_H
#define ADDER_CTL_H

#include <jansson.h>

/* Exit statuses of adderctl's own failures, as in sysexits(3).  They and
 * those of a program that was run are listed in adderctl(8). */
#define CTL_EXIT_USAGE		64
#define CTL_EXIT_INPUT		66
#define CTL_EXIT_UNAVAILABLE	69
#define CTL_EXIT_OUTPUT		74
#define CTL_EXIT_PROTOCOL	76
#define CTL_EXIT_TIMEOUT	124	/* as timeout(1) does */
#define CTL_EXIT_ENDED		125	/* any other verdict of the server */
#define CTL_EXIT_SIGNAL		128	/* plus the signal's number */

/* One command; argv[0] is its name.  Returns the exit status. */
int	ctl_run(const char *sock, int argc, char **argv);
int	ctl_doctor(const char *sock, int argc, char **argv);
int	ctl_session(const char *sock, int argc, char **argv);
int	ctl_status(const char *sock, int argc, char **argv);

/* --- ctl_client.c: an MCP session over the Unix socket, blocking */

struct ctl_client;

/* Connects and initializes; ends the program with one sentence and an exit
 * status of the list above if that fails. */
struct ctl_client *ctl_client_open(const char *sock);
/* The same over the standard streams of a program that it starts. */
struct ctl_client *ctl_client_spawn(char *const argv[]);
void		 ctl_client_close(struct ctl_client **);
/*
 * Sends a request, takes over params, passes over notifications and returns
 * the result (the caller's to decref); ends the program as above if there
 * is none.
 */
json_t		*ctl_client_call(struct ctl_client *, const char *method,
		    json_t *params);

/* --- ctl_input.c: new references; a failure ends the program as above */

/* The text of a file, or with "-" of standard input. */
json_t		*ctl_input_text(const char *path);
/* "path" or "path:name" as an item of the argument files. */
json_t		*ctl_input_file(const char *);
/* The value of an option, which is named in the message. */
json_t		*ctl_input_argument(const char *option, const char *value);
/* A number of seconds above 0; what names it in the message. */
double		 ctl_input_seconds(const char *what, const char *value);

/* --- ctl_save.c: images and files of an answer */

/*
 * Reports an image or resource block of an answer on standard error, and
 * saves it in dir unless that is NULL.  count is its number, from 1.
 * Returns -1 if it should have been saved and was not, which was said.
 */
int		 ctl_save(const json_t *block, const char *dir,
		    unsigned count);

/* --- Failures */

/* Prints "adderctl: " and the sentence, then exits with the status. */
void		 ctl_die(int status, const char *, ...)
		    __attribute__((noreturn, format(printf, 2, 3)));

#endif
