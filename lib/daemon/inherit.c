/*
 * What a daemon leaves to the program that replaces it: all records in their
 * order, and those of the tables that several files share.
 */

#include <stdlib.h>
#include <string.h>

#include "daemon/carry.h"
#include "daemon/counter.h"
#include "daemon/worker.h"

/* --- the daemon, and the pool --------------------------------------------- */

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

static bool
pool_restore(struct carry *c, struct group *g, void *record)
{
	(void)g;
	return reload_inherit(c->sup, record);
}

static bool
app_restore(struct carry *c, struct group *g, void *record)
{
	(void)c;
	size_options(g, &((struct app *)record)->options);
	return true;
}

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

/* --- apps ----------------------------------------------------------------- */

struct carried_name {
	char *name;
	bool broken; /* it was, for the daemon that has written this */
	char *former; /* the app as conf_print_app() has it; NULL: none */
};

static bool
name_restore(struct carry *c, struct group *g, void *record)
{
	const struct supervisor *s = c->sup;
	const struct carried_name *row = record;
	const struct conf_app *conf;
	struct conf_report report;

	if (row->name == NULL || c->of >= s->pool.napps ||
	    s->groups[c->of] != NULL)
		return false;
	conf = conf_find_app(s->config, row->name);
	if (conf != NULL && conf->broken != NULL && !row->broken)
		(void)snprintf(c->why, sizeof(c->why), "%s cannot run: %s",
		    row->name, conf->broken);
	if (conf == NULL || c->why[0] != '\0' ||
	    (g = group_new(c->sup, conf, c->of, c->now)) == NULL)
		return false;
	/* One that cannot be loaded any more cannot be gone back to. */
	if (row->former != NULL)
		g->former.config =
		    conf_load_text(s->config->file, NULL, row->former, &report);
	if (row->former != NULL)
		conf_report_fini(&report);
	if (g->former.config != NULL)
		g->former.conf = &g->former.config->apps[0];
	return true;
}

static const struct carry_field name_fields[] = {
	CARRY_OWNED(struct carried_name, name),
	CARRY(struct carried_name, broken),
	CARRY_OWNED(struct carried_name, former)
};

static bool
group_inherit(struct carry *c, struct group *g, void *record)
{
	(void)carry_copy(c, g, record);
	if (c->dry) {
		g->cgroup.events = -1;
		return true;
	}
	group_configure(g, c->now);
	if (group_accepts_itself(g))
		timer_set(&c->sup->loop.timers, &g->backlog.timer, c->now);
	return true;
}

#define F(m) CARRY(struct group, m)
#define T(m) CARRY_TEXT(struct group, m)
static const struct carry_field group_fields[] = { F(since), F(hold.muted),
	F(hold.stopped), F(hold.error), F(size.set), F(size.now.min),
	F(size.now.max), F(size.of_file.min), F(size.of_file.max), F(drained),
	F(paused), F(unfit), F(none_ahead), F(leaves), F(backlog.depth),
	F(backlog.calm_at), F(backlog.awaited), F(backlog.awaited_since),
	F(backlog.falls), F(backlog.opened), F(backlog.open_at),
	T(backlog.wrong_port), F(backlog.wrong_generation), F(hold.why),
	CARRY_TIMER(struct group, hold.close), F(autosize.fit.ceiling),
	F(autosize.fit.size), F(autosize.ran), F(autosize.busy),
	CARRY_FD(struct group, cgroup.events), F(cgroup.oom_kills),
	F(locks.held), F(locks.asked), F(locks.granted), F(locks.full),
	F(locks.timed_out), F(locks.unreachable), F(locks.lost), T(failure.why),
	F(failure.at), F(failure.generation), T(given_up.why), F(given_up.at),
	F(given_up.generation) };
#undef F
#undef T

/* --- all kinds ------------------------------------------------------------ */

/* Of the core, of this file, and of others; the control socket adds its own. */
#define ROW(n, id, ...) \
	&(const struct carry_kind) \
	{ \
		.name = n, .fields = &carry_rows[id].fields, \
		.row = &carry_rows[id], .inside = true, __VA_ARGS__ \
	}
#define HERE(n, s, table, ...) \
	&(const struct carry_kind) \
	{ \
		.name = n, CARRY_KIND(s, table), __VA_ARGS__ \
	}

const struct carry_kind *carry_kinds[CARRIED_KINDS] = {
	[CARRIED_STATE] = &carry_state,
	[CARRIED_DAEMON] = HERE("daemon", struct supervisor, daemon_fields,
	    .inside = true, .restore = daemon_restore),
	[CARRIED_POOL] = ROW("pool", CARRY_POOL, .restore = pool_restore),
	[CARRIED_NAME] = HERE("name", struct carried_name, name_fields,
	    .inside = true, .restore = name_restore),
	[CARRIED_GROUP] = HERE("group", struct group, group_fields,
	    .inside = true, .of_app = true, .restore = group_inherit),
	[CARRIED_APP] =
	    ROW("app", CARRY_APP, .of_app = true, .restore = app_restore),
	[CARRIED_LISTENER] = &carry_listener_kind,
	[CARRIED_FILE] = &carry_file,
	[CARRIED_TEMPLATING] = &carry_templating,
	[CARRIED_TEMPLATE] = &carry_template,
	[CARRIED_PLACE] = ROW("place", CARRY_PLACE),
	[CARRIED_PROCESS] = ROW("process", CARRY_PROCESS),
	[CARRIED_WORKER] = &carry_worker,
	[CARRIED_OUTPUT] = &carry_output,
	[CARRIED_CONN] = ROW("conn", CARRY_CONN),
	[CARRIED_ACCEPTED] = HERE("accepted", struct accepted, accepted_fields,
	    .restore = accepted_restore),
	[CARRIED_AHEAD] = ROW("ahead", CARRY_AHEAD),
	[CARRIED_PARKED] = &carry_parked,
	[CARRIED_REFUSAL] = &carry_refusal,
	[CARRIED_LOCK] = &carry_lock,
	[CARRIED_KEEPER] = &carry_keeper,
	[CARRIED_COUNTER] = &carry_counter,
	[CARRIED_COUNTER_LISTENER] = &carry_counter_listener,
	[CARRIED_END] = &(const struct carry_kind){ .name = "end",
	    .fields = &carry_rows[CARRY_AHEAD].fields },
};

/* --- all of it ------------------------------------------------------------ */

static void
inherit_put_conn(struct carry *c, uint32_t conn)
{
	carry_put(c, CARRIED_CONN, conn, &c->sup->pool.conns[conn]);
	carry_put(c, CARRIED_ACCEPTED, conn, &c->sup->accepted[conn]);
}

static void
inherit_put_conns(struct carry *c, const struct ilist *list)
{
	const struct ilink *links = c->sup->pool.conn_links;

	for (uint32_t n = list->first; n != ILIST_NONE; n = links[n].next)
		inherit_put_conn(c, n);
}

/* The app, and then all that the app's number has to be known for. */
static void
inherit_put_app(struct carry *c, const struct group *g)
{
	const struct pool *p = &c->sup->pool;
	struct carried_name name = { g->conf->name, g->conf->broken != NULL,
		NULL };
	size_t len;
	FILE *out =
	    g->former.conf == NULL ? NULL : open_memstream(&name.former, &len);
	const struct app *a = &p->apps[g->app];
	const struct worker *w;
	uint32_t n;

	if (out != NULL) {
		conf_print_app(g->former.conf, out);
		(void)fclose(out);
	}
	carry_put(c, CARRIED_NAME, g->app, &name);
	free(name.former);
	carry_put(c, CARRIED_GROUP, g->app, g);
	carry_put(c, CARRIED_APP, g->app, a);
	for (n = carry_next(p, g->app, ILIST_NONE); n != ILIST_NONE;
	     n = carry_next(p, g->app, n)) {
		carry_put(c, CARRIED_PROCESS, n, &p->processes[n]);
		inherit_put_conns(c, &p->processes[n].conns);
	}
	TAILQ_FOREACH(w, &g->workers, next)
		worker_carry(c, w);
	inherit_put_conns(c, &a->queue);
	inherit_put_conns(c, &a->cleared);
	for (n = a->prefetched.first; n != ILIST_NONE;
	     n = p->prefetch_links[n].next)
		carry_put(c, CARRIED_AHEAD, n, NULL);
	for (enum carry_id id = 0; id < CARRIED_KINDS; id++)
		if (carry_kinds[id]->put_app != NULL)
			carry_kinds[id]->put_app(c, g);
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
		inherit_put_app(c, g);
	for (uint32_t n = p->places.first; n != ILIST_NONE;
	     n = p->app_links[n].next)
		carry_put(c, CARRIED_PLACE, n, NULL);
	for (enum carry_id id = 0; id < CARRIED_KINDS; id++)
		if (carry_kinds[id]->put != NULL)
			carry_kinds[id]->put(c);
	carry_put(c, CARRIED_END, 0, NULL);
}

bool
carry_complete(struct carry *c)
{
	struct supervisor *s = c->sup;
	const struct app *wrong = carry_check(&s->pool);

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
