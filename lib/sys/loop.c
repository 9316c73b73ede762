/*
 * The event loop on epoll(7), signalfd(2) and timers. It is ours and no
 * library's because it has to run in virtual time.
 */

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sys/loop.h"
#include "sys/turn.h"

static tstamp
real_now(void *arg)
{
	struct timespec ts;

	(void)arg;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return TSPAN_SECONDS(ts.tv_sec) + ts.tv_nsec;
}

/* Milliseconds are rounded up: waking early would only mean waiting again. */
static int
wait_coarsely(int epfd, struct epoll_event *events, int n, tspan timeout)
{
	int ms = -1;

	if (timeout > TSPAN_MSECONDS(INT_MAX - 1))
		ms = timeout == TSTAMP_NEVER ? -1 : INT_MAX;
	else
		ms = (int)((timeout + TSPAN_MSECONDS(1) - 1) /
		    TSPAN_MSECONDS(1));
	return epoll_wait(epfd, events, n, ms);
}

static int
real_wait(void *arg, int epfd, struct epoll_event *events, int n, tspan timeout)
{
	struct timespec ts = {
		.tv_sec = (time_t)(timeout / TSPAN_SECONDS(1)),
		.tv_nsec = (long)(timeout % TSPAN_SECONDS(1)),
	};
	int got;

	(void)arg;
	got = epoll_pwait2(
	    epfd, events, n, timeout == TSTAMP_NEVER ? NULL : &ts, NULL);
	/* Linux before 5.11, and some sandboxes, do not have it. */
	if (got == -1 && (errno == ENOSYS || errno == EPERM))
		return wait_coarsely(epfd, events, n, timeout);
	return got;
}

int
loop_init(struct loop *l, const struct loop_clock *clock)
{
	static const struct loop_clock real = {
		.now = real_now,
		.wait = real_wait,
	};

	memset(l, 0, sizeof(*l));
	l->signals.fd = -1;
	l->clock = clock != NULL ? *clock : real;
	timers_init(&l->timers);
	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epfd == -1)
		return -1;
	l->now = l->clock.now(l->clock.arg);
	return 0;
}

void
loop_fini(struct loop *l)
{
	if (l->signals.fd != -1) {
		close(l->signals.fd);
		l->signals.fd = -1;
		pthread_sigmask(SIG_SETMASK, &l->mask_before, NULL);
	}
	close(l->epfd);
	l->epfd = -1;
}

static void
forget(struct loop *l, const struct loop_io *io)
{
	for (int i = l->at; i < l->n; i++) {
		if (l->batch[i].data.ptr == io)
			l->batch[i].data.ptr = NULL;
	}
}

int
loop_set(struct loop *l, struct loop_io *io, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = io };
	int op;

	if (io->events == events && (events & EPOLLONESHOT) == 0)
		return 0;
	if (events == 0)
		op = EPOLL_CTL_DEL;
	else
		op = io->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
	if (epoll_ctl(l->epfd, op, io->fd, &ev) == -1 && events != 0)
		return -1;
	/* A descriptor that cannot be removed is closed, so it is out. */
	io->events = events;
	if (events == 0)
		forget(l, io);
	return 0;
}

static void
signals_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct loop *l = LOOP_OWNER(io, struct loop, signals);
	struct signalfd_siginfo infos[16];
	ssize_t n;

	(void)events;
	/* What does not fit comes with the next turn. */
	n = read(io->fd, infos, sizeof(infos));
	for (ssize_t i = 0; i < n / (ssize_t)sizeof(infos[0]); i++)
		l->signalled(l->signalled_arg, &infos[i], now);
}

int
loop_signals(struct loop *l, const sigset_t *set,
    void (*signalled)(void *, const struct signalfd_siginfo *, tstamp),
    void *arg)
{
	int error;

	error = pthread_sigmask(SIG_BLOCK, set, &l->mask_before);
	if (error != 0) {
		errno = error;
		return -1;
	}
	l->signalled = signalled;
	l->signalled_arg = arg;
	l->signals.ready = signals_ready;
	l->signals.fd = signalfd(-1, set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (l->signals.fd == -1)
		goto fail;
	if (loop_set(l, &l->signals, EPOLLIN) == -1)
		goto fail;
	return 0;

fail:
	error = errno;
	if (l->signals.fd != -1)
		close(l->signals.fd);
	l->signals.fd = -1;
	pthread_sigmask(SIG_SETMASK, &l->mask_before, NULL);
	errno = error;
	return -1;
}

static tspan
time_to(const struct loop *l, tstamp deadline)
{
	tstamp now;

	if (deadline == TSTAMP_NEVER)
		return TSTAMP_NEVER;
	if (deadline <= l->now)
		return 0;
	now = l->clock.now(l->clock.arg);
	return deadline <= now ? 0 : deadline - now;
}

static int
wait_until(struct loop *l, tstamp deadline)
{
	int n = l->clock.wait(
	    l->clock.arg, l->epfd, l->batch, LOOP_BATCH, time_to(l, deadline));

	/* After SIGCONT what is ready comes before what is late. */
	if (n == -1 && errno == EINTR)
		n = l->clock.wait(
		    l->clock.arg, l->epfd, l->batch, LOOP_BATCH, 0);
	return n;
}

int
loop_turn(struct loop *l, tstamp deadline)
{
	int called = 0;
	int n;

	turn_ends();
	deadline = tstamp_min(deadline, timers_first(&l->timers));
	n = wait_until(l, deadline);
	if (n == -1 && errno != EINTR)
		return -1;
	l->now = l->clock.now(l->clock.arg);
	turn_begins(l->now);
	l->n = n == -1 ? 0 : n;
	for (l->at = 0; l->at < l->n;) {
		struct epoll_event *ev = &l->batch[l->at++];
		struct loop_io *io = ev->data.ptr;
		uint32_t events;

		if (io == NULL)
			continue;
		/* What is waited for may have changed since it was seen. */
		events = ev->events & (io->events | EPOLLERR | EPOLLHUP);
		if (events == 0)
			continue;
		turn_for(TURN_NO_APP);
		io->ready(io, events, l->now);
		called++;
	}
	l->n = 0;
	timers_fire(&l->timers, l->now);
	return called;
}

tstamp
loop_now(const struct loop *l)
{
	return l->now;
}

tspan
loop_lasts(const struct loop *l)
{
	return l->clock.now(l->clock.arg) - l->now;
}
