/*
 * The event loop on epoll(7), signalfd(2) and timers. It is ours and no
 * library's because it has to run in virtual time.
 */

#include <sys/syscall.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/loop.h"
#include "sys/number.h"

/* --- timers: a red-black tree, by time and order of setting ----------- */

static int
timer_compare(const struct timer *a, const struct timer *b)
{
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

RB_GENERATE_STATIC(timer_tree, timer, entry, timer_compare)

void
timer_init(struct timer *t, void (*fire)(struct timer *, tstamp now))
{
	*t = (struct timer){ .at = TSTAMP_NEVER, .fire = fire };
}

void
timer_set(struct timers *all, struct timer *t, tstamp at)
{
	struct timer *other;

	if (t->at != TSTAMP_NEVER)
		RB_REMOVE(timer_tree, &all->tree, t);
	t->at = at;
	if (at == TSTAMP_NEVER)
		return;
	t->seq = ++all->seq;
	other = RB_INSERT(timer_tree, &all->tree, t);
	assert(other == NULL);
}

void
timer_advance(struct timers *all, struct timer *t, tstamp at)
{
	if (at < t->at)
		timer_set(all, t, at);
}

tstamp
timers_first(struct timers *all)
{
	const struct timer *first = RB_MIN(timer_tree, &all->tree);

	return first == NULL ? TSTAMP_NEVER : first->at;
}

void
timers_fire(struct timers *all, tstamp now)
{
	uint64_t seq = all->seq;
	struct timer *t;

	for (;;) {
		/* The first that is due and was set before this call. */
		t = RB_MIN(timer_tree, &all->tree);
		while (t != NULL && t->at <= now && t->seq > seq)
			t = RB_NEXT(timer_tree, &all->tree, t);
		if (t == NULL || t->at > now)
			return;
		timer_set(all, t, TSTAMP_NEVER);
		turn_for(TURN_NO_APP);
		if (t->fire != NULL)
			t->fire(t, now);
	}
}

static struct turn own = { .app = TURN_NO_APP };

struct turn *turn_now = &own;

/* --- the loop --------------------------------------------------------- */

static tstamp
loop_real_now(void *arg)
{
	(void)arg;
	return clock_now();
}

static int
loop_real_wait(
    void *arg, int epfd, struct epoll_event *events, int n, tspan timeout)
{
	const struct timespec ts = clock_timespec(timeout);
	int got, ms = -1;

	(void)arg;
	got = epoll_pwait2(
	    epfd, events, n, timeout == TSTAMP_NEVER ? NULL : &ts, NULL);
	/* Linux before 5.11, and some sandboxes, do not have it. */
	if (got != -1 || (errno != ENOSYS && errno != EPERM))
		return got;
	/* Rounded up: waking early would only mean waiting again. */
	if (timeout <= TSPAN_MSECONDS(INT_MAX - 1))
		ms = (int)((timeout + TSPAN_MSECONDS(1) - 1) /
		    TSPAN_MSECONDS(1));
	else if (timeout != TSTAMP_NEVER)
		ms = INT_MAX;
	return epoll_wait(epfd, events, n, ms);
}

int
loop_init(struct loop *l, const struct loop_clock *clock)
{
	static const struct loop_clock real = {
		.now = loop_real_now,
		.wait = loop_real_wait,
	};

	memset(l, 0, sizeof(*l));
	l->signals.fd = -1;
	l->clock = clock != NULL ? *clock : real;
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
	free(l->places);
}

/* Makes a place for the descriptor; false: no memory. */
static bool
loop_reserve(struct loop *l, int fd)
{
	int n = l->nplaces == 0 ? 64 : l->nplaces;
	struct loop_place *places;

	while (n <= fd)
		n *= 2;
	if (n == l->nplaces)
		return true;
	places = reallocarray(l->places, (size_t)n, sizeof(*places));
	if (places == NULL)
		return false;
	memset(
	    places + l->nplaces, 0, (size_t)(n - l->nplaces) * sizeof(*places));
	l->places = places;
	l->nplaces = n;
	return true;
}

int
loop_set(struct loop *l, struct loop_io *io, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.fd = io->fd };
	struct loop_place *at;
	uint32_t was = io->events;
	bool left;
	int op;

	if (was == events && (events & EPOLLONESHOT) == 0)
		return 0;
	assert(io->fd >= 0);
	if (!loop_reserve(l, io->fd))
		return -1;
	at = &l->places[io->fd];
	left = was == 0 && at->io == NULL && at->events != 0;
	if (left)
		was = at->events;
	if (events == 0)
		op = EPOLL_CTL_DEL;
	else
		op = was == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
	/* An edge that was told to another program is told again. */
	if ((!left || was != events || (events & EPOLLET) != 0) &&
	    epoll_ctl(l->epfd, op, io->fd, &ev) == -1 && events != 0 &&
	    /* The number may have become that of another file. */
	    (errno != ENOENT ||
		epoll_ctl(l->epfd, EPOLL_CTL_ADD, io->fd, &ev) == -1))
		return -1;
	/* A descriptor that cannot be removed is closed, so it is out. */
	io->events = events;
	if (events != 0 || at->io == io)
		*at = (struct loop_place){ events == 0 ? NULL : io, events };
	for (int i = l->at; i < l->n && events == 0; i++)
		if (l->batch[i].data.fd == io->fd)
			l->batch[i].data.fd = -1;
	return 0;
}

char *
loop_list(const struct loop *l)
{
	char *list = NULL;
	size_t len;
	FILE *out = open_memstream(&list, &len);

	for (int fd = 0; fd < l->nplaces && out != NULL; fd++)
		if (l->places[fd].io != NULL)
			(void)fprintf(out, "%d:%u,", fd, l->places[fd].events);
	if (out == NULL || fclose(out) == 0)
		return list;
	free(list);
	return NULL;
}

bool
loop_inherit(struct loop *l, int epfd, const char *list)
{
	const char *end = list + strlen(list);
	uint64_t fd, events;

	while (list < end) {
		if (!number_read(&list, end, &fd) || fd > INT_MAX / 2 ||
		    *list++ != ':' || !number_read(&list, end, &events) ||
		    events > UINT32_MAX || *list++ != ',' ||
		    !loop_reserve(l, (int)fd))
			return false;
		/* The others were closed when this program was executed. */
		if (fcntl((int)fd, F_GETFD) == 0)
			l->places[fd].events = (uint32_t)events;
	}
	for (int i = 0; i < l->nplaces; i++) {
		struct epoll_event ev = { .events = l->places[i].events,
			.data.fd = i };

		if (l->places[i].io != NULL &&
		    epoll_ctl(epfd, EPOLL_CTL_ADD, i, &ev) == -1)
			return false;
	}
	(void)close(l->epfd);
	l->epfd = epfd;
	l->inherited = true;
	return true;
}

static void
signals_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct loop *l = LOOP_OWNER(io, struct loop, signals);
	struct signalfd_siginfo infos[16];
	ssize_t n;

	(void)events;
	/* Events that do not fit come with the next turn. */
	n = read(io->fd, infos, sizeof(infos));
	for (ssize_t i = 0; i < n / (ssize_t)sizeof(infos[0]); i++)
		l->signalled(l->signalled_arg, &infos[i], now);
}

int
loop_signals(struct loop *l, const sigset_t *set,
    void (*signalled)(void *, const struct signalfd_siginfo *, tstamp),
    void *arg)
{
	if (sigprocmask(SIG_BLOCK, set, &l->mask_before) == -1)
		return -1;
	l->signalled = signalled;
	l->signalled_arg = arg;
	l->signals.ready = signals_ready;
	l->signals.fd = signalfd(-1, set, SFD_NONBLOCK | SFD_CLOEXEC);
	return l->signals.fd == -1 ? -1 : loop_set(l, &l->signals, EPOLLIN);
}

/* Waits for events in the batch until the deadline, and reads the clock. */
static int
loop_wait(struct loop *l, tstamp deadline)
{
	tspan timeout = TSTAMP_NEVER;
	int n;

	if (deadline <= l->now)
		timeout = 0;
	else if (deadline != TSTAMP_NEVER)
		timeout = deadline - l->now - loop_lasts(l);
	n = l->clock.wait(l->clock.arg, l->epfd, l->batch, LOOP_BATCH,
	    timeout > 0 ? timeout : 0);
	/* After SIGCONT what is ready comes before what is late. */
	if (n == -1 && errno == EINTR)
		n = l->clock.wait(
		    l->clock.arg, l->epfd, l->batch, LOOP_BATCH, 0);
	if (n == -1 && errno == EINTR)
		n = 0;
	l->now = l->clock.now(l->clock.arg);
	return n;
}

int
loop_turn(struct loop *l, tstamp deadline)
{
	struct turn *t = turn_now;
	int called = 0;
	int n;

	/* Descriptors that the former program had there, and this has not. */
	for (int fd = 0; l->inherited && fd < l->nplaces; fd++)
		if (l->places[fd].io == NULL && l->places[fd].events != 0) {
			(void)epoll_ctl(l->epfd, EPOLL_CTL_DEL, fd, NULL);
			l->places[fd].events = 0;
		}
	l->inherited = false;
	atomic_store_explicit(&t->busy, 0, memory_order_release);
	n = loop_wait(l, tstamp_min(deadline, timers_first(&l->timers)));
	if (n == -1)
		return -1;
	turn_for(TURN_NO_APP);
	atomic_store_explicit(&t->began, l->now, memory_order_relaxed);
	/* In this order for all: so either we see that it dozes, or it us. */
	atomic_store(&t->busy, 1);
	if (atomic_load(&t->dozing) != 0) {
		atomic_store(&t->dozing, 0);
		(void)syscall(
		    SYS_futex, &t->dozing, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	}
	l->n = n;
	for (l->at = 0; l->at < l->n;) {
		struct epoll_event *ev = &l->batch[l->at++];
		struct loop_io *io =
		    ev->data.fd < 0 || ev->data.fd >= l->nplaces
		    ? NULL
		    : l->places[ev->data.fd].io;
		uint32_t events;

		if (io == NULL)
			continue;
		/* The events waited for may be others since they were seen. */
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

int
thread_start(const char *name, size_t stack_size, void *(*run)(void *),
    void *arg, pthread_t *out)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, before;
	int error = pthread_attr_init(&attr);

	if (error == 0) {
		(void)pthread_attr_setstacksize(&attr, stack_size);
		sigfillset(&all);
		(void)pthread_sigmask(SIG_SETMASK, &all, &before);
		error = pthread_create(&thread, &attr, run, arg);
		(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
		(void)pthread_attr_destroy(&attr);
	}
	if (error != 0) {
		errno = error;
		return -1;
	}
	(void)pthread_setname_np(thread, name);
	*out = thread;
	return 0;
}
