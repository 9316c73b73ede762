/* All that a daemon leaves to the program that replaces it, in order. */

#include "daemon/carry.h"
#include "daemon/worker.h"

/* --- the daemon, and connections ------------------------------------------ */

static bool
daemon_restore(struct carry *c, struct group *g, void *record)
{
	(void)g;
	return carry_copy(c, c->sup, record);
}

#define F(m) CARRY(struct supervisor, m)
static const struct carry_field daemon_fields[] = { F(nofile.rlim_cur),
	F(nofile.rlim_max), F(started), F(generation), F(autosize.all.ceiling),
	CARRY_ARRAY(struct supervisor, events.last), F(reaping.oom_kills),
	F(told.ready) };
#undef F

CARRY_KIND(carry_daemon, "daemon", struct supervisor, daemon_fields,
    .inside = true, .restore = daemon_restore);

static bool
accepted_restore(struct carry *c, struct group *g, void *record)
{
	(void)g;
	return c->of < c->sup->pool.nconns &&
	    carry_copy(c, &c->sup->accepted[c->of], record);
}

static const struct carry_field accepted_fields[] = { CARRY_FD(
							  struct accepted, fd),
	CARRY(struct accepted, tcp), CARRY(struct accepted, handed),
	CARRY(struct accepted, len), CARRY_OWNED(struct accepted, request) };

CARRY_KIND(carry_accepted, "accepted", struct accepted, accepted_fields,
    .restore = accepted_restore);

/* --- all kinds ------------------------------------------------------------ */

CARRY_ROW(carry_place, "place", CARRY_PLACE);
CARRY_ROW(carry_process, "process", CARRY_PROCESS);
CARRY_ROW(carry_conn, "conn", CARRY_CONN);
CARRY_ROW(carry_ahead, "ahead", CARRY_AHEAD);

/* All has been read; then the pool goes on, unless it is a dry run. */
static bool
carry_complete(struct carry *c, struct group *g, void *record)
{
	struct supervisor *s = c->sup;
	const struct app *wrong = carry_check(&s->pool);

	(void)g;
	(void)record;
	if (wrong != NULL) {
		(void)snprintf(c->why, sizeof(c->why),
		    "figures of app %zu contradict each other",
		    (size_t)(wrong - s->pool.apps));
		return false;
	}
	for (uint32_t n = 0; n < s->pool.nprocesses && !c->dry; n++)
		if (s->pool.processes[n].state != PROCESS_GONE &&
		    s->workers[n] == NULL) {
			(void)snprintf(c->why, sizeof(c->why),
			    "process %u has no worker", (unsigned)n);
			return false;
		}
	if (c->dry)
		return true;
	apps_set_title(s);
	autosize_configure(s, c->now);
	carry_go_on(&s->pool, c->now);
	/* Some may have died meanwhile, whose signal is merged with others. */
	timer_set(&s->loop.timers, &s->reaping.timer, c->now);
	return true;
}

const struct carry_kind carry_end = { .name = "end",
	.fields = &carry_rows[CARRY_AHEAD].fields,
	.inside = true,
	.restore = carry_complete };

#define CARRY_OF(id, kind) &(kind),
const struct carry_kind *carry_kinds[CARRIED_KINDS] = { CARRY_KINDS(CARRY_OF) };

/* --- all of it ------------------------------------------------------------ */

static void
carry_put_conns(struct carry *c, const struct ilist *list)
{
	const struct pool *p = &c->sup->pool;
	uint32_t n = list->first;

	for (; n != ILIST_NONE; n = p->conn_links[n].next) {
		carry_put(c, CARRIED_CONN, n, &p->conns[n]);
		carry_put(c, CARRIED_ACCEPTED, n, &c->sup->accepted[n]);
	}
}

/* The app, and then all that the app's number has to be known for. */
static void
carry_put_app(struct carry *c, const struct group *g)
{
	const struct pool *p = &c->sup->pool;
	const struct app *a = &p->apps[g->app];
	const struct worker *w;
	uint32_t n;

	for (enum carry_id id = 0; id < CARRIED_KINDS; id++)
		if (carry_kinds[id]->put_app != NULL)
			carry_kinds[id]->put_app(c, g);
	for (n = room_next(p, g->app, ILIST_NONE); n != ILIST_NONE;
	     n = room_next(p, g->app, n)) {
		carry_put(c, CARRIED_PROCESS, n, &p->processes[n]);
		carry_put_conns(c, &p->processes[n].conns);
	}
	TAILQ_FOREACH(w, &g->workers, next)
		worker_carry(c, w);
	carry_put_conns(c, &a->queue);
	carry_put_conns(c, &a->cleared);
	for (n = a->prefetched.first; n != ILIST_NONE;
	     n = p->prefetch_links[n].next)
		carry_put(c, CARRIED_AHEAD, n, NULL);
}

void
carry_all(struct carry *c)
{
	const struct supervisor *s = c->sup;
	const struct pool *p = &s->pool;
	const struct group *g = NULL;

	carry_put(c, CARRIED_DAEMON, 0, s);
	carry_put(c, CARRIED_POOL, 0, p);
	while ((g = group_next(s, g)) != NULL)
		carry_put_app(c, g);
	for (uint32_t n = p->places.first; n != ILIST_NONE;
	     n = p->app_links[n].next)
		carry_put(c, CARRIED_PLACE, n, NULL);
	for (enum carry_id id = 0; id < CARRIED_KINDS; id++)
		if (carry_kinds[id]->put != NULL)
			carry_kinds[id]->put(c);
	carry_put(c, CARRIED_END, 0, NULL);
}
