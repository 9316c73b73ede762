/* The apps of a configuration, and their listeners. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "core/action.h"
#include "daemon/accepting.h"
#include "daemon/backlog.h"
#include "daemon/group.h"
#include "daemon/keeper.h"
#include "daemon/locks.h"
#include "daemon/restart_files.h"
#include "daemon/state.h"
#include "daemon/worker.h"

/* --- groups ------------------------------------------------------------- */

/*
 * The title of the daemon in ps(1). Behind one that is shorter than argv[0]
 * libbsd leaves a dot there, so blanks make it longer.
 */
static void
set_title(const struct supervisor *s)
{
	unsigned apps = 0;

	for (uint32_t n = 0; n < s->pool.napps; n++)
		apps += s->groups[n] != NULL;
	setproctitle("supervisor, %u app%-*s", apps,
	    (int)strlen(program_invocation_name), apps == 1 ? "" : "s");
}

/* A group with all its parts, but no listeners; NULL and errno. */
static struct group *
add(struct supervisor *s, const struct conf_app *conf, tstamp now)
{
	struct keeper_app *keeper = keeper_app_get(s, conf->name);
	struct group *g =
	    keeper == NULL ? NULL : group_new(s, s->config, conf, now);

	if (g == NULL) {
		keeper_app_put(keeper);
		return NULL;
	}
	g->keeper = keeper;
	if (conf->program.restricted)
		log_warnx("%s: handoff = accept sets no_new_privileges, for "
			  "apppoold is not root, or lacks CAP_SYS_ADMIN or "
			  "CAP_NET_BROADCAST: set-user-ID programs gain no "
			  "rights",
		    conf->name);
	spawn_init(g);
	parking_init(g);
	backlog_init(g);
	locks_configure(g, now);
	sampling_configure(g, now);
	restart_files_configure(g, NULL, now);
	template_configure(g, now);
	set_title(s);
	return g;
}

/* Gives the group the options of its app in the new configuration. */
static void
configure(struct group *g, const struct conf_app *conf, tstamp now)
{
	struct config *old = g->config;
	const struct conf_app *former = g->conf;

	g->config = config_ref(g->sup->config);
	g->conf = conf;
	locks_configure(g, now);
	sampling_configure(g, now);
	restart_files_configure(g, former, now);
	template_configure(g, now);
	config_unref(old);
}

/* --- listeners ---------------------------------------------------------- */

static bool
is_at(const struct app_listener *l, const char *text)
{
	return !l->leaving && strcmp(l->where.text, text) == 0;
}

/* The listener of any app that is open at this address; NULL: none. */
static struct app_listener *
find_open(const struct supervisor *s, const char *text)
{
	struct app_listener *l;

	for (uint32_t app = 0; app < s->pool.napps; app++) {
		if (s->groups[app] == NULL)
			continue;
		TAILQ_FOREACH(l, &s->groups[app]->listeners, next)
			if (is_at(l, text))
				return l;
	}
	return NULL;
}

static bool
has_address(const struct conf_app *app, const char *text)
{
	for (size_t i = 0; i < app->listen.len; i++)
		if (strcmp(app->listen.list[i].text, text) == 0)
			return true;
	return false;
}

/*
 * Whether processes of its app have the socket. They may do with it what they
 * want, as long as they live and whatever is configured: another app that
 * accepted from it in our loop would let them hold that up.
 */
static bool
is_shared(const struct app_listener *l)
{
	return l->acceptor.listener.fd != -1 && group_accepts_itself(l->group);
}

/*
 * Whether the address is a socket of the service manager's that processes of
 * an app which closes have. Another one cannot be bound in its place: clients
 * wait in its backlog until they have ended.
 */
static bool
is_lent(const struct supervisor *s, const struct conf_listen *where)
{
	const struct group *g;

	for (uint32_t app = 0; app < s->pool.napps; app++) {
		g = s->groups[app];
		if (g != NULL && g->closing && group_accepts_itself(g) &&
		    where->kind == CONF_LISTEN_FD &&
		    has_address(g->conf, where->text))
			return true;
	}
	return false;
}

enum connections {
	NONE,
	ONE,
	MANY,
	ITS_OWN, /* it accepts itself */
};

/* The connections that a process of an app can have. */
static enum connections
connections_of_handoff(enum conf_handoff handoff)
{
	switch (handoff) {
	case CONF_HANDOFF_NONE:
		return NONE;
	case CONF_HANDOFF_STDIO:
		return ONE;
	case CONF_HANDOFF_LISTEN:
		return ITS_OWN;
	default:
		return MANY;
	}
}

/*
 * Processes that accept connections themselves, have none, or one, cannot
 * serve what we have accepted for others: it is another app, of the same
 * name. The former one serves out what it has, without the listeners that
 * both have.
 */
static bool
is_another(const struct group *g, const struct conf_app *app)
{
	return connections_of_handoff(g->conf->handoff) !=
	    connections_of_handoff(app->handoff);
}

/* Whether the group stays the one of this app, which may be of another name. */
static bool
remains(const struct group *g, const struct conf_app *app)
{
	return strcmp(g->name, app->name) == 0 && !is_another(g, app);
}

/*
 * Whether the listener must not go to that app: its processes have it, and we
 * would accept from it. A socket of the service manager does all the same, if
 * they go on without it.
 */
static bool
stays(const struct app_listener *l, const struct group *to)
{
	const struct conf_app *app =
	    conf_find_app(to->config->conf, l->group->name);

	return is_shared(l) && !group_accepts_itself(to) &&
	    (!l->acceptor.listener.inherited || app == NULL ||
		is_another(l->group, app));
}

/* Empty lists, by app; NULL: no memory. */
static struct app_listeners *
new_lists(const struct conf *conf)
{
	struct app_listeners *lists =
	    calloc(conf->apps_len + 1, sizeof(*lists));

	for (size_t i = 0; lists != NULL && i < conf->apps_len; i++)
		TAILQ_INIT(&lists[i]);
	return lists;
}

void
apps_abandon(const struct conf *conf, struct app_listeners *prepared)
{
	for (size_t i = 0; i < conf->apps_len; i++)
		listeners_close_all(&prepared[i]);
	free(prepared);
}

/* Opens what the app needs to listen there. Returns like listeners_open(). */
static int
open_if_missing(struct supervisor *s, const struct conf_app *app,
    const struct conf_listen *where, struct openings *openings,
    struct app_listeners *out)
{
	const struct app_listener *l = find_open(s, where->text);

	if (l == NULL && is_lent(s, where))
		return 0;
	if (l == NULL)
		return listeners_open(s, app, where, openings, out);
	if (!is_shared(l) || l->acceptor.listener.inherited ||
	    remains(l->group, app) || app->handoff == CONF_HANDOFF_LISTEN)
		return 0;
	return listeners_await(s, where, out);
}

/* 0, or an errno: EINPROGRESS only where it is that of all that failed. */
static int
open_missing(struct supervisor *s, const struct conf_app *app,
    struct openings *openings, struct app_listeners *out, FILE *answer)
{
	const struct group *g = group_find(s, app->name);
	int error = 0;

	if (g != NULL && g->stopped && !is_another(g, app))
		return 0;
	for (size_t k = 0; k < app->listen.len; k++) {
		const struct conf_listen *where = &app->listen.list[k];

		if (open_if_missing(s, app, where, openings, out) == 0)
			continue;
		error = errno;
		if (error == EINPROGRESS)
			continue;
		logging_tell(answer, false, "%s:%d: %s: cannot listen: %s",
		    app->listen.file, app->listen.line, where->text,
		    strerror(error));
		break;
	}
	return error;
}

struct app_listeners *
apps_prepare(struct supervisor *s, const struct conf *conf,
    struct openings *openings, FILE *answer)
{
	struct app_listeners *opened = new_lists(conf);
	int error = 0, found;

	if (opened == NULL) {
		logging_tell(answer, false, "no memory");
		return NULL;
	}
	for (size_t i = 0; i < conf->apps_len; i++) {
		found = open_missing(
		    s, &conf->apps[i], openings, &opened[i], answer);
		if (found != 0)
			error = found;
		if (error != 0 && error != EINPROGRESS)
			break;
	}
	if (error == 0)
		return opened;
	apps_abandon(conf, opened);
	errno = error;
	return NULL;
}

/*
 * Gives the group all listeners at this address, several if the service
 * manager gave several sockets of one name; update: also those that it has.
 */
static void
claim(struct supervisor *s, const char *text, struct group *g, bool update)
{
	struct app_listener *l, *next;

	for (uint32_t app = 0; app < s->pool.napps; app++) {
		struct group *from = s->groups[app];

		if (from == NULL || (from == g && !update))
			continue;
		TAILQ_FOREACH_SAFE(l, &from->listeners, next, next) {
			if (!is_at(l, text) || (from != g && stays(l, g)))
				continue;
			if (from != g) {
				listeners_detach(l);
				accepting_begin(l, g);
			}
			listeners_update(l);
		}
	}
}

/* Gives the group the listeners of its app, if need be from another one. */
static void
claim_all(struct group *g, struct app_listeners *opened, bool update)
{
	for (size_t k = 0; k < g->conf->listen.len; k++)
		claim(g->sup, g->conf->listen.list[k].text, g, update);
	accepting_begin_all(opened, g);
}

/* Leaves listeners that no app has claimed. */
static void
leave_unclaimed(struct group *g, tstamp now)
{
	struct app_listener *l, *next;

	TAILQ_FOREACH_SAFE(l, &g->listeners, next, next)
		if (!has_address(g->conf, l->where.text))
			accepting_leave(l, now);
}

/* --- at the start ------------------------------------------------------- */

int
apps_open(struct supervisor *s)
{
	const struct conf *conf = s->config->conf;
	struct app_listeners *opened = new_lists(conf);
	tstamp now = loop_now(&s->loop);
	int status = EX_OK;

	if (opened == NULL)
		return EX_OSERR;
	for (size_t i = 0; i < conf->apps_len; i++) {
		const struct conf_app *app = &conf->apps[i];

		for (size_t k = 0; k < app->listen.len; k++)
			if (listeners_open(s, app, &app->listen.list[k], NULL,
				&opened[i]) == -1)
				status = services_exit_status(errno);
	}
	for (size_t i = 0; i < conf->apps_len && status == EX_OK; i++) {
		struct group *g = add(s, &conf->apps[i], now);

		if (g == NULL)
			status = EX_OSERR;
		else
			accepting_begin_all(&opened[i], g);
	}
	apps_abandon(conf, opened);
	return status;
}

/* --- at a reload -------------------------------------------------------- */

static void
close_group(struct group *g, tstamp now)
{
	g->closing = true;
	pool_app_close(&g->sup->pool, g->app, now);
	parking_leave(g, now);
	accepting_leave_all(g, now);
	template_end(g, now);
}

/* former: the group of the same name, if there is one. */
static bool
add_app(struct supervisor *s, const struct conf_app *app,
    const struct group *former, struct app_listeners *opened, FILE *answer,
    tstamp now)
{
	struct group *g = add(s, app, now);

	if (g == NULL) {
		logging_tell(
		    answer, false, "%s: %s", app->name, strerror(errno));
		return false;
	}
	claim_all(g, opened, false);
	if (former != NULL)
		hold_inherit(g, former, now);
	logging_tell(answer, true, "%s: added", app->name);
	return true;
}

/*
 * Whether all processes are to be replaced: they would be started with other
 * things now, among them the sockets they accept from themselves.
 */
static bool
replaces(const struct conf_app *old, const struct conf_app *new)
{
	if (conf_app_changes(old, new) & CONF_CHANGED_PROCESS)
		return true;
	if (new->handoff != CONF_HANDOFF_LISTEN)
		return false;
	for (size_t i = 0; i < new->listen.len &&i < old->listen.len; i++)
		if (strcmp(old->listen.list[i].text,
			new->listen.list[i].text) != 0)
			return true;
	return new->listen.len != old->listen.len;
}

static void
change_app(struct group *g, const struct conf_app *app,
    struct app_listeners *opened, FILE *answer, tstamp now)
{
	struct pool *p = &g->sup->pool;
	unsigned changes = conf_app_changes(g->conf, app);
	bool replace = replaces(g->conf, app);
	struct app_options o;

	configure(g, app, now);
	if (!app->parking.keep_alive && !app->parking.wait_for_data)
		parking_leave(g, now);
	if (!g->stopped)
		claim_all(g, opened, (changes & CONF_CHANGED_LISTEN) != 0);
	size_reloaded(g, answer);
	size_options(g, &o);
	if (changes != 0)
		pool_app_change(p, g->app, &o, now);
	if (replace) {
		pool_app_restart(p, g->app, now);
		logging_tell(answer, true,
		    "%s: its processes are replaced: they "
		    "finish what they hold, new ones start",
		    app->name);
	} else if (app_has_failed(&p->apps[g->app])) {
		pool_app_restart(p, g->app, now);
		logging_tell(answer, true, "%s: had failed and is tried again",
		    app->name);
	} else if (changes != 0) {
		logging_tell(answer, true, "%s: changed in place", app->name);
	}
}

/*
 * When all listeners have been claimed: leaves those left over, and closes
 * apps that are not in the file any more.
 */
static void
close_others(struct supervisor *s, FILE *answer, tstamp now)
{
	for (uint32_t app = 0; app < s->pool.napps; app++) {
		struct group *g = s->groups[app];

		if (g == NULL)
			continue;
		if (g->closing) {
			/* Another one of its name has come for it just now. */
			if (s->pool.apps[app].phase == APP_RUNNING)
				close_group(g, now);
			continue;
		}
		if (conf_find_app(s->config->conf, g->conf->name) != NULL) {
			leave_unclaimed(g, now);
			continue;
		}
		logging_tell(answer, true,
		    "%s: removed, it serves out what waits", g->conf->name);
		close_group(g, now);
	}
}

void
apps_change(struct supervisor *s, struct app_listeners *prepared, FILE *answer,
    tstamp now)
{
	const struct conf *conf = s->config->conf;

	for (size_t i = 0; i < conf->apps_len; i++) {
		const struct conf_app *app = &conf->apps[i];
		struct group *g = group_find(s, app->name);

		if (g != NULL && !is_another(g, app))
			change_app(g, app, &prepared[i], answer, now);
		else if (add_app(s, app, g, &prepared[i], answer, now) &&
		    g != NULL)
			g->closing = true;
	}
	close_others(s, answer, now);
	listeners_open_awaited(s, now);
	/* Listeners of an app for which there was no memory. */
	apps_abandon(conf, prepared);
}

/* --- at the end of an app ----------------------------------------------- */

/* Opens sockets of the service manager that were lent to an app now over. */
static void
open_lent(struct supervisor *s)
{
	for (uint32_t app = 0; app < s->pool.napps; app++) {
		struct app_listeners opened = TAILQ_HEAD_INITIALIZER(opened);
		struct group *g = s->groups[app];
		struct app_listener *l;

		if (g == NULL || g->closing || g->stopped)
			continue;
		for (size_t k = 0; k < g->conf->listen.len; k++)
			if (g->conf->listen.list[k].kind == CONF_LISTEN_FD)
				(void)open_if_missing(s, g->conf,
				    &g->conf->listen.list[k], NULL, &opened);
		/* Whatever outlives its app has them still. */
		TAILQ_FOREACH(l, &opened, next)
			l->acceptor.listener.shared = true;
		accepting_begin_all(&opened, g);
	}
}

void
apps_over(struct supervisor *s, const struct action *a, tstamp now)
{
	struct group *g = s->groups[a->app];
	const struct app *app = &s->pool.apps[a->app];

	if (g == NULL || app->phase != APP_OVER)
		return;
	listeners_close_all(&g->listeners);
	/* Called again when the last of them is closed. */
	g->over = true;
	if (g->refused > 0)
		return;
	if (!s->stopping)
		log_info("%s: gone", g->conf->name);
	hold_forget(g);
	backlog_fini(g);
	locks_free(g);
	restart_files_free(g);
	template_forget(g, now);
	parking_fini(g);
	keeper_app_put(g->keeper);
	group_free(g);
	pool_app_free(&s->pool, a->app);
	set_title(s);
	if (!s->stopping) {
		open_lent(s);
		listeners_open_awaited(s, now);
	}
}
