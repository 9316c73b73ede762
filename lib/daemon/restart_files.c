/* restart.txt, always_restart.txt and the files of watch. */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/restart_files.h"
#include "daemon/tell.h"
#include "sys/filemark.h"
#include "sys/log.h"

/* Between two looks at an app. */
#define PAUSE TSPAN_SECONDS(1)

/* Timers are set to multiples of it, for apps to be looked at together. */
#define TOGETHER TSPAN_MSECONDS(100)

static const char restart_name[] = "restart.txt";
static const char always_name[] = "always_restart.txt";

/*
 * A look, made in the lane. It may outlive the app: a dead file server does
 * not let it go.
 */
struct look {
	struct lane_job job;
	struct restart_files *files; /* NULL: the result is of no use */
	struct config *config; /* a reference while it is under way */
	const struct conf_app *conf; /* lies in it */
	bool there; /* restart_dir is */
	struct filemark restart;
	struct filemark always;
	struct filemark watch[]; /* by the list of watch */
};

struct restart_files {
	struct group *group;
	struct timer timer; /* for the next look without a connection */
	struct look *look; /* owned; while it is under way it frees itself */
	bool under_way;
	bool seen; /* a look has come back */
	bool renew; /* as the core has been told */
	tstamp next_at; /* no look before */
	size_t nwatch;
	int error; /* of the file that cannot be seen; 0: all can */
	struct filemark restart; /* what is known */
	struct filemark always;
	struct filemark watch[];
};

/* --- in the lane -------------------------------------------------------- */

/* Looks at a file in restart_dir, which the processes see in their root. */
static void
look_into(const struct conf_app *conf, const char *name, struct filemark *out)
{
	const char *root = conf->chroot == NULL ? "" : conf->chroot;
	char path[PATH_MAX];
	int len = snprintf(
	    path, sizeof(path), "%s%s/%s", root, conf->restart_dir, name);

	if (len >= (int)sizeof(path))
		*out = (struct filemark){ .error = ENAMETOOLONG };
	else
		filemark_look(path, out);
}

static void
look_work(struct lane_job *job)
{
	struct look *l = LOOP_OWNER(job, struct look, job);
	struct filemark dir;

	if (l->conf->restart_dir != NULL) {
		look_into(l->conf, ".", &dir);
		l->there = dir.state != FILEMARK_ABSENT;
		look_into(l->conf, restart_name, &l->restart);
		look_into(l->conf, always_name, &l->always);
	}
	for (size_t i = 0; l->conf->watch[i] != NULL; i++)
		filemark_look(l->conf->watch[i], &l->watch[i]);
}

/* --- what was seen ------------------------------------------------------ */

/* Says once why a file cannot be seen, and again if that changes. */
static void
log_error_once(struct restart_files *f, const struct look *l)
{
	const char *name = restart_name;
	int error = f->restart.error;

	if (error == 0 && f->always.error != 0) {
		name = always_name;
		error = f->always.error;
	}
	for (size_t i = 0; i < f->nwatch && error == 0; i++) {
		name = l->conf->watch[i];
		error = f->watch[i].error;
	}
	if (error != 0 && error != f->error)
		log_warnx("%s: cannot see whether %s changes: %s",
		    f->group->conf->name, name, strerror(error));
	f->error = error;
}

/* The first file that changed; NULL: none did. */
static const char *
update(struct restart_files *f, const struct look *l)
{
	const char *changed = NULL;

	(void)filemark_update(&f->always, &l->always);
	for (size_t i = f->nwatch; i > 0; i--)
		if (filemark_update(&f->watch[i - 1], &l->watch[i - 1]))
			changed = l->conf->watch[i - 1];
	if (filemark_update(&f->restart, &l->restart))
		changed = restart_name;
	log_error_once(f, l);
	return changed;
}

static void
set_renew(struct group *g, bool on, tstamp now)
{
	if (on)
		log_info("%s: %s is there: each connection gets a new process",
		    g->conf->name, always_name);
	else
		log_info("%s: %s is gone", g->conf->name, always_name);
	g->restart_files->renew = on;
	pool_app_renew(&g->sup->pool, g->app, on, now);
}

static void
seen(struct restart_files *f, const struct look *l, tstamp now)
{
	struct group *g = f->group;
	const char *changed = update(f, l);
	bool sessions = g->conf->handoff != CONF_HANDOFF_NONE &&
	    g->conf->handoff != CONF_HANDOFF_LISTEN;
	bool renew = f->always.state == FILEMARK_THERE && sessions;
	tstamp next = TSTAMP_NEVER;

	/* Connections that we do not see call for no look. */
	if (l->there || f->nwatch > 0 || !sessions)
		next = (f->next_at + TOGETHER - 1) / TOGETHER * TOGETHER;
	timer_set(&g->sup->loop.timers, &f->timer, next);
	if (!f->seen)
		log_debug("%s: its files are watched", g->conf->name);
	f->seen = true;
	if (g->closing)
		return;
	if (renew != f->renew)
		set_renew(g, renew, now);
	if (changed != NULL) {
		tell_app(g, LOG_LEVEL_INFO, EVENT_RESTART, NULL,
		    "%s changed: restarting", changed);
		pool_app_restart(&g->sup->pool, g->app, now);
	}
}

static void
look_done(struct lane_job *job, tstamp now)
{
	struct look *l = LOOP_OWNER(job, struct look, job);
	struct restart_files *f = l->files;

	if (f != NULL) {
		f->under_way = false;
		seen(f, l, now);
	}
	config_unref(l->config);
	l->config = NULL;
	if (f == NULL)
		free(l);
}

/* --- looking ------------------------------------------------------------ */

static void
begin_look(struct restart_files *f, tstamp now)
{
	struct group *g = f->group;
	struct look *l = f->look;

	if (f->under_way || g->closing)
		return;
	f->under_way = true;
	f->next_at = now + PAUSE;
	l->config = config_ref(g->config);
	l->conf = g->conf;
	lane_submit(&g->sup->looker, &l->job);
}

void
restart_files_arrived(struct group *g, tstamp now)
{
	if (g->restart_files != NULL && now >= g->restart_files->next_at)
		begin_look(g->restart_files, now);
}

static void
time_to_look(struct timer *t, tstamp now)
{
	begin_look(TIMER_OWNER(t, struct restart_files, timer), now);
}

/* --- beginning and end -------------------------------------------------- */

static size_t
count_watched(const struct conf_app *conf)
{
	size_t n = 0;

	while (conf->watch[n] != NULL)
		n++;
	return n;
}

/* Files of which nothing is known; NULL: no memory. */
static struct restart_files *
new_files(struct group *g)
{
	size_t n = count_watched(g->conf);
	struct restart_files *f =
	    calloc(1, sizeof(*f) + n * sizeof(f->watch[0]));
	struct look *l = calloc(1, sizeof(*l) + n * sizeof(l->watch[0]));

	if (f == NULL || l == NULL) {
		free(f);
		free(l);
		return NULL;
	}
	l->job.work = look_work;
	l->job.done = look_done;
	l->files = f;
	timer_init(&f->timer, time_to_look);
	f->group = g;
	f->look = l;
	f->nwatch = n;
	return f;
}

static bool
same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool
same_files(const struct conf_app *a, const struct conf_app *b)
{
	size_t i = 0;

	while (a->watch[i] != NULL && same_text(a->watch[i], b->watch[i]))
		i++;
	return a->watch[i] == NULL && b->watch[i] == NULL &&
	    same_text(a->restart_dir, b->restart_dir) &&
	    same_text(a->chroot, b->chroot);
}

void
restart_files_configure(struct group *g, const struct conf_app *old, tstamp now)
{
	bool renew = g->restart_files != NULL && g->restart_files->renew;

	if (old != NULL && same_files(old, g->conf))
		return;
	restart_files_free(g);
	if (g->conf->restart_dir != NULL || g->conf->watch[0] != NULL) {
		g->restart_files = new_files(g);
		if (g->restart_files == NULL)
			log_warn(
			    "%s: its files are not watched", g->conf->name);
	}
	if (g->restart_files != NULL) {
		/* As it was, until the first look is back. */
		g->restart_files->renew = renew;
		begin_look(g->restart_files, now);
	} else if (renew) {
		pool_app_renew(&g->sup->pool, g->app, false, now);
	}
}

void
restart_files_free(struct group *g)
{
	struct restart_files *f = g->restart_files;

	if (f == NULL)
		return;
	g->restart_files = NULL;
	timer_set(&g->sup->loop.timers, &f->timer, TSTAMP_NEVER);
	/* A look that is under way frees itself. */
	f->look->files = NULL;
	if (!f->under_way)
		free(f->look);
	free(f);
}
