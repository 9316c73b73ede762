/*
 * A client of the PoolCounter service.  What it says is read once in a turn
 * and answered at the end of the turn with one send(), so a request costs
 * these two calls and its share of epoll_wait().
 */

#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "counter/poolcounter_line.h"
#include "counter/poolcounter_private.h"
#include "sys/fdpass.h"
#include "sys/listener.h"
#include "sys/log.h"

/* --- beginning and end -------------------------------------------------- */

static void pc_client_ready(struct loop_io *io, uint32_t events, tstamp now);

/* A Unix socket may have descriptors in it that take long to close. */
static void
pc_close_fd(struct poolcounter *pc, int fd, bool tcp)
{
	if (tcp) {
		listener_close_conn(fd, true);
		return;
	}
	(void)shutdown(fd, SHUT_RDWR);
	lane_close(pc->closer, fd);
}

/* One that may not come in is told why. */
static void
pc_client_refuse(struct poolcounter *pc, int fd, bool tcp, tstamp now)
{
	static const char why[] = "ERROR TOO_MANY_CLIENTS\n";

	pc->refused_clients++;
	log_limited(&pc->refused_rate, now, LOG_LEVEL_WARN,
	    "counter: counter_max_clients %u are there, another one is "
	    "turned away",
	    pc->counter.in_force.clients);
	(void)send(fd, why, sizeof(why) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)shutdown(fd, SHUT_WR);
	pc_close_fd(pc, fd, tcp);
}

int
poolcounter_join(struct poolcounter *pc, tstamp now)
{
	int ends[2];

	if (pc->memory == NULL) {
		errno = ECONNREFUSED;
		return -1;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		ends) == -1)
		return -1;
	pc_client_new(pc, ends[1], false, now);
	return ends[0];
}

void
pc_client_new(struct poolcounter *pc, int fd, bool tcp, tstamp now)
{
	uint32_t number = counter_opened(&pc->counter, now);
	struct pc_client *cl;

	if (number == ILIST_NONE) {
		pc_client_refuse(pc, fd, tcp, now);
		return;
	}
	cl = calloc(1, sizeof(*cl));
	if (cl == NULL)
		goto fail;
	if (!tcp)
		fdpass_refuse(fd);
	cl->pc = pc;
	cl->number = number;
	cl->tcp = tcp;
	cl->out = cl->small;
	cl->out_size = sizeof(cl->small);
	cl->io = (struct loop_io){ .fd = fd, .ready = pc_client_ready };
	if (loop_set(pc->loop, &cl->io, EPOLLIN) == -1)
		goto fail;
	pc->clients[number] = cl;
	pc->connections++;
	return;
fail:
	log_limited(&pc->memory_rate, now, LOG_LEVEL_WARN,
	    "counter: a client cannot be taken in: %m");
	pc->connect_errors++;
	free(cl);
	counter_closed(&pc->counter, number, now);
	pc_close_fd(pc, fd, tcp);
}

/* Forgets what is to be sent. */
static void
pc_client_drop_out(struct pc_client *cl)
{
	struct poolcounter *pc = cl->pc;

	if (cl->stalled) {
		pc->pending -= cl->out_len;
		TAILQ_REMOVE(&pc->stalled, cl, stalled_next);
		cl->stalled = false;
	}
	if (cl->out != cl->small)
		free(cl->out);
	cl->out = cl->small;
	cl->out_size = sizeof(cl->small);
	cl->out_len = 0;
}

void
pc_client_close(struct pc_client *cl, tstamp now)
{
	struct poolcounter *pc = cl->pc;

	(void)loop_set(pc->loop, &cl->io, 0);
	pc_close_fd(pc, cl->io.fd, cl->tcp);
	pc_client_drop_out(cl);
	if (cl->dirty)
		TAILQ_REMOVE(&pc->dirty, cl, dirty_next);
	pc->clients[cl->number] = NULL;
	counter_closed(&pc->counter, cl->number, now);
	free(cl->in);
	free(cl);
	pc_settle(pc, now);
}

/* --- what it is told ---------------------------------------------------- */

static bool
pc_client_make_room(struct pc_client *cl, size_t need)
{
	size_t size = cl->out_size;
	char *larger;

	while (size < need)
		size *= 2;
	larger = malloc(size);
	if (larger == NULL)
		return false;
	memcpy(larger, cl->out, cl->out_len);
	if (cl->out != cl->small)
		free(cl->out);
	cl->out = larger;
	cl->out_size = size;
	return true;
}

void
pc_client_put(struct pc_client *cl, const char *text, size_t len)
{
	if (!cl->dirty) {
		cl->dirty = true;
		TAILQ_INSERT_TAIL(&cl->pc->dirty, cl, dirty_next);
	}
	if (cl->out_len + len > cl->out_size &&
	    !pc_client_make_room(cl, cl->out_len + len)) {
		/* It cannot be left out of a conversation: that one ends. */
		cl->lost = true;
		return;
	}
	memcpy(cl->out + cl->out_len, text, len);
	cl->out_len += len;
	if (cl->stalled)
		cl->pc->pending += len;
}

void
pc_client_say(struct pc_client *cl, const char *line)
{
	pc_client_put(cl, line, strlen(line));
	pc_client_put(cl, "\n", 1);
}

/* It does not take what it is told: nothing more is read from it. */
static void
pc_client_stall(struct pc_client *cl, size_t sent, tstamp now)
{
	struct poolcounter *pc = cl->pc;

	memmove(cl->out, cl->out + sent, cl->out_len - sent);
	cl->out_len -= sent;
	if (cl->stalled) {
		pc->pending -= sent;
	} else {
		cl->stalled = true;
		pc->pending += cl->out_len;
		cl->stalled_until = now + PC_STALL;
		TAILQ_INSERT_TAIL(&pc->stalled, cl, stalled_next);
	}
	if (pc->pending <= PC_PENDING_MAX &&
	    loop_set(pc->loop, &cl->io, EPOLLOUT) == 0)
		return;
	pc->failed_sends++;
	log_limited(&pc->stall_rate, now, LOG_LEVEL_WARN,
	    "counter: a client that does not read is cut off");
	pc_client_close(cl, now);
}

void
pc_client_flush(struct pc_client *cl, tstamp now)
{
	struct poolcounter *pc = cl->pc;
	ssize_t n;

	if (cl->dirty) {
		cl->dirty = false;
		TAILQ_REMOVE(&pc->dirty, cl, dirty_next);
	}
	if (cl->lost) {
		pc_client_close(cl, now);
		return;
	}
	n = send(cl->io.fd, cl->out, cl->out_len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n == -1) {
		if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS &&
		    errno != ENOMEM) {
			pc->failed_sends++;
			pc_client_close(cl, now);
			return;
		}
		n = 0;
	}
	if ((size_t)n < cl->out_len) {
		pc_client_stall(cl, (size_t)n, now);
		return;
	}
	pc_client_drop_out(cl);
	if (cl->io.events != EPOLLIN &&
	    loop_set(pc->loop, &cl->io, EPOLLIN) == -1)
		pc_client_close(cl, now);
}

/* --- what it says ------------------------------------------------------- */

static void
pc_client_line(struct pc_client *cl, const char *text, size_t len, tstamp now)
{
	struct counter *c = &cl->pc->counter;
	struct poolcounter_line line;

	poolcounter_line_parse(text, len, &line);
	switch (line.verb) {
	case POOLCOUNTER_ACQUIRE:
		counter_acquire(c, cl->number, &line.request, now);
		pc_settle(cl->pc, now);
		break;
	case POOLCOUNTER_RELEASE:
		counter_release(c, cl->number, line.text, line.len, now);
		pc_settle(cl->pc, now);
		break;
	case POOLCOUNTER_STATS:
		pc_stats(cl, line.text, line.len, now);
		break;
	case POOLCOUNTER_BAD_SYNTAX:
		pc_client_say(cl, "ERROR BAD_SYNTAX");
		break;
	case POOLCOUNTER_BAD_COMMAND:
		pc_client_say(cl, "ERROR BAD_COMMAND");
		break;
	}
}

/* A line without an end so far: the next bytes may bring it. */
static bool
pc_client_keep(struct pc_client *cl, const char *rest, size_t len)
{
	if (len >= POOLCOUNTER_LINE_MAX && !cl->skipping) {
		pc_client_say(cl, "ERROR LINE_TOO_LONG");
		cl->skipping = true;
	}
	if (cl->skipping)
		len = 0;
	if (len == 0) {
		free(cl->in);
		cl->in = NULL;
	} else if (cl->in == NULL) {
		cl->in = malloc(POOLCOUNTER_LINE_MAX);
		if (cl->in == NULL)
			return false;
	}
	if (len > 0)
		memcpy(cl->in, rest, len);
	cl->in_len = len;
	return true;
}

/* false: it cannot be served any more. */
static bool
pc_client_heard(struct pc_client *cl, const char *p, size_t len, tstamp now)
{
	const char *end = p + len, *lf;

	while ((lf = memchr(p, '\n', (size_t)(end - p))) != NULL) {
		if (cl->skipping)
			cl->skipping = false;
		else if (lf - p >= POOLCOUNTER_LINE_MAX)
			pc_client_say(cl, "ERROR LINE_TOO_LONG");
		else
			pc_client_line(cl, p, (size_t)(lf - p), now);
		p = lf + 1;
	}
	return pc_client_keep(cl, p, (size_t)(end - p));
}

/* Like recv(2). Descriptors that came along are closed where it may wait. */
static ssize_t
pc_client_recv(struct pc_client *cl, char *buf, size_t size)
{
	struct fdpass_got got;
	ssize_t n;

	if (cl->tcp)
		return recv(cl->io.fd, buf, size, MSG_DONTWAIT);
	n = fdpass_recv(cl->io.fd, buf, size, MSG_DONTWAIT, &got);
	for (size_t i = 0; n != -1 && i < got.nfds; i++)
		lane_close(cl->pc->closer, got.fds[i]);
	return n;
}

static void
pc_client_read(struct pc_client *cl, tstamp now)
{
	char buf[POOLCOUNTER_LINE_MAX + PC_READ];
	size_t had = cl->in_len;
	ssize_t n = pc_client_recv(cl, buf + had, PC_READ);

	if (n > 0) {
		if (had > 0)
			memcpy(buf, cl->in, had);
		if (pc_client_heard(cl, buf, had + (size_t)n, now))
			return;
	} else if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	/* What it is told in this turn may still reach it. */
	if (cl->out_len > 0)
		(void)send(cl->io.fd, cl->out, cl->out_len,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
	pc_client_close(cl, now);
}

static void
pc_client_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct pc_client *cl = LOOP_OWNER(io, struct pc_client, io);

	if (events & EPOLLIN)
		pc_client_read(cl, now);
	else if (events & (EPOLLERR | EPOLLHUP))
		pc_client_close(cl, now);
	else
		pc_client_flush(cl, now);
}
