/* Connections for those who wait in accept(). */

#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "sys/wire.h"
#include "worker/accept_serve.h"
#include "worker/accept_watch.h"
#include "worker/channel.h"

/* The time in which a signal has reached whom it is meant for. */
#define DOUBT MILLISECONDS(5)

/* Descriptors that are its listening socket if we may not look. */
#define FD_OF_FASTCGI 0
#define FD_OF_SYSTEMD 3

void
serve_fail(struct adapter *a, const char *fmt, ...)
{
	char text[WIRE_MAX];
	size_t verb = sizeof(WIRE_FAIL);
	va_list ap;
	int len;

	memcpy(text, WIRE_FAIL " ", verb);
	va_start(ap, fmt);
	len = vsnprintf(text + verb, sizeof(text) - verb, fmt, ap);
	va_end(ap);
	if ((size_t)len > sizeof(text) - verb - 1)
		len = (int)(sizeof(text) - verb - 1);
	(void)channel_say(a->channel, text, verb + (size_t)len);
	if (a->program.pid > 0)
		(void)kill(a->program.pid, SIGKILL);
	exit(EX_OSERR);
}

/* --- connections --------------------------------------------------------- */

/* One has come; whether it is there to be given. */
static bool
take_conn(struct adapter *a, const struct channel_message *m)
{
	struct held h = {
		.fd = m->fd,
		.serial = m->session.serial,
		.peer_len = sizeof(h.peer),
	};

	if (m->fd == -1) {
		(void)channel_say_serial(a->channel, WIRE_LOST, h.serial);
		return false;
	}
	/* accept() would not have returned one without an address. */
	if (getpeername(h.fd, (struct sockaddr *)&h.peer, &h.peer_len) == -1) {
		(void)close(h.fd);
		(void)channel_say_serial(a->channel, WIRE_DONE, h.serial);
		return false;
	}
	a->held = h;
	return true;
}

/* Receives one that can be given; false: there is none. */
static bool
take(struct adapter *a)
{
	struct channel_message m;

	while (a->maybe && !a->stopped) {
		if (channel_receive(a->channel, MSG_DONTWAIT, &m) == -1) {
			switch (errno) {
			case EINTR:
				continue;
			case EAGAIN:
				a->maybe = false;
				continue;
			case ENOBUFS:
			case ENOMEM:
				(void)poll(NULL, 0, 10);
				continue;
			default:
				serve_fail(a, "the socket of the daemon: %s",
				    strerror(errno));
			}
		}
		if (m.kind == CHANNEL_STOP)
			a->stopped = true;
		else if (take_conn(a, &m))
			return true;
	}
	return false;
}

/*
 * Whether a thread is busy that will come back by itself, and sees no bell
 * before.
 */
static bool
will_return(const struct adapter *a)
{
	return a->manner == MANNER_RETURNS && a->blocks && a->sessions.len > 0;
}

/* Nobody waits: whether somebody should, or whether it is over. */
static void
peek(struct adapter *a)
{
	char verb[sizeof(WIRE_CONN)];
	struct channel_message m;
	ssize_t n;

	if (will_return(a))
		return;
	if (a->held.fd != -1) {
		door_ring(&a->door);
		return;
	}
	if (!a->maybe || a->stopped)
		return;
	n = recv(a->channel, verb, sizeof(verb), MSG_PEEK | MSG_DONTWAIT);
	if (n > 0 && verb[0] == WIRE_CONN[0])
		door_ring(&a->door);
	else if (n >= 0)
		/* Only a connection is worth waiting for. */
		a->stopped = channel_receive(a->channel, MSG_DONTWAIT, &m) == 0;
	else if (errno == EAGAIN)
		a->maybe = false;
}

/* --- giving -------------------------------------------------------------- */

/* The address where accept() leaves it: 0 or an errno. */
static int
tell_address(struct adapter *a, const struct call *c)
{
	const struct held *h = &a->held;
	const struct memory_part parts[2] = {
		{ c->address, &h->peer,
		    c->room < h->peer_len ? c->room : h->peer_len },
		{ c->length, &h->peer_len, sizeof(h->peer_len) },
	};

	if (c->address == 0 || memory_write(&a->memory, c->tid, parts) == 0)
		return 0;
	return errno;
}

/* The flag is the connection's: one that was not given may have it. */
static void
set_blocking(struct held *h, int flags)
{
	bool nonblocking = (flags & SOCK_NONBLOCK) != 0;

	if (nonblocking != h->nonblocking)
		(void)fcntl(h->fd, F_SETFL, nonblocking ? O_NONBLOCK : 0);
	h->nonblocking = nonblocking;
}

/* It has got what we hold, as its descriptor its_fd. */
static void
given(struct adapter *a, const struct call *c, int its_fd, ino_t inode)
{
	struct given g = {
		.serial = a->held.serial,
		.tid = c->tid,
		.fd = its_fd,
		.inode = inode,
		.began = a->now,
	};

	watch_begin(a, &g);
	sessions_add(&a->sessions, &g);
	(void)close(a->held.fd);
	a->held.fd = -1;
	waiters_forget(&a->waiters, c->tid);
}

/* Not given: it is the caller who has a problem, or is gone. */
static void
refused(struct adapter *a, const struct call *c, int error)
{
	switch (error) {
	case EPERM:
		serve_fail(a,
		    "the client's address cannot be left in the memory of the "
		    "program, which is not dumpable; handoff = listen would "
		    "do without");
	case ENOENT:
	case ESRCH:
		break;
	default:
		call_fail(a->program.notify, c, error);
		break;
	}
	waiters_forget(&a->waiters, c->tid);
}

static void
give(struct adapter *a, const struct call *caller)
{
	const struct call c = *caller;
	struct stat st = { 0 };
	int error, fd;

	if (!sessions_reserve(&a->sessions)) {
		refused(a, &c, ENOMEM);
		return;
	}
	(void)fstat(a->held.fd, &st);
	set_blocking(&a->held, c.flags);
	error = tell_address(a, &c);
	if (error != 0) {
		refused(a, &c, error);
		return;
	}
	/* Before, or a program that is quick would see it as it was. */
	if (watch_wants_bell(a))
		door_ring(&a->door);
	else if (door_rings(&a->door))
		door_quiet(&a->door);
	fd = call_give(a->program.notify, &c, a->held.fd);
	if (fd == -1)
		refused(a, &c, errno);
	else
		given(a, &c, fd, st.st_ino);
}

/* Whether what the caller gets would be lost with it. */
static bool
is_doomed(struct adapter *a, const struct call *c)
{
	int pidfd;
	bool killed;

	if (view_is_killed(a->program.pidfd))
		return true;
	if (c->tid == a->program.pid)
		return false;
	/* A child of the program's, if it is no thread. */
	pidfd = view_open(c->tid);
	killed = view_is_killed(pidfd);
	if (pidfd != -1)
		(void)close(pidfd);
	return killed;
}

void
serve(struct adapter *a)
{
	const struct call *c = NULL;

	while (a->held.fd != -1 || (a->maybe && !a->stopped)) {
		c = waiters_last(&a->waiters, a->program.notify, a->now);
		if (c == NULL) {
			/* Those in doubt will be looked at again. */
			if (a->waiters.len == 0)
				peek(a);
			break;
		}
		if (is_doomed(a, c))
			waiters_forget(&a->waiters, c->tid);
		else if (a->held.fd != -1 || take(a))
			give(a, c);
	}
	watch_stop(a);
}

/* --- calls --------------------------------------------------------------- */

/* Whether the call is about the socket that we answer for. */
static bool
is_for_us(struct adapter *a, const struct call *c)
{
	switch (view_is_ours(c->tid, c->fd, a->door.fd)) {
	case VIEW_YES:
		return true;
	case VIEW_NO:
		return false;
	default:
		break;
	}
	if (c->fd == FD_OF_FASTCGI || c->fd == FD_OF_SYSTEMD)
		return true;
	if (!a->strange)
		(void)fprintf(stderr,
		    "apppool-accept: the program does not let us see what its "
		    "descriptor %d is: taken for a socket of its own\n",
		    c->fd);
	a->strange = true;
	return false;
}

static void
say_ready(struct adapter *a)
{
	if (a->ready)
		return;
	a->ready = true;
	(void)channel_say(a->channel, WIRE_READY, strlen(WIRE_READY));
}

/* Whether the call can be answered at all: 0 or an errno. */
static int
look_at_arguments(struct adapter *a, struct call *c)
{
	const int known = SOCK_CLOEXEC | SOCK_NONBLOCK;

	if ((c->flags & ~known) != 0)
		return EINVAL;
	if (c->address == 0)
		return 0;
	if (memory_read(
		&a->memory, c->tid, c->length, &c->room, sizeof(c->room)) == -1)
		return errno;
	return (int32_t)c->room < 0 ? EINVAL : 0;
}

static bool
still_waits(const struct adapter *a, const struct call *c)
{
	const struct waiters *w = &a->waiters;

	return w->len > 0 && w->list[w->len - 1].call.id == c->id;
}

/* A thread wants a connection. */
static void
wanted(struct adapter *a, struct call *c)
{
	int error = look_at_arguments(a, c);

	if (error == 0 && !waiters_add(&a->waiters, c, a->program.notify))
		error = ENOMEM;
	if (error != 0) {
		refused(a, c, error);
		return;
	}
	say_ready(a);
	watch_returned(a, c->tid);
	serve(a);
	if (!still_waits(a, c))
		return;
	a->blocks = door_blocks(&a->door);
	if (a->blocks) {
		if (door_rings(&a->door))
			door_quiet(&a->door);
		return;
	}
	door_quiet(&a->door);
	waiters_forget(&a->waiters, c->tid);
	call_fail(a->program.notify, c, EAGAIN);
}

void
serve_call(struct adapter *a)
{
	struct call c;

	if (call_receive(a->program.notify, &c) == -1)
		return;
	/* It was interrupted, or has been answered: this thread goes on. */
	waiters_forget(&a->waiters, c.tid);
	if (!c.accepts)
		memory_keep(&a->memory, c.tid);
	if (c.accepts && is_for_us(a, &c))
		wanted(a, &c);
	else
		call_let(a->program.notify, &c);
}

void
serve_doubt(struct adapter *a, int sig)
{
	waiters_doubt(&a->waiters, a->now + DOUBT);
	/* It is about to end, or should be. */
	if (sig != SIGTERM || !a->ready || a->retired || a->stopped)
		return;
	a->retired = true;
	(void)channel_say(a->channel, WIRE_RETIRE, strlen(WIRE_RETIRE));
}
