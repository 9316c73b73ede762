/*
 * libapppool: the worker protocol for programs in C.
 *
 * Threads that wait for a connection stand behind one another at a lock, and
 * the first of them waits in recvmsg(2). So STOP, which comes once, reaches all
 * of them: each finds `stopped` set when its turn comes.
 */

#include <sys/socket.h>

#include <assert.h>
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
#include "worker/template.h"

/* The library hides everything but what this header declares. */
#pragma GCC visibility push(default)
#include "worker/apppool.h"
#pragma GCC visibility pop

static struct {
	/* Its fd is -1 until apppool_open() has succeeded. */
	struct channel channel;
	atomic_bool ready;
	atomic_bool retired;
	/* Held by the thread that waits for a message; guards stopped. */
	pthread_mutex_t receiving;
	bool stopped;
	void (*after_fork)(void); /* of apppool_template(), or NULL */
} worker = { .channel.fd = -1, .receiving = PTHREAD_MUTEX_INITIALIZER };

static int
fail(int error)
{
	errno = error;
	return -1;
}

/* --- the connections held ----------------------------------------------- */

/*
 * Pages of slots, indexed by descriptor: finding a session takes the same time
 * however many there are. Safe to use from several threads.
 */
#define PAGE_SLOTS 64

struct session {
	uint64_t serial; /* the daemon's number for it */
	uint64_t waited; /* microseconds from accept to hand-over */
};

struct slot {
	struct session session;
	bool held;
};

/* Allocated for the first descriptor in it, kept until the process ends. */
struct page {
	struct slot slots[PAGE_SLOTS];
};

static struct {
	pthread_mutex_t lock;
	struct page **pages;
	size_t npages;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Returns the slot of fd, or NULL if its page does not exist. */
static struct slot *
find_slot(int fd)
{
	size_t page = (size_t)fd / PAGE_SLOTS;

	if (fd < 0 || page >= table.npages || table.pages[page] == NULL)
		return NULL;
	return &table.pages[page]->slots[fd % PAGE_SLOTS];
}

static bool
make_page(size_t page)
{
	if (page >= table.npages) {
		size_t npages = page + 1;
		struct page **pages =
		    reallocarray(table.pages, npages, sizeof(*pages));

		if (pages == NULL)
			return false;
		for (size_t i = table.npages; i < npages; i++)
			pages[i] = NULL;
		table.pages = pages;
		table.npages = npages;
	}
	if (table.pages[page] == NULL)
		table.pages[page] = calloc(1, sizeof(struct page));
	return table.pages[page] != NULL;
}

/*
 * Stores a session under fd, in the place of one that was there. Returns false,
 * nothing changed, if there is no memory.
 */
static bool
put_session(int fd, const struct session *s)
{
	assert(fd >= 0);
	pthread_mutex_lock(&table.lock);

	bool made = make_page((size_t)fd / PAGE_SLOTS);

	if (made)
		*find_slot(fd) = (struct slot){ .session = *s, .held = true };
	pthread_mutex_unlock(&table.lock);
	return made;
}

/*
 * Copies the session of fd, and forgets it where asked to. Returns false, *out
 * untouched, if fd has none.
 */
static bool
get_session(int fd, bool forget, struct session *out)
{
	pthread_mutex_lock(&table.lock);

	struct slot *slot = find_slot(fd);
	bool held = slot != NULL && slot->held;

	if (held) {
		*out = slot->session;
		slot->held = !forget;
	}
	pthread_mutex_unlock(&table.lock);
	return held;
}

/* Forgets all sessions: they are another process's. */
static void
drop_sessions(void)
{
	/* A thread that had the lock is not in this process. */
	(void)pthread_mutex_init(&table.lock, NULL);
	for (size_t i = 0; i < table.npages; i++)
		if (table.pages[i] != NULL)
			memset(table.pages[i], 0, sizeof(*table.pages[i]));
}

/* --- the process -------------------------------------------------------- */

int
apppool_open(void)
{
	struct channel c;

	if (worker.channel.fd != -1)
		return fail(EALREADY);
	if (channel_find(&c) == -1)
		return -1;
	(void)fcntl(c.fd, F_SETFD, FD_CLOEXEC);
	channel_forget();
	worker.channel = c;
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
	    ? fail(ENOTCONN)
	    : worker.channel.slot;
}

int
apppool_fd(void)
{
	return worker.channel.fd == -1 ? fail(ENOTCONN) : worker.channel.fd;
}

static int
say(const char *message, size_t len)
{
	if (worker.channel.fd == -1)
		return fail(ENOTCONN);
	return channel_say(worker.channel.fd, message, len);
}

static int
say_serial(const char *verb, uint64_t serial)
{
	if (worker.channel.fd == -1)
		return fail(ENOTCONN);
	return channel_say_serial(worker.channel.fd, verb, serial);
}

int
apppool_ready(void)
{
	if (worker.channel.fd == -1)
		return fail(ENOTCONN);
	if (atomic_exchange(&worker.ready, true))
		return fail(EALREADY);
	return say(WIRE_READY, strlen(WIRE_READY));
}

/* --- templates ----------------------------------------------------------- */

/* A forked process is another one in the daemon's eyes. */
static bool
become(const struct channel_message *m)
{
	char *id = strdup(m->id);

	if (id == NULL)
		return false;
	free(worker.channel.id);
	worker.channel.id = id;
	worker.channel.slot = m->slot;
	worker.stopped = false;
	atomic_store(&worker.ready, false);
	atomic_store(&worker.retired, false);
	drop_sessions();
	return true;
}

/* Carries out a FORK. Returns 1 in the process to be, 0 in this one, or -1. */
static int
carry_out(const struct channel_message *m)
{
	int forked =
	    template_fork(worker.channel.fd, m, worker.channel.slot == -1);

	/* The daemon starts another one if this ends before READY. */
	if (forked == 1 && !become(m))
		_exit(1);
	return forked;
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
		switch (m.kind) {
		case CHANNEL_FORK:
			forked = carry_out(&m);
			if (forked == 0)
				break;
			if (forked == 1 && worker.after_fork != NULL)
				worker.after_fork();
			return forked == 1 ? 0 : -1;
		case CHANNEL_STOP:
			exit(0);
		default:
			(void)close(m.fd);
			return fail(EPROTO);
		}
	}
}

int
apppool_template(void (*after_fork)(void))
{
	if (worker.channel.fd == -1)
		return fail(ENOTCONN);
	if (atomic_load(&worker.ready))
		return fail(EALREADY);
	worker.after_fork = after_fork;
	return worker.channel.slot == -1 ? serve_forks() : 0;
}

/*
 * Takes a FORK as a worker. In a template that this forks all goes on as in
 * apppool_template(), and in a worker of that as here. Returns 0, or -1.
 */
static int
take_fork(const struct channel_message *m)
{
	int forked = carry_out(m);

	if (forked != 1)
		return forked;
	if (worker.channel.slot == -1 && serve_forks() == -1)
		return -1;
	return apppool_ready();
}

/* --- connections --------------------------------------------------------- */

/* Takes a CONN. Returns 1 and the connection, 0: it is lost, or -1. */
static int
take_conn(const struct channel_message *m, int *fd_out)
{
	const struct session s = { m->serial, m->waited };
	struct session former;

	if (m->fd == -1)
		return say_serial(WIRE_LOST, m->serial);

	/*
	 * The program has closed a connection of that number without saying
	 * DONE: its session is over.
	 */
	if (get_session(m->fd, true, &former))
		(void)say_serial(WIRE_DONE, former.serial);
	if (!put_session(m->fd, &s)) {
		(void)close(m->fd);
		(void)say_serial(WIRE_LOST, m->serial);
		return fail(ENOMEM);
	}
	*fd_out = m->fd;
	return 1;
}

/* Receives one message. Returns 1 and a connection, 0: none in it, or -1. */
static int
take_message(int *fd_out)
{
	struct channel_message m;

	if (channel_receive(worker.channel.fd, 0, &m) == -1)
		return -1;
	switch (m.kind) {
	case CHANNEL_CONN:
		return take_conn(&m, fd_out);
	case CHANNEL_FORK:
		return take_fork(&m);
	default:
		worker.stopped = true;
		return fail(ESHUTDOWN);
	}
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
			taken = take_message(&fd);
	}
	pthread_mutex_unlock(&worker.receiving);
	return taken == 1 ? fd : -1;
}

long long
apppool_waited(int fd)
{
	struct session s;

	if (!get_session(fd, false, &s))
		return fail(EBADF);
	return (long long)s.waited;
}

/*
 * The session is forgotten before the descriptor is closed: from then on
 * another thread may be handed a connection with the same number.
 */
static int
end_session(int fd, const char *verb)
{
	struct session s;

	if (!get_session(fd, true, &s))
		return fail(EBADF);
	(void)close(fd);
	return say_serial(verb, s.serial);
}

int
apppool_done(int fd)
{
	return end_session(fd, WIRE_DONE);
}

int
apppool_keep_alive(void)
{
	if (worker.channel.fd == -1)
		return fail(ENOTCONN);
	return worker.channel.keep_alive ? 1 : 0;
}

/* Makes it blocking, as one that is accepted: for whoever has it next. */
static void
make_blocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags != -1 && (flags & O_NONBLOCK) != 0)
		(void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

int
apppool_park(int fd)
{
	struct session s;

	if (!worker.channel.keep_alive)
		return apppool_done(fd);
	if (get_session(fd, false, &s))
		make_blocking(fd);
	return end_session(fd, WIRE_PARK);
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

/* Makes one line of printable ASCII of a text. */
static void
clean_text(char *text)
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
		/* An empty text: only a status may be taken back. */
		if (strcmp(verb, WIRE_STATUS) != 0)
			return fail(EINVAL);
		return say(message, used - 1);
	}
	clean_text(message + used);
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
