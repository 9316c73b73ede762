/*
 * The daemon's side of the worker protocol. Whatever a process may send is
 * either a fact for the pool or a protocol error, for which it is killed.
 */

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/backlog.h"
#include "daemon/channel.h"
#include "daemon/group.h"
#include "daemon/keeper.h"
#include "daemon/tell.h"
#include "daemon/template.h"
#include "sys/fdpass.h"
#include "sys/log.h"
#include "sys/number.h"
#include "sys/turn.h"
#include "sys/wire.h"

/*
 * A serial tells the number of the connection, and by its upper part one
 * connection from the next of that number.
 */
#define NUMBER_BITS 24

#define STOP_LEN (sizeof(WIRE_STOP) - 1)

static uint64_t
serial_of(const struct supervisor *s, uint32_t conn)
{
	return s->pool.conns[conn].seq << NUMBER_BITS | conn;
}

/* The connection of a serial, if there is one now; else ILIST_NONE. */
static uint32_t
find_conn(const struct supervisor *s, uint64_t serial)
{
	uint32_t conn = serial & ((1u << NUMBER_BITS) - 1);

	if (conn >= s->pool.nconns ||
	    s->pool.conns[conn].state != CONN_HANDED ||
	    serial_of(s, conn) != serial)
		return ILIST_NONE;
	return conn;
}

int
channel_hand(struct worker *w, uint32_t conn, tstamp now)
{
	struct supervisor *s = w->sup;
	const struct conn *c = &s->pool.conns[conn];
	char buf[64], *end = buf + sizeof(buf), *at;

	at = number_write(end, (uint64_t)(now - c->arrived) / 1000);
	*--at = ' ';
	at = number_write(at, serial_of(s, conn));
	at -= sizeof(WIRE_CONN);
	memcpy(at, WIRE_CONN " ", sizeof(WIRE_CONN));
	turn_call("sendmsg");
	if (fdpass_send(w->channel.fd, at, (size_t)(end - at),
		s->accepted[conn].fd) == -1)
		return -1;
	if (w->pickup.unread_since == TSTAMP_NEVER) {
		w->pickup.received = w->pickup.sent;
		w->pickup.unread_since = now;
	}
	s->accepted[conn].len = (uint8_t)(end - at);
	w->pickup.sent += (uint64_t)(end - at);
	return 0;
}

void
channel_stop(struct worker *w)
{
	const struct process *x = &w->sup->pool.processes[w->process];

	if (w->channel.fd == -1 ||
	    (!x->ready && backlog_wrong_port(w->group)[0] != '\0')) {
		/* Where no channel is read the polite way is the signal. */
		worker_signal(w, SIGTERM, false);
		return;
	}
	/* A process that does not read it gets SIGTERM in time. */
	if (fdpass_send(w->channel.fd, WIRE_STOP, STOP_LEN, -1) != -1)
		w->pickup.sent += STOP_LEN;
	else if (ilist_empty(&x->conns))
		/* The signal costs nothing where no connection is held. */
		worker_signal(w, SIGTERM, false);
}

uint32_t
channel_conn(const struct supervisor *s, const char *message, size_t len)
{
	const size_t verb = sizeof(WIRE_CONN); /* with its space */
	const char *space;
	uint64_t serial;

	if (len <= verb || memcmp(message, WIRE_CONN " ", verb) != 0)
		return ILIST_NONE;
	message += verb;
	len -= verb;
	space = memchr(message, ' ', len);
	if (space == NULL ||
	    !number_parse(message, (size_t)(space - message), &serial))
		return ILIST_NONE;
	return find_conn(s, serial);
}

void
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
	    process_end_name(END_NONSENSE),
	    "broke the protocol and is killed: %s", text);
	pool_misbehaved(&w->sup->pool, w->process, END_NONSENSE, now);
}

/* --- what a process says ------------------------------------------------ */

/* The text behind the verb: len bytes, not ended by a NUL. */
struct words {
	const char *text;
	size_t len;
	bool given; /* there is a space behind the verb */
};

static void
on_ready(struct worker *w, const struct words *a, tstamp now)
{
	if (a->given || !pool_ready(&w->sup->pool, w->process, now))
		channel_misbehaved(w, now, "READY twice, or with words");
}

/* The connection that is meant: by its serial, or the oldest. */
static uint32_t
conn_meant(struct worker *w, const struct words *a)
{
	const struct process *x = &w->sup->pool.processes[w->process];
	uint64_t serial;

	if (!a->given)
		return x->conns.first;
	if (!number_parse(a->text, a->len, &serial))
		return ILIST_NONE;
	return find_conn(w->sup, serial);
}

static void
session_over(struct worker *w, uint32_t conn, tstamp now)
{
	/* With keep_alive there is a copy of ours. */
	parking_close(w->group, &w->sup->accepted[conn]);
	if (w->loose > 0)
		w->loose -= w->loose < CHANNEL_LOOSE_EACH ? w->loose
							  : CHANNEL_LOOSE_EACH;
	/* Connections that the core has given it since are not sent yet. */
	if (w->group->templating != NULL)
		template_served(w, now);
}

static void
on_done(struct worker *w, const struct words *a, tstamp now)
{
	uint32_t conn = conn_meant(w, a);

	sampling_memory(w, now);
	if (!a->given &&
	    w->sup->pool.apps[w->group->app].options.concurrency > 1)
		channel_misbehaved(w, now, "DONE without a serial");
	else if (conn == ILIST_NONE ||
	    !pool_done(&w->sup->pool, w->process, conn, now))
		channel_misbehaved(w, now, "DONE of what it does not hold");
	else
		session_over(w, conn, now);
}

static void
on_park(struct worker *w, const struct words *a, tstamp now)
{
	uint32_t conn = a->given ? conn_meant(w, a) : ILIST_NONE;

	sampling_memory(w, now);
	if (!w->parks)
		channel_misbehaved(w, now, "PARK without keep_alive");
	else if (conn == ILIST_NONE || !parking_park(w, conn, now))
		channel_misbehaved(w, now, "PARK of what it does not hold");
	else
		session_over(w, conn, now);
}

static void
on_lost(struct worker *w, const struct words *a, tstamp now)
{
	uint32_t conn = a->given ? conn_meant(w, a) : ILIST_NONE;

	if (conn == ILIST_NONE ||
	    !pool_lost(&w->sup->pool, w->process, conn, now))
		channel_misbehaved(w, now, "LOST of what it does not hold");
	else
		parking_close(w->group, &w->sup->accepted[conn]);
}

static void
on_retire(struct worker *w, const struct words *a, tstamp now)
{
	if (a->given)
		channel_misbehaved(w, now, "RETIRE with words");
	else
		pool_retire(&w->sup->pool, w->process, now);
}

static void
on_blind(struct worker *w, const struct words *a, tstamp now)
{
	if (a->given)
		channel_misbehaved(w, now, "BLIND with words");
	else
		pool_blind(&w->sup->pool, w->process, now);
}

static void
on_forked(struct worker *w, const struct words *a, tstamp now)
{
	if (!fork_answered(w, a->text, a->len, now))
		channel_misbehaved(w, now, "FORKED of what was not asked");
}

static void
on_fail(struct worker *w, const struct words *a, tstamp now)
{
	group_failed(
	    w->group, "%.*s", (int)(a->len > 200 ? 200 : a->len), a->text);
	tell_worker(w, LOG_LEVEL_WARN, EVENT_FAILURE,
	    process_end_name(END_FAIL), "cannot go on: %s",
	    w->group->last_failure);
	pool_misbehaved(&w->sup->pool, w->process, END_FAIL, now);
}

static void
log_left_out(struct worker *w)
{
	if (w->messages > CHANNEL_TEXTS)
		log_warnx("%s: %u messages of worker %s left out",
		    w->group->conf->name, w->messages - CHANNEL_TEXTS, w->id);
	w->messages = 0;
}

/* Counts a message about no connection; whether it may be sent. */
static bool
count_loose(struct worker *w, tstamp now)
{
	if (now - w->second >= TSPAN_SECONDS(1)) {
		log_left_out(w);
		w->loose = 0;
		w->second = now;
	}
	return ++w->loose <= CHANNEL_LOOSE;
}

/* Whether one more text of this second is kept. */
static bool
may_keep_text(struct worker *w)
{
	return ++w->messages <= CHANNEL_TEXTS;
}

static void
on_event(struct worker *w, const struct words *a, tstamp now)
{
	if (!w->sup->pool.processes[w->process].ready)
		channel_misbehaved(w, now, "EVENT before READY");
	else if (may_keep_text(w))
		tell_said(w, a->text, a->len);
}

static void
on_status(struct worker *w, const struct words *a, tstamp now)
{
	size_t len = a->len < WORKER_STATUS_MAX ? a->len : WORKER_STATUS_MAX;

	if (!w->sup->pool.processes[w->process].ready) {
		channel_misbehaved(w, now, "STATUS before READY");
		return;
	}
	if (!may_keep_text(w))
		return;
	if (w->status == NULL)
		w->status = malloc(WORKER_STATUS_MAX + 1);
	if (w->status == NULL)
		return;
	memcpy(w->status, a->text, len);
	w->status[len] = '\0';
}

/*
 * loose: about no connection, so that a process may send it as often as
 * CHANNEL_LOOSE allows. Another message often follows at once, and it is worth
 * reading on. After a DONE it is not: the loop says when there is more.
 */
static const struct verb {
	const char *word;
	void (*take)(struct worker *, const struct words *, tstamp);
	bool loose;
} verbs[] = {
	{ WIRE_DONE, on_done, false },
	{ WIRE_PARK, on_park, false },
	{ WIRE_READY, on_ready, false },
	{ WIRE_LOST, on_lost, false },
	{ WIRE_RETIRE, on_retire, true },
	{ WIRE_BLIND, on_blind, true },
	{ WIRE_FORKED, on_forked, true },
	{ WIRE_FAIL, on_fail, true },
	{ WIRE_EVENT, on_event, true },
	{ WIRE_STATUS, on_status, true },
};

/* A packet in printable form, cut short. */
static const char *
printable(const char *packet, size_t len, char *buf, size_t size)
{
	size_t n = len < size - 1 ? len : size - 1;

	for (size_t i = 0; i < n; i++)
		buf[i] = packet[i] >= ' ' && packet[i] < 0x7f ? packet[i] : '?';
	buf[n] = '\0';
	return buf;
}

static const struct verb *
find_verb(const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strlen(verbs[i].word) == len &&
		    memcmp(verbs[i].word, word, len) == 0)
			return &verbs[i];
	return NULL;
}

/* Returns whether it is worth reading on. */
static bool
take_packet(struct worker *w, const char *packet, size_t len, tstamp now)
{
	const char *space = memchr(packet, ' ', len);
	size_t word = space == NULL ? len : (size_t)(space - packet);
	const struct verb *v = find_verb(packet, word);
	struct words a = { .text = "" };
	char shown[48];

	if (v == NULL) {
		channel_misbehaved(w, now, "\"%s\"",
		    printable(packet, len, shown, sizeof(shown)));
		return false;
	}
	if (space != NULL) {
		a.given = true;
		a.text = space + 1;
		a.len = len - word - 1;
	}
	if (v->loose && !count_loose(w, now)) {
		channel_misbehaved(
		    w, now, "over %d messages in a second", CHANNEL_LOOSE);
		return false;
	}
	pool_spoke(&w->sup->pool, w->process, now);
	v->take(w, &a, now);
	return v->loose;
}

/* --- reading ------------------------------------------------------------ */

enum read_result {
	READ_NOTHING, /* for now, or never again */
	READ_PACKET,
	READ_MORE, /* a packet, and probably another one */
};

/* Whether the packet may be a message of the protocol. */
static bool
is_sound(struct worker *w, const struct fdpass_got *got, ssize_t n, tstamp now)
{
	for (size_t i = 0; i < got->nfds; i++)
		keeper_close(w->group, got->fds[i]);
	if (got->nfds > 0 || got->lost_fds)
		channel_misbehaved(w, now, "a descriptor");
	else if (got->truncated)
		channel_misbehaved(w, now, "a message over %d bytes", WIRE_MAX);
	else if (n == 0)
		channel_misbehaved(
		    w, now, "an empty message, or its socket is shut down");
	else
		return true;
	return false;
}

static enum read_result
read_packet(struct worker *w, tstamp now)
{
	char buf[WIRE_MAX];
	struct fdpass_got got;
	bool more;
	ssize_t n;

	turn_call("recvmsg");
	n = fdpass_recv(w->channel.fd, buf, sizeof(buf), MSG_DONTWAIT, &got);
	if (n == -1) {
		if (!fdpass_is_later(errno))
			channel_misbehaved(
			    w, now, "recvmsg: %s", strerror(errno));
		return READ_NOTHING;
	}
	if (!is_sound(w, &got, n, now))
		return READ_NOTHING;
	more = take_packet(w, buf, (size_t)n, now);
	if (w->channel.events == 0)
		return READ_NOTHING;
	return more ? READ_MORE : READ_PACKET;
}

void
channel_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct worker *w = LOOP_OWNER(io, struct worker, channel);

	(void)events;
	turn_for(w->group->app);
	for (int left = CHANNEL_TURN; left > 0; left--)
		if (read_packet(w, now) != READ_MORE)
			return;
}

void
channel_read_rest(struct worker *w, tstamp now)
{
	bool open = w->channel.fd != -1 && w->channel.events != 0;

	for (int left = CHANNEL_LAST; open && left > 0; left--)
		if (read_packet(w, now) == READ_NOTHING)
			break;
	if (open)
		(void)loop_set(&w->sup->loop, &w->channel, 0);
	log_left_out(w);
}
