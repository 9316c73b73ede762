/*
 * apppool-accept.so: in a program that apppool-accept has executed, accept() on
 * the socket that it was given returns the connections of the daemon. The
 * program itself is the worker, and with `template` it is forked where it first
 * accepts.
 *
 * No client connects to that socket. Its inode tells it apart, whatever numbers
 * the program gives it; for all other calls it is what it was. Where a program
 * polls it the channel is polled in its place, which is readable when a
 * connection has come.
 *
 * The process that was started is served here, if one thread accepts at a time.
 * For others UNFIT has the daemon start the program with the adapter beside it.
 */

#include <sys/param.h>
#include <sys/select.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter/accept.h"
#include "sys/wire.h"
#include "worker/apppool.h"
#include "worker/worker.h"

/* The program calls these instead of those of libc. */
#define HOOK __attribute__((visibility("default")))

/* The next function of that name, which the hook is in front of. */
#define REAL(name) \
	({ \
		static __typeof__(name) *real_##name; \
\
		if (real_##name == NULL) \
			real_##name = \
			    (__typeof__(name) *)dlsym(RTLD_NEXT, #name); \
		real_##name; \
	})

/* A program that goes on after STOP is asked so often, at this pace, to end. */
#define ASKS_MAX 100
#define ASK_PAUSE 100 /* ms */

static struct {
	struct channel channel; /* fd -1: the program accepts by itself */
	dev_t device; /* of the socket that the program accepts on */
	ino_t inode;
	uid_t uid; /* of the program, when it began */
	struct inherited before; /* of it, when the program began, */
	struct inherited now; /* and when it accepted first */
	pid_t first; /* the process that was started or forked */
	_Atomic pid_t pid; /* the process that accepts; 0: none yet */
	atomic_flag begun; /* a thread of it has, or is about to */
	char **environ; /* where that was when it began */
	bool polls; /* the socket has been polled */
	bool several; /* the daemon knows that it may accept in a session */
	int fd; /* the number that it was accepted on or polled by last */
	int epoll; /* that it was added to last; -1: none */
	bool shut; /* the program has shut it down */
	bool retired; /* the program will accept no more */
	atomic_bool stopped; /* no connection will come any more */
	atomic_bool asked; /* the program to end, by stop_signal */
	struct channel_message message; /* the latest */
	bool kept; /* it is a connection that no call was given */
	unsigned asks; /* how often accept() has told the program so */
	_Atomic(void *) accepting; /* the thread in accept(); NULL: none */
} library = { .channel.fd = -1, .begun = ATOMIC_FLAG_INIT, .epoll = -1 };

/* An address that is this thread's own. */
static __thread char thread_mark;

/* --- sessions ----------------------------------------------------------- */

/*
 * A session is over when its descriptor is closed, and the program comes back
 * to accept or has others accepted meanwhile. By descriptor; those above have
 * none, and are over at once. Functions of the program's signal handlers may
 * come here at any time: so there is no lock.
 */
#define SESSIONS 8192
#define CLOSED (UINT64_C(1) << 63)

static struct {
	_Atomic uint64_t serial; /* 0: none; with CLOSED: DONE is to be said */
	ino_t inode;
} sessions[SESSIONS];
static int sessions_end; /* all are below */

/* Says DONE of all that are closed. Returns whether there are others. */
static bool
sessions_settle(void)
{
	bool open = false;
	struct stat st;

	for (int fd = 0; fd < sessions_end; fd++) {
		uint64_t serial = atomic_load(&sessions[fd].serial);

		/* A descriptor can be closed by calls that have no hook. */
		if (serial == 0)
			continue;
		if ((serial & CLOSED) == 0 && fstat(fd, &st) == 0 &&
		    st.st_ino == sessions[fd].inode && S_ISSOCK(st.st_mode)) {
			open = true;
			continue;
		}
		if (atomic_compare_exchange_strong(
			&sessions[fd].serial, &serial, 0))
			(void)channel_say_serial(
			    library.channel.fd, WIRE_DONE, serial & ~CLOSED);
	}
	return open;
}

/*
 * The same; a program that polls does not come to accept() after the last. Each
 * turn of its loop comes here while it ends in its own time, so that it is
 * asked once.
 */
static void
sessions_over(void)
{
	if (!sessions_settle() && library.polls && library.stopped &&
	    !atomic_exchange(&library.asked, true))
		(void)kill(library.first, library.channel.stop_signal);
}

static bool
is_listener(int fd)
{
	struct stat st;

	return library.channel.fd != -1 && fstat(fd, &st) == 0 &&
	    st.st_ino == library.inode && st.st_dev == library.device;
}

/* The program will accept no more, and may live on. */
static void
library_retire(bool closed)
{
	int error = errno;

	if (getpid() == library.pid) {
		library.retired = true;
		(void)apppool_retire();
		/* A closed socket leaves an epoll(7). STOP would come there. */
		if (closed)
			(void)REAL(epoll_ctl)(library.epoll, EPOLL_CTL_DEL,
			    library.channel.fd, NULL);
	}
	errno = error;
}

/*
 * Closes the descriptor by close() or fclose(). What it was is noted before:
 * the next connection may have its number at once.
 */
static int
session_close(int fd, FILE *file)
{
	const bool listens = fd == library.fd && is_listener(fd);
	uint64_t serial =
	    fd < 0 || fd >= SESSIONS ? 0 : atomic_load(&sessions[fd].serial);
	int closed, error;

	/* A child of the program closes its copy, perhaps after vfork(). */
	if (serial != 0 && getpid() != library.pid)
		serial = 0;
	if (serial != 0)
		(void)atomic_compare_exchange_strong(
		    &sessions[fd].serial, &serial, serial | CLOSED);
	closed = file == NULL ? REAL(close)(fd) : REAL(fclose)(file);
	error = errno;
	if (listens)
		library_retire(true);
	/* Else it may have to do more for this one before the next. */
	if (serial != 0 &&
	    (library.polls || library.retired ||
		atomic_load(&library.accepting) != NULL))
		sessions_over();
	errno = error;
	return closed;
}

/* --- the process -------------------------------------------------------- */

/* Where there is no /proc the program is taken for one without threads. */
static bool
has_threads(void)
{
	struct stat st;

	return stat("/proc/self/task", &st) == 0 && st.st_nlink > 3;
}

/*
 * A program that exits with status 0 has ended its sessions. Without RETIRE
 * each DONE would bring another connection.
 */
static void
sessions_exit(int status)
{
	if (status != 0 || getpid() != library.pid)
		return;
	for (int fd = 0; fd < sessions_end; fd++) {
		uint64_t serial = atomic_exchange(&sessions[fd].serial, 0);

		if (serial == 0)
			continue;
		(void)apppool_retire();
		(void)channel_say_serial(
		    library.channel.fd, WIRE_DONE, serial & ~CLOSED);
	}
}

static void
library_exit(int status, void *unused)
{
	(void)unused;
	/* What the program does at its end may be done to its workers. */
	if (apppool_slot() == -1)
		_exit(status);
	sessions_exit(status);
}

/*
 * The program cannot be served here: it is killed, or replaced, for that. The
 * thread waits until connections have ended in the one that accepts, or the
 * daemon has gone.
 */
static void
library_unfit(const char *why)
{
	struct pollfd hangup = { .fd = library.channel.fd };
	char text[128];

	(void)snprintf(text, sizeof(text), WIRE_UNFIT " %s", why);
	(void)channel_say(library.channel.fd, text);
	while (!library.stopped)
		if (REAL(poll)(&hangup, 1, ASK_PAUSE) == 1)
			_exit(1);
}

/* In a worker that was forked here; the template waits in accept(), too. */
static void
library_forked(void)
{
	char slot[sizeof("2147483647")];

	library.first = getpid();
	atomic_store(&library.pid, library.first);
	/* In a session libfcgi has an environment of its own, and frees it. */
	if (environ != library.environ)
		return;
	(void)snprintf(slot, sizeof(slot), "%d", apppool_slot());
	(void)setenv(WIRE_ENV_ID, apppool_id(), 1);
	(void)setenv(WIRE_ENV_SLOT, slot, 1);
	library.environ = environ;
}

/* The program accepts or polls: at its first time it is ready. */
static void
library_begin(int fd)
{
	const pid_t pid = getpid();
	const char *rest;

	library.fd = fd;
	if (pid == atomic_load(&library.pid))
		return;
	/* Another child may accept when this one has ended, as of gunicorn. */
	if (pid != library.first)
		library_unfit("a child of the program accepts");
	if (library.channel.slot == -1 && has_threads())
		library_unfit("it has threads");
	if (library.channel.slot == -1 && getuid() != library.uid)
		library_unfit("it has changed its user");
	if (atomic_flag_test_and_set(&library.begun)) {
		/* Another thread of it is at work here. */
		while (pid != atomic_load(&library.pid))
			(void)REAL(poll)(NULL, 0, 1);
		return;
	}
	inherited_read(fd, &library.now);
	worker_open(&library.channel, true);
	rest = getenv("LD_PRELOAD");
	rest = rest == NULL ? NULL : strchr(rest, ':');
	(void)unsetenv("LD_PRELOAD");
	if (rest != NULL)
		(void)setenv("LD_PRELOAD", rest + 1, 1);
	library.environ = environ;
	(void)on_exit(library_exit, NULL);
	if (apppool_template(library_forked) == -1 || apppool_ready() == -1)
		_exit(1);
	library.channel.slot = apppool_slot();
	atomic_store(&library.pid, getpid());
}

/*
 * No more connections come: when its sessions are over accept() says so, as of
 * a socket that was shut down, which ends FastCGI programs. A program that goes
 * on is sent stop_signal. With threads it is sent that at once, for the thread
 * that accepts may end alone.
 */
static int
library_end(bool blocks)
{
	while (sessions_settle()) {
		if (library.polls || !blocks)
			return worker_error(blocks ? ECONNABORTED : EAGAIN);
		if (REAL(poll)(NULL, 0, ASK_PAUSE) == -1)
			return -1;
	}
	if (blocks && library.asks++ == 0 && !has_threads())
		return worker_error(EINVAL);
	if (library.asks++ > ASKS_MAX)
		_exit(1);
	library.asked = true;
	(void)kill(library.first, library.channel.stop_signal);
	(void)REAL(poll)(NULL, 0, ASK_PAUSE);
	return worker_error(blocks ? EINTR : EAGAIN);
}

/*
 * Before it accepts or polls: a program that does so in a session would not
 * leave alone what is handed ahead.
 */
static void
library_settle(bool lasting)
{
	if ((!sessions_settle() && !lasting) || library.several)
		return;
	(void)channel_say(library.channel.fd, WIRE_SEVERAL);
	library.several = true;
}

/* Carries out a FORK; as a template in the process that is to be one. */
static void
library_fork(const struct channel_message *m)
{
	char text[64];

	if (!has_threads()) {
		(void)worker_serve_fork(m);
		return;
	}
	(void)snprintf(
	    text, sizeof(text), WIRE_FORKED " %ju 0", (uintmax_t)m->serial);
	(void)channel_say(library.channel.fd, text);
	(void)REAL(close)(m->fd);
	(void)REAL(close)(m->output[0]);
	(void)REAL(close)(m->output[1]);
}

/*
 * Makes the connection what accept4() returns: 0, or an errno. ENOTCONN: the
 * client has left, and the session is over.
 */
static int
library_give(const struct channel_message *m, struct sockaddr *address,
    socklen_t *len, int flags)
{
	uint64_t over = m->serial;
	struct stat st;

	if (m->fd == -1) {
		(void)channel_say_serial(
		    library.channel.fd, WIRE_LOST, m->serial);
		return ENOTCONN;
	}
	if (address != NULL && getpeername(m->fd, address, len) == -1) {
		if (errno != ENOTCONN)
			return errno;
		(void)REAL(close)(m->fd);
		(void)channel_say_serial(
		    library.channel.fd, WIRE_DONE, m->serial);
		return ENOTCONN;
	}
	inherited_pass(&library.before, &library.now, m->fd);
	if ((flags & SOCK_CLOEXEC) == 0)
		(void)fcntl(m->fd, F_SETFD, 0);
	if ((flags & SOCK_NONBLOCK) != 0)
		(void)fcntl(m->fd, F_SETFL, O_NONBLOCK);
	if (m->fd < SESSIONS && fstat(m->fd, &st) == 0) {
		sessions[m->fd].inode = st.st_ino;
		sessions_end = MAX(sessions_end, m->fd + 1);
		/* The number had a session, closed without a hook. */
		over = atomic_exchange(&sessions[m->fd].serial, m->serial);
	}
	if (over != 0)
		(void)channel_say_serial(
		    library.channel.fd, WIRE_DONE, over & ~CLOSED);
	return 0;
}

static void
library_cancelled(void *unused)
{
	(void)unused;
	atomic_store(&library.accepting, NULL);
}

/*
 * Waits for a message where the thread may be cancelled, as in accept(), and
 * nowhere else: what has come is the next one's. Returns 0, or -1 and EINTR.
 */
static int
library_wait(void)
{
	char byte;
	ssize_t n;

	if (__libc_single_threaded)
		return 0;
	pthread_cleanup_push(library_cancelled, NULL);
	n = recv(library.channel.fd, &byte, sizeof(byte), MSG_PEEK);
	pthread_cleanup_pop(0);
	return n == -1 && errno == EINTR ? -1 : 0;
}

static int
library_receive(
    bool blocks, struct sockaddr *address, socklen_t *len, int flags)
{
	struct channel_message *m = &library.message;
	int error;

	for (;;) {
		if (library.shut)
			return worker_error(EINVAL);
		if (library.stopped)
			return library_end(blocks);
		if (blocks && !library.kept && library_wait() == -1)
			return -1;
		if (!library.kept &&
		    channel_receive(library.channel.fd,
			blocks ? 0 : MSG_DONTWAIT, m) == -1) {
			if (errno != EPROTO && errno != EBADF)
				return -1;
			/* Somebody else has spoken there, or closed it. */
			_exit(1);
		}
		library.kept = false;
		if (m->kind == CHANNEL_STOP) {
			library.stopped = true;
		} else if (m->kind == CHANNEL_FORK) {
			library_fork(m);
		} else {
			error = library_give(m, address, len, flags);
			if (error == 0)
				return m->fd;
			/* The next call is given it: the address was wrong. */
			library.kept = error != ENOTCONN;
			if (library.kept)
				return worker_error(error);
		}
	}
}

/* --- hooks -------------------------------------------------------------- */

HOOK int
accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict len,
    int flags)
{
	void *nobody = NULL;
	int conn, error = errno;
	bool blocks;

	if (!is_listener(fd))
		return REAL(accept4)(fd, address, len, flags);
	if ((flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) != 0)
		return worker_error(EINVAL);
	if (!atomic_compare_exchange_strong(
		&library.accepting, &nobody, &thread_mark) &&
	    nobody != &thread_mark) {
		library_unfit("several of its threads accept");
		return library_end(true);
	}
	library_begin(fd);
	blocks = (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
	library_settle(false);
	errno = error;
	conn = library_receive(blocks, address, len, flags);
	atomic_store(&library.accepting, NULL);
	return conn;
}

HOOK int
accept(int fd, struct sockaddr *restrict address, socklen_t *restrict len)
{
	return accept4(fd, address, len, 0);
}

/*
 * The program closes what it has inherited, and has not opened the channel: in
 * the process that is served that number is closed already.
 */
static bool
is_channel(int fd)
{
	return fd != -1 && fd == library.channel.fd &&
	    getpid() == library.first;
}

HOOK int
close(int fd)
{
	if (is_channel(fd))
		return worker_error(EBADF);
	return session_close(fd, NULL);
}

HOOK int
fclose(FILE *file)
{
	return session_close(fileno(file), file);
}

HOOK int
close_range(unsigned first, unsigned last, int flags)
{
	const unsigned ours = (unsigned)library.channel.fd;

	if (ours < first || ours > last || !is_channel((int)ours))
		return REAL(close_range)(first, last, flags);
	if (first < ours && REAL(close_range)(first, ours - 1, flags) == -1)
		return -1;
	return ours == last ? 0 : REAL(close_range)(ours + 1, last, flags);
}

HOOK void
closefrom(int first)
{
	(void)close_range((unsigned)MAX(first, 0), UINT_MAX, 0);
}

HOOK int
dup3(int fd, int to, int flags)
{
	const bool listens = to == library.fd && is_listener(to);

	if (fd != to && is_channel(to))
		library_unfit("it needs the number of the daemon's socket");
	fd = REAL(dup3)(fd, to, flags);
	if (listens && !is_listener(to))
		library_retire(true);
	return fd;
}

HOOK int
dup2(int fd, int to)
{
	return fd == to ? REAL(dup2)(fd, to) : dup3(fd, to, 0);
}

/* exit() calls one of libc's own, and library_exit() before. */
HOOK void
_exit(int status)
{
	sessions_exit(status);
	REAL(_exit)(status);
	abort();
}

HOOK void _Exit(int status) __attribute__((alias("_exit")));

/*
 * The program executes another one, or itself: the channel is closed then, and
 * nobody would read what comes there, nor say what is over.
 */
static void
library_executes(void)
{
	int error = errno;

	/* A child, perhaps after vfork(), may execute what it wants. */
	if (getpid() == library.pid) {
		/* First: what is said to be over would bring another one. */
		(void)apppool_retire();
		(void)channel_say(library.channel.fd,
		    WIRE_UNFIT " it executes another program in its place");
		(void)sessions_settle();
	}
	errno = error;
}

HOOK int
execve(const char *path, char *const argv[], char *const env[])
{
	library_executes();
	return REAL(execve)(path, argv, env);
}

HOOK int
execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

HOOK int
execvpe(const char *file, char *const argv[], char *const env[])
{
	library_executes();
	return REAL(execvpe)(file, argv, env);
}

HOOK int
execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

HOOK int
shutdown(int fd, int how)
{
	if (is_listener(fd) && how != SHUT_WR) {
		library.shut = true;
		library_retire(false);
	}
	return REAL(shutdown)(fd, how);
}

/* The socket is about to be polled: the channel is, in its place. */
static int
library_polled(int fd, bool lasting)
{
	int error = errno;

	library_begin(fd);
	library.polls = true;
	library_settle(lasting);
	sessions_over();
	errno = error;
	return library.channel.fd;
}

/* Numbers of the socket that are polled at a time. */
#define POLLED_MAX 8

/* Has the channel polled where the socket was; its numbers, and -1. */
static void
poll_begin(struct pollfd *p, nfds_t n, int numbers[POLLED_MAX + 1])
{
	unsigned found = 0;

	if (library.channel.fd == -1)
		n = 0;
	for (nfds_t i = 0; i < n && found < POLLED_MAX; i++)
		if (p[i].fd >= 0 && is_listener(p[i].fd)) {
			numbers[found++] = p[i].fd;
			p[i].fd = library_polled(p[i].fd, false);
		}
	numbers[found] = -1;
}

static int
poll_end(struct pollfd *p, nfds_t n, const int *numbers, int ready)
{
	for (nfds_t i = 0; i < n && *numbers != -1; i++)
		if (p[i].fd == library.channel.fd)
			p[i].fd = *numbers++;
	return ready;
}

HOOK int
ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *s)
{
	int numbers[POLLED_MAX + 1];

	poll_begin(p, n, numbers);
	return poll_end(p, n, numbers, REAL(ppoll)(p, n, t, s));
}

HOOK int
poll(struct pollfd *p, nfds_t n, int timeout)
{
	int numbers[POLLED_MAX + 1];

	poll_begin(p, n, numbers);
	return poll_end(p, n, numbers, REAL(poll)(p, n, timeout));
}

/* The names of poll() and ppoll() for programs with _FORTIFY_SOURCE. */
int __poll_chk(struct pollfd *, nfds_t, int, size_t);
int __ppoll_chk(
    struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);

HOOK int
__poll_chk(struct pollfd *p, nfds_t n, int timeout, size_t room)
{
	if (room / sizeof(*p) < n)
		abort();
	return poll(p, n, timeout);
}

HOOK int
__ppoll_chk(struct pollfd *p, nfds_t n, const struct timespec *t,
    const sigset_t *s, size_t room)
{
	if (room / sizeof(*p) < n)
		abort();
	return ppoll(p, n, t, s);
}

/* Returns the number of the socket among them; -1: it is none of them. */
static int
select_begin(int n, fd_set *readable)
{
	int fd = 0;

	if (readable == NULL || library.channel.fd == -1)
		return -1;
	/* FD_ISSET() would end a program that has made a larger set. */
	n = MIN(n, FD_SETSIZE);
	while (fd < n && (!FD_ISSET(fd, readable) || !is_listener(fd)))
		fd++;
	if (fd >= n)
		return -1;
	FD_CLR(fd, readable);
	FD_SET(library_polled(fd, false), readable);
	return fd;
}

static int
select_end(fd_set *readable, int fd, int ready)
{
	if (ready == -1 || FD_ISSET(library.channel.fd, readable))
		FD_SET(fd, readable);
	FD_CLR(library.channel.fd, readable);
	return ready;
}

HOOK int
pselect(int n, fd_set *restrict readable, fd_set *restrict writable,
    fd_set *restrict other, const struct timespec *restrict t,
    const sigset_t *restrict s)
{
	int fd = select_begin(n, readable);

	if (fd == -1)
		return REAL(pselect)(n, readable, writable, other, t, s);
	return select_end(readable, fd,
	    REAL(pselect)(MAX(n, library.channel.fd + 1), readable, writable,
		other, t, s));
}

HOOK int
select(int n, fd_set *restrict readable, fd_set *restrict writable,
    fd_set *restrict other, struct timeval *restrict t)
{
	int fd = select_begin(n, readable);

	if (fd == -1)
		return REAL(select)(n, readable, writable, other, t);
	return select_end(readable, fd,
	    REAL(select)(
		MAX(n, library.channel.fd + 1), readable, writable, other, t));
}

HOOK int
epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
	if (is_listener(fd)) {
		if (library.channel.slot == -1)
			library_unfit("it has an epoll(7)");
		library.epoll = epoll;
		fd = operation == EPOLL_CTL_DEL ? library.channel.fd
						: library_polled(fd, true);
	}
	return REAL(epoll_ctl)(epoll, operation, fd, event);
}

HOOK int
epoll_pwait(int epoll, struct epoll_event *events, int n, int timeout,
    const sigset_t *s)
{
	int error = errno;

	/* A connection may have been closed without a hook. */
	if (library.polls && getpid() == library.pid)
		sessions_over();
	errno = error;
	return REAL(epoll_pwait)(epoll, events, n, timeout, s);
}

HOOK int
epoll_wait(int epoll, struct epoll_event *events, int n, int timeout)
{
	return epoll_pwait(epoll, events, n, timeout, NULL);
}

/* --- the beginning ------------------------------------------------------ */

/*
 * Programs that only lead to the one that serves (a shell, env) come here, too,
 * and have the next one find the same: nothing is changed before accept().
 */
static void __attribute__((constructor)) library_load(void)
{
	const char *pid = getenv("LISTEN_PID"),
		   *found = getenv(WIRE_ENV_LIBRARY);
	struct stat st;

	if (pid == NULL || found == NULL || fstat(STDIN_FILENO, &st) == -1 ||
	    !S_ISSOCK(st.st_mode) || channel_find(&library.channel) == -1)
		return;
	library.device = st.st_dev;
	library.inode = st.st_ino;
	library.uid = getuid();
	library.first = (pid_t)strtol(pid, NULL, 10);
	inherited_read(STDIN_FILENO, &library.before);
}
