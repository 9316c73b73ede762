/* The output of workers, line by line into the log. */

#include <sys/ioctl.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/output.h"
#include "sys/log.h"
#include "sys/turn.h"

void
output_init(struct output *o)
{
	memset(o, 0, sizeof(*o));
	o->io.fd = -1;
}

/* Logs a line, unless it is the rest of one that was too long. */
static void
log_line(struct output *o, const char *text, size_t len)
{
	if (!o->cutting)
		log_output(o->app, o->id, text, len);
	o->cutting = false;
}

static void
flush(struct output *o)
{
	if (o->line != NULL && o->len > 0)
		log_line(o, o->line, o->len);
	free(o->line);
	o->line = NULL;
	o->len = 0;
}

/* Keeps the beginning of a line; a line that is too long is logged so far. */
static void
keep(struct output *o, const char *text, size_t len)
{
	size_t room;

	if (len == 0 || o->cutting)
		return;
	if (o->line == NULL) {
		o->line = malloc(OUTPUT_LINE_MAX);
		if (o->line == NULL) {
			log_line(o, text, len);
			return;
		}
	}
	room = OUTPUT_LINE_MAX - o->len;
	memcpy(o->line + o->len, text, len < room ? len : room);
	o->len += len < room ? len : room;
	if (len < room)
		return;
	flush(o);
	o->cutting = true;
}

/* Logs as many whole lines; returns the length of what it took. */
static size_t
take_lines(struct output *o, const char *buf, size_t len, int *lines)
{
	const char *at = buf, *end;

	while (*lines > 0 &&
	    (end = memchr(at, '\n', len - (size_t)(at - buf))) != NULL) {
		size_t n = (size_t)(end - at);

		if (o->line == NULL) {
			log_line(o, at, n);
		} else {
			keep(o, at, n);
			flush(o);
			o->cutting = false;
		}
		at = end + 1;
		--*lines;
	}
	return (size_t)(at - buf);
}

/* Keeps what there are no lines left for; without memory as one line. */
static void
keep_rest(struct output *o, const char *buf, size_t len)
{
	o->rest = malloc(len);
	if (o->rest == NULL) {
		log_line(o, buf, len);
		return;
	}
	memcpy(o->rest, buf, len);
	o->rest_at = 0;
	o->rest_end = len;
}

static void
take(struct output *o, const char *buf, size_t len, int *lines)
{
	size_t taken = take_lines(o, buf, len, lines);

	if (taken == len)
		return;
	if (*lines > 0)
		keep(o, buf + taken, len - taken);
	else
		keep_rest(o, buf + taken, len - taken);
}

static void
take_rest(struct output *o, int *lines)
{
	char *rest = o->rest;

	o->rest_at +=
	    take_lines(o, rest + o->rest_at, o->rest_end - o->rest_at, lines);
	if (*lines == 0 && o->rest_at < o->rest_end)
		return;
	keep(o, rest + o->rest_at, o->rest_end - o->rest_at);
	o->rest = NULL;
	free(rest);
}

enum visit {
	VISIT_MORE, /* there is more, or may be */
	VISIT_NOTHING, /* for now */
	VISIT_ENDED, /* nobody can write any more */
};

/* Reads once, or takes what was read before. */
static enum visit
visit(struct output *o, int *lines)
{
	char buf[OUTPUT_READ];
	ssize_t n;

	if (o->rest != NULL) {
		take_rest(o, lines);
		return VISIT_MORE;
	}
	turn_call("read");
	n = read(o->io.fd, buf, sizeof(buf));
	if (n <= 0)
		return n == 0 ? VISIT_ENDED : VISIT_NOTHING;
	take(o, buf, (size_t)n, lines);
	return n == sizeof(buf) || o->rest != NULL ? VISIT_MORE : VISIT_NOTHING;
}

static void
close_pipe(struct output *o)
{
	(void)loop_set(o->all->loop, &o->io, 0);
	turn_call("close");
	close(o->io.fd);
	o->io.fd = -1;
}

/* --- turns -------------------------------------------------------------- */

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

static enum visit
spend(struct output *o)
{
	int lines = OUTPUT_LINES;
	enum visit result = visit(o, &lines);

	o->all->work -= OUTPUT_READ_WORK + OUTPUT_LINES - lines;
	if (result == VISIT_ENDED) {
		flush(o);
		close_pipe(o);
	}
	return result;
}

static void
ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct output *o = LOOP_OWNER(io, struct output, io);
	struct outputs *all = o->all;

	(void)events;
	begin_period(all, now);
	if (all->work > 0 && spend(o) != VISIT_MORE)
		return;
	queue_up(o);
	timer_advance(
	    &all->loop->timers, &all->timer, tstamp_add(now, OUTPUT_PERIOD));
}

/* One who has said all is in the loop again. */
static void
take_turn(struct output *o)
{
	leave_queue(o);
	switch (spend(o)) {
	case VISIT_MORE:
		queue_up(o);
		break;
	case VISIT_NOTHING:
		if (loop_set(o->all->loop, &o->io, EPOLLIN) == -1)
			queue_up(o);
		break;
	case VISIT_ENDED:
		break;
	}
}

static void
take_turns(struct timer *t, tstamp now)
{
	struct outputs *all = TIMER_OWNER(t, struct outputs, timer);

	begin_period(all, now);
	while (all->work > 0 && !TAILQ_EMPTY(&all->busy))
		take_turn(TAILQ_FIRST(&all->busy));
	if (!TAILQ_EMPTY(&all->busy))
		timer_set(&all->loop->timers, &all->timer,
		    tstamp_add(now, OUTPUT_PERIOD));
}

/* --- coming and going --------------------------------------------------- */

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
output_open(struct output *o, struct outputs *all, const char *app,
    const char *id, uid_t owner)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) == -1)
		return -1;
	/* Only this end does not block: the flag is of its own open file. */
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) == -1 ||
	    (owner != (uid_t)-1 && fchown(ends[1], owner, (gid_t)-1) == -1))
		goto fail;
	o->all = all;
	o->app = app;
	o->id = id;
	o->io.fd = ends[0];
	o->io.ready = ready;
	if (loop_set(all->loop, &o->io, EPOLLIN) == -1)
		goto fail;
	return ends[1];
fail:
	close(ends[0]);
	close(ends[1]);
	o->io.fd = -1;
	return -1;
}

static void
drain(struct output *o)
{
	int lines = OUTPUT_LAST_LINES, reads = OUTPUT_LAST_READS, left = 0;
	enum visit result = VISIT_MORE;

	while (result == VISIT_MORE && lines > 0 && reads-- > 0)
		result = visit(o, &lines);
	if (result != VISIT_MORE)
		return;
	(void)ioctl(o->io.fd, FIONREAD, &left);
	left += o->rest == NULL ? 0 : (int)(o->rest_end - o->rest_at);
	if (left > 0)
		log_warnx("%s: %d bytes of the last output of worker %s left "
			  "out",
		    o->app, left, o->id);
}

void
output_fini(struct output *o)
{
	if (o->io.fd != -1) {
		if (o->busy)
			leave_queue(o);
		drain(o);
		close_pipe(o);
	}
	flush(o);
	free(o->rest);
}
