/* The output of workers: turns, and the budget of all. */

#include <unistd.h>

#include "daemon/output.h"

/* Puts it at the end of the queue. */
static void
queue_up(struct output *o)
{
	(void)loop_set(o->all->loop, &o->io, 0);
	TAILQ_INSERT_TAIL(&o->all->busy, o, next);
	o->busy = true;
}

static void
leave_queue(struct output *o)
{
	TAILQ_REMOVE(&o->all->busy, o, next);
	o->busy = false;
}

static void
begin_period(struct outputs *all, tstamp now)
{
	if (now - all->began < OUTPUT_PERIOD)
		return;
	all->began = now;
	all->work = OUTPUT_WORK;
}

static int
spend(struct output *o, tstamp now)
{
	int lines = o->take(o, now);

	o->all->work -= OUTPUT_PACKET_WORK + (lines > 0 ? lines : 0);
	return lines;
}

static void
ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct output *o = LOOP_OWNER(io, struct output, io);
	struct outputs *all = o->all;

	(void)events;
	begin_period(all, now);
	if (all->work > 0) {
		int lines = spend(o, now);

		if (lines == OUTPUT_ENDED)
			o->end(o, now);
		/* The loop comes back if there is more. */
		if (lines != OUTPUT_NO_ROOM)
			return;
	}
	queue_up(o);
	timer_advance(
	    &all->loop->timers, &all->timer, tstamp_add(now, OUTPUT_PERIOD));
}

/* An output that has said all is in the loop again. */
static void
take_turn(struct output *o, tstamp now)
{
	int lines;

	leave_queue(o);
	lines = spend(o, now);
	if (lines == OUTPUT_ENDED)
		o->end(o, now);
	else if (lines != OUTPUT_NOTHING ||
	    loop_set(o->all->loop, &o->io, EPOLLIN) == -1)
		queue_up(o);
}

static void
take_turns(struct timer *t, tstamp now)
{
	struct outputs *all = TIMER_OWNER(t, struct outputs, timer);

	begin_period(all, now);
	while (all->work > 0 && !TAILQ_EMPTY(&all->busy))
		take_turn(TAILQ_FIRST(&all->busy), now);
	if (!TAILQ_EMPTY(&all->busy))
		timer_set(&all->loop->timers, &all->timer,
		    tstamp_add(now, OUTPUT_PERIOD));
}

void
outputs_init(struct outputs *all, struct loop *loop)
{
	all->loop = loop;
	timer_init(&all->timer, take_turns);
	TAILQ_INIT(&all->busy);
	all->began = 0;
	all->work = OUTPUT_WORK;
}

int
output_open(struct output *o, struct outputs *all, int fd)
{
	o->all = all;
	o->io.fd = fd;
	o->io.ready = ready;
	return loop_set(all->loop, &o->io, EPOLLIN);
}

void
output_close(struct output *o)
{
	if (o->busy)
		leave_queue(o);
	(void)loop_set(o->all->loop, &o->io, 0);
	close(o->io.fd);
}
