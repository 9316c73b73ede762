/* Taking back, by way of keepers. */

#include <string.h>

#include "daemon/retake.h"
#include "sys/fdpass.h"

/* How often a keeper is looked for that can be asked. */
#define RETRY_AFTER TSPAN_MSECONDS(50)

static void ask(struct group *g, tstamp now);

static void
set_timer(struct group *g, tstamp at)
{
	timer_set(&g->sup->loop.timers, &g->retake_timer, at);
}

static void
end_first(struct group *g, bool complete, tstamp now)
{
	struct retake *r = STAILQ_FIRST(&g->retakes);

	STAILQ_REMOVE_HEAD(&g->retakes, next);
	g->retaker = NULL;
	r->end(r, complete, now);
	ask(g, now);
}

/* Gives the take to a keeper. */
static bool
give(struct group *g, struct retake *r, tstamp now)
{
	struct keeper *k = keeper_get(g, now);
	char buf[KEEPER_HEAD] = { KEEPER_TAKE };

	if (k == NULL)
		return false;
	memcpy(buf + 1, r->id, KEEPER_ID_LEN);
	if (fdpass_send(k->output.io.fd, buf, sizeof(buf), r->child_end) == -1)
		return false;
	k->takes++;
	g->retaker = k;
	keeper_expect(k, now);
	keeper_start_alone(k);
	return true;
}

/* Gives the first take to a keeper, now or by and by. */
static void
ask(struct group *g, tstamp now)
{
	struct retake *r = STAILQ_FIRST(&g->retakes);

	if (r == NULL || g->retaker != NULL)
		return;
	if (r->limit == TSTAMP_NEVER)
		r->limit = now + RETAKE_LIMIT;
	set_timer(g, TSTAMP_NEVER);
	if (!give(g, r, now))
		set_timer(g, now + RETRY_AFTER);
}

/* The timer. */
static void
try_again(struct timer *t, tstamp now)
{
	struct group *g = TIMER_OWNER(t, struct group, retake_timer);
	struct retake *r = STAILQ_FIRST(&g->retakes);

	ask(g, now);
	if (g->retaker == NULL &&
	    (now >= r->limit || keeper_fault(g) != NULL)) {
		set_timer(g, TSTAMP_NEVER);
		end_first(g, false, now);
	}
}

void
retake_init(struct group *g)
{
	STAILQ_INIT(&g->retakes);
	timer_init(&g->retake_timer, try_again);
}

void
retake_begin(struct group *g, struct retake *r, tstamp now)
{
	r->limit = TSTAMP_NEVER;
	STAILQ_INSERT_TAIL(&g->retakes, r, next);
	ask(g, now);
}

/* --- what keepers say --------------------------------------------------- */

/* The take that the keeper answers; NULL: it was given up. */
static struct retake *
answered_by(const struct keeper *k, const char *packet, size_t len)
{
	struct group *g = k->group;
	struct retake *r;

	if (g == NULL || g->retaker != k || len < KEEPER_HEAD)
		return NULL;
	r = STAILQ_FIRST(&g->retakes);
	return memcmp(packet + 1, r->id, KEEPER_ID_LEN) == 0 ? r : NULL;
}

bool
retake_heard(
    struct keeper *k, const char *packet, size_t len, int fd, tstamp now)
{
	struct retake *r = answered_by(k, packet, len);

	if (packet[0] == KEEPER_EMPTY && k->takes > 0)
		k->takes--;
	if (r == NULL)
		return false;
	if (packet[0] == KEEPER_EMPTY) {
		end_first(k->group, true, now);
		return false;
	}
	r->message(r, packet + KEEPER_HEAD, len - KEEPER_HEAD, fd, now);
	return true;
}

void
retake_unheard(struct keeper *k, tstamp now)
{
	struct group *g = k->group;

	if (g == NULL || g->retaker != k)
		return;
	/* Another keeper would wait for what this one waits for. */
	if (!k->dead || now >= STAILQ_FIRST(&g->retakes)->limit) {
		end_first(g, false, now);
		return;
	}
	g->retaker = NULL;
	set_timer(g, now);
}
