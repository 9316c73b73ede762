/*
 * The program's calls of accept() wait for our answer (seccomp_unotify(2)), and
 * connections of the daemon are given to them, until the program ends. Sessions
 * are over when what the program does next shows it.
 */

#include <sys/ioctl.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/seccomp.h>

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter/accept.h"
#include "sys/wire.h"
#include "worker/worker.h"

/* Architectures without accept(2) have accept4(2) alone. */
#ifdef SYS_accept
#define CALL_ACCEPT SYS_accept
#else
#define CALL_ACCEPT SYS_accept4
#endif

/* Lists grow by so many calls, or sessions. */
#define GROWTH 16

/* `doubted` of a call that was in doubt, and will not be again. */
#define BELIEVED (-1)

/* Many sessions are looked at no oftener than this, each. */
#define LOOK_EACH (TSPAN_MSECONDS(1) / 4)

/* --- one call ----------------------------------------------------------- */

/* Lets the call fail with this errno; 0: has the kernel carry it out. */
static void
call_answer(int notify, const struct call *c, int error)
{
	struct seccomp_notif_resp r = {
		.id = c->id,
		.error = -error,
		.flags = error == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0,
	};

	/* ENOENT: the call is gone, and needs no answer. */
	(void)ioctl(notify, SECCOMP_IOCTL_NOTIF_SEND, &r);
}

static bool
call_waits(int notify, const struct call *c)
{
	return ioctl(notify, SECCOMP_IOCTL_NOTIF_ID_VALID, &c->id) == 0;
}

/* --- all that wait ------------------------------------------------------ */

/* Returns the list, with room for one more if there is memory. */
static void *
list_reserve(void *list, size_t len, size_t *room, size_t size)
{
	void *longer =
	    len < *room ? NULL : reallocarray(list, *room + GROWTH, size);

	if (longer == NULL)
		return list;
	*room += GROWTH;
	return longer;
}

static void
remove_call(struct calls *w, size_t i)
{
	w->len--;
	memmove(w->list + i, w->list + i + 1, (w->len - i) * sizeof(*w->list));
}

/* Adds a call. Returns false if there is no memory. */
static bool
calls_add(struct calls *w, const struct call *c, int notify)
{
	/* Listed calls may have been interrupted, or lost their threads. */
	for (size_t i = w->len == w->room ? w->len : 0; i-- > 0;)
		if (!call_waits(notify, &w->list[i]))
			remove_call(w, i);
	w->list = list_reserve(w->list, w->len, &w->room, sizeof(*w->list));
	if (w->len == w->room)
		return false;
	w->list[w->len++] = *c;
	return true;
}

/* Forgets the call of the thread. */
static void
calls_forget(struct calls *w, pid_t tid)
{
	for (size_t i = w->len; i-- > 0;)
		if (w->list[i].tid == tid)
			remove_call(w, i);
}

/* Lets all calls fail with this errno. */
static void
calls_fail(struct calls *w, int notify, int error)
{
	while (w->len > 0)
		call_answer(notify, &w->list[--w->len], error);
}

/* --- the daemon --------------------------------------------------------- */

/* Says RETIRE, once and when it makes sense. */
static void
daemon_retire(struct adapter *a)
{
	if (!a->ready || a->retired || a->stopped)
		return;
	a->retired = true;
	(void)channel_say(a->channel, WIRE_RETIRE);
}

/*
 * Whether a connection waits in the channel, which stays there. A STOP does
 * not stay, but sets a->stopped; with no message a->maybe becomes false.
 */
static bool
daemon_has_connection(struct adapter *a)
{
	struct channel_message m;
	char first;
	ssize_t n;

	if (!a->maybe || a->stopped)
		return false;
	do {
		n = recv(
		    a->channel, &first, sizeof(first), MSG_PEEK | MSG_DONTWAIT);
		/* ECONNRESET comes once, and then the end of file. */
	} while (n == -1 && errno == ECONNRESET);
	if (n > 0 && first == WIRE_CONN[0])
		return true;
	if (n >= 0)
		a->stopped = channel_receive(a->channel, MSG_DONTWAIT, &m) == 0;
	else if (errno == EAGAIN)
		a->maybe = false;
	return false;
}

/* Is done with what was received: the daemon is not to find it any more. */
static void
daemon_forget(struct adapter *a)
{
	char none;

	if (a->received.stays)
		(void)recv(a->channel, &none, sizeof(none), MSG_DONTWAIT);
	if (a->received.fd != -1)
		(void)close(a->received.fd);
	a->received = (struct received){ .fd = -1 };
}

/*
 * Receives a connection that can be given, into a->received. Returns false:
 * none, and a->stopped or not a->maybe.
 */
static bool
daemon_receive(struct adapter *a)
{
	int flags = MSG_DONTWAIT | (a->raced ? 0 : MSG_PEEK);
	struct received *r = &a->received;
	struct channel_message m;

	while (a->maybe && !a->stopped) {
		if (channel_receive(a->channel, flags, &m) == -1) {
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
				daemon_fail(a, "the socket of the daemon: %s",
				    strerror(errno));
			}
		}
		if (m.kind == CHANNEL_FORK)
			daemon_fail(a, "it cannot fork a template");
		if (m.kind == CHANNEL_STOP) {
			a->stopped = true;
			continue;
		}
		*r = (struct received){
			.fd = m.fd,
			.stays = !a->raced,
			.serial = m.serial,
			.peer_len = sizeof(r->peer),
		};
		/* accept() returns no connection without an address. */
		if (r->fd != -1 &&
		    getpeername(
			r->fd, (struct sockaddr *)&r->peer, &r->peer_len) == 0)
			return true;
		daemon_forget(a);
		(void)channel_say_serial(
		    a->channel, m.fd == -1 ? WIRE_LOST : WIRE_DONE, m.serial);
	}
	return false;
}

/* A signal reaches the thread it is meant for in this time, mostly. */
#define DOUBT TSPAN_MSECONDS(5)

/* Descriptors taken for its listening socket where we may not look. */
#define FD_OF_FASTCGI 0
#define FD_OF_SYSTEMD 3

/* A signal may come when the program does not look: it is repeated. */
#define TERM_INTERVAL TSPAN_MSECONDS(1000)

/* Such signals before SIGKILL, if the daemon, which would kill it, is gone. */
#define TERMS_MAX 10

/* --- sessions ----------------------------------------------------------- */

/* Ends session i; the last one takes its place. */
static void
sessions_end(struct adapter *a, size_t i)
{
	struct sessions *s = &a->sessions;

	assert(i < s->len);
	(void)channel_say_serial(a->channel, WIRE_DONE, s->list[i].serial);
	s->list[i] = s->list[--s->len];
}

/* Whether the program still has it; false as well where we may not look. */
static bool
is_open(struct adapter *a, const struct session *s)
{
	enum view has;

	if (a->blind)
		return false;
	has = view_has(s->tid, s->fd, a->listener.fd, s->inode);
	if (has == VIEW_DENIED) {
		a->blind = true;
		(void)channel_say(a->channel, WIRE_BLIND);
		(void)channel_say(a->channel,
		    WIRE_STATUS " when its sessions end cannot be seen");
	}
	return has == VIEW_YES;
}

/*
 * Returns the time from a look at a session of that age to the next: long
 * sessions are looked at seldom. Where the thread comes back anyway, the look
 * is for the case that the thread dies first.
 */
static tstamp
interval(const struct adapter *a, tstamp age)
{
	static const struct {
		int part; /* of the age */
		int least, most; /* milliseconds */
	} pace[] = {
		[MANNER_UNKNOWN] = { 4, 1, 1000 },
		[MANNER_RETURNS] = { 4, 100, 1000 },
		[MANNER_POLLS] = { 4, 100, 1000 },
		[MANNER_HANDS_ON] = { 8, 1, 50 },
	};
	const tstamp least = TSPAN_MSECONDS(pace[a->manner].least);
	/* With many sessions, looking must not take all the time. */
	const tstamp most = TSPAN_MSECONDS(pace[a->manner].most) +
	    (tstamp)a->sessions.len * LOOK_EACH;

	return MIN(MAX(age / pace[a->manner].part, least), most);
}

/* The thread accepts again, by this call. */
static void
sessions_returned(struct adapter *a, const struct call *c)
{
	bool open = false, had = false;

	for (size_t i = a->sessions.len; i-- > 0;) {
		if (a->sessions.list[i].tid != c->tid)
			continue;
		had = true;
		if (is_open(a, &a->sessions.list[i]))
			open = true;
		else if (call_waits(a->program.notify, c))
			sessions_end(a, i);
		else
			/* Killed meanwhile, it has no descriptors left. */
			return;
	}
	if (!had)
		return;
	/* The open descriptor, or its end, shows the program's manner. */
	if (open) {
		a->manner = MANNER_HANDS_ON;
	} else if (a->manner == MANNER_UNKNOWN) {
		if (a->listener.bell == -1)
			a->manner = MANNER_RETURNS;
		else if (a->looked_for)
			a->manner = MANNER_POLLS;
	}
	a->looked_for = false;
}

/* Looks at a session that is due; returns whether it is over. */
static bool
session_look(struct adapter *a, struct session *s)
{
	bool open = is_open(a, s);

	s->look_at = a->now + interval(a, a->now - s->began);
	if (open)
		return false;
	if (a->manner == MANNER_HANDS_ON || !view_lives(s->tid))
		/* The end of the program itself tells more. */
		return !view_is_killed(a->program.pidfd);
	/* A thread that returns needs a moment from closing to accepting. */
	if (s->closed || a->blind) {
		if (a->manner == MANNER_RETURNS)
			a->manner = MANNER_UNKNOWN;
		a->looked_for = true;
		listener_ring(&a->listener);
	}
	s->closed = true;
	return false;
}

/* --- giving ------------------------------------------------------------- */

/* Answers a call that cannot be given a connection, unless it is gone. */
static void
refuse_call(struct adapter *a, const struct call *c, int error)
{
	if (error == EPERM)
		daemon_fail(a,
		    "the client's address cannot be left in the memory of the "
		    "program, which is not dumpable; handoff = listen would "
		    "do without");
	if (error != ENOENT && error != ESRCH)
		call_answer(a->program.notify, c, error);
	calls_forget(&a->calls, c->tid);
}

/* Gives the connection received; the call waits no more, either way. */
static void
give_connection(struct adapter *a, const struct call *waiting)
{
	const struct call c = *waiting;
	const bool nonblocking = (c.flags & SOCK_NONBLOCK) != 0;
	struct received *r = &a->received;
	struct sessions *all = &a->sessions;
	struct session s = { .serial = r->serial, .tid = c.tid };
	/* The call returns a copy of the connection, as one act. */
	struct seccomp_notif_addfd give = {
		.id = c.id,
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (__u32)r->fd,
		.newfd_flags = (c.flags & SOCK_CLOEXEC) != 0 ? O_CLOEXEC : 0,
	};
	/* Where accept() leaves the address. */
	const struct view_part parts[2] = {
		{ c.address, &r->peer,
		    c.room < r->peer_len ? c.room : r->peer_len },
		{ c.length, &r->peer_len, sizeof(r->peer_len) },
	};
	struct inherited options;
	struct stat st = { 0 };

	all->list = list_reserve(all->list, all->len, &all->room, sizeof(s));
	if (all->len == all->room) {
		refuse_call(a, &c, ENOMEM);
		return;
	}
	(void)fstat(r->fd, &st);
	/* The flag is the connection's, perhaps from a failed attempt. */
	if (nonblocking != r->nonblocking)
		(void)fcntl(r->fd, F_SETFL, nonblocking ? O_NONBLOCK : 0);
	r->nonblocking = nonblocking;
	if (a->listener.addr.ss_family != AF_UNIX) {
		inherited_read(a->listener.fd, &options);
		inherited_pass(&a->listener.options, &options, r->fd);
	}
	if (c.address != 0 &&
	    view_copy_memory(&a->memory, c.tid, true, parts, 2) == -1) {
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
	s.fd = ioctl(a->program.notify, SECCOMP_IOCTL_NOTIF_ADDFD, &give);
	if (s.fd == -1) {
		/* EMFILE and the like are the program's trouble. */
		refuse_call(a, &c, errno);
		return;
	}
	daemon_forget(a);
	s.began = a->now;
	s.look_at = a->now + interval(a, 0);
	all->list[all->len++] = s;
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
		(void)kill(a->program.pid, a->stop_signal);
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
	while (a->sessions.len > 0)
		sessions_end(a, a->sessions.len - 1);
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
	pidfd = (int)syscall(SYS_pidfd_open, c->tid, 0);
	killed = view_is_killed(pidfd);
	if (pidfd != -1)
		(void)close(pidfd);
	return killed;
}

void
serve(struct adapter *a)
{
	struct calls *w = &a->calls;
	const struct call *c;
	bool returns;

	while (a->received.fd != -1 || (a->maybe && !a->stopped)) {
		c = NULL;
		/* The last: its thread finds its data in the caches. */
		for (size_t i = w->len; c == NULL && i-- > 0;)
			if (!call_waits(a->program.notify, &w->list[i]))
				remove_call(w, i);
			else if (w->list[i].doubted <= 0)
				c = &w->list[i];
		if (c == NULL) {
			/* A busy thread returns, and sees no bell before. */
			returns = a->manner == MANNER_RETURNS && a->blocks &&
			    a->sessions.len > 0;
			/* Calls in doubt will be looked at again. */
			if (w->len == 0 && !returns &&
			    (a->received.fd != -1 || daemon_has_connection(a)))
				listener_ring(&a->listener);
			break;
		}
		if (is_doomed(a, c))
			calls_forget(w, c->tid);
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
	const enum view has = view_has(c->tid, c->fd, a->listener.fd, 0);

	if (has != VIEW_DENIED)
		return has == VIEW_YES;
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
	const struct view_part room = { c->length, &c->room, sizeof(c->room) };
	const struct calls *w = &a->calls;
	int error = 0;

	if (valid && c->address != 0 &&
	    view_copy_memory(&a->memory, c->tid, false, &room, 1) == -1)
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
		(void)channel_say(a->channel, WIRE_READY);
	}
	sessions_returned(a, c);
	/*
	 * Mostly the next connection comes only after our DONE: seen here,
	 * serve() need not look at the calls.
	 */
	if (a->received.fd == -1)
		(void)daemon_has_connection(a);
	serve(a);
	if (w->len == 0 || w->list[w->len - 1].id != c->id)
		return;
	/* The call waits unless the socket was made non-blocking. */
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
	/* Room for the longer notification of a newer kernel. */
	union {
		struct seccomp_notif n;
		char room[512];
	} u = { .room = "" };
	const struct seccomp_data *d = &u.n.data;
	struct call c;
	bool accepts;

	/* ENOENT: it is gone already. */
	if (ioctl(a->program.notify, SECCOMP_IOCTL_NOTIF_RECV, &u.n) == -1)
		return;
	c = (struct call){
		.id = u.n.id,
		.tid = (pid_t)u.n.pid,
		.fd = (int)d->args[0],
		.flags = d->nr == SYS_accept4 ? (int)d->args[3] : 0,
		.address = d->args[1],
		.length = d->args[2],
	};
	/* The thread's former call was interrupted, or has been answered. */
	calls_forget(&a->calls, c.tid);
	accepts = d->nr == SYS_accept4 || d->nr == CALL_ACCEPT;
	if (!accepts)
		view_keep_memory(&a->memory, c.tid);
	if (accepts && is_for_us(a, &c))
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
	/*
	 * The calls that wait now may be about to leave, and connections given
	 * to them might be lost. That is believed once of each call, or a
	 * program full of signals would starve.
	 */
	for (size_t i = 0; i < a->calls.len; i++)
		if (a->calls.list[i].doubted == 0)
			a->calls.list[i].doubted = a->now + DOUBT;
	if (sig != SIGTERM && sig != a->stop_signal)
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
	struct session *list = a->sessions.list;

	/* Have the calls that are due seen the signal? */
	for (size_t i = 0; i < a->calls.len; i++) {
		struct call *c = &a->calls.list[i];

		if (c->doubted <= 0 || c->doubted > a->now)
			continue;
		/* On busy processors a signal may wait for long. */
		c->doubted =
		    view_has_signals(c->tid) ? a->now + DOUBT : BELIEVED;
	}
	for (size_t i = a->sessions.len; i-- > 0;)
		if (list[i].look_at <= a->now && session_look(a, &list[i]))
			sessions_end(a, i);
	serve(a);
}

tstamp
serve_next(const struct adapter *a)
{
	const bool gives = a->received.fd != -1 || (a->maybe && !a->stopped);
	tstamp next = TSTAMP_NEVER;

	for (size_t i = 0; i < a->sessions.len; i++)
		next = tstamp_min(next, a->sessions.list[i].look_at);
	/* Calls in doubt matter when there is a connection to give. */
	for (size_t i = 0; gives && i < a->calls.len; i++)
		if (a->calls.list[i].doubted > 0)
			next = tstamp_min(next, a->calls.list[i].doubted);
	if (a->stopped && a->sessions.len == 0 && a->received.fd == -1)
		next = tstamp_min(next, a->term_at);
	return next;
}
