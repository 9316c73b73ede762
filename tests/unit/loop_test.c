/* The event loop: stale events, deadlines, signals; partly in virtual time. */

#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "sys/loop.h"

#include "check.h"

#define MANY 300

struct probe {
	struct loop_io io;
	int calls;
	uint32_t events;
	tstamp now;
	/* The call does this to another watch. */
	struct probe *other;
	uint32_t other_events;
};

struct signals {
	int calls;
	int last;
};

/* A clock that moves only when somebody waits, and counts its readings. */
static struct {
	tstamp now;
	int readings;
	tspan last_timeout;
	bool suspended; /* the next wait is interrupted after a minute */
} virtual;

static tstamp
virtual_now(void *arg)
{
	(void)arg;
	virtual.readings++;
	return virtual.now;
}

static int
virtual_wait(
    void *arg, int epfd, struct epoll_event *events, int n, tspan timeout)
{
	int got;

	(void)arg;
	virtual.last_timeout = timeout;
	if (virtual.suspended) {
		virtual.suspended = false;
		virtual.now += TSPAN_SECONDS(60);
		errno = EINTR;
		return -1;
	}
	got = epoll_wait(epfd, events, n, 0);
	if (got == 0)
		virtual.now = tstamp_add(virtual.now, timeout);
	return got;
}

static const struct loop_clock virtual_clock = {
	.now = virtual_now,
	.wait = virtual_wait,
};

static struct loop loop;

static void
begin(void)
{
	virtual.now = TSPAN_SECONDS(100);
	CHECK_EQ(0, loop_init(&loop, &virtual_clock));
	virtual.readings = 0;
}

static void
end(void)
{
	loop_fini(&loop);
}

static void
probe_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct probe *p = LOOP_OWNER(io, struct probe, io);

	p->calls++;
	p->events = events;
	p->now = now;
	if (p->other != NULL)
		CHECK_EQ(0, loop_set(&loop, &p->other->io, p->other_events));
}

/* An eventfd is writable, and readable if it is not 0. */
static void
probe_init(struct probe *p, unsigned value, uint32_t events)
{
	memset(p, 0, sizeof(*p));
	p->io.fd = eventfd(value, EFD_CLOEXEC);
	p->io.ready = probe_ready;
	CHECK_EQ(0, loop_set(&loop, &p->io, events));
}

static void
probe_fini(struct probe *p)
{
	CHECK_EQ(0, loop_set(&loop, &p->io, 0));
	close(p->io.fd);
}

TEST(after_a_suspension_what_is_ready_comes_before_a_deadline)
{
	struct probe p;

	probe_init(&p, 1, EPOLLIN);
	virtual.suspended = true;
	CHECK_EQ(1, loop_turn(&loop, virtual.now + TSPAN_SECONDS(1)));
	CHECK_EQ(1, p.calls);
	CHECK_EQ(virtual.now, p.now);
	probe_fini(&p);
}

TEST(one_taken_out_in_its_turn_is_not_called)
{
	struct probe a, b;

	probe_init(&a, 1, EPOLLIN);
	probe_init(&b, 1, EPOLLIN);
	a.other = &b;
	b.other = &a;
	CHECK_EQ(1, loop_turn(&loop, 0));
	CHECK_EQ(1, a.calls + b.calls);
	/* The one that was called took out the other. */
	CHECK_EQ(1, loop_turn(&loop, 0));
	CHECK_EQ(2, a.calls > b.calls ? a.calls : b.calls);
	probe_fini(&a);
	probe_fini(&b);
}

TEST(what_is_no_longer_waited_for_is_not_called)
{
	struct probe a, b;

	probe_init(&a, 0, EPOLLOUT);
	probe_init(&b, 0, EPOLLOUT);
	a.other = &b;
	b.other = &a;
	a.other_events = b.other_events = EPOLLIN;
	CHECK_EQ(1, loop_turn(&loop, 0));
	CHECK_EQ(1, a.calls + b.calls);
	probe_fini(&a);
	probe_fini(&b);
}

TEST(an_end_of_file_is_told_unasked)
{
	struct probe p;
	int sv[2];

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	memset(&p, 0, sizeof(p));
	p.io.fd = sv[0];
	p.io.ready = probe_ready;
	CHECK_EQ(0, loop_set(&loop, &p.io, EPOLLPRI));
	close(sv[1]);
	CHECK_EQ(1, loop_turn(&loop, 0));
	CHECK_EQ(EPOLLHUP, p.events);
	probe_fini(&p);
}

TEST(a_turn_handles_a_bounded_number)
{
	static struct probe probes[MANY];

	for (int i = 0; i < MANY; i++)
		probe_init(&probes[i], 1, EPOLLIN);
	CHECK_EQ(LOOP_BATCH, loop_turn(&loop, 0));
	/* Events that were left over are not left out the next time. */
	CHECK_EQ(LOOP_BATCH, loop_turn(&loop, 0));
	for (int i = 0; i < MANY; i++) {
		CHECK(probes[i].calls > 0);
		probe_fini(&probes[i]);
	}
}

TEST(the_clock_is_read_twice_a_turn_at_most)
{
	struct probe a, b;

	probe_init(&a, 1, EPOLLIN);
	probe_init(&b, 1, EPOLLIN);
	CHECK_EQ(2, loop_turn(&loop, TSPAN_SECONDS(101)));
	CHECK_EQ(2, virtual.readings);
	CHECK_EQ(a.now, b.now);
	CHECK_EQ(a.now, loop_now(&loop));
	probe_fini(&a);
	probe_fini(&b);
}

TEST(no_turn_ends_before_its_deadline)
{
	struct loop real;

	NEED(loop_init(&real, NULL) == 0);
	for (int i = 0; i < 10; i++) {
		tstamp deadline = clock_now() + TSPAN_USECONDS(700);

		CHECK_EQ(0, loop_turn(&real, deadline));
		CHECK(loop_now(&real) >= deadline);
		CHECK(loop_now(&real) < deadline + TSPAN_SECONDS(10));
	}
	loop_fini(&real);
}

/* From here on the kernel does not know epoll_pwait2(). */
static bool
forget_pwait2(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_pwait2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_ALONE(an_old_kernel_waits_in_milliseconds)
{
	SKIP_IF(!forget_pwait2(), "no seccomp here");
	no_turn_ends_before_its_deadline();
}

static void
signalled(void *arg, const struct signalfd_siginfo *info, tstamp now)
{
	struct signals *s = arg;

	(void)now;
	s->calls++;
	s->last = (int)info->ssi_signo;
}

TEST(a_signal_is_an_event)
{
	struct signals s = { 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	NEED(loop_signals(&loop, &set, signalled, &s) == 0);
	raise(SIGUSR1);
	raise(SIGUSR1);
	CHECK_EQ(1, loop_turn(&loop, 0));
	CHECK_EQ(1, s.calls);
	CHECK_EQ(SIGUSR1, s.last);
	CHECK_EQ(0, loop_turn(&loop, 0));
}

/* Open descriptors stay in the set, as if a program had been executed. */
static void
probe_keep(struct probe *p)
{
	CHECK_EQ(0, fcntl(p->io.fd, F_SETFD, 0));
	p->io.events = 0;
}

TEST(a_loop_goes_on_with_the_set_of_another)
{
	struct probe same, other, edge, none, closed, own;
	struct loop former;
	char *list;

	probe_init(&same, 1, EPOLLIN);
	probe_init(&other, 1, EPOLLIN);
	probe_init(&edge, 1, EPOLLIN | EPOLLET);
	probe_init(&none, 1, EPOLLIN);
	probe_init(&closed, 1, EPOLLIN);
	CHECK_EQ(5, loop_turn(&loop, 0));
	list = loop_list(&loop);
	NEED(list != NULL);
	former = loop;
	CHECK_EQ(0, loop_init(&loop, &virtual_clock));
	probe_keep(&same);
	probe_keep(&other);
	probe_keep(&edge);
	probe_keep(&none);
	close(closed.io.fd);
	probe_init(&own, 1, EPOLLIN);
	NEED(loop_inherit(&loop, former.epfd, list));
	CHECK_EQ(0, loop_set(&loop, &same.io, EPOLLIN));
	CHECK_EQ(0, loop_set(&loop, &other.io, EPOLLOUT));
	CHECK_EQ(0, loop_set(&loop, &edge.io, EPOLLIN | EPOLLET));
	CHECK_EQ(4, loop_turn(&loop, 0));
	CHECK_EQ(2, same.calls);
	CHECK_EQ(EPOLLOUT, other.events);
	CHECK_EQ(2, edge.calls);
	CHECK_EQ(1, own.calls);
	CHECK_EQ(1, none.calls);
	CHECK_EQ(3, loop_turn(&loop, 0));
	probe_fini(&same);
	probe_fini(&other);
	probe_fini(&edge);
	probe_fini(&own);
	close(none.io.fd);
	free(former.places);
	free(list);
}

TEST(a_list_that_is_none_is_not_gone_on_with)
{
	static const char *const lists[] = { "1", "1:", "1:1", "1:1;", "-1:1,",
		":1,", "4294967296:1,", "1:4294967296," };

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		CHECK(!loop_inherit(&loop, -1, lists[i]));
}

TESTS(begin, end)
