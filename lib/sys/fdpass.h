#ifndef SYS_FDPASS_H
#define SYS_FDPASS_H

/*
 * One packet, with or without a descriptor, between two processes: unix(7),
 * SCM_RIGHTS over SOCK_SEQPACKET.
 *
 * O_NONBLOCK belongs to the open file, so it would travel to every process
 * that shares an end: it is never set here.  A caller that must not wait says
 * so in each call.
 */

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

/* As many descriptors as the kernel puts into one message (SCM_MAX_FD). */
#define FDPASS_MAX 253

/* The descriptors that came with a packet, and what was lost of it. */
struct fdpass_got {
	/* CLOEXEC, the receiver's from now on.  Only the first nfds are set. */
	int fds[FDPASS_MAX];
	size_t nfds;
	/* The packet was longer than the buffer; its rest is gone. */
	bool truncated;
	/*
	 * Descriptors were sent that could not be received: this process is
	 * at its limit, or a security module objects.  They are gone.
	 */
	bool lost_fds;
};

/*
 * A connected pair, both ends CLOEXEC and blocking.  Returns 0, or -1 with
 * the errno of socketpair(2).
 */
int fdpass_pair(int sv[2]);

/*
 * Sends one packet of len bytes (at least 1: an empty one reads like the end
 * of file), with a copy of fd unless that is -1.  Never waits and never
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
 *	EBADF		fd, or sock, is not open
 */
ssize_t fdpass_send(int sock, const void *buf, size_t len, int fd);

/* The same with copies of 1 … FDPASS_MAX descriptors. */
ssize_t fdpass_send_many(
    int sock, const void *buf, size_t len, const int *fds, size_t nfds);

/*
 * Receives one packet into buf and everything that came with it into *got.
 * flags: 0, MSG_DONTWAIT, MSG_PEEK.  There is room for all a peer can send, so
 * that no foreign descriptor is closed here and now, but those beyond
 * RLIMIT_NOFILE: that might take long (unix sockets with descriptors in them,
 * TCP sockets with SO_LINGER).  The caller closes got->fds where it may wait.
 * Credentials, pidfds and labels that the peer asked for on a shared end do no
 * harm.
 *
 * Returns the length in buf, at most size; 0 at the end of file (no process
 * has the other end) or if someone sent an empty packet; -1 with the errno of
 * recvmsg(2), then *got is not set.
 */
ssize_t fdpass_recv(
    int sock, void *buf, size_t size, int flags, struct fdpass_got *got);

/*
 * Whether to try again when the socket is ready: nothing is there to read, or
 * no room to write, or the kernel lacks memory.
 */
bool fdpass_is_later(int error);

/*
 * The same for a receiver that expects at most one descriptor of a peer it
 * trusts.  *fd_out is that descriptor, CLOEXEC and the caller's, or -1 if none
 * came, for whatever reason; any more are closed.  A packet longer than size
 * is an error, EMSGSIZE, whose descriptors are closed.
 */
ssize_t fdpass_recv_one(
    int sock, void *buf, size_t size, int flags, int *fd_out);

/*
 * The same, but with no number for the descriptor: leaves the packet there,
 * and is -1 with EMFILE. Never waits.
 */
ssize_t fdpass_recv_whole(int sock, void *buf, size_t size, int *fd_out);

/* The sender of a packet, as the kernel knows it. */
struct fdpass_sender {
	pid_t pid; /* in our pid namespace; 0: it is not in there */
	uid_t uid; /* the real one */
};

/*
 * Has the kernel note who sends packets to this socket, or no longer: each
 * costs a little more then. Returns 0, or -1 and errno.
 */
int fdpass_note_senders(int sock, bool note);

/*
 * Whose the next packet is, which stays there. Never waits, and takes no
 * descriptor. Returns the length of the packet, as far as it is known to be
 * over 0; 0 at the end of file, or -1 with errno: EBADMSG, nobody has noted it.
 */
ssize_t fdpass_next_sender(int sock, struct fdpass_sender *out);

/*
 * Bytes that lie unread in the socket, or -1 and errno. Waits for nobody who
 * receives there.
 */
int fdpass_unread(int sock);

/*
 * Makes the kernel refuse descriptors sent to this socket (the sender gets
 * EPERM), where it knows how: SO_PASSRIGHTS, Linux 6.16.  Elsewhere nothing
 * changes and the result is false: a receiver must be ready for them then.
 */
bool fdpass_refuse(int sock);

#endif
