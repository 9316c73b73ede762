/*
 * Looking at, and taking back, what a living process has not received.
 * Nothing else is done to the worker's end of a channel while the worker
 * lives, and taking back only where prefetch asks for it: a process that
 * faulted while it received would hold up the daemon beside it.
 */

#include <sys/socket.h>

#include <fcntl.h>
#include <unistd.h>

#include "daemon/channel.h"
#include "daemon/closing.h"
#include "daemon/parking.h"
#include "daemon/pickup.h"
#include "sys/fdpass.h"
#include "sys/wire.h"

/* Shorter than any CONN. */
#define STOP_LEN (sizeof(WIRE_STOP) - 1)

/* No message of ours to a process is longer. */
#define MESSAGE_MAX 64

/*
 * Looks in each pickup_timeout, within bounds, as long as there may be
 * something unread; and one at its very end.
 */
#define LOOKS 10
#define LOOK_PAUSE_MIN TSPAN_MSECONDS(10)
#define LOOK_PAUSE_MAX TSPAN_SECONDS(1)

/*
 * Bytes of the connections prefetched: beyond its concurrency, and so last.
 * They may lie there as long as the sessions before them take. (Connections
 * that could not be taken back count as received in the core.)
 */
static uint64_t
prefetched_bytes(const struct worker *w)
{
	const struct pool *p = &w->sup->pool;
	uint32_t current = p->apps[w->group->app].options.concurrency;
	uint64_t bytes = 0;

	for (uint32_t c = p->processes[w->process].conns.first; c != ILIST_NONE;
	     c = p->conn_links[c].next) {
		if (current > 0)
			current--;
		else if (p->conns[c].state == CONN_HANDED)
			bytes += w->sup->accepted[c].len;
	}
	return bytes;
}

tstamp
pickup_since(struct worker *w, tstamp now)
{
	int bytes = w->child_end == -1 ? 0 : fdpass_unread(w->child_end);
	uint64_t received, prefetched;

	/*
	 * At most a STOP is unread, and a busy worker need not have read it:
	 * nothing is overdue.
	 */
	if (bytes <= (int)STOP_LEN) {
		w->unread_since = TSTAMP_NEVER;
		return TSTAMP_NEVER;
	}
	received = w->sent - (uint64_t)bytes;
	prefetched = prefetched_bytes(w);
	if (received > w->received ||
	    (uint64_t)bytes <= prefetched + STOP_LEN) {
		w->received = received;
		w->unread_since = now;
	}
	/* For a prefetched connection time counts from its turn. */
	return (uint64_t)bytes <= prefetched + STOP_LEN ? TSTAMP_NEVER
							: w->unread_since;
}

static tspan
look_pause(const struct worker *w)
{
	tspan pause = w->group->conf->pickup_timeout / LOOKS;

	if (pause < LOOK_PAUSE_MIN)
		return LOOK_PAUSE_MIN;
	return pause < LOOK_PAUSE_MAX ? pause : LOOK_PAUSE_MAX;
}

void
pickup_await(struct worker *w, tstamp now)
{
	if (w->look_at != TSTAMP_NEVER)
		return;
	w->look_at = now + look_pause(w);
	timer_advance(&w->sup->loop.timers, &w->sup->pickup_timer, w->look_at);
}

/*
 * A process that has been seen to have received all is not looked at again
 * before the next hand-over.
 */
static void
look(struct worker *w, tstamp now)
{
	struct pool *p = &w->sup->pool;
	tstamp since = TSTAMP_NEVER, end;

	w->look_at = TSTAMP_NEVER;
	if (ilist_empty(&p->processes[w->process].conns))
		w->unread_since = TSTAMP_NEVER;
	else
		since = pickup_since(w, now);
	if (w->unread_since == TSTAMP_NEVER)
		return;
	w->look_at = now + look_pause(w);
	if (since == TSTAMP_NEVER)
		return;
	pool_unread(p, w->process, since, now);
	end = tstamp_add(since, w->group->conf->pickup_timeout);
	if (end > now)
		w->look_at = tstamp_min(w->look_at, end);
}

static void
look_at_all(struct timer *t, tstamp now)
{
	struct supervisor *s = TIMER_OWNER(t, struct supervisor, pickup_timer);
	tstamp next = TSTAMP_NEVER;

	for (uint32_t n = 0; n < s->pool.nprocesses; n++) {
		struct worker *w = s->workers[n];

		if (w == NULL)
			continue;
		if (w->look_at <= now)
			look(w, now);
		next = tstamp_min(next, w->look_at);
	}
	timer_set(&s->loop.timers, t, next);
}

void
pickup_init(struct supervisor *s)
{
	timer_init(&s->pickup_timer, look_at_all);
}

/*
 * Whether there is a number for a descriptor. Without, receiving a message
 * would lose its connection.
 */
static bool
has_room(const struct worker *w)
{
	int fd = fcntl(w->child_end, F_DUPFD_CLOEXEC, 0);

	return fd != -1 && close(fd) == 0;
}

/* A message that is no connection is the latest one: it is sent again. */
static void
give_back(struct worker *w, const char *message, size_t len)
{
	if (fdpass_send(w->channel.fd, message, len, -1) != -1)
		w->sent += len;
}

/* Receives the oldest message. Gives its connection, or ILIST_NONE. */
static uint32_t
receive(struct worker *w, int *fd_out)
{
	char message[MESSAGE_MAX];
	uint32_t conn;
	ssize_t n;

	*fd_out = -1;
	if (w->keeps || w->child_end == -1 || !has_room(w))
		return ILIST_NONE;
	n = fdpass_recv_one(
	    w->child_end, message, sizeof(message), MSG_DONTWAIT, fd_out);
	if (n <= 0)
		return ILIST_NONE;
	w->sent -= (uint64_t)n;
	conn = channel_conn(w->sup, message, (size_t)n);
	if (conn == ILIST_NONE && *fd_out == -1)
		give_back(w, message, (size_t)n);
	return conn;
}

void
pickup_take(struct supervisor *s, const struct action *a, tstamp now)
{
	struct worker *w = s->workers[a->process];
	int fd;
	uint32_t conn = receive(w, &fd);

	if (conn != ILIST_NONE && fd == -1) {
		/* There was no number for its descriptor after all. */
		(void)pool_lost(&s->pool, a->process, conn, now);
		conn = ILIST_NONE;
	} else if (conn != ILIST_NONE) {
		parking_taken(w->group, &s->accepted[conn], fd);
	} else if (fd != -1) {
		closing_give(w->group, fd);
	}
	pool_taken(&s->pool, a->process, conn, now);
}
