/* Connections for those who wait in accept(). */

#include <sys/socket.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "adapter/accept_give.h"
#include "adapter/accept_serve.h"
#include "adapter/accept_view.h"
#include "adapter/accept_watch.h"
#include "sys/wire.h"
#include "worker/channel.h"

/* The time in which a signal has reached whom it is meant for. */
#define DOUBT MILLISECONDS(5)

/* Descriptors that are its listening socket if we may not look. */
#define FD_OF_FASTCGI 0
#define FD_OF_SYSTEMD 3

/* --- connections --------------------------------------------------------- */

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
	do {
		n = recv(
		    a->channel, verb, sizeof(verb), MSG_PEEK | MSG_DONTWAIT);
		/* A reset is told once, then comes the end of file. */
	} while (n == -1 && errno == ECONNRESET);
	if (n > 0 && verb[0] == WIRE_CONN[0])
		door_ring(&a->door);
	else if (n >= 0)
		/* Only a connection is worth waiting for. */
		a->stopped = channel_receive(a->channel, MSG_DONTWAIT, &m) == 0;
	else if (errno == EAGAIN)
		a->maybe = false;
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
		c = waiters_last(&a->waiters, a->program.notify);
		if (c == NULL) {
			/* Those in doubt will be looked at again. */
			if (a->waiters.len == 0)
				peek(a);
			break;
		}
		if (is_doomed(a, c))
			waiters_forget(&a->waiters, c->tid);
		else if (a->held.fd != -1 || give_take(a))
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

/* Mostly the next one comes but when the daemon has heard our DONE. */
static bool
nothing_came(const struct adapter *a)
{
	char first;

	return recv(a->channel, &first, sizeof(first),
		   MSG_PEEK | MSG_DONTWAIT) == -1 &&
	    errno == EAGAIN;
}

/* A thread wants a connection. */
static void
wanted(struct adapter *a, struct call *c)
{
	int error = look_at_arguments(a, c);

	if (error == 0 && a->shut)
		error = EINVAL;
	if (error == 0 && !waiters_add(&a->waiters, c, a->program.notify))
		error = ENOMEM;
	if (error != 0) {
		give_refuse(a, c, error);
		return;
	}
	adapter_ready(a);
	watch_returned(a, c->tid);
	/* Who waits need not be looked at for that. */
	if (a->held.fd == -1 && a->maybe && nothing_came(a))
		a->maybe = false;
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
serve_shut(struct adapter *a)
{
	a->shut = true;
	adapter_retire(a);
	waiters_fail(&a->waiters, a->program.notify, EINVAL);
}

void
serve_doubt(struct adapter *a, int sig)
{
	waiters_doubt(&a->waiters, a->now + DOUBT);
	if (sig != SIGTERM)
		return;
	/* It is about to end, or should be. */
	adapter_retire(a);
	watch_told(a);
}
