/* Connections for the calls that wait, and the end of the program. */

#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "adapter/accept.h"

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

/* Writes the address where accept() leaves it. Returns 0 or an errno. */
static int
write_address(struct adapter *a, const struct call *c)
{
	const struct received *r = &a->received;
	const struct view_part parts[2] = {
		{ c->address, &r->peer,
		    c->room < r->peer_len ? c->room : r->peer_len },
		{ c->length, &r->peer_len, sizeof(r->peer_len) },
	};

	if (c->address == 0 ||
	    view_write_memory(&a->memory, c->tid, parts) == 0)
		return 0;
	return errno;
}

/* The flag is the connection's, which may have it from a failed attempt. */
static void
set_blocking(struct received *r, int flags)
{
	bool nonblocking = (flags & SOCK_NONBLOCK) != 0;

	if (nonblocking != r->nonblocking)
		(void)fcntl(r->fd, F_SETFL, nonblocking ? O_NONBLOCK : 0);
	r->nonblocking = nonblocking;
}

/* Answers a call that cannot be given a connection, unless it is gone. */
static void
refuse(struct adapter *a, const struct call *c, int error)
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
		call_fail(a->program.notify, c, error);
		break;
	}
	calls_forget(&a->calls, c->tid);
}

/* Gives the connection received; the call waits no more, either way. */
static void
give(struct adapter *a, const struct call *waiting)
{
	const struct call c = *waiting;
	struct session s = { .serial = a->received.serial, .tid = c.tid };
	struct stat st = { 0 };
	int error;

	if (!sessions_reserve(&a->sessions)) {
		refuse(a, &c, ENOMEM);
		return;
	}
	(void)fstat(a->received.fd, &st);
	set_blocking(&a->received, c.flags);
	listener_pass_options(&a->listener, a->received.fd);
	error = write_address(a, &c);
	if (error != 0) {
		refuse(a, &c, error);
		return;
	}
	/* The bell comes before the answer: a quick program polls at once. */
	if (sessions_want_bell(a))
		listener_ring(&a->listener);
	else if (listener_rings(&a->listener))
		listener_silence(&a->listener);
	s.inode = st.st_ino;
	s.fd = call_give(a->program.notify, &c, a->received.fd);
	if (s.fd == -1) {
		refuse(a, &c, errno);
		return;
	}
	daemon_forget(a);
	sessions_begin(a, &s);
	calls_forget(&a->calls, c.tid);
}

/* --- the end of the program --------------------------------------------- */

/* The program was just asked to end, by us or another process. */
static void
was_asked_to_end(struct adapter *a)
{
	a->terms++;
	a->term_at = a->now + TERM_INTERVAL;
}

/* A program that is about to end may take a second signal for a demand. */
static bool
has_missed_term(const struct adapter *a)
{
	return a->calls.len > 0 || !a->blocks;
}

/* Asks the program to end when no connection comes and none is left. */
static void
stop(struct adapter *a)
{
	if (!a->stopped || a->sessions.len > 0 || a->received.fd != -1 ||
	    a->now < a->term_at)
		return;
	if (a->terms >= TERMS_MAX && daemon_is_gone(a))
		(void)kill(a->program.pid, SIGKILL);
	else if (a->terms == 0 || has_missed_term(a))
		(void)kill(a->program.pid, SIGTERM);
	/* EINTR reaches the threads that the signal did not. */
	if (a->terms > 0)
		calls_fail(&a->calls, a->program.notify, EINTR);
	was_asked_to_end(a);
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

/* Whether a busy thread will return by itself, and sees no bell before. */
static bool
will_return(const struct adapter *a)
{
	return a->manner == MANNER_RETURNS && a->blocks && a->sessions.len > 0;
}

/* No call waits: rings for one if there is a connection for it. */
static void
ring_if_needed(struct adapter *a)
{
	if (!will_return(a) &&
	    (a->received.fd != -1 || daemon_has_connection(a)))
		listener_ring(&a->listener);
}

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
	const struct call *c = NULL;

	while (a->received.fd != -1 || (a->maybe && !a->stopped)) {
		c = calls_last(&a->calls, a->program.notify);
		if (c == NULL) {
			/* Calls in doubt will be looked at again. */
			if (a->calls.len == 0)
				ring_if_needed(a);
			break;
		}
		if (is_doomed(a, c))
			calls_forget(&a->calls, c->tid);
		else if (a->received.fd != -1 || daemon_receive(a))
			give(a, c);
	}
	stop(a);
}

/* --- calls -------------------------------------------------------------- */

/* Whether the call is about the socket that we answer for. */
static bool
is_for_us(struct adapter *a, const struct call *c)
{
	switch (view_is_ours(c->tid, c->fd, a->listener.fd)) {
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

/* Checks the call's arguments, and reads its room. Returns 0 or an errno. */
static int
check_arguments(struct adapter *a, struct call *c)
{
	const int known = SOCK_CLOEXEC | SOCK_NONBLOCK;

	if ((c->flags & ~known) != 0)
		return EINVAL;
	if (c->address == 0)
		return 0;
	if (view_read_memory(
		&a->memory, c->tid, c->length, &c->room, sizeof(c->room)) == -1)
		return errno;
	return (int32_t)c->room < 0 ? EINVAL : 0;
}

static bool
still_waits(const struct adapter *a, const struct call *c)
{
	const struct calls *w = &a->calls;

	return w->len > 0 && w->list[w->len - 1].call.id == c->id;
}

/* A thread wants a connection. */
static void
accept_call(struct adapter *a, struct call *c)
{
	int error = check_arguments(a, c);

	if (error == 0 && a->shut)
		error = EINVAL;
	if (error == 0 && !calls_add(&a->calls, c, a->program.notify))
		error = ENOMEM;
	if (error != 0) {
		refuse(a, c, error);
		return;
	}
	daemon_ready(a);
	sessions_returned(a, c);
	/*
	 * Mostly the next connection comes only after our DONE: seen here,
	 * serve() need not look at the calls.
	 */
	if (a->received.fd == -1)
		(void)daemon_has_connection(a);
	serve(a);
	if (!still_waits(a, c))
		return;
	a->blocks = listener_blocks(&a->listener);
	if (a->blocks) {
		if (listener_rings(&a->listener))
			listener_silence(&a->listener);
		return;
	}
	listener_silence(&a->listener);
	calls_forget(&a->calls, c->tid);
	call_fail(a->program.notify, c, EAGAIN);
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
		call_let(a->program.notify, &c);
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
	was_asked_to_end(a);
}

/* --- time --------------------------------------------------------------- */

void
serve_tick(struct adapter *a)
{
	calls_review(&a->calls, a->now);
	sessions_look(a);
	serve(a);
}

static nanoseconds
earlier(nanoseconds a, nanoseconds b)
{
	return a < b ? a : b;
}

nanoseconds
serve_next(const struct adapter *a)
{
	nanoseconds next = sessions_next(&a->sessions);

	/* Calls in doubt matter when there is a connection to give. */
	if (a->received.fd != -1 || (a->maybe && !a->stopped))
		next = earlier(next, calls_next(&a->calls));
	if (a->stopped && a->sessions.len == 0 && a->received.fd == -1)
		next = earlier(next, a->term_at);
	return next;
}
