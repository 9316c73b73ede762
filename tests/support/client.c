/* A client's connection, from connect() to its end. */

#include <sys/epoll.h>
#include <sys/socket.h>

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

/* A full Unix backlog answers EAGAIN and never calls back: ask again. */
#define RETRY_DELAY TSPAN_MSECONDS(1)

static const char *const end_names[CLIENT_ENDS] = {
	[CLIENT_ANSWERED] = "answered",
	[CLIENT_EOF] = "eof",
	[CLIENT_RESET] = "reset",
	[CLIENT_TIMEOUT] = "timeout",
	[CLIENT_REFUSED] = "refused",
	[CLIENT_FAILED] = "failed",
};

const char *
client_end_name(enum client_end end)
{
	return end_names[end];
}

tstamp
client_now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return TSPAN_SECONDS(ts.tv_sec) + ts.tv_nsec;
}

static void
client_end(struct client *c, enum client_end end, int error)
{
	if (c->fd != -1)
		(void)close(c->fd);
	c->fd = -1;
	c->state = CLIENT_OVER;
	c->result.end = end;
	c->result.error = error;
	c->result.ended = client_now();
	c->result.answer = c->answer;
}

static void
client_connected(struct client *c)
{
	if (c->result.connected == 0)
		c->result.connected = client_now();
}

/* Ends a connection by an errno of connect, send or recv. */
static void
client_break(struct client *c, int error)
{
	enum client_end end;

	switch (error) {
	case ECONNREFUSED:
	case ENOENT: /* the path of a Unix socket that was removed */
		end = CLIENT_REFUSED;
		break;
	case ECONNRESET:
		/* A reset proves that it was connected. */
		client_connected(c);
		end = CLIENT_RESET;
		break;
	case ETIMEDOUT:
		end = CLIENT_TIMEOUT;
		break;
	default:
		end = CLIENT_FAILED;
		break;
	}
	client_end(c, c->whole ? CLIENT_ANSWERED : end, error);
}

static void
client_keep(struct client *c, const char *data, size_t n)
{
	size_t room = sizeof(c->answer) - c->result.len;

	if (!c->whole)
		c->whole = memchr(data, '\n', n) != NULL;
	if (n > room)
		n = room;
	memcpy(c->answer + c->result.len, data, n);
	c->result.len += n;
}

static void
client_read(struct client *c)
{
	char data[4096];

	for (;;) {
		ssize_t n = recv(c->fd, data, sizeof(data), 0);

		if (n > 0) {
			client_keep(c, data, (size_t)n);
			continue;
		}
		if (n == 0)
			client_end(
			    c, c->whole ? CLIENT_ANSWERED : CLIENT_EOF, 0);
		else if (errno != EAGAIN)
			client_break(c, errno);
		return;
	}
}

static void
client_watch(struct client *c, enum client_state state)
{
	struct epoll_event ev = {
		.events = state == CLIENT_READING ? EPOLLIN : EPOLLOUT,
		.data.ptr = c,
	};
	int op = c->state == CLIENT_CONNECTING ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	c->state = state;
	if (epoll_ctl(c->epfd, op, c->fd, &ev) == -1)
		client_end(c, CLIENT_FAILED, errno);
}

/*
 * send() also tells whether the connect succeeded: on loopback it mostly has by
 * the time of EINPROGRESS, and no turn of the loop is needed.
 */
static void
client_send(struct client *c)
{
	const struct client_plan *plan = c->plan;
	char buf[CLIENT_REQUEST_MAX];
	size_t len = plan->request == NULL
	    ? strlcpy(buf, "-\n", sizeof(buf))
	    : plan->request(plan->arg, c->result.number, buf, sizeof(buf));

	/* EPIPE: the server closed unread, perhaps after an answer. */
	if (send(c->fd, buf, len, MSG_NOSIGNAL) != -1 || errno == EPIPE) {
		client_connected(c);
		client_watch(c, CLIENT_READING);
	} else if (errno != EAGAIN) {
		client_break(c, errno);
	} else if (c->state != CLIENT_CONNECTING) {
		client_watch(c, CLIENT_CONNECTING);
	}
}

static void
client_connect(struct client *c, tstamp now)
{
	const struct endpoint *to = &c->plan->to;

	if (connect(c->fd, (const struct sockaddr *)&to->addr, to->len) == 0) {
		client_connected(c);
		client_send(c);
		return;
	}
	switch (errno) {
	case EINPROGRESS:
		client_send(c);
		break;
	case EAGAIN:
		c->state = CLIENT_STALLED;
		c->retry_at = now + RETRY_DELAY;
		break;
	default:
		client_break(c, errno);
		break;
	}
}

void
client_init(struct client *c, const struct client_plan *plan, int epfd)
{
	*c = (struct client){ .plan = plan, .epfd = epfd, .fd = -1 };
}

void
client_start(struct client *c, int64_t number, tstamp now)
{
	c->whole = false;
	c->result = (struct client_result){ .number = number, .started = now };
	c->fd = endpoint_socket(&c->plan->to);
	if (c->fd == -1)
		client_end(c, CLIENT_FAILED, errno);
	else
		client_connect(c, now);
}

void
client_ready(struct client *c)
{
	if (c->state == CLIENT_READING)
		client_read(c);
	else
		client_send(c);
}

void
client_retry(struct client *c, tstamp now)
{
	c->state = CLIENT_OVER;
	client_connect(c, now);
}

void
client_expire(struct client *c)
{
	client_end(c, CLIENT_TIMEOUT, ETIMEDOUT);
}
