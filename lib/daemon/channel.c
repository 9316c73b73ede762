/*
 * The daemon's side of the worker protocol. Whatever a process may send is
 * either a fact for the pool or a protocol error, for which it is killed.
 */

#include <sys/param.h>
#include <sys/socket.h>

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/action.h"
#include "daemon/worker.h"
#include "sys/fdpass.h"
#include "sys/number.h"
#include "sys/wire.h"

#define CHANNEL_TURN 16 /* packets read from one process in one turn */
#define CHANNEL_LAST 1024 /* from a dead one: more than a socket holds */
#define CHANNEL_STATUS 128 /* longest text of a STATUS that is kept */
#define CHANNEL_TEXTS 100 /* EVENT and STATUS of one that a second keeps */

/*
 * Messages about no connection that a process may send in a second, and so
 * many more for each session it ends.
 */
#define CHANNEL_EXTRA 10000
#define CHANNEL_EXTRA_EACH 4

#define CHANNEL_SENT_MAX 64 /* no message of ours is longer */

/* The upper part of a serial tells a connection from the next of its number. */
#define NUMBER_BITS 24

/* Looks in each pickup_timeout, within bounds, and one at its very end. */
#define PICKUP_LOOKS 10
#define PICKUP_PAUSE_MIN TSPAN_MSECONDS(10)
#define PICKUP_PAUSE_MAX TSPAN_SECONDS(1)

/* Bytes of the verb of a connection, with its space, and of STOP. */
#define CONN_LEN sizeof(WIRE_CONN)
#define STOP_LEN (sizeof(WIRE_STOP) - 1)

/* --- its two ends ------------------------------------------------------ */

int
channel_open(struct worker *w)
{
	int ends[2];

	if (!group_has_channels(w->group->conf))
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1)
		return -1;
	w->parks = w->group->conf->parking.keep_alive;
	w->slow_signal = conf_signal(w->group->conf->slow_signal);
	w->refuses = fdpass_refuse(ends[0]);
	if (w->template == NULL)
		w->channel.ready = channel_ready;
	w->channel.fd = ends[0];
	w->child_end = ends[1];
	return 0;
}

void
channel_close(struct worker *w)
{
	if (w->channel.fd == -1)
		return;
	(void)loop_set(&w->sup->loop, &w->channel, 0);
	/* Grandchildren that hold a copy must see the end of file. */
	(void)shutdown(w->channel.fd, SHUT_RDWR);
	if (w->refuses || w->group == NULL)
		close(w->channel.fd);
	else
		keeper_close(w->group->keeper, w->channel.fd, false);
	w->channel.fd = -1;
}

/* A protocol error: the process is killed. */
static void __attribute__((format(printf, 3, 4)))
channel_misbehaved(struct worker *w, tstamp now, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* No more is read from it: a socket shut down is ever readable. */
	(void)loop_set(&w->sup->loop, &w->channel, 0);
	group_failed(w->group, "protocol error: %s", text);
	tell_worker(w, LOG_LEVEL_WARN, EVENT_FAILURE,
	    process_end_names[END_NONSENSE],
	    "broke the protocol and is killed: %s", text);
	pool_quit(&w->sup->pool, w->process, END_NONSENSE, now);
}

/* --- what is said to a process ----------------------------------------- */

static uint64_t
channel_serial(const struct supervisor *s, uint32_t conn)
{
	return s->pool.conns[conn].seq << NUMBER_BITS | conn;
}

/* The connection of a serial, if there is one now; else ILIST_NONE. */
static uint32_t
channel_find(const struct supervisor *s, const char *text, size_t len)
{
	uint64_t serial;
	uint32_t conn;

	if (!number_parse(text, len, &serial))
		return ILIST_NONE;
	conn = serial & ((1u << NUMBER_BITS) - 1);
	if (conn >= s->pool.nconns ||
	    s->pool.conns[conn].state != CONN_HANDED ||
	    channel_serial(s, conn) != serial)
		return ILIST_NONE;
	return conn;
}

static tspan
pickup_pause(const struct worker *w)
{
	tspan pause = w->group->conf->pool.pickup_timeout / PICKUP_LOOKS;

	return MAX(MIN(pause, PICKUP_PAUSE_MAX), PICKUP_PAUSE_MIN);
}

/*
 * Keeps what the client asks for, as far as that has come, to tell of a session
 * that is slow or lost. A process may hold the lock of what it was handed.
 */
static void
channel_peek(const struct conf_app *conf, struct accepted *c)
{
	const enum conf_protocol protocol = conf->refusal.protocol;
	static uint8_t bytes[REQUEST_PEEK];
	char text[REQUEST_SIZE];
	ssize_t n;

	if (!conf->log_requests || c->handed ||
	    (!conf->parking.wait_for_request &&
		(protocol == CONF_PROTOCOL_RAW ||
		    conf->pool.slow_timeout + conf->pool.request_timeout == 0)))
		return;
	turn_call("recv");
	n = recv(c->fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	if (n <= 0 ||
	    !request_text(
		protocol == CONF_PROTOCOL_FASTCGI, bytes, (size_t)n, text))
		return;
	free(c->request);
	c->request = strdup(text);
}

void
channel_hand(struct supervisor *s, const struct action *a, tstamp now)
{
	struct worker *w = s->workers[a->process];
	struct accepted *c = &s->accepted[a->conn];
	const struct app *app = &s->pool.apps[w->group->app];
	tspan waited = now - s->pool.conns[a->conn].arrived;
	char buf[CHANNEL_SENT_MAX], *end = buf + sizeof(buf), *at = end;

	/*
	 * The connections in hand and those that wait, in thousandths of the
	 * sessions that the app may have: beyond 1000 where some wait that no
	 * process can serve.
	 */
	if (w->group->conf->load_report) {
		at = number_write(at,
		    app_present(app) * UINT64_C(1000) /
			((uint64_t)app->options.max_processes *
			    app->options.concurrency));
		*--at = ' ';
	}
	at = number_write(at, (uint64_t)waited / 1000);
	*--at = ' ';
	at = number_write(at, channel_serial(s, a->conn));
	at -= CONN_LEN;
	memcpy(at, WIRE_CONN " ", CONN_LEN);
	channel_peek(w->group->conf, c);
	turn_call("sendmsg");
	if (fdpass_send(w->channel.fd, at, (size_t)(end - at), c->fd) == -1) {
		int error = errno;

		pool_hand_failed(&s->pool, a->conn, now);
		switch (error) {
		case EAGAIN:
		case EINTR:
		case ETOOMANYREFS:
		case ENOBUFS:
		case ENOMEM:
			log_limited(&w->group->no_room_rate, now,
			    LOG_LEVEL_WARN,
			    "%s: worker %s could not be handed a connection, "
			    "it goes elsewhere: %s",
			    w->group->conf->name, w->id, strerror(error));
			break;
		default:
			channel_misbehaved(
			    w, now, "its socket: %s", strerror(error));
			break;
		}
		return;
	}
	if (w->pickup.unread_since == TSTAMP_NEVER) {
		w->pickup.received = w->pickup.sent;
		w->pickup.unread_since = now;
	}
	c->len = (uint8_t)(end - at);
	w->pickup.sent += c->len;
	timer_advance(&s->loop.timers, &w->pickup.timer, now + pickup_pause(w));
	c->handed = true;
	if (w->parks)
		return;
	/* The process may have closed its own before our copy. */
	parking_forget(s, c);
	if (c->tcp) {
		keeper_close_conn(w->group, c->fd, true, false);
	} else {
		turn_call("close");
		fdpass_close(c->fd);
	}
	c->fd = -1;
}

/*
 * A worker that has received all is not looked at again before the next
 * hand-over: so thousands of workers cost nothing while they are served well.
 */
void
pickup_look(struct timer *t, tstamp now)
{
	struct worker *w = TIMER_OWNER(t, struct worker, pickup.timer);
	struct pickup *u = &w->pickup;
	struct pool *p = &w->sup->pool;
	uint32_t current = p->apps[w->group->app].options.concurrency;
	uint32_t c = p->processes[w->process].conns.first;
	int unread = w->child_end == -1 ? 0 : fdpass_unread(w->child_end);
	size_t bytes = (size_t)unread, prefetched = STOP_LEN;
	tstamp next = now + pickup_pause(w), end;

	/*
	 * At most a STOP is unread, and a busy worker need not have read it:
	 * nothing is overdue.
	 */
	if (c == ILIST_NONE || unread <= (int)STOP_LEN) {
		u->unread_since = TSTAMP_NEVER;
		return;
	}
	/*
	 * Connections beyond its concurrency are prefetched, and so lie last,
	 * for as long as the sessions before them take: time counts from their
	 * turn. (Those that could not be taken back count as received.)
	 */
	for (; c != ILIST_NONE; c = p->conn_links[c].next) {
		if (current > 0)
			current--;
		else if (p->conns[c].state == CONN_HANDED)
			prefetched += w->sup->accepted[c].len;
	}
	if (u->sent - bytes > u->received || bytes <= prefetched) {
		u->received = u->sent - bytes;
		u->unread_since = now;
	}
	pool_unread(p, w->process, u->unread_since, now);
	end = tstamp_add(u->unread_since, w->group->conf->pool.pickup_timeout);
	timer_set(
	    &w->sup->loop.timers, t, end > now ? tstamp_min(next, end) : next);
}

uint32_t
channel_conn(const struct supervisor *s, const char *message, size_t len)
{
	const char *serial = message + CONN_LEN, *space;

	if (len <= CONN_LEN || memcmp(message, WIRE_CONN " ", CONN_LEN) != 0)
		return ILIST_NONE;
	space = memchr(serial, ' ', len - CONN_LEN);
	return space == NULL
	    ? ILIST_NONE
	    : channel_find(s, serial, (size_t)(space - serial));
}

/*
 * A message that the keeper has received in the place of the process. What it
 * is, its verb says: of a living process it may be a STOP, which is sent again.
 */
static void
channel_taken(struct retake *r, const char *buf, size_t len, int fd, tstamp now)
{
	struct worker *w = LOOP_OWNER(r, struct worker, retake);
	struct supervisor *s = w->sup;
	uint32_t conn = channel_conn(s, buf, len);

	w->pickup.sent -= len;
	w->pickup.received = MIN(w->pickup.sent, w->pickup.received);
	if (conn == ILIST_NONE || s->pool.conns[conn].process != w->process) {
		if (r->living && fd == -1 &&
		    fdpass_send(w->channel.fd, buf, len, -1) != -1)
			w->pickup.sent += len;
	} else if (fd == -1 && s->accepted[conn].fd == -1) {
		w->lost = true;
	} else {
		/* With keep_alive our copy is still there, and does. */
		if (s->accepted[conn].fd == -1) {
			s->accepted[conn].fd = fd;
			fd = -1;
		}
		if (r->living)
			w->taken = conn;
		else
			pool_retaken(&s->pool, conn, now);
	}
	if (fd != -1)
		keeper_close(w->group->keeper, fd, false);
}

/*
 * A connection may have gone with its keeper. The process does not know that it
 * has it, and leaves: so it ends in time, as lost.
 */
static void
channel_taken_back(struct retake *r, bool complete, tstamp now)
{
	struct worker *w = LOOP_OWNER(r, struct worker, retake);
	struct pool *p = &w->sup->pool;
	char name[96];

	complete = complete && !w->lost;
	if (!complete)
		log_warnx("%s: what it left unread could not be taken back",
		    worker_name(w, name, sizeof(name)));
	r->end = NULL;
	if (r->living) {
		if (loop_set(&w->sup->loop, &w->channel, EPOLLIN) == -1)
			channel_misbehaved(
			    w, now, "epoll_ctl: %s", strerror(errno));
		pool_taken(p, w->process, w->taken, now);
		if (!complete)
			pool_unheard(p, w->process, true, now);
	}
	if (w->leaving.death.pid != 0)
		death_go_on(w, now);
}

void
channel_take_back(struct worker *w, bool living)
{
	w->lost = false;
	w->taken = ILIST_NONE;
	w->retake = (struct retake){ .id = w->id,
		.child_end = w->child_end,
		.living = living,
		.message = channel_taken,
		.end = channel_taken_back };
	keeper_take_back(w->group, &w->retake);
}

/*
 * The process may hold the lock of its end, so the keeper receives there. What
 * the process says waits until that is known: "DONE" of its oldest connection
 * could be of the one behind that which is on its way back. A FORK stays where
 * it is: its descriptors are more than the keeper passes on.
 */
void
channel_take(struct supervisor *s, const struct action *a, tstamp now)
{
	struct worker *w = s->workers[a->process];
	/* Without a number for it the connection would be lost. */
	int room = w->keeps || w->channel.events == 0 || upgrade_waits(s) ||
		now < s->keepers->rest || w->group->keeper->stalls > 0 ||
		fork_is_asked(w)
	    ? -1
	    : fcntl(w->child_end, F_DUPFD_CLOEXEC, 0);

	if (room == -1) {
		pool_taken(&s->pool, a->process, ILIST_NONE, now);
		return;
	}
	close(room);
	(void)loop_set(&s->loop, &w->channel, 0);
	channel_take_back(w, true);
}

void
channel_stop(struct worker *w)
{
	const struct process *x = &w->sup->pool.processes[w->process];
	int sig = conf_signal(w->group->conf->stop_signal + 1);

	if (w->channel.fd == -1 ||
	    (!x->ready && backlog_wrong_port(w->group)[0] != '\0')) {
		/* Where no channel is read the polite way is the signal. */
		worker_signal(w, sig);
		return;
	}
	/* A process that does not read it gets SIGTERM in time. */
	if (fdpass_send(w->channel.fd, WIRE_STOP, STOP_LEN, -1) != -1)
		w->pickup.sent += STOP_LEN;
	else if (ilist_empty(&x->conns))
		/* The signal costs nothing where no connection is held. */
		worker_signal(w, sig);
}

/* --- what a process says ----------------------------------------------- */

enum verb {
	VERB_DONE,
	VERB_PARK,
	VERB_READY,
	VERB_LOST,
	/* From here on about no connection. */
	VERB_RETIRE,
	VERB_BLIND,
	VERB_FORKED,
	VERB_UNFIT,
	VERB_SEVERAL,
	VERB_FAIL,
	VERB_EVENT,
	VERB_STATUS,
	VERBS /* any other word */
};

static const char *const verb_words[VERBS] = { WIRE_DONE, WIRE_PARK, WIRE_READY,
	WIRE_LOST, WIRE_RETIRE, WIRE_BLIND, WIRE_FORKED, WIRE_UNFIT,
	WIRE_SEVERAL, WIRE_FAIL, WIRE_EVENT, WIRE_STATUS };

/* The text behind the verb: len bytes, not ended by a NUL. */
struct said {
	const char *text;
	size_t len;
	bool given; /* there is a space behind the verb */
};

/*
 * A session is over, its connection parked, or lost. Gives what is wrong with
 * the message, or NULL. Where our copy of a connection stays, with keep_alive,
 * it is closed here.
 *
 * Connections that the core has given to the process since are not sent yet: so
 * a process that is never idle may fork a template before its next session.
 */
static const char *
channel_take_conn(
    struct worker *w, enum verb verb, const struct said *said, tstamp now)
{
	struct pool *p = &w->sup->pool;
	uint32_t conn = said->given
	    ? channel_find(w->sup, said->text, said->len)
	    : ILIST_NONE;
	bool held = false;

	if (verb != VERB_LOST)
		sampling_memory(w, now);
	if (verb == VERB_PARK && !w->parks)
		return "PARK without keep_alive";
	if (verb == VERB_DONE && !said->given) {
		if (p->apps[w->group->app].options.concurrency > 1)
			return "DONE without a serial";
		conn = p->processes[w->process].conns.first;
	}
	if (conn != ILIST_NONE && verb == VERB_PARK)
		held = parking_park(w, conn, now);
	else if (conn != ILIST_NONE)
		held = pool_session_over(p, w->process, conn,
		    verb == VERB_LOST ? SESSION_LOST : SESSION_DONE, now);
	if (!held)
		return verb == VERB_DONE ? "DONE of what it does not hold"
		    : verb == VERB_PARK  ? "PARK of what it does not hold"
					 : "LOST of what it does not hold";
	parking_close(w->group, &w->sup->accepted[conn]);
	if (verb == VERB_LOST)
		return NULL;
	w->pace.extra -= MIN(w->pace.extra, CHANNEL_EXTRA_EACH);
	template_served(w, now);
	return NULL;
}

/* The same for what a process says of itself. */
static const char *
channel_take_other(
    struct worker *w, enum verb verb, const struct said *said, tstamp now)
{
	struct pool *p = &w->sup->pool;
	char why[128];

	switch (verb) {
	case VERB_READY:
		return said->given || !pool_ready(p, w->process, now)
		    ? "READY twice, or with words"
		    : NULL;
	case VERB_RETIRE:
		if (said->given)
			return "RETIRE with words";
		pool_quit(p, w->process, END_RETIRED, now);
		return NULL;
	case VERB_BLIND:
		if (said->given)
			return "BLIND with words";
		pool_blind(p, w->process, now);
		return NULL;
	case VERB_FORKED:
		return fork_answered(w, said->text, said->len, now)
		    ? NULL
		    : "FORKED of what was not asked";
	case VERB_SEVERAL:
	case VERB_UNFIT:
		if (w->group->conf->handoff != CONF_HANDOFF_ACCEPT ||
		    w->adapted)
			return "words of the library without it";
		if (verb == VERB_SEVERAL) {
			group_hand_none_ahead(w->group, now);
			return NULL;
		}
		(void)snprintf(
		    why, sizeof(why), "%.*s", (int)said->len, said->text);
		if (group_leave_library(w, why, now)) {
			if (p->processes[w->process].ready)
				pool_replace(p, w->process, now);
			else
				pool_quit(p, w->process, END_RESTARTED, now);
			return NULL;
		}
		/* FALLTHROUGH */
	case VERB_FAIL:
		group_failed(
		    w->group, "%.*s", (int)MIN(said->len, 200), said->text);
		tell_worker(w, LOG_LEVEL_WARN, EVENT_FAILURE,
		    process_end_names[END_FAIL], "cannot go on: %s",
		    w->group->failure.why);
		pool_quit(p, w->process, END_FAIL, now);
		return NULL;
	default:
		if (!p->processes[w->process].ready)
			return verb == VERB_EVENT ? "EVENT before READY"
						  : "STATUS before READY";
		if (++w->pace.texts > CHANNEL_TEXTS)
			return NULL;
		if (verb == VERB_EVENT) {
			struct event event = { .kind = EVENT_WORKER,
				.level = LOG_LEVEL_INFO,
				.pid =
				    w->pid != 0 ? w->pid : w->leaving.death.pid,
				.app = w->group->conf->name,
				.id = w->id,
				.text = said->text,
				.len = said->len };

			tell_said(w->sup, &event);
		} else {
			free(w->status);
			w->status =
			    strndup(said->text, MIN(said->len, CHANNEL_STATUS));
		}
		return NULL;
	}
}

static void
channel_tell_left_out(struct worker *w)
{
	if (w->pace.texts > CHANNEL_TEXTS)
		log_warnx("%s: %u messages of worker %s left out",
		    w->group->conf->name, w->pace.texts - CHANNEL_TEXTS, w->id);
	w->pace.texts = 0;
}

/*
 * Returns whether it is worth reading on. Another message often follows one
 * that is about no connection, which a process may send as often as
 * CHANNEL_EXTRA allows. After a DONE the loop says when there is more.
 */
static bool
channel_packet(struct worker *w, const char *packet, size_t len, tstamp now)
{
	const char *space = memchr(packet, ' ', len), *wrong;
	size_t word = space == NULL ? len : (size_t)(space - packet), n;
	enum verb verb = VERB_DONE;
	struct said said = { .text = "" };
	char shown[48];

	while (verb < VERBS &&
	    (strlen(verb_words[verb]) != word ||
		memcmp(verb_words[verb], packet, word) != 0))
		verb++;
	if (verb == VERBS) {
		n = MIN(len, sizeof(shown) - 1);
		for (size_t i = 0; i < n; i++)
			shown[i] = packet[i] >= ' ' && packet[i] < 0x7f
			    ? packet[i]
			    : '?';
		channel_misbehaved(w, now, "\"%.*s\"", (int)n, shown);
		return false;
	}
	if (space != NULL) {
		said.given = true;
		said.text = space + 1;
		said.len = len - word - 1;
	}
	if (verb >= VERB_RETIRE && now - w->pace.since >= TSPAN_SECONDS(1)) {
		channel_tell_left_out(w);
		w->pace.extra = 0;
		w->pace.since = now;
	}
	if (verb >= VERB_RETIRE && ++w->pace.extra > CHANNEL_EXTRA) {
		channel_misbehaved(
		    w, now, "over %d messages in a second", CHANNEL_EXTRA);
		return false;
	}
	pool_spoke(&w->sup->pool, w->process, now);
	wrong = verb == VERB_DONE || verb == VERB_PARK || verb == VERB_LOST
	    ? channel_take_conn(w, verb, &said, now)
	    : channel_take_other(w, verb, &said, now);
	if (wrong != NULL)
		channel_misbehaved(w, now, "%s", wrong);
	return verb >= VERB_RETIRE;
}

/* --- reading ----------------------------------------------------------- */

/*
 * Reads a packet. False: there was none, or none is read any more. *more_out:
 * another one has probably come with it.
 */
static bool
channel_read(struct worker *w, bool *more_out, tstamp now)
{
	char buf[WIRE_MAX];
	struct fdpass_got got;
	ssize_t n;

	turn_call("recvmsg");
	n = fdpass_recv(w->channel.fd, buf, sizeof(buf), MSG_DONTWAIT, &got);
	if (n == -1 && fdpass_is_later(errno))
		return false;
	*more_out = false;
	for (size_t i = 0; n != -1 && i < got.nfds; i++)
		keeper_close(w->group->keeper, got.fds[i], false);
	if (n == -1)
		channel_misbehaved(w, now, "recvmsg: %s", strerror(errno));
	else if (got.nfds > 0 || got.lost_fds)
		channel_misbehaved(w, now, "a descriptor");
	else if (got.truncated)
		channel_misbehaved(w, now, "a message over %d bytes", WIRE_MAX);
	else if (n == 0)
		channel_misbehaved(
		    w, now, "an empty message, or its socket is shut down");
	else
		*more_out = channel_packet(w, buf, (size_t)n, now);
	return w->channel.events != 0;
}

void
channel_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct worker *w = LOOP_OWNER(io, struct worker, channel);
	bool more = true;

	(void)events;
	turn_for(w->group->app);
	for (int left = CHANNEL_TURN; more && left > 0; left--)
		if (!channel_read(w, &more, now))
			return;
}

void
channel_read_rest(struct worker *w, tstamp now)
{
	bool more;

	for (int left = CHANNEL_LAST; w->channel.events != 0 && left > 0;
	     left--)
		if (!channel_read(w, &more, now))
			break;
	(void)loop_set(&w->sup->loop, &w->channel, 0);
	channel_tell_left_out(w);
}
