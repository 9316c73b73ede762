/*
 * Connections that are refused, until their clients know: by a 503,
 * FCGI_OVERLOADED, or the bytes of a file. A TCP connection that is closed over
 * an unread request is reset, which may destroy what was written before. So the
 * answer is written, the socket shut down for writing, and kept until the
 * client has gone or REFUSAL_TIME is over; then up to REFUSAL_DRAIN bytes are
 * read, and the socket is closed. Nothing is read before: a client that sends
 * without end fills but a window. What lies in a Unix socket may be descriptors
 * that take long to close: the keeper drains it.
 */

#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>

#include "core/action.h"
#include "daemon/carry.h"
#include "daemon/group.h"
#include "daemon/keeper.h"

/* The FastCGI specification's names and numbers. */
#define FCGI_VERSION_1 1
#define FCGI_BEGIN_REQUEST 1
#define FCGI_END_REQUEST 3
#define FCGI_OVERLOADED 2
#define FCGI_HEADER_LEN 8
#define FCGI_BODY_LEN 8 /* of BEGIN_REQUEST and of END_REQUEST */

#define REFUSAL_DRAIN 65536
#define REFUSAL_FASTCGI (FCGI_HEADER_LEN + FCGI_BODY_LEN)
#define REFUSAL_TIME TSPAN_SECONDS(2) /* an open one lasts at most */

/* The number that web servers give the one request of a connection. */
#define FIRST_REQUEST 1

/* A client that may still read its answer. */
struct refusal {
	LIST_ENTRY(refusal) next; /* in supervisor.refusals */
	struct group *group;
	struct loop_io io;
	struct timer timer; /* REFUSAL_TIME is over */
	bool tcp, handed; /* as in struct accepted */
	const char *rest; /* still to be written */
	size_t rest_len;
	struct conf *config; /* a reference, for rest; NULL: none is left */
};

/* --- answers ------------------------------------------------------------ */

struct refusal_answer {
	/* Of the configuration, constant, or made. NULL: just close it. */
	const char *bytes;
	size_t len;
	char made[1024];
};

/* To the client at fd, or at one that is not looked at (-1). */
static void
refusal_answer(const struct group *g, int fd, struct refusal_answer *out)
{
	const struct conf_app *conf = g->conf;
	char why[GROUP_FAILURE_MAX] = "";
	char body[640] = "The service is too busy. Please try again later.\n";
	unsigned char h[FCGI_HEADER_LEN];
	unsigned id = 0;

	out->bytes = NULL;
	out->len = 0;
	if (!refusal_answers(conf))
		return;
	out->bytes = out->made;
	if (conf->refusal.on_full == CONF_ON_FULL_REPLY) {
		out->bytes = conf->refusal.reply;
		out->len = conf->refusal.reply_len;
	} else if (conf->refusal.protocol == CONF_PROTOCOL_FASTCGI) {
		/* The number of the request, if what came begins one. */
		if (fd != -1 &&
		    recv(fd, h, sizeof(h), MSG_PEEK | MSG_DONTWAIT) ==
			sizeof(h) &&
		    h[0] == FCGI_VERSION_1 && h[1] == FCGI_BEGIN_REQUEST &&
		    (h[4] << 8 | h[5]) == FCGI_BODY_LEN)
			id = (unsigned)h[2] << 8 | h[3];
		if (id == 0)
			id = FIRST_REQUEST;
		memset(out->made, 0, REFUSAL_FASTCGI);
		out->made[0] = FCGI_VERSION_1;
		out->made[1] = FCGI_END_REQUEST;
		out->made[2] = (char)(id >> 8);
		out->made[3] = (char)id;
		out->made[5] = FCGI_BODY_LEN;
		out->made[FCGI_HEADER_LEN + 4] = FCGI_OVERLOADED;
		out->len = REFUSAL_FASTCGI;
	} else {
		/* Why no process is ready, where clients may know that. */
		if (conf->refusal.tell_failures &&
		    app_ready(&g->sup->pool.apps[g->app]) == 0 &&
		    group_failure(g, why)[0] != '\0')
			(void)snprintf(
			    body, sizeof(body), "%s: %s\n", conf->name, why);
		out->len = (size_t)snprintf(out->made, sizeof(out->made),
		    "HTTP/1.1 503 Service Unavailable\r\n"
		    "Content-Type: text/plain\r\n"
		    "Content-Length: %zu\r\n"
		    "Retry-After: 5\r\n"
		    "Connection: close\r\n"
		    "\r\n"
		    "%s",
		    strlen(body), body);
	}
}

/* --- the end ------------------------------------------------------------ */

/* Discards what a TCP client has sent; false: there may be more. */
static bool
refusal_drain(int fd)
{
	static char bytes[REFUSAL_DRAIN];

	return recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_TRUNC) <
	    REFUSAL_DRAIN;
}

/* The keeper closes the connection; its app may have waited for that. */
static void
refusal_over(struct group *g, int fd, bool tcp, bool handed)
{
	const struct action over = { .kind = ACTION_OVER, .app = g->app };

	keeper_close_conn(g, fd, tcp, !tcp && !handed);
	if (--g->refused == 0 && g->over)
		apps_over(g->sup, &over, loop_now(&g->sup->loop));
}

static void
refusal_end(struct refusal *r)
{
	struct supervisor *s = r->group->sup;

	(void)loop_set(&s->loop, &r->io, 0);
	timer_set(&s->loop.timers, &r->timer, TSTAMP_NEVER);
	s->refusals.n--;
	LIST_REMOVE(r, next);
	conf_free(r->config);
	if (r->tcp)
		(void)refusal_drain(r->io.fd);
	refusal_over(r->group, r->io.fd, r->tcp, r->handed);
	free(r);
}

static void
refusal_time_over(struct timer *t, tstamp now)
{
	(void)now;
	refusal_end(TIMER_OWNER(t, struct refusal, timer));
}

/* --- in the loop -------------------------------------------------------- */

/* Writes on; false: the client is gone, or it cannot be waited for. */
static bool
refusal_write(struct refusal *r)
{
	struct loop *loop = &r->group->sup->loop;
	ssize_t n =
	    send(r->io.fd, r->rest, r->rest_len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n == -1 && errno != EAGAIN && errno != EINTR)
		return false;
	if (n > 0) {
		r->rest += n;
		r->rest_len -= (size_t)n;
	}
	if (r->rest_len > 0)
		return loop_set(loop, &r->io, EPOLLOUT) == 0;
	conf_free(r->config);
	r->config = NULL;
	(void)shutdown(r->io.fd, SHUT_WR);
	return loop_set(loop, &r->io, EPOLLRDHUP) == 0;
}

static void
refusal_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct refusal *r = LOOP_OWNER(io, struct refusal, io);

	(void)events;
	(void)now;
	/*
	 * The client has closed its side, or all of it. There may be more than
	 * we read: a client that closed but its side for writing has the rest
	 * of the time to read the answer, for closing over an unread request
	 * destroys that.
	 */
	if (r->rest_len == 0 && r->tcp && !refusal_drain(r->io.fd))
		(void)loop_set(&r->group->sup->loop, &r->io, 0);
	else if (r->rest_len == 0 || !refusal_write(r))
		refusal_end(r);
}

void
refusal_begin(struct group *g, int fd, bool tcp, bool handed, tstamp now)
{
	struct supervisor *s = g->sup;
	struct refusal_answer answer;
	struct refusal *r = NULL;

	g->refused++;
	refusal_answer(g, handed ? -1 : fd, &answer);
	if (answer.bytes == NULL || (tcp && handed)) {
		refusal_over(g, fd, tcp, true);
		return;
	}
	if (s->refusals.n < REFUSAL_MAX)
		r = malloc(sizeof(*r));
	if (r == NULL) {
		/* The first steps may be possible at once. */
		(void)send(
		    fd, answer.bytes, answer.len, MSG_DONTWAIT | MSG_NOSIGNAL);
		(void)shutdown(fd, SHUT_WR);
		if (tcp)
			(void)refusal_drain(fd);
		refusal_over(g, fd, tcp, handed);
		return;
	}
	*r = (struct refusal){ .group = g,
		.io = { .fd = fd, .ready = refusal_ready },
		.tcp = tcp,
		.handed = handed,
		.rest = answer.bytes,
		.rest_len = answer.len,
		.config = conf_ref(g->config) };
	s->refusals.n++;
	LIST_INSERT_HEAD(&s->refusals.list, r, next);
	timer_init(&r->timer, refusal_time_over);
	timer_set(&s->loop.timers, &r->timer, now + REFUSAL_TIME);
	/* An answer made here is short: it is written at once, or never. */
	if (!refusal_write(r) ||
	    (r->rest_len > 0 && answer.bytes == answer.made))
		refusal_end(r);
}

/* --- carried over ------------------------------------------------------- */

static bool
refusal_restore(struct carry *c, struct group *g, void *record)
{
	struct refusal *r = record;

	if (r->io.fd == -1)
		return false;
	r->group = g;
	r->io.ready = refusal_ready;
	r->timer.fire = refusal_time_over;
	g->refused++;
	c->sup->refusals.n++;
	LIST_INSERT_HEAD(&c->sup->refusals.list, r, next);
	return true;
}

static const struct carry_field refusal_fields[] = {
	CARRY_IO(struct refusal, io), CARRY(struct refusal, tcp),
	CARRY(struct refusal, handed), CARRY_TIMER(struct refusal, timer)
};

static void
refusal_carry(struct carry *c)
{
	const struct refusal *r;

	LIST_FOREACH(r, &c->sup->refusals.list, next)
		carry_put(c, CARRIED_REFUSAL, r->group->app, r);
}

static const char *
refusal_busy(const struct supervisor *s)
{
	const struct refusal *r;

	LIST_FOREACH(r, &s->refusals.list, next)
		if (r->rest_len > 0)
			return "a refusal is being written";
	return NULL;
}

CARRY_KIND(carry_refusal, "refusal", struct refusal, refusal_fields,
    .of_app = true, .made = true, .restore = refusal_restore,
    .put = refusal_carry, .busy = refusal_busy);
