/*
 * Reload: everything that can fail is done first, and then nothing can.
 */

#include <sys/mman.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_pool.h"
#include "daemon/accepting.h"
#include "daemon/logging.h"
#include "daemon/reload.h"
#include "daemon/supervisor.h"
#include "sys/log.h"
#include "sys/notify.h"

/* Reading a file takes less than this, unless it has thousands of apps. */
#define RELOAD_MEMORY ((size_t)64 * 1024 * 1024)

struct asker {
	TAILQ_ENTRY(asker) next;
	reload_done *done; /* NULL: it has left */
	void *arg;
};

TAILQ_HEAD(askers, asker);

struct reload {
	struct lane_job job;
	struct supervisor *sup;
	char *file; /* owned */
	struct conf *conf; /* what was read; NULL: mistakes, or not read */
	int error; /* errno of what kept us from reading; 0: nothing */
	struct conf_report report;
	struct askers askers;
	struct askers later; /* came while this one was reading */
	bool again; /* somebody came while this one was reading */
	FILE *text; /* what is answered */
	char *text_buf;
	size_t text_len;
	struct app_listeners *listeners; /* new ones, by app of conf */
};

static void reload_start(struct supervisor *s, tstamp now);

/* --- what is said ------------------------------------------------------- */

static void reload_say(struct reload *r, bool ok, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* A line to the log, and to whoever asked. */
static void
reload_say(struct reload *r, bool ok, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (ok)
		log_info("%s", line);
	else
		log_errorx("%s", line);
	if (r->text != NULL)
		(void)fprintf(r->text, "%s\n", line);
}

static void
reload_report(struct reload *r)
{
	for (size_t i = 0; i < r->report.warnings_len; i++)
		log_warnx("%s", r->report.warnings[i]);
	for (size_t i = 0; i < r->report.mistakes_len; i++)
		reload_say(r, false, "%s", r->report.mistakes[i]);
}

/* --- listeners ---------------------------------------------------------- */

static bool
reload_is_at(const struct app_listener *l, const char *text)
{
	return !l->leaving && strcmp(l->where.text, text) == 0;
}

/* The listener that is open at this address, whichever app has it. */
static struct app_listener *
reload_find_listener(const struct supervisor *s, const char *text)
{
	struct app_listener *l;

	for (uint32_t app = 0; app < s->pool.napps; app++) {
		if (s->groups[app] == NULL)
			continue;
		TAILQ_FOREACH(l, &s->groups[app]->listeners, next)
			if (reload_is_at(l, text))
				return l;
	}
	return NULL;
}

static bool
reload_open_listeners(struct reload *r)
{
	for (size_t i = 0; i < r->conf->apps_len; i++) {
		const struct conf_app *app = &r->conf->apps[i];

		for (size_t k = 0; k < app->listen_len; k++) {
			const struct conf_listen *l = &app->listen[k];

			if (reload_find_listener(r->sup, l->text) != NULL)
				continue;
			if (listeners_open(r->sup, app, l, &r->listeners[i]) ==
			    0)
				continue;
			reload_say(r, false, "%s:%d: %s: cannot listen: %s",
			    app->file, app->line, l->text, strerror(errno));
			return false;
		}
	}
	return true;
}

static void
reload_close_listeners(struct reload *r)
{
	struct app_listener *l;

	for (size_t i = 0; r->listeners != NULL && i < r->conf->apps_len; i++) {
		while ((l = TAILQ_FIRST(&r->listeners[i])) != NULL) {
			TAILQ_REMOVE(&r->listeners[i], l, next);
			listeners_close(l);
		}
	}
}

static bool
reload_listens(const struct conf_app *app, const char *text)
{
	for (size_t i = 0; i < app->listen_len; i++)
		if (strcmp(app->listen[i].text, text) == 0)
			return true;
	return false;
}

/*
 * Gives the group all listeners at this address, several if the service manager
 * gave several sockets of one name; update: those too that it has already.
 */
static void
reload_claim(
    struct supervisor *s, const char *text, struct group *g, bool update)
{
	struct app_listener *l, *next;

	for (uint32_t app = 0; app < s->pool.napps; app++) {
		struct group *from = s->groups[app];

		if (from == NULL || (from == g && !update))
			continue;
		TAILQ_FOREACH_SAFE(l, &from->listeners, next, next) {
			if (!reload_is_at(l, text))
				continue;
			if (from != g) {
				listeners_detach(l);
				accepting_begin(l, g);
			}
			listeners_update(l);
		}
	}
}

/* Gives the group the listeners its app has now; from another app, if need be.
 */
static void
reload_claim_listeners(struct reload *r, size_t i, struct group *g, bool update)
{
	const struct conf_app *app = &r->conf->apps[i];
	struct app_listener *l;

	for (size_t k = 0; k < app->listen_len; k++)
		reload_claim(r->sup, app->listen[k].text, g, update);
	while ((l = TAILQ_FIRST(&r->listeners[i])) != NULL) {
		TAILQ_REMOVE(&r->listeners[i], l, next);
		accepting_begin(l, g);
	}
}

/* Lets go of listeners that no app has claimed. */
static void
reload_leave_listeners(struct group *g, tstamp now)
{
	struct app_listener *l, *next;

	for (l = TAILQ_FIRST(&g->listeners); l != NULL; l = next) {
		next = TAILQ_NEXT(l, next);
		if (!reload_listens(g->conf, l->where.text))
			accepting_leave(l, now);
	}
}

/* --- making it true ----------------------------------------------------- */

enum reload_share {
	RELOAD_NONE,
	RELOAD_ONE,
	RELOAD_MANY,
	RELOAD_THEIRS
};

/* What connections a process can have: of ours, or what it accepts itself. */
static enum reload_share
reload_share(enum conf_handoff handoff)
{
	switch (handoff) {
	case CONF_HANDOFF_NONE:
		return RELOAD_NONE;
	case CONF_HANDOFF_STDIO:
		return RELOAD_ONE;
	case CONF_HANDOFF_LISTEN:
		return RELOAD_THEIRS;
	default:
		return RELOAD_MANY;
	}
}

/*
 * Processes that accept connections themselves, have none, or one, are not
 * those that serve whatever we have accepted: it is another app, of the same
 * name. The former one serves out what it has, without the listeners that both
 * have.
 */
static bool
reload_is_another(const struct group *g, const struct conf_app *app)
{
	return g != NULL &&
	    reload_share(g->conf->handoff) != reload_share(app->handoff);
}

static void
reload_close(struct group *g, tstamp now)
{
	g->closing = true;
	pool_app_close(&g->sup->pool, g->app, now);
	accepting_leave_all(g, now);
}

static bool
reload_add(struct reload *r, struct config *config, size_t i, tstamp now)
{
	const struct conf_app *app = &r->conf->apps[i];
	struct group *g = group_new(r->sup, config, app, now);

	if (g == NULL) {
		reload_say(r, false, "%s: %s", app->name, strerror(errno));
		return false;
	}
	reload_claim_listeners(r, i, g, false);
	reload_say(r, true, "%s: added", app->name);
	return true;
}

/*
 * Whether all processes are to be replaced: what they are started with is
 * another thing, the sockets among it if they have them.
 */
static bool
reload_replaces(const struct conf_app *old, const struct conf_app *new)
{
	if (conf_app_changes(old, new) & CONF_CHANGED_PROCESS)
		return true;
	if (new->handoff != CONF_HANDOFF_LISTEN)
		return false;
	for (size_t i = 0; i < new->listen_len &&i < old->listen_len; i++)
		if (strcmp(old->listen[i].text, new->listen[i].text) != 0)
			return true;
	return new->listen_len != old->listen_len;
}

static void
reload_app(struct reload *r, struct config *config, size_t i, tstamp now)
{
	struct supervisor *s = r->sup;
	const struct conf_app *app = &r->conf->apps[i];
	struct group *g = supervisor_group(s, app->name);
	struct app_options o;
	unsigned changes;
	bool replaces;

	if (g == NULL || reload_is_another(g, app)) {
		if (reload_add(r, config, i, now) && g != NULL)
			reload_close(g, now);
		return;
	}
	changes = conf_app_changes(g->conf, app);
	replaces = reload_replaces(g->conf, app);
	group_configure(g, config, app);
	reload_claim_listeners(r, i, g, (changes & CONF_CHANGED_LISTEN) != 0);
	conf_pool_options(app, &o);
	if (changes != 0)
		pool_app_change(&s->pool, g->app, &o, now);
	if (replaces) {
		pool_app_restart(&s->pool, g->app, now);
		reload_say(r, true,
		    "%s: its processes are replaced: they "
		    "finish what they hold, new ones start",
		    app->name);
	} else if (app_has_failed(&s->pool.apps[g->app])) {
		pool_app_restart(&s->pool, g->app, now);
		reload_say(
		    r, true, "%s: had failed and is tried again", app->name);
	} else if (changes != 0) {
		reload_say(r, true, "%s: changed in place", app->name);
	}
}

/*
 * When all listeners have been claimed: those left over are let go, and apps
 * that are not in the file any more serve what they have.
 */
static void
reload_let_go(struct reload *r, tstamp now)
{
	struct supervisor *s = r->sup;

	for (uint32_t app = 0; app < s->pool.napps; app++) {
		struct group *g = s->groups[app];

		if (g == NULL || g->closing)
			continue;
		if (conf_find_app(r->conf, g->conf->name) != NULL) {
			reload_leave_listeners(g, now);
			continue;
		}
		reload_say(r, true, "%s: removed, it serves out what waits",
		    g->conf->name);
		reload_close(g, now);
	}
}

/*
 * Whether everything that could fail has been done: listeners, tables, log and
 * control socket are there for the new configuration.
 */
static bool
reload_prepare(struct reload *r)
{
	struct supervisor *s = r->sup;
	const char *refusal;

	r->listeners = calloc(r->conf->apps_len + 1, sizeof(*r->listeners));
	if (r->listeners == NULL) {
		reload_say(r, false, "no memory");
		return false;
	}
	for (size_t i = 0; i < r->conf->apps_len; i++)
		TAILQ_INIT(&r->listeners[i]);
	if (!supervisor_affords(s, r->conf)) {
		reload_say(
		    r, false, "%s: not enough descriptors", r->conf->file);
		return false;
	}
	if (!reload_open_listeners(r))
		return false;
	if (supervisor_reserve(s, r->conf) == -1) {
		reload_say(r, false, "no memory for the tables");
		return false;
	}
	if (services_prepare(&s->services, r->conf,
		supervisor_spare(s, r->conf), &refusal) == 0) {
		if (logging_open(r->conf) == 0)
			return true;
		services_abort(&s->services);
		refusal = "the log or the control socket cannot be opened";
	}
	reload_say(r, false, "%s: %s", r->conf->file, refusal);
	return false;
}

/* Apps that come or go change nothing for those that stay. */
static bool
reload_apply(struct reload *r, tstamp now)
{
	struct supervisor *s = r->sup;
	struct config *old = s->config, *config = config_new(r->conf);

	if (config == NULL || !reload_prepare(r)) {
		reload_close_listeners(r);
		free(r->listeners);
		if (config == NULL)
			conf_free(r->conf);
		else
			config_unref(config);
		return false;
	}
	s->config = config;
	s->generation++;
	pool_resize(
	    &s->pool, r->conf->max_processes, r->conf->process_slack, now);
	for (size_t i = 0; i < r->conf->apps_len; i++)
		reload_app(r, config, i, now);
	reload_let_go(r, now);
	services_commit(&s->services, r->conf, now);
	/* Those of an app there was no memory for. */
	reload_close_listeners(r);
	free(r->listeners);
	config_unref(old);
	return true;
}

/* --- the course of it --------------------------------------------------- */

static void
reload_answer(struct reload *r, bool ok)
{
	struct asker *a;
	const char *text = "";

	if (r->text != NULL && fclose(r->text) == 0)
		text = r->text_buf;
	while ((a = TAILQ_FIRST(&r->askers)) != NULL) {
		TAILQ_REMOVE(&r->askers, a, next);
		if (a->done != NULL)
			a->done(a->arg, ok, text);
		free(a);
	}
	free(r->text_buf);
}

/*
 * Who reads a configuration and finds no memory ends the process. So it is
 * looked for first: where there is a limit, it is seldom met by inches.
 */
static bool
reload_has_memory(void)
{
	void *memory = mmap(NULL, RELOAD_MEMORY, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory != MAP_FAILED && munmap(memory, RELOAD_MEMORY) == 0;
}

static void
reload_work(struct lane_job *job)
{
	struct reload *r = LOOP_OWNER(job, struct reload, job);

	if (!reload_has_memory()) {
		r->error = errno;
		return;
	}
	r->conf = conf_load(r->file, CONF_OUTSIDE_WARN, NULL, &r->report);
}

static void
reload_finished(struct lane_job *job, tstamp now)
{
	struct reload *r = LOOP_OWNER(job, struct reload, job);
	struct supervisor *s = r->sup;
	bool ok = false;

	r->text = open_memstream(&r->text_buf, &r->text_len);
	reload_report(r);
	if (r->error != 0)
		reload_say(r, false, "%s: %s", r->file, strerror(r->error));
	if (s->stopping) {
		reload_say(r, false, "the daemon is stopping");
		conf_free(r->conf);
	} else if (r->conf != NULL) {
		ok = reload_apply(r, now);
	}
	if (ok)
		reload_say(r, true, "%s: reloaded", r->file);
	else
		/* Whoever asked is told by the answer's last line. */
		log_errorx(
		    "%s: not reloaded, the old configuration stays in force",
		    r->file);
	(void)notify_send("READY=1");
	reload_answer(r, ok);
	s->reload = NULL;
	if (r->again && !s->stopping) {
		reload_start(s, now);
		if (s->reload != NULL)
			TAILQ_CONCAT(&s->reload->askers, &r->later, next);
	}
	conf_report_fini(&r->report);
	free(r->file);
	free(r);
}

static void
reload_start(struct supervisor *s, tstamp now)
{
	struct reload *r = calloc(1, sizeof(*r));

	if (r == NULL || (r->file = strdup(s->config->conf->file)) == NULL) {
		log_warn("cannot reload");
		free(r);
		return;
	}
	r->sup = s;
	r->job.work = reload_work;
	r->job.done = reload_finished;
	TAILQ_INIT(&r->askers);
	TAILQ_INIT(&r->later);
	conf_report_init(&r->report);
	s->reload = r;
	(void)notify_send(
	    "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)(now / 1000));
	lane_submit(&s->closer, &r->job);
}

void
reload_request(struct supervisor *s, reload_done *done, void *arg, tstamp now)
{
	struct asker *a = calloc(1, sizeof(*a));
	bool joins = s->reload != NULL;

	if (joins)
		s->reload->again = true;
	else
		reload_start(s, now);
	if (a == NULL || s->reload == NULL) {
		free(a);
		if (done != NULL)
			done(arg, false, "no memory\n");
		return;
	}
	a->done = done;
	a->arg = arg;
	/* Who comes while a file is being read may mean a later version. */
	if (joins)
		TAILQ_INSERT_TAIL(&s->reload->later, a, next);
	else
		TAILQ_INSERT_TAIL(&s->reload->askers, a, next);
}

void
reload_forget(struct supervisor *s, void *arg)
{
	struct asker *a;

	if (s->reload == NULL)
		return;
	TAILQ_FOREACH(a, &s->reload->askers, next)
		if (a->arg == arg)
			a->done = NULL;
	TAILQ_FOREACH(a, &s->reload->later, next)
		if (a->arg == arg)
			a->done = NULL;
}
