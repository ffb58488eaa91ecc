#ifndef ADDER_WORKERIO_H
#define ADDER_WORKERIO_H

#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "msg.h"

/*
 * Blocking frame I/O on WORKER_FD_JOB.  The program that runs can reach
 * this descriptor: it may close it, put a file of its own there, make it
 * non-blocking or fork.  So each frame is sent only by the process that was
 * made for the job, and only while the descriptor is still the socket.
 */

/* Remembers which socket is the job link; called once, after the fork. */
void	workerio_init(void);
/* This process, not a fork of it, may answer for the job. */
int	workerio_is_owner(void);
/* After DONE: leaves the CPU to adderd, which answers the client and ends
 * this process.  Returns at once in a process that the program forked. */
void	workerio_wait_end(void);
/* What may come before a JOB; NULL where it may not. */
struct workerio_before {
	void	(*input_file)(const struct msg_INPUT_FILE *);
	void	(*prefault)(const struct msg_PREFAULT *);
};

/*
 * Reads the next JOB, and hands up what comes before it.  On 0 *job points
 * into *buf, which the caller frees.  -1: the server is gone, or it sent
 * something else (logged).
 */
int	workerio_read_job(struct msg_JOB *job, char **buf,
	    const struct workerio_before *);
/* Whether there is something to be read from the job link. */
int	workerio_has_input(void);
/* Sends an encoded frame and frees the writer.  -1 if the link is gone. */
int	workerio_send(struct writer *);

/* Says, from a signal handler, that the program dies of a signal that it sent
 * itself. */
void	workerio_signalled(int sig);

/* Each of these encodes and sends one frame; -1 as for workerio_send(), or
 * if there is no memory left for it. */
#define X(T, num, dirs, max) int workerio_##T(const struct msg_##T *);
X(PARKED,,,) X(PREFAULTED,,,) X(VALUE,,,) X(EXCEPTION,,,)
X(IMAGE,,,) X(FILE,,,) X(FILE_PART,,,) X(DONE,,,)
#undef X

#endif
