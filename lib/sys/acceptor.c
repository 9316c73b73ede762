/* Listeners in the loop. */

#include "sys/acceptor.h"
#include "sys/log.h"

static void
watch(struct acceptor *a)
{
	bool wanted = !a->paused && a->rest.at == TSTAMP_NEVER;

	if (a->listener.fd == -1)
		return;
	if (loop_set(a->loop, &a->io, wanted ? EPOLLIN : 0) == -1)
		log_warn("%s: epoll_ctl", a->listener.name);
}

static void
reopen(struct acceptor *a, tstamp now)
{
	(void)loop_set(a->loop, &a->io, 0);
	if (a->ops->reopen != NULL)
		a->ops->reopen(a, now);
}

static void
rested(struct timer *t, tstamp now)
{
	struct acceptor *a = TIMER_OWNER(t, struct acceptor, rest);

	if (a->listener.fd == -1)
		reopen(a, now);
	else
		watch(a);
}

enum acceptor_got
acceptor_take(struct acceptor *a, tstamp now)
{
	int fd;

	if (a->ops->admits != NULL && !a->ops->admits(a, now))
		return ACCEPTOR_FULL;
	fd = listener_accept(&a->listener, now);
	switch (fd) {
	case LISTENER_EMPTY:
		return ACCEPTOR_EMPTY;
	case LISTENER_RESTING:
		if (a->ops->resting != NULL)
			a->ops->resting(a);
		acceptor_rest(a, a->listener.rest_until);
		return ACCEPTOR_AWAY;
	case LISTENER_BROKEN:
		reopen(a, now);
		return ACCEPTOR_AWAY;
	default:
		a->ops->arrived(a, fd, now);
		return ACCEPTOR_ONE;
	}
}

/*
 * The budget is one accept while connections come one by one, so that no
 * accept is in vain, and grows while they come faster than turns.
 */
static void
ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct acceptor *a = LOOP_OWNER(io, struct acceptor, io);
	enum acceptor_got got = ACCEPTOR_ONE;

	(void)events;
	for (unsigned left = a->budget; left > 0 && got == ACCEPTOR_ONE; left--)
		got = acceptor_take(a, now);
	if (got != ACCEPTOR_ONE)
		a->budget = 1;
	else if (a->budget < a->most)
		a->budget *= 2;
}

void
acceptor_init(struct acceptor *a, struct loop *loop,
    const struct acceptor_ops *ops, unsigned most)
{
	*a = (struct acceptor){
		.listener.fd = -1,
		.loop = loop,
		.ops = ops,
		.budget = 1,
		.most = most,
	};
	timer_init(&a->rest, rested);
}

void
acceptor_start(struct acceptor *a)
{
	timer_set(&a->loop->timers, &a->rest, TSTAMP_NEVER);
	a->io = (struct loop_io){ .fd = a->listener.fd, .ready = ready };
	watch(a);
}

void
acceptor_rest(struct acceptor *a, tstamp until)
{
	(void)loop_set(a->loop, &a->io, 0);
	timer_set(&a->loop->timers, &a->rest, until);
}

void
acceptor_pause(struct acceptor *a)
{
	a->paused = true;
	watch(a);
}

void
acceptor_resume(struct acceptor *a)
{
	a->paused = false;
	watch(a);
}

void
acceptor_close(struct acceptor *a)
{
	timer_set(&a->loop->timers, &a->rest, TSTAMP_NEVER);
	(void)loop_set(a->loop, &a->io, 0);
	listener_fini(&a->listener);
}
