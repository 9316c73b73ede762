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

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Takes over the socket that the environment names, makes it CLOEXEC and
 * removes the APPPOOL variables from the environment, all but APPPOOL_COUNTER;
 * so call it before there are threads.  Returns 0.
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
 * The daemon's names for this process.  The strings last until the end of the
 * process.  The slot, 0 to max_processes - 1, is never shared by two living
 * processes of the app, and is used again; a template has none, ENOTCONN, and
 * its workers have an identifier and a slot of their own.
 */
const char *apppool_app(void);
const char *apppool_id(void);
int apppool_slot(void);

/*
 * In an app with `template = true`, for a program that has loaded what its
 * workers have in common.  One process of the app, the template, waits here
 * until the daemon wants a worker and forks it: this returns 0 in each of
 * them, after it has called after_fork() if that is not NULL, and ends the
 * template when the daemon stops it.  In all other processes it returns 0 at
 * once.  A worker goes on with apppool_ready().
 *
 * What stdio holds is written before a fork; no other thread is in a worker,
 * and descriptors, random numbers and connections are those of the template:
 * after_fork() is for what each worker must have for itself.
 *
 *	EALREADY	apppool_ready() has been called
 *	EPROTO		a message that this library does not know
 *	EAGAIN, ENOMEM	the template cannot fork
 *	ESHUTDOWN	the daemon is gone
 *	ENOTCONN	see above
 */
int apppool_template(void (*after_fork)(void));

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
 * The load of the app when the connection behind fd was handed over, in
 * thousandths: connections served and waiting, this one included, by the
 * sessions that all max_processes can serve at a time.  Beyond 1000 where some
 * wait.  ENODATA: the app has not load_report = true.  EBADF as above.
 */
int apppool_load(int fd);

/*
 * Ends the session of fd: closes fd and says so.  Returns 0.  EBADF as above,
 * nothing done; with any other error fd is closed all the same.
 */
int apppool_done(int fd);

/*
 * Whether connections may be parked: 1 in apps with keep_alive = true, else 0.
 */
int apppool_keep_alive(void);

/*
 * The connection behind fd is idle: all that was read from it is answered.
 * Closes our copy; the daemon has kept its own and hands it on, to any process,
 * when more comes from the client.  The socket is made blocking for that.
 * Returns and errors as apppool_done(), which it is where connections may not
 * be parked.
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

/*
 * Locks with a limit, shared with all who use the same PoolCounter service:
 * of so many that want to do the same work, a few do it, a bounded number
 * waits, the others are told at once.  apppool-counter(7) has the rules.
 * These work in any program; apppool_open() is not needed.
 *
 *	switch (apppool_lock("report", 1, 50, 10000, APPPOOL_ANY)) {
 *	case APPPOOL_DONE:
 *		return from_cache();
 *	case APPPOOL_QUEUE_FULL:
 *	case APPPOOL_TIMEOUT:
 *		return stale();
 *	case APPPOOL_LOCKED:
 *		result = compute_and_store();
 *		apppool_unlock("report");
 *		return result;
 *	default:
 *		return compute_and_store();
 *	}
 *
 * Each thread has connections and locks of its own, which end with it, with
 * the process, and with the connection.
 */

/* The kinds of waiters. */

enum {
	APPPOOL_ME, /* to do the work himself: woken one by one */
	APPPOOL_ANY /* for the work to be done by anyone: all are woken */
};

/* How waiting ended. */
enum {
	APPPOOL_LOCKED = 1, /* the place is ours until apppool_unlock() */
	APPPOOL_DONE, /* ANY: who had the place has done the work */
	APPPOOL_QUEUE_FULL, /* maxqueue hold it or wait for it already */
	APPPOOL_TIMEOUT /* no place became free in time */
};

/*
 * Where the service is: "HOST:PORT", "[IPV6]:PORT" or "unix:PATH", or up to 16
 * of these with commas between them; without PORT it is 7531.  NULL: what
 * APPPOOL_COUNTER says, as apppoold sets it; so it is without this call.  For
 * all threads; those that are connected stay so.  Returns 0, or -1 with EINVAL
 * or ENOMEM.
 *
 * Of several servers a key has the first that takes a connection, in the order
 * of the MD5 sums of the server as written here with the key behind it, as in
 * MediaWiki.  A thread tries one that took none again after a second.
 */
int apppool_counter(const char *address);

/*
 * Milliseconds that a server has to take a connection, for all threads: 100
 * without this call.  Returns 0, or -1 and EINVAL for less than 1.
 */
int apppool_counter_timeout(int milliseconds);

/*
 * Takes a place of the key if fewer than `workers` are taken.  Else, unless
 * `maxqueue` hold it or wait for it, waits up to `timeout` milliseconds; 0:
 * not at all.  how: one of the above.  A signal does not end the wait.
 * Returns one of the above, or -1:
 *
 *	EDESTADDRREQ	nobody said where the service is
 *	EINVAL		how, or a number below 1 (timeout: 0), or a key that is
 *			empty, too long (900 bytes) or has a space, a CR or LF
 *	ENOLCK		this thread has four locks
 *	ENOSPC		the service is at a bound of its own
 *	EPROTO		it is none, or finds fault with the request
 *	ETIMEDOUT, ECONNREFUSED, ECONNRESET, EHOSTUNREACH, ...
 *			it cannot be reached, or no longer
 *
 * After one of the last two lines the connection is closed: this thread has
 * no lock of that server any more.  The next call connects again.
 */
int apppool_lock(
    const char *key, int workers, int maxqueue, int timeout, int how);

/*
 * Gives back the newest lock of this key; NULL: the newest of all.  Returns
 * 0, or -1: EPERM, this thread has none, EINVAL, or an errno of the last two
 * lines above.
 */
int apppool_unlock(const char *key);

/*
 * Writes "TYPE:N" to buf, which holds size bytes: the key to lock where at
 * most `slots` (1 to 65536) kinds of work of a type are to be told apart,
 * whatever their keys.  N is the number that the first four hexadecimal digits
 * of the key's SHA-1 sum make, modulo slots, as with MediaWiki's option of that
 * name.  Returns 0, or -1: EINVAL, or EMSGSIZE, buf is too small.
 */
int apppool_slot_key(
    char *buf, size_t size, const char *type, const char *key, int slots);

#ifdef __cplusplus
}
#endif

#endif
