/* The ring of actions: what the pool wants done, and what is still valid. */

#include <assert.h>

#include "core/mechanism.h"

static bool
is_valid(const struct pool *p, const struct action *a)
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
		    app->accepting == ACCEPTING_RESUMING;
	case ACTION_OVER:
		return app->over == a->stamp && app->phase != APP_FREE;
	default:
		return app->stamp == a->stamp && app->phase != APP_FREE;
	}
}

/* Drops stale actions; the valid ones of each app, process and conn are few. */
static void
compact(struct pool *p)
{
	struct actions *q = &p->actions;
	uint32_t n = 0;

	for (uint32_t i = 0; i < q->count; i++) {
		struct action *a = &q->ring[(q->first + i) % q->capacity];

		if (is_valid(p, a))
			q->ring[(q->first + n++) % q->capacity] = *a;
	}
	q->count = n;
}

static void
push(struct pool *p, struct action a)
{
	struct actions *q = &p->actions;

	if (q->count == q->capacity)
		compact(p);
	assert(q->count < q->capacity);
	q->ring[(q->first + q->count++) % q->capacity] = a;
}

bool
actions_next(struct pool *p, struct action *out)
{
	struct actions *q = &p->actions;

	while (q->count > 0) {
		const struct action *a = &q->ring[q->first];

		q->first = q->first + 1 < q->capacity ? q->first + 1 : 0;
		q->count--;
		if (is_valid(p, a)) {
			*out = *a;
			return true;
		}
	}
	return false;
}

void
actions_process(struct pool *p, enum action_kind kind, uint32_t process)
{
	const struct process *x = &p->processes[process];

	push(p,
	    (struct action){ .kind = (uint8_t)kind,
		.app = x->app,
		.process = process,
		.conn = ILIST_NONE,
		.stamp = x->stamp });
}

void
actions_conn(struct pool *p, enum action_kind kind, uint32_t conn,
    enum action_cause cause)
{
	const struct conn *c = &p->conns[conn];

	push(p,
	    (struct action){ .kind = (uint8_t)kind,
		.cause = (uint8_t)cause,
		.app = c->app,
		.process = c->process,
		.conn = conn,
		.stamp = c->seq });
}

/* An action of the app as a whole, and of no process or connection. */
static struct action
of_app(const struct pool *p, enum action_kind kind, uint32_t app)
{
	const struct app *a = &p->apps[app];

	return (struct action){ .kind = (uint8_t)kind,
		.app = app,
		.process = ILIST_NONE,
		.conn = ILIST_NONE,
		.stamp = kind == ACTION_OVER ? a->over : a->stamp };
}

void
actions_app(struct pool *p, enum action_kind kind, uint32_t app)
{
	push(p, of_app(p, kind, app));
}

void
actions_unlock(struct pool *p, uint32_t app, uint32_t lock)
{
	struct action a = of_app(p, ACTION_UNLOCK, app);

	a.lock = lock;
	push(p, a);
}

void
actions_news(
    struct pool *p, uint32_t app, enum action_news news, uint32_t process)
{
	struct action a = of_app(p, ACTION_TELL, app);

	if (p->apps[app].news & 1u << news)
		return;
	p->apps[app].news |= 1u << news;
	a.cause = (uint8_t)news;
	a.process = process;
	push(p, a);
}

/* --- names -------------------------------------------------------------- */

const char *
action_name(enum action_kind kind)
{
	static const char *const names[] = {
		[ACTION_SPAWN] = "spawn",
		[ACTION_HAND] = "hand",
		[ACTION_TAKE] = "take",
		[ACTION_REFUSE] = "refuse",
		[ACTION_STOP] = "stop",
		[ACTION_TERM] = "term",
		[ACTION_KILL] = "kill",
		[ACTION_SLOW] = "slow",
		[ACTION_RESUME] = "resume",
		[ACTION_LOCK] = "lock",
		[ACTION_UNLOCK] = "unlock",
		[ACTION_OVER] = "over",
		[ACTION_TELL] = "tell",
	};

	return names[kind];
}

const char *
action_cause_name(enum action_cause cause)
{
	static const char *const names[] = {
		[CAUSE_FULL] = "the queue is full",
		[CAUSE_TIMED_OUT] = "it waited for queue_timeout",
		[CAUSE_APP_FAILED] = "the app has failed",
		[CAUSE_LIMIT] = "its limit does not let it in",
		[CAUSE_RETRIES] = "retry_limit processes died under it",
		[CAUSE_STOPPING] = "the app stops",
	};

	return names[cause];
}
