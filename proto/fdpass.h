#ifndef ADDER_FDPASS_H
#define ADDER_FDPASS_H

#include <stddef.h>

#include "frame.h"
#include "proto.h"

struct writer;

/* A SOCK_SEQPACKET pair with close-on-exec set; -1 with errno. */
int	control_pair(int fds[2]);
/* Sends one encoded frame as one packet, with up to FRAME_FDS_MAX
 * descriptors, which stay the caller's.  -1 with errno, EAGAIN included. */
int	control_send(int sock, const struct writer *, const int *fds,
	    int nfds);
/*
 * Receives one packet into buf (CONTROL_FRAME_MAX bytes).  1: *f holds a
 * frame that the rules allow and fds its descriptors (close-on-exec, now
 * the caller's); 0: the peer is gone; -1: errno tells, EAGAIN included, or
 * EPROTO with *why for a packet against the rules (its descriptors are
 * closed).
 */
int	control_recv(int sock, enum frame_dir, char *buf, struct frame *f,
	    int fds[FRAME_FDS_MAX], int *nfds, const char **why);

#endif
