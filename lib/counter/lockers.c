/* The clients of the service: reading, answering, and whose turn it is. */

#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counter/counter.h"
#include "sys/fdpass.h"

/* Bytes read from one client at a time at most. */
#define READ_MAX 1024

/* Bytes of a client that are read and not carried out yet: fewer. */
#define INPUT_MAX (LANGUAGE_LINE_MAX + READ_MAX)

/*
 * The cost of work, in tenths of a microsecond as measured on one machine:
 * only the proportions matter.
 */
#define COST_RECEIVE 10
#define COST_COMMAND 4
#define COST_STATS 100
#define COST_SEND 60
#define COST_END 150

/* Work in one turn at most, and for one client before others have their go. */
#define TURN_WORK 2000
#define CLIENT_WORK 100

/*
 * What is waited for. A client is reported once for each piece that arrives,
 * not in each turn until all has been read: so thousands of clients that
 * wait for their go are in nobody's way.
 */
#define READING (EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLET)
#define STALLED (EPOLLOUT | EPOLLET)

/* A client that does not read is cut off after so long. */
#define STALL_MAX TSPAN_SECONDS(10)

struct locker {
	struct loop_io io; /* is read, unless stalled */
	struct lockers *all;
	TAILQ_ENTRY(locker) ready_next; /* if ready */
	TAILQ_ENTRY(locker) dirty_next; /* if dirty */
	struct timer stall; /* set if stalled: cuts it off */
	uint32_t number; /* in the counter */
	enum lockers_line line;
	bool tcp;
	bool ready; /* waits for its go */
	bool dirty; /* has answers to be sent */
	bool unread; /* its socket may have more to be read */
	/* An end or urgent data: a short read need not have read all. */
	bool odd;
	bool has_line; /* in has the end of a line, too */
	bool skipping; /* until the end of a line that was too long */
	char *in; /* INPUT_MAX bytes, the beginning of a line; NULL: none */
	size_t in_len;
	struct text out; /* answers; without memory while there are none */
	/* Bytes of them in all->pending; 0: it is not stalled, but reads. */
	size_t pending;
};

static void locker_ready(struct loop_io *io, uint32_t events, tstamp now);
static void locker_cut_off(struct timer *t, tstamp now);

/* --- work that waits ---------------------------------------------------- */

/* Something is to be done for the client: after all who came before. */
static void
locker_wants(struct locker *cl)
{
	if (cl->ready)
		return;
	cl->ready = true;
	TAILQ_INSERT_TAIL(&cl->all->ready[cl->line], cl, ready_next);
}

static void
locker_unready(struct locker *cl)
{
	if (!cl->ready)
		return;
	cl->ready = false;
	TAILQ_REMOVE(&cl->all->ready[cl->line], cl, ready_next);
}

/* --- answers ------------------------------------------------------------ */

static struct text *
locker_answers(struct locker *cl)
{
	if (!cl->dirty)
		TAILQ_INSERT_TAIL(&cl->all->dirty[cl->line], cl, dirty_next);
	cl->dirty = true;
	return &cl->out;
}

static void
locker_say(struct locker *cl, const char *line)
{
	struct text *out = locker_answers(cl);

	text_puts(out, line);
	text_put(out, "\n", 1);
}

static void
lockers_say(struct counter *c, uint32_t client, enum counter_word word)
{
	static const char *const words[COUNTER_WORDS] = {
		[COUNTER_LOCKED] = "LOCKED",
		[COUNTER_DONE] = "DONE",
		[COUNTER_QUEUE_FULL] = "QUEUE_FULL",
		[COUNTER_TIMEOUT] = "TIMEOUT",
		[COUNTER_LOCK_HELD] = "LOCK_HELD",
		[COUNTER_NOT_LOCKED] = "NOT_LOCKED",
		[COUNTER_RELEASED] = "RELEASED",
		[COUNTER_WAIT_FOR_RESPONSE] = "ERROR WAIT_FOR_RESPONSE",
		[COUNTER_TOO_MANY_KEYS] = "ERROR TOO_MANY_KEYS",
	};
	struct lockers *all = LOOP_OWNER(c, struct lockers, counter);

	if (word == COUNTER_TOO_MANY_KEYS)
		log_limited(&all->keys_rate, c->now, LOG_LEVEL_WARN,
		    "counter: %u keys are locked, a lock on another one is "
		    "refused",
		    c->ceilings.keys);
	locker_say(all->lockers[client], words[word]);
}

/* --- beginning and end -------------------------------------------------- */

/* A Unix socket may have descriptors in it that take long to close. */
static void
lockers_close(struct lockers *all, int fd, bool tcp)
{
	if (tcp) {
		(void)close(fd);
		return;
	}
	(void)shutdown(fd, SHUT_RDWR);
	lane_close(all->closer, fd);
}

void
lockers_add(
    struct lockers *all, int fd, bool tcp, enum lockers_line line, tstamp now)
{
	static const char why[] = "ERROR TOO_MANY_CLIENTS\n";
	uint32_t number =
	    counter_opened(&all->counter, line == LOCKERS_OWN, now);
	struct locker *cl;

	if (number == ILIST_NONE) {
		all->counter.figures->refused_clients++;
		log_limited(&all->refused_rate, now, LOG_LEVEL_WARN,
		    "counter: counter_max_clients %u are there, another one "
		    "is turned away",
		    all->counter.ceilings.clients);
		(void)send(
		    fd, why, sizeof(why) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		(void)shutdown(fd, SHUT_WR);
		lockers_close(all, fd, tcp);
		return;
	}
	cl = calloc(1, sizeof(*cl));
	if (cl == NULL)
		goto fail;
	if (!tcp)
		(void)fdpass_refuse(fd);
	cl->all = all;
	cl->number = number;
	cl->line = line;
	cl->tcp = tcp;
	text_init(&cl->out, LOCKERS_PENDING_MAX);
	timer_init(&cl->stall, locker_cut_off);
	cl->io = (struct loop_io){ .fd = fd, .ready = locker_ready };
	if (loop_set(all->loop, &cl->io, READING) == -1)
		goto fail;
	all->lockers[number] = cl;
	all->counter.figures->connections++;
	return;
fail:
	log_limited(&all->memory_rate, now, LOG_LEVEL_WARN,
	    "counter: a client cannot be taken in: %m");
	all->counter.figures->connect_errors++;
	free(cl);
	counter_closed(&all->counter, number, now);
	lockers_close(all, fd, tcp);
}

/* Forgets the answers: all are sent, or will never be. */
static void
locker_forget(struct locker *cl)
{
	cl->all->pending -= cl->pending;
	cl->pending = 0;
	timer_set(&cl->all->loop->timers, &cl->stall, TSTAMP_NEVER);
	text_fini(&cl->out);
	text_init(&cl->out, LOCKERS_PENDING_MAX);
}

static void
locker_close(struct locker *cl, tstamp now)
{
	struct lockers *all = cl->all;

	(void)loop_set(all->loop, &cl->io, 0);
	lockers_close(all, cl->io.fd, cl->tcp);
	locker_forget(cl);
	locker_unready(cl);
	if (cl->dirty)
		TAILQ_REMOVE(&all->dirty[cl->line], cl, dirty_next);
	all->lockers[cl->number] = NULL;
	counter_closed(&all->counter, cl->number, now);
	free(cl->in);
	free(cl);
}

/* --- sending ------------------------------------------------------------ */

static void
locker_cut_off(struct timer *t, tstamp now)
{
	struct locker *cl = TIMER_OWNER(t, struct locker, stall);
	struct lockers *all = cl->all;

	all->counter.figures->failed_sends++;
	log_limited(&all->stall_rate, now, LOG_LEVEL_WARN,
	    "counter: a client that does not read is cut off");
	locker_close(cl, now);
}

/* The client does not take its answers: nothing more is read from it. */
static void
locker_stall(struct locker *cl, size_t sent, tstamp now)
{
	struct lockers *all = cl->all;

	locker_unready(cl);
	memmove(cl->out.data, cl->out.data + sent, cl->out.len - sent);
	cl->out.len -= sent;
	if (cl->pending == 0)
		timer_set(&all->loop->timers, &cl->stall, now + STALL_MAX);
	all->pending += cl->out.len - cl->pending;
	cl->pending = cl->out.len;
	if (all->pending <= LOCKERS_PENDING_MAX &&
	    loop_set(all->loop, &cl->io, STALLED) == 0)
		return;
	locker_cut_off(&cl->stall, now);
}

static void
locker_flush(struct locker *cl, tstamp now)
{
	struct lockers *all = cl->all;
	ssize_t n;

	if (cl->dirty) {
		cl->dirty = false;
		TAILQ_REMOVE(&all->dirty[cl->line], cl, dirty_next);
	}
	/* A conversation without an answer would be another one. */
	if (cl->out.failed) {
		locker_close(cl, now);
		return;
	}
	n = send(
	    cl->io.fd, cl->out.data, cl->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n == -1) {
		if (!fdpass_is_later(errno)) {
			all->counter.figures->failed_sends++;
			locker_close(cl, now);
			return;
		}
		n = 0;
	}
	if ((size_t)n < cl->out.len) {
		locker_stall(cl, (size_t)n, now);
		return;
	}
	locker_forget(cl);
	if (loop_set(all->loop, &cl->io, READING) == -1)
		locker_close(cl, now);
	else if (cl->has_line || cl->unread)
		locker_wants(cl);
}

/* --- timers ------------------------------------------------------------- */

static void
lockers_waits_due(struct timer *t, tstamp now)
{
	counter_tick(&TIMER_OWNER(t, struct lockers, waits)->counter, now);
}

/* --- reading ------------------------------------------------------------ */

static unsigned
locker_obey(struct locker *cl, const char *text, size_t len, tstamp now)
{
	struct counter *c = &cl->all->counter;
	struct language_line line;

	language_parse(text, len, &line);
	switch (line.verb) {
	case LANGUAGE_ACQUIRE:
		counter_acquire(c, cl->number, &line.request, now);
		break;
	case LANGUAGE_RELEASE:
		counter_release(c, cl->number, line.text, line.len, now);
		break;
	case LANGUAGE_STATS:
		if (!language_stats(locker_answers(cl), c->figures,
			now - cl->all->started, line.text, line.len))
			locker_say(cl, "ERROR WRONG_STAT");
		return COST_STATS;
	case LANGUAGE_BAD_SYNTAX:
		locker_say(cl, "ERROR BAD_SYNTAX");
		break;
	case LANGUAGE_BAD_COMMAND:
		locker_say(cl, "ERROR BAD_COMMAND");
		break;
	}
	return COST_COMMAND;
}

/*
 * Carries lines out, as many as one client may at a time. False: there is no
 * memory to serve the client any more.
 */
static bool
locker_obey_all(
    struct locker *cl, const char *p, size_t len, unsigned *cost, tstamp now)
{
	const char *end = p + len, *lf;

	while ((lf = memchr(p, '\n', (size_t)(end - p))) != NULL &&
	    *cost < CLIENT_WORK) {
		if (cl->skipping) {
			cl->skipping = false;
		} else if (lf - p >= LANGUAGE_LINE_MAX) {
			locker_say(cl, "ERROR LINE_TOO_LONG");
			*cost += COST_COMMAND;
		} else {
			*cost += locker_obey(cl, p, (size_t)(lf - p), now);
		}
		p = lf + 1;
	}
	cl->has_line = lf != NULL;
	len = (size_t)(end - p);
	if (len >= LANGUAGE_LINE_MAX && !cl->has_line && !cl->skipping) {
		locker_say(cl, "ERROR LINE_TOO_LONG");
		cl->skipping = true;
	}
	/* Lines that are not carried out yet are kept, or a part of one. */
	cl->in_len = cl->skipping ? 0 : len;
	if (cl->in_len == 0) {
		free(cl->in);
		cl->in = NULL;
		return true;
	}
	if (cl->in == NULL)
		cl->in = malloc(INPUT_MAX);
	if (cl->in != NULL)
		memcpy(cl->in, p, cl->in_len);
	return cl->in != NULL;
}

/*
 * Adds what the client has sent to buf. False: the client has left. Descriptors
 * that came along may take long to close.
 */
static bool
locker_read(struct locker *cl, char *buf, size_t *len)
{
	struct fdpass_got got = { .nfds = 0 };
	ssize_t n;

	if (cl->tcp)
		n = recv(cl->io.fd, buf + *len, READ_MAX, MSG_DONTWAIT);
	else
		n = fdpass_recv(
		    cl->io.fd, buf + *len, READ_MAX, MSG_DONTWAIT, &got);
	if (n == -1) {
		cl->unread = errno != EAGAIN;
		return fdpass_is_later(errno);
	}
	for (size_t i = 0; i < got.nfds; i++)
		lane_close(cl->all->closer, got.fds[i]);
	/* A read ends behind descriptors. */
	cl->unread = n == READ_MAX || got.nfds > 0 || cl->odd;
	*len += (size_t)n;
	return n > 0;
}

static unsigned
locker_serve(struct locker *cl, tstamp now)
{
	char buf[INPUT_MAX];
	size_t len = cl->in_len;
	unsigned cost = 0;

	locker_unready(cl);
	if (cl->pending > 0) {
		locker_flush(cl, now);
		return COST_SEND;
	}
	if (len > 0)
		memcpy(buf, cl->in, len);
	if (!cl->has_line) {
		cost += COST_RECEIVE;
		if (!locker_read(cl, buf, &len))
			goto end;
	}
	if (!locker_obey_all(cl, buf, len, &cost, now))
		goto end;
	if (cl->has_line || cl->unread)
		locker_wants(cl);
	return cost;
end:
	locker_close(cl, now);
	return cost + COST_END;
}

static void
locker_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct locker *cl = LOOP_OWNER(io, struct locker, io);

	(void)now;
	if (events & ~(EPOLLIN | EPOLLOUT))
		cl->odd = true;
	if (events & ~EPOLLOUT)
		cl->unread = true;
	locker_wants(cl);
}

/* --- turns -------------------------------------------------------------- */

/*
 * Answers come first: a client has a go when its last one has been answered, so
 * that what waits to be sent has a bound.
 */
void
lockers_turn(struct lockers *all, tstamp now)
{
	unsigned cost = 0;
	struct locker *cl;
	uint32_t first;
	tstamp at;
	int line = 0;

	while (line < LOCKERS_LINES && cost < TURN_WORK) {
		/* A client found to be gone leaves its locks to others. */
		if ((cl = TAILQ_FIRST(&all->dirty[line])) != NULL) {
			locker_flush(cl, now);
			cost += COST_SEND;
			line = 0;
		} else if ((cl = TAILQ_FIRST(&all->ready[line])) != NULL) {
			cost += locker_serve(cl, now);
			line = 0;
		} else {
			line++;
		}
	}
	if (cost >= TURN_WORK)
		timer_set(&all->loop->timers, &all->more, now);
	at = deadlines_first(&all->counter.waits, &first);
	if (at != all->waits.at)
		timer_set(&all->loop->timers, &all->waits, at);
}

/* --- all of them ---------------------------------------------------------- */

bool
lockers_init(struct lockers *all, struct loop *loop, struct lane *closer,
    const struct counter_limits *limits, struct counter_figures *figures)
{
	const tstamp now = loop_now(loop);

	*all = (struct lockers){
		.loop = loop,
		.closer = closer,
		.lockers = calloc(limits->clients, sizeof(struct locker *)),
		.started = now,
	};
	for (int line = 0; line < LOCKERS_LINES; line++) {
		TAILQ_INIT(&all->ready[line]);
		TAILQ_INIT(&all->dirty[line]);
	}
	timer_init(&all->waits, lockers_waits_due);
	timer_init(&all->more, NULL); /* lockers_turn() follows */
	if (all->lockers != NULL &&
	    counter_init(&all->counter, limits, figures, lockers_say, now))
		return true;
	free(all->lockers);
	return false;
}

void
lockers_fini(struct lockers *all, tstamp now)
{
	for (uint32_t n = 0; n < all->counter.nclients; n++)
		if (all->lockers[n] != NULL)
			locker_close(all->lockers[n], now);
	timer_set(&all->loop->timers, &all->waits, TSTAMP_NEVER);
	timer_set(&all->loop->timers, &all->more, TSTAMP_NEVER);
	free(all->lockers);
	counter_fini(&all->counter);
}
