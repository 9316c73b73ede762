/*
 * apppool-accept: an adapter for programs that call accept() on a listening
 * socket they are started with.
 *
 *	apppool-accept PROGRAM [ARGUMENT...]
 *
 * The program runs as our child, with a socket of its own to listen on, and
 * its calls of accept() are answered with the connections that the daemon
 * hands to us.  Signals to us go to the program; its exit status becomes
 * ours.  apppool-handoff(7) tells more.
 */

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "adapter/accept.h"
#include "sys/acceptfilter.h"
#include "sys/descriptors.h"
#include "sys/wire.h"
#include "worker/channel.h"

/* Our descriptors are above this number, the program's below. */
#define HIGH 10

/* The source of an event. */
enum source {
	SOURCE_CALLS,
	SOURCE_CHANNEL,
	SOURCE_SIGNALS,
	SOURCE_LISTENER,
	SOURCES
};

struct sources {
	int epoll;
	int signals;
	sigset_t before; /* blocked when we were started */
};

static nanoseconds
clock_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (nanoseconds)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* --- before it runs ----------------------------------------------------- */

static _Noreturn void
too_few(struct adapter *a)
{
	daemon_fail(
	    a, "limit_nofile is too low, 16 are needed: %s", strerror(errno));
}

/* Moves a descriptor out of the program's way, CLOEXEC. */
static int
raise_descriptor(struct adapter *a, int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH);

	if (high == -1)
		too_few(a);
	(void)close(fd);
	return high;
}

/* The family of the app's first listener, for the program's socket too. */
static int
wanted_family(void)
{
	const char *family = getenv(WIRE_ENV_FAMILY);

	if (family != NULL && strcmp(family, "inet") == 0)
		return AF_INET;
	if (family != NULL && strcmp(family, "inet6") == 0)
		return AF_INET6;
	return AF_UNIX;
}

static void
open_channel(struct adapter *a)
{
	struct channel c;

	if (channel_find(&c) == -1) {
		if (errno == ENOENT)
			errx(EX_USAGE, "to be started by apppoold(8)");
		err(EX_OSERR, "the socket of the daemon");
	}
	if (c.slot == -1)
		errx(EX_USAGE, "it cannot be a template");
	/* A failure to raise it is told there. */
	a->channel = c.fd;
	a->channel = raise_descriptor(a, c.fd);
	a->raced = getenv(WIRE_ENV_UNREAD) == NULL;
	free(c.app);
	free(c.id);
}

/*
 * The descriptor where the calls of this process, and of those it starts, are
 * reported already; -1: none.
 */
static int
open_calls(struct adapter *a)
{
	const char *number = getenv(WIRE_ENV_CALLS);
	int fd = number == NULL ? -1 : (int)strtol(number, NULL, 10);

	return fd != -1 && acceptfilter_is(fd) ? raise_descriptor(a, fd) : -1;
}

static void
open_listener(struct adapter *a)
{
	if (listener_make(&a->listener, wanted_family()) == -1)
		daemon_fail(a, "cannot make a socket to listen on: %s",
		    strerror(errno));
	a->listener.fd = raise_descriptor(a, a->listener.fd);
	/* A program that polls before its first accept() goes on to that. */
	listener_ring(&a->listener);
}

/* --- the program -------------------------------------------------------- */

static _Noreturn void
not_started(struct adapter *a, const char *name)
{
	const char *why = strerror(a->program.error);

	switch (a->program.stage) {
	case PROGRAM_FILTER:
		if (a->program.error == EBUSY)
			why = "somebody uses it already";
		daemon_fail(a,
		    "this system does not let us answer accept(): seccomp user "
		    "notification: %s; handoff = listen does without",
		    why);
	case PROGRAM_EXECUTE:
		daemon_fail(a, "cannot execute %s: %s", name, why);
	default:
		daemon_fail(a, "cannot start %s: %s", name, why);
	}
}

static void
start(struct adapter *a, char **argv, int calls, const struct sources *s)
{
	struct program_spec spec = {
		.argv = argv,
		.listener = a->listener.fd,
		.signals = s->before,
		.notify = calls,
	};

	if (!program_start(&a->program, &spec))
		not_started(a, argv[0]);
	view_keep_memory(&a->memory, a->program.pid);
	if (a->program.restricted)
		(void)fprintf(stderr,
		    "apppool-accept: no_new_privs is set: what %s runs gains "
		    "no rights by being set-user-ID\n",
		    argv[0]);
}

/* --- while it runs ------------------------------------------------------ */

static void
add(struct adapter *a, const struct sources *s, int fd, uint32_t events,
    enum source source)
{
	struct epoll_event e = { .events = events, .data.u32 = source };

	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) == -1)
		daemon_fail(a, "epoll_ctl: %s", strerror(errno));
}

/* All signals are the program's; a fault of our own ends us even so. */
static void
block_signals(struct adapter *a, struct sources *s)
{
	sigset_t all;

	sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &s->before);
	s->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->signals == -1 || s->epoll == -1)
		too_few(a);
}

static void
end_if_it_has(struct adapter *a)
{
	int status;

	if (!program_ended(&a->program, &status))
		return;
	serve_ended(a, status);
	program_end_likewise(status);
}

/* A SIGCHLD of the kernel's, that the program has ended, is for us alone. */
static bool
is_for_program(const struct signalfd_siginfo *i)
{
	if (i->ssi_signo == SIGCHLD && i->ssi_code > 0)
		return false;
	return i->ssi_pid != (uint32_t)getpid();
}

static void
pass_signals(struct adapter *a, int signals)
{
	struct signalfd_siginfo i;

	while (read(signals, &i, sizeof(i)) == sizeof(i)) {
		if (i.ssi_signo == SIGCHLD)
			end_if_it_has(a);
		if (is_for_program(&i)) {
			program_signal(&a->program, &i);
			serve_signal(a, (int)i.ssi_signo);
		}
	}
}

/* Milliseconds for epoll_wait(2), never too few. */
static int
timeout(const struct adapter *a)
{
	nanoseconds next = serve_next(a), left = next - a->now;

	if (next == NEVER)
		return -1;
	if (left <= 0)
		return 0;
	return left > MILLISECONDS(60000)
	    ? 60000
	    : (int)((left + MILLISECONDS(1) - 1) / MILLISECONDS(1));
}

static void
handle(struct adapter *a, const struct sources *s, const struct epoll_event *e)
{
	switch ((enum source)e->data.u32) {
	case SOURCE_CALLS:
		if ((e->events & EPOLLIN) != 0)
			serve_call(a);
		else
			/* No process of the program is left to call. */
			(void)epoll_ctl(
			    s->epoll, EPOLL_CTL_DEL, a->program.notify, NULL);
		break;
	case SOURCE_CHANNEL:
		a->maybe = true;
		serve(a);
		break;
	case SOURCE_LISTENER:
		(void)epoll_ctl(s->epoll, EPOLL_CTL_DEL, a->listener.fd, NULL);
		serve_shut(a);
		break;
	default:
		pass_signals(a, s->signals);
		break;
	}
}

static _Noreturn void
run(struct adapter *a, const struct sources *s)
{
	struct epoll_event events[SOURCES];
	int n;

	add(a, s, a->program.notify, EPOLLIN, SOURCE_CALLS);
	add(a, s, s->signals, EPOLLIN, SOURCE_SIGNALS);
	/* Edge-triggered: a message may have to lie there for long. */
	add(a, s, a->channel, EPOLLIN | EPOLLRDHUP | EPOLLET, SOURCE_CHANNEL);
	add(a, s, a->listener.fd, EPOLLRDHUP, SOURCE_LISTENER);
	for (;;) {
		a->now = clock_now();
		n = epoll_wait(s->epoll, events, SOURCES, timeout(a));
		if (n == -1 && errno != EINTR)
			daemon_fail(a, "epoll_wait: %s", strerror(errno));
		a->now = clock_now();
		for (int i = 0; i < n; i++)
			handle(a, s, &events[i]);
		if (serve_next(a) <= a->now)
			serve_tick(a);
	}
}

int
main(int argc, char **argv)
{
	static struct adapter a = { .received.fd = -1 };
	struct sources s;
	int calls;

	if (argc < 2) {
		(void)fputs(
		    "usage: apppool-accept PROGRAM [ARGUMENT...]\n", stderr);
		return EX_USAGE;
	}
	/* Before anything of the program's is looked at. */
	if (getenv(WIRE_ENV_CALLS) != NULL && acceptfilter_hide() == -1)
		err(EX_OSERR, "cannot hide from the program");
	/* Executed by descriptor, we would be named by its number. */
	(void)prctl(PR_SET_NAME, "apppool-accept");
	/* A free number below 3 would become one of the program's. */
	(void)descriptors_fix();
	view_init(&a.memory);
	open_channel(&a);
	calls = open_calls(&a);
	open_listener(&a);
	block_signals(&a, &s);
	start(&a, argv + 1, calls, &s);
	run(&a, &s);
}
