/* The pool's memory and its actions. */

#include <assert.h>
#include <string.h>

#include "core/pool_private.h"

/* --- memory ------------------------------------------------------------- */

static size_t
pool_action_capacity(const struct pool_limits *l)
{
	/* Stale ones are dropped when it is full: pool_compact(). */
	return (size_t)6 * l->processes + 4 * (size_t)l->conns +
	    16 * (size_t)l->apps;
}

static size_t
pool_align(size_t n)
{
	return (n + 15) & ~(size_t)15;
}

/* Gives the next n bytes of *memory, or NULL when only counting. */
static void *
pool_carve(char *memory, size_t *used, size_t n)
{
	void *at = memory == NULL ? NULL : memory + *used;

	*used += pool_align(n);
	return at;
}

/* Lays the tables out in the memory; gives the bytes that takes. */
static size_t
pool_lay_out(struct pool *p, const struct pool_limits *l, char *memory)
{
	size_t used = 0, ring = pool_action_capacity(l);
	void *at;

	p->limits = *l;
	p->apps = pool_carve(memory, &used, l->apps * sizeof(*p->apps));
	p->processes =
	    pool_carve(memory, &used, l->processes * sizeof(*p->processes));
	p->conns = pool_carve(memory, &used, l->conns * sizeof(*p->conns));
	p->app_links =
	    pool_carve(memory, &used, l->apps * sizeof(struct ilink));
	p->process_links =
	    pool_carve(memory, &used, l->processes * sizeof(struct ilink));
	p->conn_links =
	    pool_carve(memory, &used, l->conns * sizeof(struct ilink));
	p->prefetch_links =
	    pool_carve(memory, &used, l->conns * sizeof(struct ilink));
	p->rooms = pool_carve(memory, &used,
	    (size_t)l->apps * l->sessions * sizeof(struct ilist));
	p->actions.ring =
	    pool_carve(memory, &used, ring * sizeof(struct action));
	p->actions.capacity = (uint32_t)ring;
	at = pool_carve(memory, &used, deadlines_memory(l->apps));
	if (at != NULL)
		deadlines_init(&p->app_deadlines, at, l->apps);
	at = pool_carve(memory, &used, deadlines_memory(l->processes));
	if (at != NULL)
		deadlines_init(&p->process_deadlines, at, l->processes);
	return used;
}

size_t
pool_memory(const struct pool_limits *limits)
{
	struct pool none = { 0 };

	return pool_lay_out(&none, limits, NULL);
}

void
pool_init(struct pool *p, const struct pool_limits *limits, void *memory,
    uint32_t max_processes, uint64_t seed, tstamp now)
{
	assert(now > 0);
	memset(p, 0, sizeof(*p));
	(void)pool_lay_out(p, limits, memory);
	ilist_init(&p->free_processes);
	ilist_init(&p->free_conns);
	ilist_init(&p->places);
	p->place_cache.app = ILIST_NONE;
	p->prng.state = seed;
	p->max_processes = max_processes;
	p->stop_at = TSTAMP_NEVER;
	p->now = now;
}

static void
pool_copy_tables(const struct pool *from, struct pool *to)
{
	memcpy(to->apps, from->apps, from->napps * sizeof(*to->apps));
	memcpy(to->processes, from->processes,
	    from->nprocesses * sizeof(*to->processes));
	memcpy(to->conns, from->conns, from->nconns * sizeof(*to->conns));
	memcpy(to->app_links, from->app_links,
	    from->napps * sizeof(*to->app_links));
	memcpy(to->process_links, from->process_links,
	    from->nprocesses * sizeof(*to->process_links));
	memcpy(to->conn_links, from->conn_links,
	    from->nconns * sizeof(*to->conn_links));
	memcpy(to->prefetch_links, from->prefetch_links,
	    from->nconns * sizeof(*to->prefetch_links));
	deadlines_copy(&from->app_deadlines, &to->app_deadlines, from->napps);
	deadlines_copy(
	    &from->process_deadlines, &to->process_deadlines, from->nprocesses);
	for (uint32_t a = 0; a < from->napps; a++)
		memcpy(room_list(to, a, 0), room_list(from, a, 0),
		    room_lists(&from->apps[a]) * sizeof(struct ilist));
	for (uint32_t i = 0; i < from->actions.count; i++)
		to->actions.ring[i] =
		    from->actions.ring[(from->actions.first + i) %
			from->actions.capacity];
	to->actions.first = 0;
}

void
pool_move(struct pool *p, const struct pool_limits *limits, void *memory)
{
	struct pool to = *p;

	assert(limits->apps >= p->limits.apps &&
	    limits->processes >= p->limits.processes &&
	    limits->conns >= p->limits.conns &&
	    limits->sessions >= p->limits.sessions);
	(void)pool_lay_out(&to, limits, memory);
	pool_copy_tables(p, &to);
	*p = to;
	/* Full tables may have held somebody up. */
	places_serve(p);
	pool_resume_full(p);
}

void
pool_snapshot(const struct pool *p, void *memory, struct pool *out)
{
	*out = *p;
	(void)pool_lay_out(out, &p->limits, memory);
	pool_copy_tables(p, out);
}

/* --- actions ------------------------------------------------------------ */

static bool
pool_action_valid(const struct pool *p, const struct action *a)
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
	case ACTION_OVER:
		return app->over == a->stamp && app->phase != APP_FREE;
	default:
		return app->stamp == a->stamp && app->phase != APP_FREE;
	}
}

/* Drops what is stale; each process, connection and app has few that are not.
 */
static void
pool_compact(struct pool *p)
{
	struct actions *q = &p->actions;
	uint32_t n = 0;

	for (uint32_t i = 0; i < q->count; i++) {
		struct action *a = &q->ring[(q->first + i) % q->capacity];

		if (pool_action_valid(p, a))
			q->ring[(q->first + n++) % q->capacity] = *a;
	}
	q->count = n;
}

void
pool_act(struct pool *p, struct action a)
{
	struct actions *q = &p->actions;

	if (q->count == q->capacity)
		pool_compact(p);
	assert(q->count < q->capacity);
	q->ring[(q->first + q->count++) % q->capacity] = a;
}

void
pool_act_process(struct pool *p, enum action_kind kind, uint32_t process)
{
	const struct process *x = &p->processes[process];

	pool_act(p,
	    (struct action){ .kind = (uint8_t)kind,
		.app = x->app,
		.process = process,
		.conn = ILIST_NONE,
		.stamp = x->stamp });
}

void
pool_act_conn(struct pool *p, enum action_kind kind, uint32_t conn,
    enum action_cause cause)
{
	const struct conn *c = &p->conns[conn];

	pool_act(p,
	    (struct action){ .kind = (uint8_t)kind,
		.cause = (uint8_t)cause,
		.app = c->app,
		.process = c->process,
		.conn = conn,
		.stamp = c->seq });
}

void
pool_act_app(struct pool *p, enum action_kind kind, uint32_t app)
{
	pool_act(p,
	    (struct action){ .kind = (uint8_t)kind,
		.app = app,
		.process = ILIST_NONE,
		.conn = ILIST_NONE,
		.stamp = kind == ACTION_OVER ? p->apps[app].over
					     : p->apps[app].stamp });
}

void
pool_tell(struct pool *p, uint32_t app, enum action_news news, uint32_t process)
{
	struct app *a = &p->apps[app];

	if (a->news & 1u << news)
		return;
	a->news |= 1u << news;
	pool_act(p,
	    (struct action){ .kind = ACTION_TELL,
		.cause = (uint8_t)news,
		.app = app,
		.process = process,
		.conn = ILIST_NONE,
		.stamp = a->stamp });
}

/* What a valid action means for the pool; false: it is not wanted any more. */
static bool
pool_taken_out(struct pool *p, struct action *a)
{
	struct app *app = &p->apps[a->app];

	switch ((enum action_kind)a->kind) {
	case ACTION_SPAWN:
		p->processes[a->process].launched = true;
		break;
	case ACTION_HAND:
		p->conns[a->conn].state = CONN_HANDED;
		break;
	case ACTION_TAKE:
		app->taking = false;
		if (!prefetch_is_due(p, a->app)) {
			pool_arm_app(p, a->app);
			return false;
		}
		a->process = p->conns[app->prefetched.first].process;
		break;
	case ACTION_REFUSE:
		queue_free(p, a->conn);
		pool_resume_full(p);
		break;
	case ACTION_OVER:
		app->over = 0;
		app->phase = APP_OVER;
		app->haunted = app->stuck > 0;
		break;
	case ACTION_TELL:
		app->news &= ~(1u << a->cause);
		break;
	default:
		break;
	}
	return true;
}

bool
pool_next_action(struct pool *p, struct action *out)
{
	struct actions *q = &p->actions;

	while (q->count > 0) {
		struct action a = q->ring[q->first];

		q->first = (q->first + 1) % q->capacity;
		q->count--;
		if (!pool_action_valid(p, &a) || !pool_taken_out(p, &a))
			continue;
		*out = a;
		return true;
	}
	return false;
}
