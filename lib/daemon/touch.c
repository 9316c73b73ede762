/* restart.txt, always_restart.txt and the files of watch. */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/supervisor.h"
#include "daemon/touch.h"
#include "sys/filemark.h"
#include "sys/log.h"

/* Between two looks at an app. */
#define TOUCH_PAUSE TSPAN_SECONDS(1)

/* Apps are looked at together: the loop need not wake up for each of them. */
#define TOUCH_TOGETHER TSPAN_MSECONDS(100)

static const char restart_name[] = "restart.txt";
static const char always_name[] = "always_restart.txt";

/*
 * One look, made in the lane. It may outlive what it was for: a dead file
 * server does not let it go.
 */
struct look {
	struct lane_job job;
	struct touch *touch; /* NULL: nobody waits for it any more */
	struct config *config; /* a reference while it is under way */
	const struct conf_app *conf; /* lies in it */
	bool there; /* restart_dir is */
	struct filemark restart;
	struct filemark always;
	struct filemark watch[]; /* by the list of watch */
};

struct touch {
	struct group *group;
	struct look *look; /* owned, unless it is under way and forgotten */
	bool under_way;
	bool seen; /* a look has come back */
	bool timed; /* looked at also without a connection */
	bool renew; /* as the core has been told */
	tstamp next_at; /* no look before */
	size_t nwatch;
	int error; /* of the file that cannot be seen; 0: all can */
	struct filemark restart; /* what is known */
	struct filemark always;
	struct filemark watch[];
};

/* --- in the lane -------------------------------------------------------- */

/* At a file in restart_dir, which is that of the processes, in their root. */
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
touch_tell_error(struct touch *t, const struct look *l)
{
	const char *name = restart_name;
	int error = t->restart.error;

	if (error == 0 && t->always.error != 0) {
		name = always_name;
		error = t->always.error;
	}
	for (size_t i = 0; i < t->nwatch && error == 0; i++) {
		name = l->conf->watch[i];
		error = t->watch[i].error;
	}
	if (error != 0 && error != t->error)
		log_warnx("%s: cannot see whether %s changes: %s",
		    t->group->conf->name, name, strerror(error));
	t->error = error;
}

/* The first of those that changed; NULL: none did. */
static const char *
touch_update(struct touch *t, const struct look *l)
{
	const char *changed = NULL;

	(void)filemark_update(&t->always, &l->always);
	for (size_t i = t->nwatch; i > 0; i--)
		if (filemark_update(&t->watch[i - 1], &l->watch[i - 1]))
			changed = l->conf->watch[i - 1];
	if (filemark_update(&t->restart, &l->restart))
		changed = restart_name;
	touch_tell_error(t, l);
	return changed;
}

static void
touch_set_renew(struct group *g, bool on, tstamp now)
{
	if (on)
		log_info("%s: %s is there: each connection gets a new process",
		    g->conf->name, always_name);
	else
		log_info("%s: %s is gone", g->conf->name, always_name);
	g->touch->renew = on;
	pool_app_renew(&g->sup->pool, g->app, on, now);
}

static void
touch_seen(struct touch *t, const struct look *l, tstamp now)
{
	struct group *g = t->group;
	const char *changed = touch_update(t, l);
	bool sessions = g->conf->handoff != CONF_HANDOFF_NONE &&
	    g->conf->handoff != CONF_HANDOFF_LISTEN;
	bool renew = t->always.state == FILEMARK_THERE && sessions;

	/* Connections that we do not see call for no look. */
	t->timed = l->there || t->nwatch > 0 || !sessions;
	if (t->timed)
		g->sup->touch_at = tstamp_min(g->sup->touch_at, t->next_at);
	if (!t->seen)
		log_debug("%s: its files are watched", g->conf->name);
	t->seen = true;
	if (g->closing)
		return;
	if (renew != t->renew)
		touch_set_renew(g, renew, now);
	if (changed != NULL) {
		log_info("%s: %s changed: restarting", g->conf->name, changed);
		pool_app_restart(&g->sup->pool, g->app, now);
	}
}

static void
look_done(struct lane_job *job, tstamp now)
{
	struct look *l = LOOP_OWNER(job, struct look, job);
	struct touch *t = l->touch;

	if (t != NULL) {
		t->under_way = false;
		touch_seen(t, l, now);
	}
	config_unref(l->config);
	l->config = NULL;
	if (t == NULL)
		free(l);
}

/* --- looking ------------------------------------------------------------ */

static void
touch_look(struct touch *t, tstamp now)
{
	struct group *g = t->group;
	struct look *l = t->look;

	if (t->under_way || g->closing)
		return;
	t->under_way = true;
	t->next_at = now + TOUCH_PAUSE;
	l->config = config_ref(g->config);
	l->conf = g->conf;
	lane_submit(&g->sup->looker, &l->job);
}

void
touch_arrived(struct group *g, tstamp now)
{
	if (g->touch != NULL && now >= g->touch->next_at)
		touch_look(g->touch, now);
}

tstamp
touch_deadline(const struct supervisor *s)
{
	return s->touch_at;
}

void
touch_tick(struct supervisor *s, tstamp now)
{
	tstamp at = TSTAMP_NEVER;

	for (uint32_t app = 0; app < s->pool.napps; app++) {
		struct group *g = s->groups[app];

		if (g == NULL || g->touch == NULL || !g->touch->timed)
			continue;
		if (now >= g->touch->next_at)
			touch_look(g->touch, now);
		/* One that is under way or closing says when, or never. */
		if (now < g->touch->next_at)
			at = tstamp_min(at, g->touch->next_at);
	}
	s->touch_at = at;
	if (at < now + TOUCH_TOGETHER)
		s->touch_at = now + TOUCH_TOGETHER;
}

/* --- beginning and end -------------------------------------------------- */

static size_t
touch_count(const struct conf_app *conf)
{
	size_t n = 0;

	while (conf->watch[n] != NULL)
		n++;
	return n;
}

/* One that knows nothing; NULL: no memory. */
static struct touch *
touch_new(struct group *g)
{
	size_t n = touch_count(g->conf);
	struct touch *t = calloc(1, sizeof(*t) + n * sizeof(t->watch[0]));
	struct look *l = calloc(1, sizeof(*l) + n * sizeof(l->watch[0]));

	if (t == NULL || l == NULL) {
		free(t);
		free(l);
		return NULL;
	}
	l->job.work = look_work;
	l->job.done = look_done;
	l->touch = t;
	t->group = g;
	t->look = l;
	t->nwatch = n;
	return t;
}

static bool
touch_same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool
touch_same_files(const struct conf_app *a, const struct conf_app *b)
{
	size_t i = 0;

	while (a->watch[i] != NULL && touch_same_text(a->watch[i], b->watch[i]))
		i++;
	return a->watch[i] == NULL && b->watch[i] == NULL &&
	    touch_same_text(a->restart_dir, b->restart_dir) &&
	    touch_same_text(a->chroot, b->chroot);
}

void
touch_configure(struct group *g, const struct conf_app *old, tstamp now)
{
	bool renew = g->touch != NULL && g->touch->renew;

	if (old != NULL && touch_same_files(old, g->conf))
		return;
	touch_free(g);
	if (g->conf->restart_dir != NULL || g->conf->watch[0] != NULL) {
		g->touch = touch_new(g);
		if (g->touch == NULL)
			log_warn(
			    "%s: its files are not watched", g->conf->name);
	}
	if (g->touch != NULL) {
		/* Until the first look tells. */
		g->touch->renew = renew;
		touch_look(g->touch, now);
	} else if (renew) {
		pool_app_renew(&g->sup->pool, g->app, false, now);
	}
}

void
touch_free(struct group *g)
{
	struct touch *t = g->touch;

	if (t == NULL)
		return;
	g->touch = NULL;
	/* A look that is under way frees itself. */
	t->look->touch = NULL;
	if (!t->under_way)
		free(t->look);
	free(t);
}
