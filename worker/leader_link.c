#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "leader_link.h"

int
link_pair(int fds[2])
{
	int on = 1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == -1)
		return -1;
	if (setsockopt(fds[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0)
		return 0;
	close(fds[0]);
	close(fds[1]);
	return -1;
}

int
link_send(int sock, const struct link_message *m, const int *fds, int nfds)
{
	union {
		struct cmsghdr	hdr;
		char		buf[CMSG_SPACE(sizeof(int) * LINK_FDS)];
	} ctl;
	struct iovec iov = { (void *)m, sizeof *m };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t n;

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

static void
take_fds(const struct cmsghdr *c, int fds[LINK_FDS], int *nfds)
{
	size_t i, got = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	int fd;

	for (i = 0; i < got; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
		if (*nfds < LINK_FDS)
			fds[(*nfds)++] = fd;
		else
			close(fd);
	}
}

static void
take_sender(const struct cmsghdr *c, pid_t *sender)
{
	struct ucred cred;

	memcpy(&cred, CMSG_DATA(c), sizeof cred);
	*sender = cred.pid;
}

int
link_recv(int sock, struct link_message *m, int fds[LINK_FDS], int *nfds,
    pid_t *sender, int flags)
{
	union {
		struct cmsghdr	hdr;
		char		buf[CMSG_SPACE(sizeof(int) * LINK_FDS) +
				    CMSG_SPACE(sizeof(struct ucred))];
	} ctl;
	struct iovec iov = { m, sizeof *m };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
	    .msg_control = ctl.buf, .msg_controllen = sizeof ctl.buf };
	struct cmsghdr *c;
	ssize_t n;

	*nfds = 0;
	*sender = 0;
	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | flags);
	while (n == -1 && errno == EINTR);
	if (n == -1 || (n == 0 && msg.msg_controllen == 0))
		return n;
	for (c = CMSG_FIRSTHDR(&msg); c != NULL; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_RIGHTS)
			take_fds(c, fds, nfds);
		else if (c->cmsg_type == SCM_CREDENTIALS)
			take_sender(c, sender);
	}
	if (n == sizeof *m && !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 1;
	while (*nfds > 0)
		close(fds[--*nfds]);
	if (n == 0)
		return 0;
	errno = EPROTO;
	return -1;
}
