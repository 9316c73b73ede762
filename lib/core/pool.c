/* The pool as a whole: its memory, its actions, its time. */

#include <assert.h>
#include <string.h>

#include "core/layout.h"
#include "core/pool.h"
#include "core/settle.h"

/* --- memory ------------------------------------------------------------- */

static size_t
ring_capacity(const struct pool_limits *l)
{
	/* Stale actions are dropped when the ring is full. */
	return (size_t)6 * l->processes + 4 * (size_t)l->conns +
	    16 * (size_t)l->apps;
}

/* Lays the tables out in the memory; gives the bytes that takes. */
static size_t
lay_out(struct pool *p, const struct pool_limits *l, char *memory)
{
	size_t used = 0, ring = ring_capacity(l);
	void *at;

	p->limits = *l;
	p->apps = layout_carve(memory, &used, l->apps * sizeof(*p->apps));
	p->processes =
	    layout_carve(memory, &used, l->processes * sizeof(*p->processes));
	p->conns = layout_carve(memory, &used, l->conns * sizeof(*p->conns));
	p->app_links =
	    layout_carve(memory, &used, l->apps * sizeof(struct ilink));
	p->process_links =
	    layout_carve(memory, &used, l->processes * sizeof(struct ilink));
	p->conn_links =
	    layout_carve(memory, &used, l->conns * sizeof(struct ilink));
	p->prefetch_links =
	    layout_carve(memory, &used, l->conns * sizeof(struct ilink));
	p->rooms = layout_carve(memory, &used,
	    (size_t)l->apps * l->sessions * sizeof(struct ilist));
	p->actions.ring =
	    layout_carve(memory, &used, ring * sizeof(struct action));
	p->actions.capacity = (uint32_t)ring;
	at = layout_carve(memory, &used, deadlines_memory(l->apps));
	if (at != NULL)
		deadlines_init(&p->app_deadlines, at, l->apps);
	at = layout_carve(memory, &used, deadlines_memory(l->processes));
	if (at != NULL)
		deadlines_init(&p->process_deadlines, at, l->processes);
	return used;
}

size_t
pool_memory(const struct pool_limits *limits)
{
	struct pool none = { 0 };

	return lay_out(&none, limits, NULL);
}

void
pool_init(struct pool *p, const struct pool_limits *limits, void *memory,
    uint32_t max_processes, uint64_t seed, tstamp now)
{
	assert(now > 0);
	memset(p, 0, sizeof(*p));
	(void)lay_out(p, limits, memory);
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
copy_tables(const struct pool *from, struct pool *to)
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
	(void)lay_out(&to, limits, memory);
	copy_tables(p, &to);
	*p = to;
	/* Full tables may have held up processes and connections. */
	settle_places(p);
	settle_numbers(p);
}

void
pool_snapshot(const struct pool *p, void *memory, struct pool *out)
{
	*out = *p;
	(void)lay_out(out, &p->limits, memory);
	copy_tables(p, out);
}

/* --- actions ------------------------------------------------------------ */

/* Notes that the action is taken out; false: it is wanted no longer. */
static bool
take_out(struct pool *p, struct action *a)
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
		app_touch(app, MARK_PREFETCH);
		if (!prefetch_is_due(p, a->app)) {
			settle_arm(p, a->app);
			return false;
		}
		a->process = p->conns[app->prefetched.first].process;
		break;
	case ACTION_REFUSE:
		queue_free(p, a->conn);
		settle_numbers(p);
		break;
	case ACTION_OVER:
		app->over = 0;
		app_enter(app, app->stuck > 0 ? APP_LEFT_STUCK : APP_LEFT);
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
	struct action a;

	while (actions_next(p, &a))
		if (take_out(p, &a)) {
			*out = a;
			return true;
		}
	return false;
}

/* --- time --------------------------------------------------------------- */

tstamp
pool_deadline(const struct pool *p)
{
	uint32_t n;
	tstamp at = deadlines_first(&p->app_deadlines, &n);

	at = tstamp_min(at, deadlines_first(&p->process_deadlines, &n));
	if (p->phase == POOL_STOPPING)
		at = tstamp_min(at, p->stop_at - p->stop_grace);
	return at;
}

void
pool_tick(struct pool *p, tstamp now)
{
	uint32_t n;

	settle_at(p, now);
	if (p->phase == POOL_STOPPING && p->stop_at - p->stop_grace <= now)
		pool_stop_now(p, p->stop_grace, now);
	/* The tick of a process may bring a deadline of an app. */
	while (pool_deadline(p) <= now) {
		if (deadlines_first(&p->process_deadlines, &n) <= now) {
			settle_process(p, n);
			continue;
		}
		(void)deadlines_first(&p->app_deadlines, &n);
		deadlines_set(&p->app_deadlines, n, TSTAMP_NEVER);
		app_touch(&p->apps[n], MARK_ALL);
		settle_app(p, n);
	}
}

tstamp
pool_waiting_since(const struct pool *p, uint32_t app)
{
	return queue_since(p, app);
}

tspan
pool_idle_while_waiting(const struct pool *p, uint32_t app, tstamp now)
{
	const struct app *a = &p->apps[app];

	return a->idle_while_waiting +
	    (a->waste_since == 0 ? 0 : now - a->waste_since);
}

tstamp
pool_start_gate(const struct pool *p, uint32_t app)
{
	return bounds_gate(&p->apps[app]);
}
