#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fdpass.h"
#include "pack.h"

int
control_pair(int fds[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds);
}

int
control_send(int sock, const struct writer *w, const int *fds, int nfds)
{
	union {
		struct cmsghdr	hdr;
		char		buf[CMSG_SPACE(sizeof(int) * FRAME_FDS_MAX)];
	} ctl;
	struct iovec iov = { w->buf.data, w->buf.size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t n;

	if (nfds > FRAME_FDS_MAX || w->buf.size > CONTROL_FRAME_MAX) {
		errno = EMSGSIZE;
		return -1;
	}
	if (nfds > 0) {
		memset(&ctl, 0, sizeof ctl);
		msg.msg_control = ctl.buf;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * nfds);
	}
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n == -1 && errno == EINTR);
	return n == -1 ? -1 : 0;
}

static int
take_fds(struct msghdr *msg, int fds[FRAME_FDS_MAX])
{
	struct cmsghdr *c;
	int n = 0;

	for (c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		int i, got;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		got = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < got; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
			if (n < FRAME_FDS_MAX)
				fds[n++] = fd;
			else
				close(fd);
		}
	}
	return n;
}

int
control_recv(int sock, enum frame_dir dir, char *buf, struct frame *f,
    int fds[FRAME_FDS_MAX], int *nfds, const char **why)
{
	union {
		struct cmsghdr	hdr;
		char		buf[CMSG_SPACE(sizeof(int) * FRAME_FDS_MAX)];
	} ctl;
	struct iovec iov = { buf, CONTROL_FRAME_MAX };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
	    .msg_control = ctl.buf, .msg_controllen = sizeof ctl.buf };
	size_t need;
	ssize_t n;

	*nfds = 0;
	*why = NULL;
	/* A peer that closes without having read all leaves ECONNRESET, which
	 * is told once and before what it has sent (unix_release_sock()). */
	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n == -1 && (errno == EINTR || errno == ECONNRESET));
	if (n <= 0)
		return n;
	*nfds = take_fds(&msg, fds);
	if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		*why = "packet was truncated";
	else if (frame_split(buf, n, dir, f, &need, why) == n)
		return 1;
	else if (*why == NULL)
		*why = "packet is not exactly one frame";
	while (*nfds > 0)
		close(fds[--*nfds]);
	errno = EPROTO;
	return -1;
}
