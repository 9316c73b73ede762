/* The clients of the PoolCounter service. */

#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "counter/pc_clients.h"
#include "counter/pc_stats.h"
#include "counter/poolcounter_line.h"
#include "sys/fdpass.h"
#include "sys/listener.h"

/* Bytes read from one client at a time at most. */
#define READ_MAX 1024

/* Bytes of a client that are read and not carried out yet: fewer. */
#define INPUT_MAX (POOLCOUNTER_LINE_MAX + READ_MAX)

/*
 * What work costs, in tenths of a microsecond as measured on one machine:
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

/* Bytes of memory that are kept for the answers of the next client. */
#define SPARE_MAX 4096

/* A client that does not read is cut off after so long. */
#define STALL_MAX TSPAN_SECONDS(10)

struct pc_client {
	struct loop_io io; /* reads, unless stalled */
	struct pc_clients *all;
	TAILQ_ENTRY(pc_client) ready_next; /* if ready */
	TAILQ_ENTRY(pc_client) dirty_next; /* if dirty */
	TAILQ_ENTRY(pc_client) stalled_next; /* if stalled */
	tstamp stalled_until; /* cut off then */
	uint32_t number; /* in the counter */
	enum pc_line line;
	bool tcp;
	bool ready; /* waits for its go */
	bool dirty; /* has answers to be sent */
	bool stalled; /* does not read its answers; not ready */
	bool unread; /* its socket may have more to be read */
	/* An end or urgent data: a short read need not have read all. */
	bool odd;
	bool has_line; /* in has the end of a line, too */
	bool skipping; /* until the end of a line that was too long */
	char *in; /* INPUT_MAX bytes, the beginning of a line; NULL: none */
	size_t in_len;
	struct text out; /* answers; without memory while there are none */
	size_t pending; /* bytes of them in all->pending */
};

static void client_ready(struct loop_io *io, uint32_t events, tstamp now);

/* --- work that waits ---------------------------------------------------- */

/* Something is to be done for the client: after all who came before. */
static void
make_ready(struct pc_client *cl)
{
	if (cl->ready)
		return;
	cl->ready = true;
	TAILQ_INSERT_TAIL(&cl->all->ready[cl->line], cl, ready_next);
}

static void
unready(struct pc_client *cl)
{
	if (!cl->ready)
		return;
	cl->ready = false;
	TAILQ_REMOVE(&cl->all->ready[cl->line], cl, ready_next);
}

/* --- answers ------------------------------------------------------------ */

/* The text to which an answer is added, to be sent soon. */
static struct text *
answers(struct pc_client *cl)
{
	struct pc_clients *all = cl->all;

	if (cl->dirty)
		return &cl->out;
	cl->dirty = true;
	TAILQ_INSERT_TAIL(&all->dirty[cl->line], cl, dirty_next);
	if (cl->out.data == NULL && all->nspare > 0)
		cl->out = all->spare[--all->nspare];
	return &cl->out;
}

static void
say(struct pc_client *cl, const char *line)
{
	struct text *out = answers(cl);

	text_puts(out, line);
	text_put(out, "\n", 1);
}

/* Takes the replies of the counter, after each fact it was told. */
static void
settle(struct pc_clients *all)
{
	struct counter_reply r;
	tstamp at;

	while (counter_next_reply(&all->counter, &r)) {
		if (r.word == COUNTER_TOO_MANY_KEYS)
			log_limited(&all->keys_rate, all->counter.now,
			    LOG_LEVEL_WARN,
			    "counter: %u keys are locked, a lock on another "
			    "one is refused",
			    all->counter.in_force.keys);
		say(all->clients[r.client],
		    counter_word_text((enum counter_word)r.word));
	}
	at = counter_deadline(&all->counter);
	if (at != all->waits.at)
		timer_set(&all->loop->timers, &all->waits, at);
}

/* --- beginning and end -------------------------------------------------- */

/* A Unix socket may have descriptors in it that take long to close. */
static void
close_fd(struct pc_clients *all, int fd, bool tcp)
{
	if (tcp) {
		(void)close(fd);
		return;
	}
	(void)shutdown(fd, SHUT_RDWR);
	lane_close(all->closer, fd);
}

/* Tells a client beyond the limit why it is turned away. */
static void
refuse(struct pc_clients *all, int fd, bool tcp, tstamp now)
{
	static const char why[] = "ERROR TOO_MANY_CLIENTS\n";

	all->refused_clients++;
	log_limited(&all->refused_rate, now, LOG_LEVEL_WARN,
	    "counter: counter_max_clients %u are there, another one is "
	    "turned away",
	    all->counter.in_force.clients);
	(void)send(fd, why, sizeof(why) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)shutdown(fd, SHUT_WR);
	close_fd(all, fd, tcp);
}

/* number: of the client in the counter; ILIST_NONE: there is no room. */
static void
add(struct pc_clients *all, int fd, bool tcp, uint32_t number,
    enum pc_line line, tstamp now)
{
	struct pc_client *cl;

	if (number == ILIST_NONE) {
		refuse(all, fd, tcp, now);
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
	text_init(&cl->out, PC_PENDING_MAX);
	cl->io = (struct loop_io){ .fd = fd, .ready = client_ready };
	if (loop_set(all->loop, &cl->io, READING) == -1)
		goto fail;
	all->clients[number] = cl;
	all->connections++;
	return;
fail:
	log_limited(&all->memory_rate, now, LOG_LEVEL_WARN,
	    "counter: a client cannot be taken in: %m");
	all->connect_errors++;
	free(cl);
	counter_closed(&all->counter, number, now);
	close_fd(all, fd, tcp);
}

void
pc_clients_add(struct pc_clients *all, int fd, bool tcp, tstamp now)
{
	add(all, fd, tcp, counter_opened(&all->counter, now), PC_STRANGERS,
	    now);
}

void
pc_clients_add_own(struct pc_clients *all, int fd, tstamp now)
{
	add(all, fd, false, counter_opened_apart(&all->counter, now), PC_OWN,
	    now);
}

/* Forgets the answers: all are sent, or will never be. */
static void
drop_answers(struct pc_client *cl)
{
	struct pc_clients *all = cl->all;

	if (cl->stalled) {
		all->pending -= cl->pending;
		cl->pending = 0;
		TAILQ_REMOVE(&all->stalled, cl, stalled_next);
		cl->stalled = false;
	}
	if (all->nspare < PC_SPARE && cl->out.size <= SPARE_MAX) {
		text_clear(&cl->out);
		all->spare[all->nspare++] = cl->out;
	} else {
		text_fini(&cl->out);
	}
	text_init(&cl->out, PC_PENDING_MAX);
}

static void
close_client(struct pc_client *cl, tstamp now)
{
	struct pc_clients *all = cl->all;

	(void)loop_set(all->loop, &cl->io, 0);
	close_fd(all, cl->io.fd, cl->tcp);
	drop_answers(cl);
	unready(cl);
	if (cl->dirty)
		TAILQ_REMOVE(&all->dirty[cl->line], cl, dirty_next);
	all->clients[cl->number] = NULL;
	counter_closed(&all->counter, cl->number, now);
	free(cl->in);
	free(cl);
	settle(all);
}

/* --- sending ------------------------------------------------------------ */

static void
cut_off(struct pc_client *cl, tstamp now)
{
	struct pc_clients *all = cl->all;

	all->failed_sends++;
	log_limited(&all->stall_rate, now, LOG_LEVEL_WARN,
	    "counter: a client that does not read is cut off");
	close_client(cl, now);
}

/* The client does not take its answers: nothing more is read from it. */
static void
stall(struct pc_client *cl, size_t sent, tstamp now)
{
	struct pc_clients *all = cl->all;

	unready(cl);
	memmove(cl->out.data, cl->out.data + sent, cl->out.len - sent);
	cl->out.len -= sent;
	all->pending += cl->out.len - cl->pending;
	cl->pending = cl->out.len;
	if (!cl->stalled) {
		cl->stalled = true;
		cl->stalled_until = now + STALL_MAX;
		TAILQ_INSERT_TAIL(&all->stalled, cl, stalled_next);
		timer_advance(&all->loop->timers, &all->cut, cl->stalled_until);
	}
	if (all->pending <= PC_PENDING_MAX &&
	    loop_set(all->loop, &cl->io, STALLED) == 0)
		return;
	cut_off(cl, now);
}

static void
flush_client(struct pc_client *cl, tstamp now)
{
	struct pc_clients *all = cl->all;
	ssize_t n;

	if (cl->dirty) {
		cl->dirty = false;
		TAILQ_REMOVE(&all->dirty[cl->line], cl, dirty_next);
	}
	/* A conversation without an answer would be another one. */
	if (cl->out.failed) {
		close_client(cl, now);
		return;
	}
	n = send(
	    cl->io.fd, cl->out.data, cl->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n == -1) {
		if (!fdpass_is_later(errno)) {
			all->failed_sends++;
			close_client(cl, now);
			return;
		}
		n = 0;
	}
	if ((size_t)n < cl->out.len) {
		stall(cl, (size_t)n, now);
		return;
	}
	drop_answers(cl);
	if (loop_set(all->loop, &cl->io, READING) == -1)
		close_client(cl, now);
	else if (cl->has_line || cl->unread)
		make_ready(cl);
}

/* --- timers ------------------------------------------------------------- */

static void
waits_due(struct timer *t, tstamp now)
{
	struct pc_clients *all = TIMER_OWNER(t, struct pc_clients, waits);

	counter_tick(&all->counter, now);
	settle(all);
}

static void
cut_due(struct timer *t, tstamp now)
{
	struct pc_clients *all = TIMER_OWNER(t, struct pc_clients, cut);
	struct pc_client *cl;

	while ((cl = TAILQ_FIRST(&all->stalled)) != NULL &&
	    cl->stalled_until <= now)
		cut_off(cl, now);
	if (cl != NULL)
		timer_set(&all->loop->timers, t, cl->stalled_until);
}

/* --- reading ------------------------------------------------------------ */

static void
answer_stats(struct pc_client *cl, const char *what, size_t len, tstamp now)
{
	struct counter_service_figures figures;

	pc_clients_figures(cl->all, now, &figures);
	if (!pc_stats_write(answers(cl), &figures, what, len))
		say(cl, "ERROR WRONG_STAT");
}

/* Returns what it cost. */
static unsigned
obey_line(struct pc_client *cl, const char *text, size_t len, tstamp now)
{
	struct counter *c = &cl->all->counter;
	struct poolcounter_line line;

	poolcounter_line_parse(text, len, &line);
	switch (line.verb) {
	case POOLCOUNTER_ACQUIRE:
		counter_acquire(c, cl->number, &line.request, now);
		settle(cl->all);
		break;
	case POOLCOUNTER_RELEASE:
		counter_release(c, cl->number, line.text, line.len, now);
		settle(cl->all);
		break;
	case POOLCOUNTER_STATS:
		answer_stats(cl, line.text, line.len, now);
		return COST_STATS;
	case POOLCOUNTER_BAD_SYNTAX:
		say(cl, "ERROR BAD_SYNTAX");
		break;
	case POOLCOUNTER_BAD_COMMAND:
		say(cl, "ERROR BAD_COMMAND");
		break;
	}
	return COST_COMMAND;
}

/* Keeps what is not carried out yet: lines, or the beginning of one. */
static bool
keep_rest(struct pc_client *cl, const char *rest, size_t len)
{
	if (len >= POOLCOUNTER_LINE_MAX && !cl->has_line && !cl->skipping) {
		say(cl, "ERROR LINE_TOO_LONG");
		cl->skipping = true;
	}
	if (cl->skipping)
		len = 0;
	if (len == 0) {
		free(cl->in);
		cl->in = NULL;
	} else if (cl->in == NULL) {
		cl->in = malloc(INPUT_MAX);
		if (cl->in == NULL)
			return false;
	}
	if (len > 0)
		memcpy(cl->in, rest, len);
	cl->in_len = len;
	return true;
}

/*
 * Carries lines out, as many as one client may at a time. False: there is no
 * memory to serve the client any more.
 */
static bool
obey_lines(
    struct pc_client *cl, const char *p, size_t len, unsigned *cost, tstamp now)
{
	const char *end = p + len, *lf;

	while ((lf = memchr(p, '\n', (size_t)(end - p))) != NULL &&
	    *cost < CLIENT_WORK) {
		if (cl->skipping) {
			cl->skipping = false;
		} else if (lf - p >= POOLCOUNTER_LINE_MAX) {
			say(cl, "ERROR LINE_TOO_LONG");
			*cost += COST_COMMAND;
		} else {
			*cost += obey_line(cl, p, (size_t)(lf - p), now);
		}
		p = lf + 1;
	}
	cl->has_line = lf != NULL;
	return keep_rest(cl, p, (size_t)(end - p));
}

/* As recv(2). Descriptors that came along may take long to close. */
static ssize_t
receive(struct pc_client *cl, char *buf)
{
	struct fdpass_got got = { .nfds = 0 };
	ssize_t n;

	if (cl->tcp)
		n = recv(cl->io.fd, buf, READ_MAX, MSG_DONTWAIT);
	else
		n = fdpass_recv(cl->io.fd, buf, READ_MAX, MSG_DONTWAIT, &got);
	for (size_t i = 0; n != -1 && i < got.nfds; i++)
		lane_close(cl->all->closer, got.fds[i]);
	/* A read ends behind descriptors. */
	cl->unread = n == READ_MAX || got.nfds > 0 || cl->odd;
	return n;
}

/* Adds what the client has sent to buf. False: the client has left. */
static bool
read_more(struct pc_client *cl, char *buf, size_t *len)
{
	ssize_t n = receive(cl, buf + *len);

	if (n > 0) {
		*len += (size_t)n;
		return true;
	}
	if (n == 0 || !fdpass_is_later(errno))
		return false;
	cl->unread = errno != EAGAIN;
	return true;
}

/* Serves a client whose turn has come. Returns the cost. */
static unsigned
serve_client(struct pc_client *cl, tstamp now)
{
	char buf[INPUT_MAX];
	size_t len = cl->in_len;
	unsigned cost = 0;

	unready(cl);
	if (cl->stalled) {
		flush_client(cl, now);
		return COST_SEND;
	}
	if (len > 0)
		memcpy(buf, cl->in, len);
	if (!cl->has_line) {
		cost += COST_RECEIVE;
		if (!read_more(cl, buf, &len))
			goto end;
	}
	if (!obey_lines(cl, buf, len, &cost, now))
		goto end;
	if (cl->has_line || cl->unread)
		make_ready(cl);
	return cost;
end:
	close_client(cl, now);
	return cost + COST_END;
}

static void
client_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct pc_client *cl = LOOP_OWNER(io, struct pc_client, io);

	(void)now;
	if (events & ~(EPOLLIN | EPOLLOUT))
		cl->odd = true;
	if (events & ~EPOLLOUT)
		cl->unread = true;
	make_ready(cl);
}

/* --- turns -------------------------------------------------------------- */

/*
 * Does the next piece of work; false: there is none. Answers come first: a
 * client has a go when its last one has been answered, so that what waits to
 * be sent has a bound.
 */
static bool
work(struct pc_clients *all, unsigned *cost, tstamp now)
{
	struct pc_client *cl;

	for (int line = 0; line < PC_LINES; line++) {
		/* A client found to be gone leaves its locks to others. */
		if ((cl = TAILQ_FIRST(&all->dirty[line])) != NULL) {
			flush_client(cl, now);
			*cost += COST_SEND;
			return true;
		}
		if ((cl = TAILQ_FIRST(&all->ready[line])) != NULL) {
			*cost += serve_client(cl, now);
			return true;
		}
	}
	return false;
}

void
pc_clients_turn(struct pc_clients *all, tstamp now)
{
	unsigned cost = 0;

	while (work(all, &cost, now)) {
		if (cost < TURN_WORK)
			continue;
		timer_set(&all->loop->timers, &all->more, now);
		break;
	}
}

/* The loop has not slept, and pc_clients_turn() follows. */
static void
more_due(struct timer *t, tstamp now)
{
	(void)t;
	(void)now;
}

/* --- all of them -------------------------------------------------------- */

void
pc_clients_init(struct pc_clients *all, struct loop *loop, struct lane *closer)
{
	*all = (struct pc_clients){
		.loop = loop,
		.closer = closer,
		.stalled = TAILQ_HEAD_INITIALIZER(all->stalled),
	};
	for (int line = 0; line < PC_LINES; line++) {
		TAILQ_INIT(&all->ready[line]);
		TAILQ_INIT(&all->dirty[line]);
	}
	timer_init(&all->waits, waits_due);
	timer_init(&all->cut, cut_due);
	timer_init(&all->more, more_due);
}

bool
pc_clients_reserve(struct pc_clients *all, const struct counter_limits *wanted)
{
	const struct counter_limits in_force = all->counter.in_force;
	struct counter_limits l = all->counter.limits;
	const tstamp now = loop_now(all->loop);
	struct siphash_seed seed;
	struct pc_client **clients;
	void *memory;

	if (l.clients >= wanted->clients && l.keys >= wanted->keys &&
	    l.apart >= wanted->apart)
		return true;
	if (l.clients < wanted->clients)
		l.clients = wanted->clients;
	if (l.keys < wanted->keys)
		l.keys = wanted->keys;
	if (l.apart < wanted->apart)
		l.apart = wanted->apart;
	/* Untouched pages take no memory: calloc(), not realloc(). */
	memory = calloc(1, counter_memory(&l));
	clients =
	    calloc((size_t)l.clients + l.apart, sizeof(struct pc_client *));
	if (memory == NULL || clients == NULL) {
		free(memory);
		free(clients);
		return false;
	}
	if (all->memory == NULL) {
		arc4random_buf(&seed, sizeof(seed));
		counter_init(&all->counter, &l, memory, &seed, now);
		all->started = now;
	} else {
		memcpy(clients, all->clients,
		    all->counter.nclients * sizeof(struct pc_client *));
		counter_move(&all->counter, &l, memory);
		counter_resize(&all->counter, &in_force);
	}
	free(all->memory);
	free(all->clients);
	all->memory = memory;
	all->clients = clients;
	return true;
}

void
pc_clients_fini(struct pc_clients *all, tstamp now)
{
	for (uint32_t n = 0; n < all->counter.nclients; n++)
		if (all->clients[n] != NULL)
			close_client(all->clients[n], now);
	timer_set(&all->loop->timers, &all->waits, TSTAMP_NEVER);
	timer_set(&all->loop->timers, &all->cut, TSTAMP_NEVER);
	timer_set(&all->loop->timers, &all->more, TSTAMP_NEVER);
	while (all->nspare > 0)
		text_fini(&all->spare[--all->nspare]);
	free(all->clients);
	free(all->memory);
	pc_clients_init(all, all->loop, all->closer);
}

void
pc_clients_figures(const struct pc_clients *all, tstamp now,
    struct counter_service_figures *out)
{
	*out = (struct counter_service_figures){
		.clients = counter_clients(&all->counter),
		.max_clients = all->counter.in_force.clients,
		.keys = all->counter.used_keys,
		.max_keys = all->counter.in_force.keys,
		.connections = all->connections,
		.refused_clients = all->refused_clients,
		.connect_errors = all->connect_errors,
		.failed_sends = all->failed_sends,
		.uptime = (uint64_t)((now - all->started) / TSPAN_SECONDS(1)),
		.counter = all->counter.figures,
	};
}
