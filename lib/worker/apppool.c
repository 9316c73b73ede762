/*
 * libapppool: the worker protocol for programs in C.
 *
 * Threads that wait for a connection stand behind one another at a lock, and
 * the first of them waits in recvmsg(2). So STOP, which comes once, reaches all
 * of them: each finds `stopped` set when its turn comes.
 */

#include <sys/ioctl.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/wire.h"
#include "worker/worker.h"

/* The library hides everything but what this header declares. */
#pragma GCC visibility push(default)
#include "worker/apppool.h"
#pragma GCC visibility pop

static struct {
	/* The channel's fd is -1 until apppool_open() has succeeded. */
	struct channel channel;
	atomic_bool ready;
	atomic_bool retired;
	/* Held by the thread that waits for a message; guards stopped. */
	pthread_mutex_t receiving;
	bool stopped;
	bool forked; /* by a template or a worker, and not ready yet */
	void (*after_fork)(void); /* of apppool_template(), or NULL */
} worker = { .channel.fd = -1, .receiving = PTHREAD_MUTEX_INITIALIZER };

/* --- the connections held ----------------------------------------------- */

struct session {
	struct session *next;
	int fd;
	uint64_t serial; /* the daemon's number for it */
	uint64_t waited; /* microseconds from accept to hand-over */
	int load; /* of the app then, in thousandths; -1: not told */
};

/* By descriptor: a session is found as fast however many there are. */
#define SESSION_LISTS 1024

static struct {
	pthread_mutex_t lock;
	struct session *lists[SESSION_LISTS];
} held = { .lock = PTHREAD_MUTEX_INITIALIZER };

/*
 * Copies the session of fd, and forgets it where asked to. Returns false and
 * EBADF, *out untouched, if fd has none.
 */
static bool
session_get(int fd, bool forget, struct session *out)
{
	struct session **at = &held.lists[(unsigned)fd % SESSION_LISTS], *s;

	pthread_mutex_lock(&held.lock);
	while ((s = *at) != NULL && s->fd != fd)
		at = &s->next;
	if (s != NULL) {
		*out = *s;
		if (forget) {
			*at = s->next;
			free(s);
		}
	}
	pthread_mutex_unlock(&held.lock);
	if (s == NULL)
		errno = EBADF;
	return s != NULL;
}

/* --- the process -------------------------------------------------------- */

void
worker_open(const struct channel *c, bool names_stay)
{
	(void)fcntl(c->fd, F_SETFD, FD_CLOEXEC);
	channel_forget(names_stay);
	worker.channel = *c;
}

int
apppool_open(void)
{
	struct channel c;

	if (worker.channel.fd != -1)
		return worker_error(EALREADY);
	if (channel_find(&c) == -1)
		return -1;
	worker_open(&c, false);
	return 0;
}

const char *
apppool_app(void)
{
	if (worker.channel.app == NULL)
		errno = ENOTCONN;
	return worker.channel.app;
}

const char *
apppool_id(void)
{
	if (worker.channel.id == NULL)
		errno = ENOTCONN;
	return worker.channel.id;
}

int
apppool_slot(void)
{
	return worker.channel.slot == -1 || worker.channel.fd == -1
	    ? worker_error(ENOTCONN)
	    : worker.channel.slot;
}

int
apppool_fd(void)
{
	return worker.channel.fd == -1 ? worker_error(ENOTCONN)
				       : worker.channel.fd;
}

int
apppool_keep_alive(void)
{
	if (worker.channel.fd == -1)
		return worker_error(ENOTCONN);
	return worker.channel.keep_alive ? 1 : 0;
}

int
apppool_ready(void)
{
	if (worker.channel.fd == -1)
		return worker_error(ENOTCONN);
	if (atomic_exchange(&worker.ready, true))
		return worker_error(EALREADY);
	if (channel_say(worker.channel.fd, WIRE_READY) == -1)
		return -1;
	/*
	 * The scheduler gives each session its share of the processors: as one
	 * that was executed, the process has one for itself. Until it is known
	 * the daemon tells it from others' by the session that it was forked
	 * in, where the leader of a group has to join another to leave; it
	 * leads its own again where a child in that keeps it from leaving.
	 */
	if (worker.forked && setpgid(0, getsid(0)) == 0 && setsid() == -1)
		(void)setpgid(0, 0);
	worker.forked = false;
	return 0;
}

/* --- templates ----------------------------------------------------------- */

/*
 * Forks twice, so that the process to be is an orphan and the daemon's child.
 * Returns 0 there, and here its number, or -1 and errno.
 */
static pid_t
fork_twice(void)
{
	struct {
		pid_t pid; /* -1: the process in the middle could not fork */
		int error;
	} told = { -1, ECHILD };
	int ends[2];
	pid_t middle;
	ssize_t n;

	/* Otherwise the child would print what lies there once more. */
	(void)fflush(NULL);
	if (pipe2(ends, O_CLOEXEC) == -1)
		return -1;
	middle = fork();
	if (middle == -1)
		told.error = errno;
	if (middle == 0) {
		told.pid = fork();
		told.error = errno;
		if (told.pid != 0) {
			(void)!write(ends[1], &told, sizeof(told));
			_exit(0);
		}
		(void)close(ends[0]);
		(void)close(ends[1]);
		return 0;
	}
	(void)close(ends[1]);
	do {
		n = read(ends[0], &told, sizeof(told));
	} while (n == -1 && errno == EINTR);
	(void)close(ends[0]);
	while (middle != -1 && waitpid(middle, NULL, 0) == -1 && errno == EINTR)
		;
	errno = told.error;
	return told.pid;
}

/*
 * In the process to be, whom the daemon takes for another one: makes it what
 * the message says. Returns false if it cannot be.
 */
static bool
worker_become(const struct channel_message *m)
{
	static const int standard[2] = { STDOUT_FILENO, STDERR_FILENO };
	struct session *s;

	for (int i = 0; i < 2; i++) {
		if (m->output[i] == -1)
			continue;
		if (dup2(m->output[i], standard[i]) == -1)
			return false;
		(void)close(m->output[i]);
	}
	if (dup3(m->fd, worker.channel.fd, O_CLOEXEC) == -1)
		return false;
	(void)close(m->fd);
	/* The rest of the group is killed when the process has ended. */
	if (setpgid(0, 0) == -1)
		return false;
	free(worker.channel.id);
	worker.channel.id = strdup(m->id);
	worker.channel.slot = m->slot;
	worker.stopped = false;
	worker.forked = true;
	atomic_store(&worker.ready, false);
	atomic_store(&worker.retired, false);

	/* A thread with the lock is not in this process, nor its session. */
	(void)pthread_mutex_init(&held.lock, NULL);
	for (int i = 0; i < SESSION_LISTS; i++)
		while ((s = held.lists[i]) != NULL) {
			held.lists[i] = s->next;
			free(s);
		}
	return worker.channel.id != NULL;
}

/*
 * Carries out a FORK. Returns 1 in the process to be, 0 in this one, or -1 and
 * errno: ESHUTDOWN, or a template cannot fork, and has said so.
 */
static int
worker_fork(const struct channel_message *m)
{
	const int sock = worker.channel.fd;
	char text[128];
	pid_t pid = m->fd == -1 ? worker_error(EMFILE) : fork_twice();
	int error = errno;

	if (pid == 0) {
		/* The daemon starts another one if this ends before READY. */
		if (!worker_become(m))
			_exit(1);
		return 1;
	}
	if (m->fd != -1)
		(void)close(m->fd);
	for (int i = 0; i < 2; i++)
		if (m->output[i] != -1)
			(void)close(m->output[i]);
	if (pid == -1 && worker.channel.slot == -1) {
		(void)snprintf(text, sizeof(text), WIRE_FAIL " cannot fork: %s",
		    strerror(error));
		(void)channel_say(sock, text);
		return worker_error(error);
	}
	(void)snprintf(text, sizeof(text), WIRE_FORKED " %ju %ld",
	    (uintmax_t)m->serial, pid == -1 ? 0 : (long)pid);
	return channel_say(sock, text);
}

/*
 * Serves as the template until the daemon wants no more, which ends this
 * process. Returns 0 in each worker, or -1 and errno.
 */
static int
serve_forks(void)
{
	struct channel_message m;
	int forked;

	if (apppool_ready() == -1)
		return -1;
	for (;;) {
		if (channel_receive(worker.channel.fd, 0, &m) == -1) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		if (m.kind == CHANNEL_STOP)
			exit(0);
		if (m.kind != CHANNEL_FORK) {
			(void)close(m.fd);
			return worker_error(EPROTO);
		}
		forked = worker_fork(&m);
		if (forked == -1)
			return -1;
		if (forked == 1) {
			if (worker.after_fork != NULL)
				worker.after_fork();
			return 0;
		}
	}
}

int
apppool_template(void (*after_fork)(void))
{
	if (worker.channel.fd == -1)
		return worker_error(ENOTCONN);
	if (atomic_load(&worker.ready))
		return worker_error(EALREADY);
	worker.after_fork = after_fork;
	return worker.channel.slot == -1 ? serve_forks() : 0;
}

/* --- connections --------------------------------------------------------- */

/* Takes a CONN. Returns 1 and the connection, 0: it is lost, or -1. */
static int
worker_take_conn(const struct channel_message *m, int *fd_out)
{
	const int sock = worker.channel.fd;
	struct session *s, **list, former;

	if (m->fd == -1)
		return channel_say_serial(sock, WIRE_LOST, m->serial);

	/*
	 * The program has closed a connection of that number without saying
	 * DONE: its session is over.
	 */
	if (session_get(m->fd, true, &former))
		(void)channel_say_serial(sock, WIRE_DONE, former.serial);
	s = malloc(sizeof(*s));
	if (s == NULL) {
		(void)close(m->fd);
		(void)channel_say_serial(sock, WIRE_LOST, m->serial);
		return worker_error(ENOMEM);
	}
	list = &held.lists[(unsigned)m->fd % SESSION_LISTS];
	pthread_mutex_lock(&held.lock);
	*s = (struct session){ *list, m->fd, m->serial, m->waited, m->load };
	*list = s;
	pthread_mutex_unlock(&held.lock);
	*fd_out = m->fd;
	return 1;
}

int
worker_serve_fork(const struct channel_message *m)
{
	int forked = worker_fork(m);

	/*
	 * In a template that this forks all goes on as in apppool_template(),
	 * and in a worker of that as here.
	 */
	if (forked != 1)
		return forked;
	if (worker.channel.slot == -1 && serve_forks() == -1)
		return -1;
	return apppool_ready();
}

int
apppool_accept(void)
{
	struct channel_message m;
	int fd = -1;
	int taken = 0;

	if (!atomic_load(&worker.ready))
		return worker_error(ENOTCONN);

	pthread_mutex_lock(&worker.receiving);
	while (taken == 0) {
		if (worker.stopped)
			taken = worker_error(ESHUTDOWN);
		else if (channel_receive(worker.channel.fd, 0, &m) == -1)
			taken = -1;
		else if (m.kind == CHANNEL_CONN)
			taken = worker_take_conn(&m, &fd);
		else if (m.kind == CHANNEL_FORK)
			taken = worker_serve_fork(&m);
		else
			worker.stopped = true;
	}
	pthread_mutex_unlock(&worker.receiving);
	return taken == 1 ? fd : -1;
}

long long
apppool_waited(int fd)
{
	struct session s;

	return session_get(fd, false, &s) ? (long long)s.waited : -1;
}

int
apppool_load(int fd)
{
	struct session s;

	if (!session_get(fd, false, &s))
		return -1;
	return s.load == -1 ? worker_error(ENODATA) : s.load;
}

/*
 * The session is forgotten before the descriptor is closed: from then on
 * another thread may be handed a connection with the same number.
 */
static int
end_session(int fd, const char *verb)
{
	struct session s;

	if (!session_get(fd, true, &s))
		return -1;
	(void)close(fd);
	return channel_say_serial(worker.channel.fd, verb, s.serial);
}

int
apppool_done(int fd)
{
	return end_session(fd, WIRE_DONE);
}

int
apppool_park(int fd)
{
	struct session s;
	int nonblocking = 0;

	if (!worker.channel.keep_alive)
		return apppool_done(fd);
	/* As one that is accepted: for the process that has it next. */
	if (session_get(fd, false, &s))
		(void)ioctl(fd, FIONBIO, &nonblocking);
	return end_session(fd, WIRE_PARK);
}

int
apppool_retire(void)
{
	if (!atomic_load(&worker.ready))
		return worker_error(ENOTCONN);
	if (atomic_exchange(&worker.retired, true))
		return 0;
	return channel_say(worker.channel.fd, WIRE_RETIRE);
}

/* --- texts --------------------------------------------------------------- */

/* Says one line of printable ASCII; before READY, why it fails alone. */
static int __attribute__((format(printf, 2, 0)))
say_text(const char *verb, const char *fmt, va_list ap)
{
	char message[WIRE_MAX + 1];
	size_t used = strlen(verb) + 1;
	size_t room = sizeof(message) - used;
	int len;

	if (worker.channel.fd == -1 ||
	    (!atomic_load(&worker.ready) && strcmp(verb, WIRE_FAIL) != 0))
		return worker_error(ENOTCONN);
	(void)snprintf(message, sizeof(message), "%s ", verb);
	len = vsnprintf(message + used, room, fmt, ap);
	if (len == -1)
		return -1;
	if ((size_t)len >= room)
		return worker_error(EMSGSIZE);
	/* An empty text: only a status may be taken back. */
	if (len == 0 && strcmp(verb, WIRE_STATUS) != 0)
		return worker_error(EINVAL);
	if (len == 0)
		message[used - 1] = '\0';
	for (char *p = message + used; p < message + used + len; p++) {
		if ((unsigned char)*p >= 0x80)
			*p = '?';
		else if (*p < ' ' || *p == 0x7f)
			*p = ' ';
	}
	return channel_say(worker.channel.fd, message);
}

int
apppool_event(const char *fmt, ...)
{
	va_list ap;
	int result;

	va_start(ap, fmt);
	result = say_text(WIRE_EVENT, fmt, ap);
	va_end(ap);
	return result;
}

int
apppool_status(const char *fmt, ...)
{
	va_list ap;
	int result;

	va_start(ap, fmt);
	result = say_text(WIRE_STATUS, fmt, ap);
	va_end(ap);
	return result;
}

int
apppool_fail(const char *fmt, ...)
{
	va_list ap;
	int result;

	va_start(ap, fmt);
	result = say_text(WIRE_FAIL, fmt, ap);
	va_end(ap);
	return result;
}
