#ifndef APPPOOL_H
#define APPPOOL_H

/*
 * A worker of apppoold: it is handed connections, one after the other or
 * several at a time, and says of each when it is over.  apppool(3) tells
 * more, apppool-worker(7) describes the messages underneath.
 *
 *	if (apppool_open() == -1 || apppool_ready() == -1)
 *		err(1, "apppool");
 *	while ((fd = apppool_accept()) != -1) {
 *		serve(fd);
 *		apppool_done(fd);
 *	}
 *	return errno == ESHUTDOWN ? 0 : 1;
 *
 * All functions return -1 and set errno when they fail (those that return a
 * pointer: NULL).  ENOTCONN: apppool_open() has not succeeded, or where that
 * is asked for, apppool_ready() has not been called.  ESHUTDOWN: the daemon
 * has asked this process to stop, or is gone.
 *
 * After apppool_open() all may be called by several threads at a time; no
 * lock is held by a caller when they return.  After fork(2) only one of the
 * two processes may go on using them.
 */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Takes over the socket that the environment names, makes it CLOEXEC and
 * removes the APPPOOL variables from the environment; so call it before there
 * are threads.  Returns 0.
 *
 *	ENOENT		no apppoold started this process
 *	EPROTONOSUPPORT	it speaks another version of the protocol
 *	EINVAL		a variable is missing or makes no sense
 *	EBADF, ENOTSOCK, EPROTOTYPE
 *			the descriptor is not open, no socket, another kind
 *	EALREADY	it is open already
 *	ENOMEM
 */
int apppool_open(void);

/*
 * What the daemon calls this process.  The strings last until the end of the
 * process.  The slot, 0 to max_processes - 1, is never shared by two living
 * processes of the app, and is used again.
 */
const char *apppool_app(void);
const char *apppool_id(void);
int apppool_slot(void);

/*
 * Initialised: connections may come.  To be said once, EALREADY if it has
 * been.  Returns 0.
 */
int apppool_ready(void);

/*
 * Waits for a connection and returns its socket, blocking and CLOEXEC.  End
 * it with apppool_done(); do not close(2) it.  A connection that could not be
 * received because this process has no descriptor left is reported as lost
 * and the next one is waited for.
 *
 *	ESHUTDOWN	no more will come: finish what you hold, then exit
 *			with 0.  So does every later call say
 *	EINTR		a signal handler ran, see sigaction(2), SA_RESTART
 *	EAGAIN		nothing there and apppool_fd() is O_NONBLOCK
 *	ENOMEM		a connection came and could not be remembered; it was
 *			closed and reported as lost.  Others may follow
 *	EPROTO		a message that this library does not know
 *	ENOTCONN	see above; ready too
 */
int apppool_accept(void);

/*
 * The socket to the daemon, for poll(2) and its kin: when it is readable, call
 * apppool_accept().  Do not read, write or close it.  It may be set
 * O_NONBLOCK, which no other function minds.
 */
int apppool_fd(void);

/*
 * Microseconds for which the connection behind fd waited between being
 * accepted by the daemon and being handed over.  EBADF: fd is not one that
 * apppool_accept() returned and that is still held.
 */
long long apppool_waited(int fd);

/*
 * That session is over: closes fd and says so.  Returns 0.  EBADF as above,
 * nothing done; with any other error fd is closed all the same.
 */
int apppool_done(int fd);

/*
 * The connection behind fd is idle and complete: closes our copy; the daemon
 * has kept its own and hands the connection on when more comes from the
 * client.  Only in apps with keep_alive = true.  Returns and errors as
 * apppool_done().
 */
int apppool_park(int fd);

/*
 * Asks to be handed no more.  What is on its way still comes, then
 * apppool_accept() says ESHUTDOWN.  Saying it again does nothing.  Returns 0.
 */
int apppool_retire(void);

/*
 * A line for the log and the event stream; a text to be shown beside this
 * process in the status; a reason why this process cannot go on, after which
 * it should exit.  Control characters become spaces, other bytes outside ASCII
 * question marks.  Only apppool_fail() may come before apppool_ready().
 * Return 0.
 *
 *	EMSGSIZE	too long, nothing sent; 4,000 bytes always fit
 *	EINVAL		no text, nothing sent; an empty status is allowed
 */
int apppool_event(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int apppool_status(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int apppool_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#ifdef __cplusplus
}
#endif

#endif
