/*
 * Looking at, and taking back, what a living process has not received.
 * Nothing else is done to the worker's end of a channel while the worker
 * lives, and taking back only where prefetch asks for it: a process that
 * faulted while it received would hold up the daemon beside it.
 */

#include <sys/socket.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "daemon/channel.h"
#include "daemon/group.h"
#include "daemon/keeper.h"
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
	struct pickup *p = &w->pickup;
	int bytes = w->child_end == -1 ? 0 : fdpass_unread(w->child_end);
	uint64_t received, prefetched;

	/*
	 * At most a STOP is unread, and a busy worker need not have read it:
	 * nothing is overdue.
	 */
	if (bytes <= (int)STOP_LEN) {
		p->unread_since = TSTAMP_NEVER;
		return TSTAMP_NEVER;
	}
	received = p->sent - (uint64_t)bytes;
	prefetched = prefetched_bytes(w);
	if (received > p->received ||
	    (uint64_t)bytes <= prefetched + STOP_LEN) {
		p->received = received;
		p->unread_since = now;
	}
	/* For a prefetched connection time counts from its turn. */
	return (uint64_t)bytes <= prefetched + STOP_LEN ? TSTAMP_NEVER
							: p->unread_since;
}

static tspan
look_pause(const struct worker *w)
{
	tspan pause = w->group->conf->pool.pickup_timeout / LOOKS;

	if (pause < LOOK_PAUSE_MIN)
		return LOOK_PAUSE_MIN;
	return pause < LOOK_PAUSE_MAX ? pause : LOOK_PAUSE_MAX;
}

/*
 * A process that has been seen to have received all is not looked at again
 * before the next hand-over.
 */
static void
pickup_look(struct timer *t, tstamp now)
{
	struct worker *w = TIMER_OWNER(t, struct worker, pickup.timer);
	struct pool *p = &w->sup->pool;
	tstamp since = TSTAMP_NEVER, next = now + look_pause(w), end;

	if (ilist_empty(&p->processes[w->process].conns))
		w->pickup.unread_since = TSTAMP_NEVER;
	else
		since = pickup_since(w, now);
	if (w->pickup.unread_since == TSTAMP_NEVER)
		return;
	if (since != TSTAMP_NEVER) {
		pool_unread(p, w->process, since, now);
		end = tstamp_add(since, w->group->conf->pool.pickup_timeout);
		if (end > now)
			next = tstamp_min(next, end);
	}
	timer_set(&w->sup->loop.timers, t, next);
}

void
pickup_init(struct pickup *p)
{
	p->unread_since = TSTAMP_NEVER;
	timer_init(&p->timer, pickup_look);
}

void
pickup_await(struct worker *w, tstamp now)
{
	if (w->pickup.timer.at == TSTAMP_NEVER)
		timer_set(&w->sup->loop.timers, &w->pickup.timer,
		    now + look_pause(w));
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

static bool
send_again(struct worker *w, const char *message, size_t len,
    const struct fdpass_got *got)
{
	ssize_t n = got->nfds == 0
	    ? fdpass_send(w->channel.fd, message, len, -1)
	    : fdpass_send_many(
		  w->channel.fd, message, len, got->fds, got->nfds);

	return n != -1;
}

/*
 * Takes the oldest connection out of the socket of the process: gives it, or
 * ILIST_NONE.
 *
 * What a message is, its verb says: a FORK has descriptors, too, and was once
 * closed as a connection, whose template then never came. STOP and FORK, of
 * each of which one may lie there, are sent again behind the others.
 */
static uint32_t
pickup_receive(struct worker *w, int *fd_out)
{
	const size_t verb = sizeof(WIRE_CONN); /* with its space */
	char message[MESSAGE_MAX];
	struct fdpass_got got;
	ssize_t n;

	*fd_out = -1;
	for (int left = 3; left > 0; left--) {
		if (w->keeps || w->child_end == -1 || !has_room(w))
			return ILIST_NONE;
		n = fdpass_recv(
		    w->child_end, message, sizeof(message), MSG_DONTWAIT, &got);
		if (n <= 0)
			return ILIST_NONE;
		w->pickup.sent -= (uint64_t)n;
		if ((size_t)n > verb &&
		    memcmp(message, WIRE_CONN " ", verb) == 0) {
			*fd_out = got.nfds > 0 ? got.fds[0] : -1;
			return channel_conn(w->sup, message, (size_t)n);
		}
		if (!got.lost_fds && send_again(w, message, (size_t)n, &got))
			w->pickup.sent += (uint64_t)n;
		for (size_t i = 0; i < got.nfds; i++)
			keeper_close(w->group, got.fds[i]);
	}
	return ILIST_NONE;
}

void
pickup_take(struct supervisor *s, const struct action *a, tstamp now)
{
	struct worker *w = s->workers[a->process];
	int fd;
	uint32_t conn = pickup_receive(w, &fd);

	if (conn != ILIST_NONE && fd == -1) {
		/* There was no number for its descriptor after all. */
		(void)pool_lost(&s->pool, a->process, conn, now);
		conn = ILIST_NONE;
	} else if (conn != ILIST_NONE) {
		parking_taken(w->group, &s->accepted[conn], fd);
	} else if (fd != -1) {
		keeper_close(w->group, fd);
	}
	pool_taken(&s->pool, a->process, conn, now);
}
