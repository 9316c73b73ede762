/* Packets and descriptors between processes. */

#include <sys/ioctl.h>

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "sys/fdpass.h"

/* Headers may be older than the kernel. */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif
#ifndef SCM_PIDFD
#define SCM_PIDFD 4
#endif

/*
 * Room for the other messages the kernel may add: a timestamp, credentials
 * and a security label stand before the descriptors, a pidfd after them.
 */
#define OTHERS 1024

/* The sizes are sums of CMSG_SPACE(), so the first header is aligned. */
union control_all {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(FDPASS_MAX * sizeof(int)) + OTHERS];
};

ssize_t
fdpass_send_many(
    int sock, const void *buf, size_t len, const int *fds, size_t nfds)
{
	union control_all control;
	struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	assert(len > 0 && nfds <= FDPASS_MAX);

	if (nfds > 0) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		memset(&control, 0, msg.msg_controllen);
		control.align.cmsg_len = CMSG_LEN(nfds * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&control.align), fds, nfds * sizeof(int));
	}
	return syscall(SYS_sendmsg, sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

ssize_t
fdpass_send(int sock, const void *buf, size_t len, int fd)
{
	return fdpass_send_many(sock, buf, len, &fd, fd != -1);
}

ssize_t
fdpass_recv(int sock, void *buf, size_t size, int flags, struct fdpass_got *got)
{
	union control_all control;
	struct iovec iov = { .iov_base = buf, .iov_len = size };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };
	ssize_t n = syscall(SYS_recvmsg, sock, &msg, flags | MSG_CMSG_CLOEXEC);

	if (n == -1)
		return -1;

	got->nfds = 0;
	got->truncated = (msg.msg_flags & MSG_TRUNC) != 0;
	got->lost_fds = (msg.msg_flags & MSG_CTRUNC) != 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c != NULL;
	     c = CMSG_NXTHDR(&msg, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int pidfd;

		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
			assert(count <= FDPASS_MAX - got->nfds);
			memcpy(got->fds + got->nfds, CMSG_DATA(c),
			    count * sizeof(int));
			got->nfds += count;
		} else if (c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SCM_PIDFD) {
			/*
			 * A process that shares this end may have asked for the
			 * sender's. A negative errno may stand there instead.
			 */
			memcpy(&pidfd, CMSG_DATA(c), sizeof(pidfd));
			if (pidfd >= 0)
				(void)close(pidfd);
		}
	}
	return n;
}

bool
fdpass_is_later(int error)
{
	return error == EAGAIN || error == EINTR || error == ENOMEM ||
	    error == ENOBUFS;
}

ssize_t
fdpass_recv_one(int sock, void *buf, size_t size, int flags, int *fd_out)
{
	const bool peeks = (flags & MSG_PEEK) != 0;
	struct fdpass_got got;
	ssize_t n = fdpass_recv(sock, buf, size, flags, &got);
	bool fails;
	char byte;

	if (n == -1)
		return -1;

	fails = peeks ? got.lost_fds : got.truncated;
	for (size_t i = fails ? 0 : 1; i < got.nfds; i++)
		(void)close(got.fds[i]);
	if (fails) {
		errno = peeks ? EMFILE : EMSGSIZE;
		return -1;
	}
	*fd_out = got.nfds > 0 ? got.fds[0] : -1;
	/* The packet in the queue is but another copy now. */
	if (peeks && n > 0)
		(void)recv(sock, &byte, sizeof(byte), MSG_DONTWAIT);
	return n;
}

ssize_t
fdpass_next_sender(int sock, struct ucred *out)
{
	/* With no room for descriptors they stay where they are. */
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };
	ssize_t n =
	    recvmsg(sock, &msg, MSG_DONTWAIT | MSG_PEEK | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;

	if (n <= 0)
		return n;
	if (c == NULL || c->cmsg_level != SOL_SOCKET ||
	    c->cmsg_type != SCM_CREDENTIALS ||
	    c->cmsg_len != CMSG_LEN(sizeof(*out))) {
		errno = EBADMSG;
		return -1;
	}
	memcpy(out, CMSG_DATA(c), sizeof(*out));
	return n;
}

int
fdpass_unread(int sock)
{
	int bytes;

	return ioctl(sock, FIONREAD, &bytes) == -1 ? -1 : bytes;
}

bool
fdpass_refuse(int sock)
{
	int no = 0;

	return setsockopt(sock, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof(no)) ==
	    0;
}
