/*
 * The apps of a configuration, and their listeners.
 *
 * A socket that is open is never closed and bound again, for what waits in its
 * backlog would be reset: each listener goes to the app that has its address
 * now. Only what nobody has is opened, before anything is changed, and
 * listeners that no app has claimed leave when all have.
 *
 * An app that leaves serves out what waits and what is in its backlogs, within
 * its stop_timeout. If it comes back meanwhile, the group that leaves is the
 * app again: another one beside it would find its address taken.
 */

#include <sys/param.h>

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/action.h"
#include "daemon/carry.h"
#include "daemon/counter.h"
#include "daemon/worker.h"

/* --- readiness and failures ---------------------------------------------- */

bool
group_is_ready(const struct group *g)
{
	return !g->sup->stopping && !g->closing &&
	    app_is_open(&g->sup->pool.apps[g->app]) &&
	    backlog_wrong_port(g)[0] == '\0';
}

void
group_failed(struct group *g, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(g->failure.why, sizeof(g->failure.why), fmt, ap);
	va_end(ap);
	g->failure.at = loop_now(&g->sup->loop);
	g->failure.generation = g->sup->pool.apps[g->app].generation;
}

void
group_tell_backoff(struct group *g, tstamp now)
{
	const struct app *app = &g->sup->pool.apps[g->app];
	char why[GROUP_FAILURE_MAX];

	/* Of a failed app, NEWS_FAILED says more. */
	if (app->failed || app->backoff.until <= now)
		return;
	if (g->config->choice == NULL || app->announced ||
	    !settle_ends(g, false, group_failure(g, why), now))
		log_info("%s: next start in %.1f s", g->conf->name,
		    tspan_to_seconds(app->backoff.until - now));
}

const char *
group_failure(const struct group *g, char buf[GROUP_FAILURE_MAX])
{
	static const char *const expected[] = {
		[CONF_HANDOFF_NATIVE] = "to speak apppool-worker(7)",
		[CONF_HANDOFF_ACCEPT] = "to accept on descriptor 0 or 3",
	};
	const struct app *app = &g->sup->pool.apps[g->app];
	const uint64_t *exits = app->figures.exits;
	const char *why = g->failure.why;
	/* Without a file the first end is told as a failure of the app. */
	bool ended =
	    exits[END_EXIT] + exits[END_FAILURE] + exits[END_START_TIMEOUT] > 0;

	if (g->failure.generation < app->proven)
		why = "";
	if (why[0] == '\0' && app->failed)
		why = "it does not start";
	/* A hint at a program that may be the wrong one. */
	if (!(app->failed || (g->config->choice != NULL && ended)) ||
	    app->announced || g->conf->broken != NULL ||
	    exits[END_SPAWN] != 0 || exits[END_FAIL] != 0 ||
	    g->conf->handoff > CONF_HANDOFF_ACCEPT)
		(void)snprintf(buf, GROUP_FAILURE_MAX, "%s", why);
	else
		(void)snprintf(buf, GROUP_FAILURE_MAX,
		    "%s; handoff = %s expects the program %s", why,
		    conf_handoff_names[g->conf->handoff],
		    expected[g->conf->handoff]);
	return buf;
}

/* --- sizes --------------------------------------------------------------- */

/* Bounds of the file: job workers are as many as their minimum. */
static struct group_size
size_of_file(const struct conf_app *conf)
{
	return (struct group_size){ conf->pool.min_processes,
		conf->pool.max_processes };
}

static bool
size_is_same(struct group_size a, struct group_size b)
{
	return a.min == b.min && a.max == b.max;
}

/* The options of the app for the core, with the size that it has now. */
static void
size_options(const struct group *g, struct app_options *out)
{
	*out = g->conf->pool;
	if (g->none_ahead && out->prefetch_auto &&
	    g->conf->handoff == CONF_HANDOFF_ACCEPT)
		out->prefetch = 0;
	if (g->conf->max_auto)
		out->max_processes = MIN(out->max_processes,
		    MAX(g->autosize.fit.ceiling, MAX(out->min_processes, 1)));
	if (!g->size.set)
		return;
	out->min_processes = g->size.now.min;
	out->max_processes = g->size.now.max;
}

static void
size_apply(struct group *g, tstamp now)
{
	struct app_options o;

	size_options(g, &o);
	pool_app_change(&g->sup->pool, g->app, &o, now);
}

void
size_follow(struct group *g, tstamp now)
{
	struct app_options o;

	size_options(g, &o);
	if (o.max_processes != g->sup->pool.apps[g->app].options.max_processes)
		size_apply(g, now);
}

bool
size_set(
    struct group *g, uint32_t min, uint32_t max, char why[SIZE_WHY], tstamp now)
{
	struct pool *p = &g->sup->pool;
	bool jobs = g->conf->handoff == CONF_HANDOFF_NONE;
	const struct group *other = NULL;
	uint64_t sum = min;

	while ((other = group_next(g->sup, other)) != NULL)
		if (other != g && !other->closing)
			sum += p->apps[other->app].options.min_processes;
	why[0] = '\0';
	if (jobs && min != max)
		(void)snprintf(why, SIZE_WHY,
		    "with handoff = none there are always min_processes: both "
		    "numbers have to be the same");
	else if (max < 1 && !jobs)
		(void)snprintf(why, SIZE_WHY, "max_processes is at least 1");
	else if (min > max)
		(void)snprintf(why, SIZE_WHY,
		    "min_processes (%" PRIu32
		    ") is over max_processes (%" PRIu32 ")",
		    min, max);
	else if (g->conf->pool.min_idle > max)
		(void)snprintf(why, SIZE_WHY,
		    "min_idle (%u) is over max_processes (%" PRIu32 ")",
		    g->conf->pool.min_idle, max);
	else if (sum > g->sup->config->max_processes)
		(void)snprintf(why, SIZE_WHY,
		    "the apps' min_processes would add up to %" PRIu64
		    ", over max_processes of the daemon (%" PRIu32 ")",
		    sum, g->sup->config->max_processes);
	if (why[0] != '\0')
		return false;
	g->size.now = (struct group_size){ min, max == 0 ? 1 : max };
	g->size.of_file = size_of_file(g->conf);
	g->size.set = !size_is_same(g->size.now, g->size.of_file);
	size_apply(g, now);
	return true;
}

/* Tells which size holds where an operator has set one, after a reload. */
static void
size_reloaded(struct group *g, FILE *answer)
{
	struct group_size file = size_of_file(g->conf);
	char set[SIZE_TEXT], says[SIZE_TEXT];

	if (!g->size.set)
		return;
	g->size.set = size_is_same(file, g->size.of_file) &&
	    !size_is_same(file, g->size.now);
	(void)size_format(g->size.now, set);
	(void)size_format(file, says);
	if (g->size.set)
		logging_tell(answer, LOG_LEVEL_INFO,
		    "%s: keeps %s, as resized; the file says %s as before",
		    g->conf->name, set, says);
	else
		logging_tell(answer, LOG_LEVEL_INFO,
		    "%s: %s, as the file says; no longer %s as resized",
		    g->conf->name, says, set);
}

/* --- groups -------------------------------------------------------------- */

/*
 * The title of the daemon in ps(1). Behind one that is shorter than argv[0]
 * libbsd leaves a dot there, so blanks make it longer.
 */
void
apps_set_title(const struct supervisor *s)
{
	const struct group *g = NULL;
	unsigned apps = 0;

	while ((g = group_next(s, g)) != NULL)
		apps++;
	setproctitle("supervisor, %u app%-*s", apps,
	    (int)strlen(program_invocation_name), apps == 1 ? "" : "s");
}

struct group *
group_find(const struct supervisor *s, const char *name)
{
	struct group *g = NULL;

	while ((g = group_next(s, g)) != NULL)
		if (!g->closing && strcmp(g->conf->name, name) == 0)
			break;
	return g;
}

struct group *
group_new(
    struct supervisor *s, const struct conf_app *conf, uint32_t app, tstamp now)
{
	struct group *g = calloc(1, sizeof(*g));
	struct app_options o;

	if (g == NULL || (g->keeper = keeper_app_get(s, conf->name)) == NULL) {
		free(g);
		return NULL;
	}
	g->sup = s;
	g->cgroup.events = -1;
	g->since = now;
	g->config = conf_ref(s->config);
	g->conf = conf;
	g->keeper->errors = conf->program.stderr_level;
	TAILQ_INIT(&g->listeners);
	TAILQ_INIT(&g->workers);
	TAILQ_INIT(&g->starts.queued);
	TAILQ_INIT(&g->parking.idle);
	TAILQ_INIT(&g->parking.stirred);
	timer_init(&g->hold.close, hold_close);
	timer_init(&g->starts.rest, NULL);
	timer_init(&g->backlog.timer, backlog_time_to_look);
	timer_init(&g->parking.timer, NULL);
	size_options(g, &o);
	g->app = app == ILIST_NONE ? pool_app_add(&s->pool, &o, now) : app;
	assert(s->groups[g->app] == NULL);
	s->groups[g->app] = g;
	if (conf->broken != NULL)
		group_failed(g, "%s", conf->broken);
	return g;
}

static void
apps_tell_restricted(const struct group *g)
{
	if (g->conf->program.restricted)
		log_warnx("%s: handoff = accept sets no_new_privileges, for "
			  "apppoold is not root, or lacks CAP_SYS_ADMIN or "
			  "CAP_NET_BROADCAST: set-user-ID programs gain no "
			  "rights",
		    g->conf->name);
}

void
group_hand_none_ahead(struct group *g, tstamp now)
{
	if (g->none_ahead)
		return;
	g->none_ahead = true;
	size_apply(g, now);
}

bool
group_leave_library(const struct worker *w, const char *why, tstamp now)
{
	struct group *g = w->group;
	uint32_t generation = g->sup->pool.apps[g->app].generation;

	if (g->conf->accept_by == CONF_ACCEPT_BY_LIBRARY)
		return false;
	if (!group_has_library(g) ||
	    w->sup->pool.processes[w->process].generation != generation)
		return true;
	g->unfit = generation + 1;
	tell_app(g, LOG_LEVEL_INFO, EVENT_RESTART, NULL,
	    "accepts by seccomp, not by the library: %s", why);
	apps_tell_restricted(g);
	group_hand_none_ahead(g, now);
	template_update(g, now);
	return true;
}

void
group_free(struct group *g)
{
	assert(TAILQ_EMPTY(&g->listeners) && TAILQ_EMPTY(&g->starts.queued));
	g->sup->groups[g->app] = NULL;
	keeper_app_put(g->keeper);
	conf_free(g->config);
	conf_free(g->former.config);
	free(g);
}

/* The features of the app are as its options say from now on. */
static void
group_configure(struct group *g, tstamp now)
{
	limiter_configure(g, now);
	sampling_begin(g, now);
	if (g->conf->max_auto)
		autosize_begin(g->sup, now);
	restart_files_configure(g, now);
	template_configure(g, now);
}

/* --- opening ------------------------------------------------------------- */

void
apps_prepare(struct supervisor *s, const struct conf *conf,
    struct openings *openings, struct app_listeners *prepared)
{
	for (size_t i = 0; i < conf->apps_len; i++) {
		const struct conf_app *app = &conf->apps[i];
		const struct group *g = group_find(s, app->name);

		if (g != NULL && g->hold.stopped && !group_is_another(g, app))
			continue;
		for (size_t k = 0; k < app->listen.len; k++)
			listeners_open_missing(
			    s, app, &app->listen.list[k], openings, prepared);
	}
}

/* --- at a reload ---------------------------------------------------------- */

static void
apps_close(struct group *g, tstamp now)
{
	g->closing = true;
	timer_set(&g->sup->loop.timers, &g->hold.close, TSTAMP_NEVER);
	pool_app_close(&g->sup->pool, g->app, now);
	parking_leave(g, now);
	accepting_leave(g, now);
	template_update(g, now);
}

/* The group has the options of this app from now on, but for its sizes. */
static void
apps_configure(struct group *g, struct conf *config, const struct conf_app *app,
    tstamp now)
{
	const struct cgroup_options *was = &g->conf->cgroup, *is = &app->cgroup;

	/* From a number, auto goes on with what that has allowed. */
	if (!g->conf->max_auto)
		g->autosize.fit.ceiling =
		    g->sup->pool.apps[g->app].options.max_processes;
	g->config = config;
	g->conf = app;
	g->leaves = 0;
	g->backlog.falls = false;
	g->keeper->errors = app->program.stderr_level;
	if (!g->hold.muted && !g->hold.stopped &&
	    (was->memory_max != is->memory_max ||
		was->memory_high != is->memory_high ||
		was->cpu_weight != is->cpu_weight ||
		was->cpu_max != is->cpu_max || was->tasks_max != is->tasks_max))
		app_cgroup_make(g);
	group_configure(g, now);
}

bool
group_roll_back(struct group *g, tstamp now)
{
	struct conf *old = g->config, *former = g->former.config;
	const struct conf_app *app =
	    former == NULL ? NULL : conf_find_app(former, g->conf->name);
	bool same = app != NULL && !group_is_another(g, app) &&
	    app->listen.len == g->conf->listen.len;

	for (size_t i = 0; same && i < app->listen.len; i++)
		same = strcmp(app->listen.list[i].text,
			   g->conf->listen.list[i].text) == 0;
	if (!same)
		return false;
	apps_configure(g, former, app, now);
	g->former.config = NULL;
	g->former.in_force = true;
	conf_free(old);
	size_apply(g, now);
	return true;
}

/* The options of the app are others, or it has left and comes back. */
static void
apps_change_one(struct group *g, const struct conf_app *app,
    struct app_listeners *opened, FILE *answer, tstamp now)
{
	struct pool *p = &g->sup->pool;
	struct conf *old = g->config;
	const struct conf_app *former = g->conf;
	unsigned changes = conf_app_changes(former, app);
	const struct conf_listeners *was = &former->listen, *is = &app->listen;
	bool listens = app->handoff == CONF_HANDOFF_LISTEN, back = g->closing;
	/* Processes would be started with other things now, */
	bool replace = (changes & CONF_CHANGED_PROCESS) != 0 ||
	    (listens && was->len != is->len);

	/* among them the sockets that they accept from themselves. */
	for (size_t i = 0; listens && !replace && i < is->len; i++)
		replace = strcmp(was->list[i].text, is->list[i].text) != 0;
	if (back)
		g->closing = g->drained = g->hold.muted = g->hold.stopped =
		    g->size.set = false;
	apps_configure(g, conf_ref(g->sup->config), app, now);
	g->former.in_force = false;
	if ((changes & CONF_CHANGED_PROCESS) != 0) {
		conf_free(g->former.config);
		g->former.config = old;
	} else {
		conf_free(old);
	}
	if (!group_may_park(app))
		parking_leave(g, now);
	if (!g->hold.stopped &&
	    listeners_claim(g, opened, (changes & CONF_CHANGED_LISTEN) != 0))
		replace |= listens;
	size_reloaded(g, answer);
	if (changes != 0 || back)
		size_apply(g, now);
	if (back) {
		pool_app_resume(p, g->app, now);
		listeners_resume(g);
		logging_tell(answer, LOG_LEVEL_INFO,
		    "%s: added again before it was gone: it goes on with what "
		    "was left of it",
		    app->name);
	}
	if (replace) {
		pool_app_restart(p, g->app, now);
		g->former.generation = p->apps[g->app].generation;
		logging_tell(answer, LOG_LEVEL_INFO,
		    "%s: its processes are replaced: they "
		    "finish what they hold, new ones start",
		    app->name);
	} else if (p->apps[g->app].failed) {
		pool_app_restart(p, g->app, now);
		logging_tell(answer, LOG_LEVEL_INFO,
		    "%s: had failed and is tried again", app->name);
	} else if (changes != 0 && !back) {
		logging_tell(
		    answer, LOG_LEVEL_INFO, "%s: changed in place", app->name);
	}
}

void
apps_change(struct supervisor *s, struct app_listeners *prepared, FILE *answer,
    tstamp now)
{
	const struct conf *conf = s->config;
	struct group *g;

	for (size_t i = 0; i < conf->apps_len; i++) {
		const struct conf_app *app = &conf->apps[i];
		struct group *former = group_find(s, app->name);

		g = NULL;
		while ((g = group_next(s, g)) != NULL)
			if (s->pool.apps[g->app].phase < APP_OVER &&
			    group_remains(g, app))
				break;
		if (g != NULL) {
			apps_change_one(g, app, prepared, answer, now);
		} else if ((g = group_new(s, app, ILIST_NONE, now)) != NULL) {
			if (app->program.library == NULL)
				apps_tell_restricted(g);
			app_cgroup_make(g);
			group_configure(g, now);
			apps_set_title(s);
			(void)listeners_claim(g, prepared, false);
			if (s->generation > 0)
				logging_tell(answer, LOG_LEVEL_INFO,
				    "%s: added", app->name);
		} else {
			logging_tell(answer, LOG_LEVEL_ERROR, "%s: %s",
			    app->name, strerror(errno));
		}
		if (g == NULL || former == NULL || former == g)
			continue;
		/* Held as the former group is, which leaves now. */
		if (former->hold.close.at != TSTAMP_NEVER ||
		    former->hold.stopped || former->hold.muted)
			hold_begin(g, former->hold.why, now);
		former->closing = true;
	}
	/* All listeners have been claimed: those left over leave. */
	for (g = NULL; (g = group_next(s, g)) != NULL;) {
		if (g->closing) {
			/* A new group of its name has come for it just now. */
			if (s->pool.apps[g->app].phase < APP_CLOSING)
				apps_close(g, now);
		} else if (conf_find_app(conf, g->conf->name) == NULL) {
			logging_tell(answer, LOG_LEVEL_INFO,
			    "%s: removed; clients that wait are served first",
			    g->conf->name);
			apps_close(g, now);
		} else if (!g->hold.stopped) {
			accepting_leave(g, now);
		}
	}
	listeners_open_awaited(s, now);
	/* Listeners of an app for which there was no memory. */
	listeners_close_all(prepared);
}

/* --- at the end of an app ------------------------------------------------- */

/* Opens sockets of the service manager that were lent to an app now over. */
static void
apps_open_lent(struct supervisor *s)
{
	struct group *g = NULL;

	while ((g = group_next(s, g)) != NULL) {
		struct app_listeners opened = TAILQ_HEAD_INITIALIZER(opened);
		struct app_listeners useless = TAILQ_HEAD_INITIALIZER(useless);
		struct app_listener *l, *after;
		struct openings openings;

		if (g->closing || g->hold.stopped)
			continue;
		openings_init(&openings, NULL);
		for (size_t k = 0; k < g->conf->listen.len; k++)
			if (g->conf->listen.list[k].kind == CONF_LISTEN_FD)
				listeners_open_missing(s, g->conf,
				    &g->conf->listen.list[k], &openings,
				    &opened);
		(void)openings_now(&openings);
		TAILQ_FOREACH_SAFE(l, &opened, next, after) {
			/* Processes that outlive their app have it still. */
			l->acceptor.listener.shared = true;
			/* A socket that was shut down is tried again later. */
			if (l->acceptor.listener.fd == -1) {
				TAILQ_REMOVE(&opened, l, next);
				TAILQ_INSERT_TAIL(&useless, l, next);
			}
		}
		listeners_close_all(&useless);
		(void)listeners_claim(g, &opened, false);
	}
}

void
apps_over(struct supervisor *s, const struct action *a, tstamp now)
{
	struct group *g = s->groups[a->app];
	const struct app *app = &s->pool.apps[a->app];

	if (g == NULL || app->phase != APP_OVER)
		return;
	/* At the end of stop_timeout the core also ends needed apps. */
	g->closing = true;
	timer_set(&s->loop.timers, &g->hold.close, TSTAMP_NEVER);
	listeners_close_all(&g->listeners);
	template_update(g, now);
	/* Called again when the last of them is closed, or has ended. */
	g->over = true;
	if (g->refused > 0 || template_leaves(g))
		return;
	if (!s->stopping)
		log_info("%s: gone", g->conf->name);
	backlog_fini(g);
	limiter_configure(g, now);
	restart_files_configure(g, now);
	template_configure(g, now);
	app_cgroup_leave(g);
	parking_leave(g, now);
	group_free(g);
	pool_app_free(&s->pool, a->app);
	apps_set_title(s);
	if (s->pool.phase != POOL_RUNNING) {
		apps_close_unneeded(s, now);
	} else {
		apps_open_lent(s);
		listeners_open_awaited(s, now);
	}
}

/*
 * A web server that ends gracefully still passes on requests that it has
 * accepted: its PHP takes connections until the web server is gone.
 */
void
apps_close_unneeded(struct supervisor *s, tstamp now)
{
	struct group *g = NULL, *other;

	while ((g = group_next(s, g)) != NULL) {
		if (g->closing)
			continue;
		for (other = group_next(s, NULL); other != NULL &&
		     !conf_app_needs(other->conf, g->conf->name);
		     other = group_next(s, other))
			;
		if (other == NULL)
			apps_close(g, now);
	}
}

/* --- carried over --------------------------------------------------------- */

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
	/* Options that cannot be loaded any more leave no way back. */
	if (row->former != NULL)
		g->former.config =
		    conf_load_text(s->config->file, NULL, row->former, &report);
	if (row->former != NULL)
		conf_report_fini(&report);
	return true;
}

static const struct carry_field name_fields[] = {
	CARRY_OWNED(struct carried_name, name),
	CARRY(struct carried_name, broken),
	CARRY_OWNED(struct carried_name, former)
};

static void
apps_carry(struct carry *c, const struct group *g)
{
	struct carried_name name = { g->conf->name, g->conf->broken != NULL,
		NULL };
	size_t len;
	const struct conf *former = g->former.config;
	FILE *out = former == NULL ? NULL : open_memstream(&name.former, &len);

	if (out != NULL) {
		conf_print_app(conf_find_app(former, g->conf->name), out);
		(void)fclose(out);
	}
	carry_put(c, CARRIED_NAME, g->app, &name);
	free(name.former);
	carry_put(c, CARRIED_GROUP, g->app, g);
	carry_put(c, CARRIED_APP, g->app, &c->sup->pool.apps[g->app]);
}

CARRY_KIND(carry_name, "name", struct carried_name, name_fields, .inside = true,
    .restore = name_restore, .put_app = apps_carry);

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
	F(given_up.generation), F(former.generation), F(former.in_force) };
#undef F
#undef T

CARRY_KIND(carry_group, "group", struct group, group_fields, .inside = true,
    .of_app = true, .restore = group_inherit);

static bool
app_restore(struct carry *c, struct group *g, void *record)
{
	(void)c;
	size_options(g, &((struct app *)record)->options);
	return true;
}

CARRY_ROW(carry_app, "app", CARRY_APP, .of_app = true, .restore = app_restore);
