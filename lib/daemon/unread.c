/*
 * Looking at, and taking back, what a living process has not received. That
 * is the only thing done to the worker's end of a channel while the worker
 * lives, and only where prefetch asks for it: one that faulted while it
 * received would hold up whoever receives beside it.
 */

#include <sys/socket.h>

#include <fcntl.h>
#include <unistd.h>

#include "daemon/channel.h"
#include "daemon/supervisor.h"
#include "daemon/unread.h"
#include "sys/fdpass.h"
#include "sys/wire.h"

/* Shorter than any CONN. */
#define UNREAD_STOP (sizeof(WIRE_STOP) - 1)

/* No message of ours to a process is longer. */
#define UNREAD_MESSAGE 64

/*
 * Bytes of what it has been handed ahead: beyond its concurrency, and so last.
 * They may lie there as long as the sessions before them take. (Of those that
 * could not be taken back the core thinks that they have been received.)
 */
static uint64_t
unread_ahead(const struct worker *w)
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
unread_since(struct worker *w, tstamp now)
{
	int bytes = w->held == -1 ? 0 : retriever_inquire(w->held);
	uint64_t received, ahead;

	/* One that serves has no need to look whether it shall stop then. */
	if (bytes <= (int)UNREAD_STOP) {
		w->unread_since = TSTAMP_NEVER;
		return TSTAMP_NEVER;
	}
	received = w->sent - (uint64_t)bytes;
	ahead = unread_ahead(w);
	if (received > w->received || (uint64_t)bytes <= ahead + UNREAD_STOP) {
		w->received = received;
		w->unread_since = now;
	}
	/* The next one ahead counts from when it is its turn. */
	return (uint64_t)bytes <= ahead + UNREAD_STOP ? TSTAMP_NEVER
						      : w->unread_since;
}

/*
 * Whether there is a number for a descriptor. Without one it would be gone,
 * and the connection with it, by being received.
 */
static bool
unread_has_room(const struct worker *w)
{
	int fd = fcntl(w->held, F_DUPFD_CLOEXEC, 0);

	return fd != -1 && close(fd) == 0;
}

/* What came is not a connection: it goes back, behind nothing. */
static void
unread_give_back(struct worker *w, const char *message, size_t len)
{
	if (fdpass_send(w->channel.fd, message, len, -1) != -1)
		w->sent += len;
}

/* Receives the oldest message. Gives its connection, or ILIST_NONE. */
static uint32_t
unread_receive(struct worker *w, int *fd_out)
{
	char message[UNREAD_MESSAGE];
	uint32_t conn;
	ssize_t n;

	*fd_out = -1;
	if (w->held == -1 || !unread_has_room(w))
		return ILIST_NONE;
	n = fdpass_recv_one(
	    w->held, message, sizeof(message), MSG_DONTWAIT, fd_out);
	if (n <= 0)
		return ILIST_NONE;
	w->sent -= (uint64_t)n;
	conn = channel_conn(w->sup, message, (size_t)n);
	if (conn == ILIST_NONE && *fd_out == -1)
		unread_give_back(w, message, (size_t)n);
	return conn;
}

void
unread_take(struct supervisor *s, const struct action *a, tstamp now)
{
	struct worker *w = s->workers[a->process];
	int fd;
	uint32_t conn = unread_receive(w, &fd);

	if (conn != ILIST_NONE && fd == -1) {
		/* There was no number for its descriptor after all. */
		(void)pool_lost(&s->pool, a->process, conn, now);
		conn = ILIST_NONE;
	} else if (conn != ILIST_NONE) {
		s->accepted[conn].fd = fd;
	} else if (fd != -1) {
		supervisor_close(s, fd);
	}
	pool_taken(&s->pool, a->process, conn, now);
}
