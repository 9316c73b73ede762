/* Output of workers, by way of keepers. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/kept.h"
#include "sys/fdpass.h"
#include "sys/log.h"

/* The time in which a keeper tells the last line of a worker. */
#define PATIENCE TSPAN_MSECONDS(250)

/* --- what a keeper says ------------------------------------------------- */

/* Copies the identifier of the packet; false: the packet has none. */
static bool
take_id(const char *packet, size_t len, char id_out[KEEPER_ID_LEN + 1])
{
	if (len < KEEPER_HEAD)
		return false;
	memcpy(id_out, packet + 1, KEEPER_ID_LEN);
	id_out[KEEPER_ID_LEN] = '\0';
	return true;
}

/* Returns their number. */
static int
log_lines(const struct keeper *k, const char *packet, size_t len)
{
	const char *at = packet + KEEPER_HEAD, *last = packet + len, *newline;
	enum log_level level =
	    packet[0] == KEEPER_ERRORS ? LOG_LEVEL_WARN : LOG_LEVEL_INFO;
	char id[KEEPER_ID_LEN + 1];
	int lines = 1;

	if (!take_id(packet, len, id))
		return 0;
	while ((newline = memchr(at, '\n', (size_t)(last - at))) != NULL) {
		log_output(level, k->app, id, at, (size_t)(newline - at));
		at = newline + 1;
		lines++;
	}
	log_output(level, k->app, id, at, (size_t)(last - at));
	return lines;
}

static void
log_left_out(const struct keeper *k, const char *packet, size_t len)
{
	char id[KEEPER_ID_LEN + 1];
	uint32_t bytes;

	if (!take_id(packet, len, id) || len != KEEPER_HEAD + sizeof(bytes))
		return;
	memcpy(&bytes, packet + KEEPER_HEAD, sizeof(bytes));
	log_warnx("%s: %u bytes of the last output of worker %s left out",
	    k->app, (unsigned)bytes, id);
}

static void
answer(struct kept *o, struct supervisor *s, const char *line, size_t len,
    tstamp now)
{
	timer_set(&s->loop.timers, &o->patience, TSTAMP_NEVER);
	o->words(o, line, len, now);
}

/* The worker of the packet may have been answered for, or be gone. */
static void
hear_words(const struct keeper *k, const char *packet, size_t len, tstamp now)
{
	struct kept *o;

	if (len < KEEPER_HEAD)
		return;
	LIST_FOREACH(o, &k->kept, next) {
		if (kept_awaits(o) &&
		    memcmp(o->id, packet + 1, KEEPER_ID_LEN) == 0) {
			answer(o, k->sup, packet + KEEPER_HEAD,
			    len - KEEPER_HEAD, now);
			return;
		}
	}
}

int
kept_heard(const struct keeper *k, const char *packet, size_t len, tstamp now)
{
	switch (packet[0]) {
	case KEEPER_LEFT_OUT:
		log_left_out(k, packet, len);
		return 0;
	case KEEPER_WORDS:
		hear_words(k, packet, len, now);
		return 0;
	default:
		return log_lines(k, packet, len);
	}
}

/* --- what it is told ---------------------------------------------------- */

/*
 * Says which workers are gone, as far as there is room in its socket; the
 * others when it has answered something.
 */
void
kept_say(struct keeper *k)
{
	char buf[1 + KEEPER_LEAVE_MAX * KEEPER_ID_LEN] = { KEEPER_LEAVE };

	while (k->nleft > 0) {
		size_t n =
		    k->nleft < KEEPER_LEAVE_MAX ? k->nleft : KEEPER_LEAVE_MAX;
		size_t len = n * KEEPER_ID_LEN;

		memcpy(buf + 1, k->left, len);
		if (fdpass_send(k->output.io.fd, buf, 1 + len, -1) == -1)
			break;
		k->nleft -= n;
		memmove(k->left, k->left + len, k->nleft * KEEPER_ID_LEN);
	}
}

/* Has the workers of the keeper replaced; or, if none can be, stopped. */
static void
replace_workers(struct keeper *k, bool replaceable, tstamp now)
{
	struct kept *o;

	LIST_FOREACH(o, &k->kept, next)
		if (o->process != KEPT_NO_PROCESS)
			pool_unheard(
			    &k->sup->pool, o->process, replaceable, now);
}

void
kept_unheard(struct keeper *k, tstamp now)
{
	struct keeper *each;
	struct kept *o;

	replace_workers(k, true, now);
	if (!k->dead && k->group != NULL && keeper_fault(k->group) != NULL)
		TAILQ_FOREACH(each, &k->sup->keepers, next)
			if (each->group == k->group)
				replace_workers(each, false, now);
	while (k->dead && (o = LIST_FIRST(&k->kept)) != NULL) {
		LIST_REMOVE(o, next);
		o->keeper = NULL;
		if (kept_awaits(o))
			answer(o, k->sup, "", 0, now);
	}
}

/* --- for workers -------------------------------------------------------- */

static void
lose_patience(struct timer *t, tstamp now)
{
	struct kept *o = TIMER_OWNER(t, struct kept, patience);

	answer(o, o->keeper->sup, "", 0, now);
}

void
kept_init(struct kept *o, uint32_t process, const char *id)
{
	memset(o, 0, sizeof(*o));
	o->process = process;
	o->id = id;
	timer_init(&o->patience, lose_patience);
}

/* The pipe; only the read end does not block. 0, or -1 and errno. */
static int
open_pipe(int ends[2], uid_t owner)
{
	int error;

	if (pipe2(ends, O_CLOEXEC) == -1)
		return -1;
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != -1 &&
	    (owner == (uid_t)-1 || fchown(ends[1], owner, (gid_t)-1) != -1))
		return 0;
	error = errno;
	close(ends[0]);
	close(ends[1]);
	errno = error;
	return -1;
}

static void
close_pipe(const int ends[2])
{
	close(ends[0]);
	close(ends[1]);
}

/* Both pipes; 0, or -1 and errno. */
static int
open_pipes(int ends[KEEPER_HOLD_FDS], uid_t owner)
{
	int error;

	if (open_pipe(ends, owner) == -1)
		return -1;
	if (open_pipe(ends + 2, owner) == 0)
		return 0;
	error = errno;
	close_pipe(ends);
	errno = error;
	return -1;
}

int
kept_hold(struct group *g, struct kept *o, uid_t owner, int ends_out[2])
{
	tstamp now = loop_now(&g->sup->loop);
	char buf[KEEPER_HEAD] = { KEEPER_HOLD };
	struct keeper *k = keeper_get(g, now);
	int ends[KEEPER_HOLD_FDS], error;

	if (k == NULL || open_pipes(ends, owner) == -1)
		return -1;
	memcpy(buf + 1, o->id, KEEPER_ID_LEN);
	if (fdpass_send_many(k->output.io.fd, buf, sizeof(buf), ends,
		KEEPER_HOLD_FDS) == -1) {
		error = errno;
		close_pipe(ends);
		close_pipe(ends + 2);
		errno = error;
		return -1;
	}
	/* Later the worker would run, and the close could wait for it. */
	close(ends[0]);
	close(ends[2]);
	ends_out[0] = ends[1];
	ends_out[1] = ends[3];
	o->keeper = k;
	LIST_INSERT_HEAD(&k->kept, o, next);
	keeper_expect(k, now);
	return 0;
}

bool
kept_ask(struct kept *o, tstamp now)
{
	char buf[KEEPER_HEAD] = { KEEPER_WORDS };
	struct keeper *k = o->keeper;

	if (k == NULL || k->frozen)
		return false;
	memcpy(buf + 1, o->id, KEEPER_ID_LEN);
	if (fdpass_send(k->output.io.fd, buf, sizeof(buf), -1) == -1)
		return false;
	timer_set(
	    &k->sup->loop.timers, &o->patience, tstamp_add(now, PATIENCE));
	keeper_expect(k, now);
	return true;
}

void
kept_leave(struct kept *o)
{
	struct keeper *k = o->keeper;
	char *left;

	if (k == NULL)
		return;
	o->keeper = NULL;
	LIST_REMOVE(o, next);
	timer_set(&k->sup->loop.timers, &o->patience, TSTAMP_NEVER);
	left = reallocarray(k->left, k->nleft + 1, KEEPER_ID_LEN);
	/* Without memory the pipe stays open as long as the keeper. */
	if (left != NULL) {
		memcpy(left + k->nleft * KEEPER_ID_LEN, o->id, KEEPER_ID_LEN);
		k->left = left;
		k->nleft++;
		kept_say(k);
	}
	keeper_spare(k);
}
