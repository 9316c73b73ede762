/* Connections for the calls that wait, and the end of the program. */

#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "adapter/accept.h"
#include "sys/wire.h"

/* The time in which a signal reaches the thread it is meant for. */
#define DOUBT MILLISECONDS(5)

/* Descriptors taken for its listening socket where we may not look. */
#define FD_OF_FASTCGI 0
#define FD_OF_SYSTEMD 3

/* A signal may come when the program does not look: it is repeated. */
#define TERM_INTERVAL MILLISECONDS(1000)

/* SIGTERMs before SIGKILL, if the daemon, which would kill it, is gone. */
#define TERMS_MAX 10

/* --- giving ------------------------------------------------------------- */

/* Answers a call that cannot be given a connection, unless it is gone. */
static void
refuse_call(struct adapter *a, const struct call *c, int error)
{
	switch (error) {
	case EPERM:
		daemon_fail(a,
		    "the client's address cannot be left in the memory of the "
		    "program, which is not dumpable; handoff = listen would "
		    "do without");
	case ENOENT:
	case ESRCH:
		break;
	default:
		call_answer(a->program.notify, c, error);
		break;
	}
	calls_forget(&a->calls, c->tid);
}

/* Gives the connection received; the call waits no more, either way. */
static void
give_connection(struct adapter *a, const struct call *waiting)
{
	const struct call c = *waiting;
	const bool nonblocking = (c.flags & SOCK_NONBLOCK) != 0;
	struct received *r = &a->received;
	struct session s = { .serial = r->serial, .tid = c.tid };
	/* Where accept() leaves the address. */
	const struct view_part parts[2] = {
		{ c.address, &r->peer,
		    c.room < r->peer_len ? c.room : r->peer_len },
		{ c.length, &r->peer_len, sizeof(r->peer_len) },
	};
	struct stat st = { 0 };

	if (!sessions_reserve(&a->sessions)) {
		refuse_call(a, &c, ENOMEM);
		return;
	}
	(void)fstat(r->fd, &st);
	/* The flag is the connection's, perhaps from a failed attempt. */
	if (nonblocking != r->nonblocking)
		(void)fcntl(r->fd, F_SETFL, nonblocking ? O_NONBLOCK : 0);
	r->nonblocking = nonblocking;
	listener_pass_options(&a->listener, r->fd);
	if (c.address != 0 &&
	    view_write_memory(&a->memory, c.tid, parts) == -1) {
		refuse_call(a, &c, errno);
		return;
	}
	/* The bell comes before the answer: a quick program polls at once. */
	if (a->manner == MANNER_POLLS ||
	    (a->blind && a->manner != MANNER_RETURNS))
		listener_ring(&a->listener);
	else if (a->listener.bell != -1)
		listener_silence(&a->listener);
	s.inode = st.st_ino;
	s.fd = call_give(a->program.notify, &c, r->fd);
	if (s.fd == -1) {
		refuse_call(a, &c, errno);
		return;
	}
	daemon_forget(a);
	sessions_begin(a, &s);
	calls_forget(&a->calls, c.tid);
}

/* --- the end of the program --------------------------------------------- */

/* Asks the program to end when no connection comes and none is left. */
static void
ask_to_end(struct adapter *a)
{
	struct pollfd daemon = { .fd = a->channel };

	if (!a->stopped || a->sessions.len > 0 || a->received.fd != -1 ||
	    a->now < a->term_at)
		return;
	if (a->terms >= TERMS_MAX && poll(&daemon, 1, 0) == 1 &&
	    (daemon.revents & POLLHUP) != 0)
		(void)kill(a->program.pid, SIGKILL);
	/*
	 * A program that is about to end may take a second signal for a
	 * demand: only one that waits, or would not, has missed the first.
	 */
	else if (a->terms == 0 || a->calls.len > 0 || !a->blocks)
		(void)kill(a->program.pid, SIGTERM);
	/* EINTR reaches the threads that the signal did not. */
	if (a->terms > 0)
		calls_fail(&a->calls, a->program.notify, EINTR);
	a->terms++;
	a->term_at = a->now + TERM_INTERVAL;
}

void
serve_ended(struct adapter *a, int status)
{
	/* Sessions cut off by a signal or failure are lost, and so counted. */
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 ||
	    a->sessions.len == 0)
		return;
	/* Without RETIRE each DONE would bring us another connection. */
	daemon_retire(a);
	sessions_end_all(a);
}

/* --- serving ------------------------------------------------------------ */

/* Whether a connection given to the call would be lost with its process. */
static bool
is_doomed(struct adapter *a, const struct call *c)
{
	int pidfd;
	bool killed;

	if (view_is_killed(a->program.pidfd))
		return true;
	if (c->tid == a->program.pid)
		return false;
	/* A child of the program's, if not a thread. */
	pidfd = view_open(c->tid);
	killed = view_is_killed(pidfd);
	if (pidfd != -1)
		(void)close(pidfd);
	return killed;
}

void
serve(struct adapter *a)
{
	const struct call *c;
	bool returns;

	while (a->received.fd != -1 || (a->maybe && !a->stopped)) {
		c = calls_last(&a->calls, a->program.notify);
		if (c == NULL) {
			/* A busy thread returns, and sees no bell before. */
			returns = a->manner == MANNER_RETURNS && a->blocks &&
			    a->sessions.len > 0;
			/* Calls in doubt will be looked at again. */
			if (a->calls.len == 0 && !returns &&
			    (a->received.fd != -1 || daemon_has_connection(a)))
				listener_ring(&a->listener);
			break;
		}
		if (is_doomed(a, c))
			calls_forget(&a->calls, c->tid);
		else if (a->received.fd != -1 || daemon_receive(a))
			give_connection(a, c);
	}
	ask_to_end(a);
}

/* --- calls -------------------------------------------------------------- */

/* Whether the call is about the socket that we answer for. */
static bool
is_for_us(struct adapter *a, const struct call *c)
{
	switch (view_has(c->tid, c->fd, a->listener.fd, 0)) {
	case VIEW_YES:
		return true;
	case VIEW_NO:
		return false;
	default:
		break;
	}
	if (c->fd == FD_OF_FASTCGI || c->fd == FD_OF_SYSTEMD)
		return true;
	if (!a->warned)
		(void)fprintf(stderr,
		    "apppool-accept: the program does not let us see what its "
		    "descriptor %d is: taken for a socket of its own\n",
		    c->fd);
	a->warned = true;
	return false;
}

/* A thread wants a connection. */
static void
accept_call(struct adapter *a, struct call *c)
{
	const bool valid =
	    (c->flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) == 0 && !a->shut;
	const struct calls *w = &a->calls;
	int error = 0;

	if (valid && c->address != 0 &&
	    view_read_memory(
		&a->memory, c->tid, c->length, &c->room, sizeof(c->room)) == -1)
		error = errno;
	else if (!valid || (int32_t)c->room < 0)
		error = EINVAL;
	else if (!calls_add(&a->calls, c, a->program.notify))
		error = ENOMEM;
	if (error != 0) {
		refuse_call(a, c, error);
		return;
	}
	if (!a->ready) {
		a->ready = true;
		daemon_say(a, WIRE_READY);
	}
	sessions_returned(a, c);
	/*
	 * Mostly the next connection comes only after our DONE: seen here,
	 * serve() need not look at the calls.
	 */
	if (a->received.fd == -1)
		(void)daemon_has_connection(a);
	serve(a);
	if (w->len == 0 || w->list[w->len - 1].call.id != c->id)
		return;
	/* It waits, unless the program has made the socket non-blocking. */
	a->blocks = (fcntl(a->listener.fd, F_GETFL) & O_NONBLOCK) == 0;
	if (!a->blocks || a->listener.bell != -1)
		listener_silence(&a->listener);
	if (a->blocks)
		return;
	calls_forget(&a->calls, c->tid);
	call_answer(a->program.notify, c, EAGAIN);
}

void
serve_call(struct adapter *a)
{
	struct call c;

	if (call_receive(a->program.notify, &c) == -1)
		return;
	/* The thread's former call was interrupted, or has been answered. */
	calls_forget(&a->calls, c.tid);
	if (!c.accepts)
		view_keep_memory(&a->memory, c.tid);
	if (c.accepts && is_for_us(a, &c))
		accept_call(a, &c);
	else
		call_answer(a->program.notify, &c, 0);
}

void
serve_shut(struct adapter *a)
{
	a->shut = true;
	daemon_retire(a);
	calls_fail(&a->calls, a->program.notify, EINVAL);
}

void
serve_signal(struct adapter *a, int sig)
{
	calls_doubt(&a->calls, a->now + DOUBT);
	if (sig != SIGTERM)
		return;
	/* The program is about to end, or should be. */
	daemon_retire(a);
	a->terms++;
	a->term_at = a->now + TERM_INTERVAL;
}

/* --- time --------------------------------------------------------------- */

void
serve_tick(struct adapter *a)
{
	calls_review(&a->calls, a->now);
	sessions_look(a);
	serve(a);
}

nanoseconds
serve_next(const struct adapter *a)
{
	nanoseconds next = sessions_next(&a->sessions), doubted = NEVER;

	/* Calls in doubt matter when there is a connection to give. */
	if (a->received.fd != -1 || (a->maybe && !a->stopped))
		doubted = calls_next(&a->calls);
	if (doubted < next)
		next = doubted;
	if (a->stopped && a->sessions.len == 0 && a->received.fd == -1 &&
	    a->term_at < next)
		next = a->term_at;
	return next;
}
