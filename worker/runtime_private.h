#ifndef ADDER_RUNTIME_PRIVATE_H
#define ADDER_RUNTIME_PRIVATE_H

#include <stdint.h>
#include <sys/resource.h>

struct pyjob;
struct sandbox;

/* What the runtime*.c files share: the parts of a worker's life. */

/* Python after the fork, ready for a program; leaves where that fails. */
void	runtime_prepare(const struct sandbox *);
/* Before a job has been read: nothing but the log hears of it. */
void	runtime_leave(const char *what) __attribute__((noreturn));
/* Leaves as the program ended. */
void	runtime_leave_as(const struct pyjob *) __attribute__((noreturn));
/* User and system time of this process so far. */
uint64_t runtime_cpu_us(struct rusage *);
/* Ends a job that did not get as far as Python; its exit status. */
int	runtime_refuse(const char *type, const char *message);
/* Applies policy restricted to the program; -1 with *why, static. */
int	runtime_restrict(const struct pyjob *, char **why);
/* Says DONE; files_left: as collect_send() has it. */
void	runtime_send_done(const struct pyjob *, uint64_t cpu_start,
	    uint64_t files_left);

/* What a worker does before its job, in a fork of the zygote that is none,
 * and the path of the program to come. */
void	runtime_rehearse_prepare(void);
const char *runtime_program_path(void);

/* --- runtime_rehearse.c */

/* In the zygote, while Python may still be used there: -1 with an exception
 * set. */
int	runtime_rehearse_init(void);

/* --- runtime_session.c */

/* The life of a worker that leads a session. */
void	runtime_session(const struct sandbox *, uint64_t fork_us)
	    __attribute__((noreturn));

#endif
