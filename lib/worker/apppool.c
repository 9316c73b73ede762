/*
 * libapppool: the worker protocol for programs in C.
 *
 * Threads that wait for a connection stand behind one another at a lock, and
 * the first of them waits in recvmsg(2).  So STOP, which comes once, reaches
 * all of them: each finds it said when its turn comes.
 */

#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/wire.h"
#include "worker/channel.h"
#include "worker/environment.h"
#include "worker/session.h"

/* The library is built with everything hidden but what this declares. */
#pragma GCC visibility push(default)
#include "worker/apppool.h"
#pragma GCC visibility pop

static struct {
	/* Its fd is -1 until apppool_open() has succeeded. */
	struct environment env;
	atomic_bool ready;
	atomic_bool retired;
	/* Held by who waits for messages; guards stopped. */
	pthread_mutex_t receiving;
	bool stopped;
} worker = { .env.fd = -1, .receiving = PTHREAD_MUTEX_INITIALIZER };

static int
fail(int error)
{
	errno = error;
	return -1;
}

int
apppool_open(void)
{
	struct environment e;

	if (worker.env.fd != -1)
		return fail(EALREADY);
	if (environment_read(&e) == -1)
		return -1;
	(void)fcntl(e.fd, F_SETFD, FD_CLOEXEC);
	environment_clear();
	worker.env = e;
	return 0;
}

const char *
apppool_app(void)
{
	if (worker.env.app == NULL)
		errno = ENOTCONN;
	return worker.env.app;
}

const char *
apppool_id(void)
{
	if (worker.env.id == NULL)
		errno = ENOTCONN;
	return worker.env.id;
}

int
apppool_slot(void)
{
	return worker.env.fd == -1 ? fail(ENOTCONN) : worker.env.slot;
}

int
apppool_fd(void)
{
	return worker.env.fd == -1 ? fail(ENOTCONN) : worker.env.fd;
}

static int
say(const char *message, size_t len)
{
	if (worker.env.fd == -1)
		return fail(ENOTCONN);
	return channel_say(worker.env.fd, message, len);
}

static int
say_serial(const char *verb, uint64_t serial)
{
	if (worker.env.fd == -1)
		return fail(ENOTCONN);
	return channel_say_serial(worker.env.fd, verb, serial);
}

int
apppool_ready(void)
{
	if (worker.env.fd == -1)
		return fail(ENOTCONN);
	if (atomic_exchange(&worker.ready, true))
		return fail(EALREADY);
	return say(WIRE_READY, strlen(WIRE_READY));
}

/*
 * A CONN has come, with or without its descriptor.  Returns 1 and the
 * connection, 0 if it is lost, or -1.
 */
static int
conn_take(const struct channel_message *m, int *fd_out)
{
	struct session former;

	if (m->fd == -1)
		return say_serial(WIRE_LOST, m->session.serial);

	/*
	 * The number is free again, so the program has closed a connection
	 * without a word: that one is over.
	 */
	if (session_take(m->fd, &former))
		(void)say_serial(WIRE_DONE, former.serial);
	if (!session_put(m->fd, &m->session)) {
		(void)close(m->fd);
		(void)say_serial(WIRE_LOST, m->session.serial);
		return fail(ENOMEM);
	}
	*fd_out = m->fd;
	return 1;
}

/*
 * Receives one message.  Returns 1 and a connection, 0 if there is none in it
 * and the next should be waited for, or -1.
 */
static int
message_take(int *fd_out)
{
	struct channel_message m;

	if (channel_receive(worker.env.fd, 0, &m) == -1)
		return -1;
	if (m.kind == CHANNEL_CONN)
		return conn_take(&m, fd_out);
	worker.stopped = true;
	return fail(ESHUTDOWN);
}

int
apppool_accept(void)
{
	int fd = -1;
	int taken = 0;

	if (!atomic_load(&worker.ready))
		return fail(ENOTCONN);

	pthread_mutex_lock(&worker.receiving);
	while (taken == 0) {
		if (worker.stopped)
			taken = fail(ESHUTDOWN);
		else
			taken = message_take(&fd);
	}
	pthread_mutex_unlock(&worker.receiving);
	return taken == 1 ? fd : -1;
}

long long
apppool_waited(int fd)
{
	struct session s;

	if (!session_get(fd, &s))
		return fail(EBADF);
	return (long long)s.waited;
}

/*
 * The entry goes before the descriptor: the moment that is closed, another
 * thread may be handed a connection with its number.
 */
static int
session_end(int fd, const char *verb)
{
	struct session s;

	if (!session_take(fd, &s))
		return fail(EBADF);
	(void)close(fd);
	return say_serial(verb, s.serial);
}

int
apppool_done(int fd)
{
	return session_end(fd, WIRE_DONE);
}

int
apppool_park(int fd)
{
	return session_end(fd, WIRE_PARK);
}

int
apppool_retire(void)
{
	if (!atomic_load(&worker.ready))
		return fail(ENOTCONN);
	if (atomic_exchange(&worker.retired, true))
		return 0;
	return say(WIRE_RETIRE, strlen(WIRE_RETIRE));
}

/* One message is one line of printable ASCII. */
static void
text_clean(char *text)
{
	for (unsigned char *p = (unsigned char *)text; *p != '\0'; p++) {
		if (*p >= 0x80)
			*p = '?';
		else if (*p < ' ' || *p == 0x7f)
			*p = ' ';
	}
}

static int say_text(const char *verb, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

static int
say_text(const char *verb, const char *fmt, va_list ap)
{
	char message[WIRE_MAX + 1];
	size_t used = strlen(verb) + 1;
	size_t room = sizeof(message) - used;
	int len;

	(void)snprintf(message, sizeof(message), "%s ", verb);
	len = vsnprintf(message + used, room, fmt, ap);
	if (len == -1)
		return -1;
	if ((size_t)len >= room)
		return fail(EMSGSIZE);
	if (len == 0) {
		/* The verb alone; only a status may be taken back. */
		if (strcmp(verb, WIRE_STATUS) != 0)
			return fail(EINVAL);
		return say(message, used - 1);
	}
	text_clean(message + used);
	return say(message, used + (size_t)len);
}

int
apppool_event(const char *fmt, ...)
{
	va_list ap;
	int result;

	if (!atomic_load(&worker.ready))
		return fail(ENOTCONN);
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

	if (!atomic_load(&worker.ready))
		return fail(ENOTCONN);
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
