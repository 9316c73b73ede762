#ifndef SYS_FDPASS_H
#define SYS_FDPASS_H

/*
 * Packets, with or without a descriptor, between two processes: unix(7),
 * SCM_RIGHTS over SOCK_SEQPACKET.
 *
 * O_NONBLOCK belongs to the open file, so it would travel to every process
 * that shares an end: it is never set here.  A caller that must not wait says
 * so in each call.
 */

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* As many descriptors as the kernel puts into one message (SCM_MAX_FD). */
#define FDPASS_MAX 253

/* The descriptors that came with a packet, and what was lost of it. */
struct fdpass_got {
	int fds[FDPASS_MAX]; /* nfds of them, CLOEXEC, the receiver's */
	size_t nfds;
	bool truncated; /* longer than the buffer; the rest is gone */
	/* Descriptors are gone: the process or a security module bars them. */
	bool lost_fds;
};

/*
 * Sends one packet of len bytes (at least 1: an empty one reads like the end
 * of file), with copies of up to FDPASS_MAX descriptors.  Never waits and never
 * raises SIGPIPE.  Returns len, or -1 with errno, nothing sent:
 *
 *	EAGAIN		the peer has a full queue; try when it has read
 *	EPIPE		the other end is closed or shut down for reading
 *	ECONNRESET	it was closed with packets unread
 *	ETOOMANYREFS	this user has as many descriptors on their way as
 *			RLIMIT_NOFILE allows: try again in some milliseconds
 *	EPERM		the peer refuses descriptors, see fdpass_refuse()
 *	EMSGSIZE	larger than the socket's send buffer
 *	ENOMEM, ENOBUFS	the kernel is short of memory
 *	EBADF		a descriptor, or sock, is not open
 */
ssize_t fdpass_send_many(
    int sock, const void *buf, size_t len, const int *fds, size_t nfds);

/* The same with one descriptor, or none: -1. */
ssize_t fdpass_send(int sock, const void *buf, size_t len, int fd);

/*
 * Receives one packet into buf and everything that came with it into *got.
 * flags: 0, MSG_DONTWAIT, MSG_PEEK.  There is room for all a peer can send, so
 * that only descriptors beyond RLIMIT_NOFILE are closed here and now, which may
 * take long (unix sockets with descriptors in them, TCP sockets with
 * SO_LINGER): the caller closes got->fds where it may wait.
 *
 * Returns the length in buf, at most size; 0 at the end of file (no process
 * has the other end) or if someone sent an empty packet; -1 with the errno of
 * recvmsg(2), then *got is not set.
 */
ssize_t fdpass_recv(
    int sock, void *buf, size_t size, int flags, struct fdpass_got *got);

/*
 * The same for a receiver that expects at most one descriptor of a peer it
 * trusts.  *fd_out is that descriptor, the caller's, or -1 if none came or no
 * number was free for it; any more are closed.  A packet longer than size is
 * an error, EMSGSIZE, whose descriptors are closed.  With MSG_PEEK the packet
 * is taken whole: where no number is free it stays, and errno is EMFILE.
 */
ssize_t fdpass_recv_one(
    int sock, void *buf, size_t size, int flags, int *fd_out);

/* Whether to try again when the socket is ready, or the kernel has memory. */
bool fdpass_is_later(int error);

/*
 * The sender of the next packet, which stays there, by its real user and its
 * number in our pid namespace, 0 if it has none; SO_PASSCRED has the kernel
 * note that. Never waits, and takes no descriptor. Returns the length of the
 * packet, as far as it is known to be over 0; 0 at the end of file, or -1 with
 * errno: EBADMSG, nobody has noted it.
 */
ssize_t fdpass_next_sender(int sock, struct ucred *out);

/* Bytes unread in the socket, or -1 and errno. Waits for no receiver. */
int fdpass_unread(int sock);

/*
 * Makes the kernel refuse descriptors sent to this socket (the sender gets
 * EPERM), where it knows how: SO_PASSRIGHTS, Linux 6.16.  Elsewhere nothing
 * changes and the result is false: a receiver must be ready for them then.
 */
bool fdpass_refuse(int sock);

/*
 * Closes what was passed on. Each call of a hand-over is made without libc's
 * cancellation point: in a process that has threads that is two atomic
 * operations around it. No thread of ours is ever cancelled.
 */
static inline void
fdpass_close(int fd)
{
	(void)syscall(SYS_close, fd);
}

#endif
