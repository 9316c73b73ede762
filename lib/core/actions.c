/* The ring of actions: what the pool wants done, and what is still valid. */

#include <assert.h>

#include "core/mechanism.h"

static bool
actions_valid(const struct pool *p, const struct action *a)
{
	const struct process *x = NULL;
	const struct conn *c = NULL;
	const struct app *app = &p->apps[a->app];

	if (a->process != ILIST_NONE)
		x = &p->processes[a->process];
	if (a->conn != ILIST_NONE)
		c = &p->conns[a->conn];
	switch ((enum action_kind)a->kind) {
	case ACTION_SPAWN:
		return x->stamp == a->stamp && x->state == PROCESS_STARTING &&
		    !x->launched;
	case ACTION_HAND:
		return c->seq == a->stamp && c->state == CONN_ASSIGNED &&
		    c->process == a->process;
	case ACTION_REFUSE:
		return c->seq == a->stamp && c->state == CONN_REFUSED;
	case ACTION_STOP:
	case ACTION_TERM:
	case ACTION_KILL:
	case ACTION_SLOW:
		return x->stamp == a->stamp && x->state != PROCESS_DYING &&
		    x->state != PROCESS_GONE;
	case ACTION_RESUME:
		return app->stamp == a->stamp &&
		    app->intake.accepting == ACCEPTING_RESUMING;
	case ACTION_OVER:
		return app->leaving.over == a->stamp && app->phase != APP_FREE;
	default:
		return app->stamp == a->stamp && app->phase != APP_FREE;
	}
}

static void
actions_push(struct pool *p, struct action a)
{
	struct actions *q = &p->actions;
	uint32_t n = 0;

	/* The valid ones of each app, process and connection are few. */
	if (q->count == q->capacity) {
		for (uint32_t i = 0; i < q->count; i++) {
			const struct action *old =
			    &q->ring[(q->first + i) % q->capacity];

			if (actions_valid(p, old))
				q->ring[(q->first + n++) % q->capacity] = *old;
		}
		q->count = n;
	}
	assert(q->count < q->capacity);
	q->ring[(q->first + q->count++) % q->capacity] = a;
}

void
actions_put(struct pool *p, enum action_kind kind, uint32_t of, uint32_t detail)
{
	struct action a = { .kind = (uint8_t)kind,
		.app = of,
		.process = ILIST_NONE,
		.conn = ILIST_NONE };

	switch (kind) {
	case ACTION_HAND:
	case ACTION_REFUSE:
		a.conn = of;
		a.cause = (uint8_t)detail;
		a.app = p->conns[of].app;
		a.process = p->conns[of].process;
		a.stamp = p->conns[of].seq;
		break;
	case ACTION_SPAWN:
	case ACTION_STOP:
	case ACTION_TERM:
	case ACTION_KILL:
	case ACTION_SLOW:
		a.process = of;
		a.app = p->processes[of].app;
		a.stamp = p->processes[of].stamp;
		break;
	case ACTION_OVER:
		a.stamp = p->apps[of].leaving.over;
		break;
	default:
		a.stamp = p->apps[of].stamp;
		a.lock = detail;
		break;
	}
	actions_push(p, a);
}

void
actions_news(
    struct pool *p, uint32_t app, enum action_news news, uint32_t process)
{
	struct app *a = &p->apps[app];

	if ((a->news & 1u << news) != 0)
		return;
	a->news |= 1u << news;
	actions_push(p,
	    (struct action){ .kind = ACTION_TELL,
		.cause = (uint8_t)news,
		.app = app,
		.process = process,
		.conn = ILIST_NONE,
		.stamp = a->stamp });
}

bool
actions_next(struct pool *p, struct action *out)
{
	struct actions *q = &p->actions;

	while (q->count > 0) {
		const struct action *a = &q->ring[q->first];

		q->first = q->first + 1 < q->capacity ? q->first + 1 : 0;
		q->count--;
		if (actions_valid(p, a)) {
			*out = *a;
			return true;
		}
	}
	return false;
}
