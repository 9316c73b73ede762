/* restart.txt, always_restart.txt and the files of watch. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/restart_files.h"
#include "daemon/restart_look.h"
#include "daemon/tell.h"
#include "sys/folderwatch.h"
#include "sys/log.h"

/* Between two looks at an app. */
#define PAUSE TSPAN_SECONDS(1)

/* Changes that we hear of in PAUSE, at most. */
#define NOISE_MAX 1000

/* Timers are set to multiples of it, for apps to be looked at together. */
#define TOGETHER TSPAN_MSECONDS(100)

struct restart_files {
	struct group *group;
	struct timer timer; /* for the next look without a connection */
	struct restart_look
	    *look; /* owned; while it is under way it frees itself */
	bool under_way;
	bool again; /* something happened since it began */
	bool stale; /* likewise, and is in force already */
	bool seen; /* a look has come back */
	bool renew; /* as the core has been told */
	bool deaf; /* too much happened in restart_dir */
	int folder; /* of which we are told; -1: none */
	int parent; /* likewise */
	unsigned noise; /* changes since noise_at */
	tstamp heard_at; /* the last read at an arrival */
	tstamp told_at; /* the last restart */
	tstamp noise_at; /* the beginning of a time of noise */
	tstamp next_at; /* no look before */
	tstamp awaited_until; /* somebody waits for a look until then */
	size_t nwatch;
	int error; /* of the file that cannot be seen; 0: all can */
	struct filemark restart; /* what is known */
	struct filemark always;
	struct filemark watch[];
};

/* --- what was seen ------------------------------------------------------ */

/* Says once why a file cannot be seen, and again if that changes. */
static void
log_error_once(struct restart_files *f, const struct restart_look *l)
{
	const char *name = RESTART_TXT;
	int error = f->restart.error;

	if (error == 0 && f->always.error != 0) {
		name = ALWAYS_RESTART_TXT;
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
update(struct restart_files *f, const struct restart_look *l)
{
	const char *changed = NULL;

	/* The configuration in force may be younger than the look. */
	if (!f->stale)
		(void)filemark_update(&f->always, &l->always);
	for (size_t i = f->nwatch; i > 0; i--)
		if (filemark_update(&f->watch[i - 1], &l->watch[i - 1]))
			changed = l->conf->watch[i - 1];
	if (!f->stale && filemark_update(&f->restart, &l->restart))
		changed = RESTART_TXT;
	log_error_once(f, l);
	return changed;
}

static bool
has_sessions(const struct group *g)
{
	return g->conf->handoff != CONF_HANDOFF_NONE &&
	    g->conf->handoff != CONF_HANDOFF_LISTEN;
}

static void
set_renew(struct group *g, bool on, tstamp now)
{
	if (on)
		log_info("%s: %s is there: each connection gets a new process",
		    g->conf->name, ALWAYS_RESTART_TXT);
	else
		log_info("%s: %s is gone", g->conf->name, ALWAYS_RESTART_TXT);
	g->restart_files->renew = on;
	pool_app_renew(&g->sup->pool, g->app, on, now);
}

static void
seen(struct restart_files *f, const struct restart_look *l, tstamp now)
{
	struct group *g = f->group;
	const char *changed = update(f, l);
	bool sessions = has_sessions(g);
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
	if (!f->stale && renew != f->renew)
		set_renew(g, renew, now);
	if (changed != NULL) {
		f->told_at = now;
		tell_app(g, LOG_LEVEL_INFO, EVENT_RESTART, NULL,
		    "%s changed: restarting", changed);
		pool_app_restart(&g->sup->pool, g->app, now);
	}
}

static void begin_look(struct restart_files *f, tstamp now);

static void
look_done(struct lane_job *job, tstamp now)
{
	struct restart_look *l = LOOP_OWNER(job, struct restart_look, job);
	struct restart_files *f = l->files;

	if (f != NULL) {
		f->under_way = false;
		f->folder = l->folder;
		f->parent = l->parent;
		seen(f, l, now);
	}
	restart_look_over(l);
	if (f == NULL)
		restart_look_free(l);
	else if (f->again)
		begin_look(f, now);
	else
		f->awaited_until = 0;
}

/* --- looking ------------------------------------------------------------ */

static void
begin_look(struct restart_files *f, tstamp now)
{
	struct group *g = f->group;
	struct restart_look *l = f->look;

	if (g->closing)
		return;
	if (f->under_way) {
		f->again = true;
		return;
	}
	f->under_way = true;
	f->again = false;
	f->stale = false;
	f->next_at = now + PAUSE;
	restart_look_begin(l, g, f->deaf);
}

void
restart_files_arrived(struct group *g, tstamp now)
{
	struct restart_files *f = g->restart_files;

	if (f == NULL)
		return;
	/* Once in a turn of the loop, whose time it is. */
	if (f->folder != -1 && f->heard_at != now) {
		f->heard_at = now;
		folderwatch_read(&g->sup->folders, now);
	}
	if (now >= f->next_at)
		begin_look(f, now);
}

void
restart_files_await(struct supervisor *s, tstamp now)
{
	if (s->folders.io.fd != -1)
		folderwatch_read(&s->folders, now);
	for (uint32_t n = 0; n < s->pool.napps; n++) {
		struct group *g = s->groups[n];

		if (g == NULL || g->restart_files == NULL)
			continue;
		g->restart_files->awaited_until = now + PAUSE;
		begin_look(g->restart_files, now);
	}
}

bool
restart_files_are_awaited(const struct group *g, tstamp now)
{
	const struct restart_files *f = g->restart_files;

	return f != NULL && f->under_way && now < f->awaited_until;
}

static void
time_to_look(struct timer *t, tstamp now)
{
	begin_look(TIMER_OWNER(t, struct restart_files, timer), now);
}

/* --- what the kernel tells ---------------------------------------------- */

static void
restart_told(struct restart_files *f, tstamp now)
{
	struct group *g = f->group;

	/*
	 * One touch(1) is told several times; what follows the first time is
	 * looked at.
	 */
	if (now - f->told_at < PAUSE || !f->seen || g->closing)
		return;
	f->told_at = now;
	f->stale = f->under_way;
	f->restart = (struct filemark){ 0 };
	tell_app(g, LOG_LEVEL_INFO, EVENT_RESTART, NULL,
	    "%s changed: restarting", RESTART_TXT);
	pool_app_restart(&g->sup->pool, g->app, now);
}

static void
always_told(struct restart_files *f, bool there, tstamp now)
{
	if (f->group->closing || !f->seen || there == f->renew ||
	    !has_sessions(f->group))
		return;
	f->stale = f->under_way;
	set_renew(f->group, there, now);
}

static void
count_noise(struct restart_files *f, tstamp now)
{
	if (now - f->noise_at >= PAUSE) {
		f->noise_at = now;
		f->noise = 0;
	}
	if (++f->noise <= NOISE_MAX || f->deaf)
		return;
	/* Beside a folder that is not there, that is of no interest. */
	if (f->folder != -1)
		log_info("%s: much happens in %s: it is looked at once a "
			 "second",
		    f->group->conf->name, f->group->conf->restart_dir);
	f->deaf = true;
	begin_look(f, now);
}

/* Whether that is the name of the folder itself. */
static bool
is_last_part(const char *path, const char *name)
{
	size_t len = strlen(path), n = strlen(name);

	while (len > 0 && path[len - 1] == '/')
		len--;
	return len > n && path[len - n - 1] == '/' &&
	    strncmp(path + len - n, name, n) == 0;
}

static void
told_one(struct restart_files *f, int folder, const char *name,
    enum folderwatch_what what, tstamp now)
{
	bool relevant = what == FOLDERWATCH_LOST;

	if (folder == f->parent && folder != -1)
		relevant =
		    relevant || is_last_part(f->group->conf->restart_dir, name);
	if (folder == f->folder && strcmp(name, RESTART_TXT) == 0) {
		relevant = true;
		if (what != FOLDERWATCH_GONE)
			restart_told(f, now);
	}
	if (folder == f->folder && strcmp(name, ALWAYS_RESTART_TXT) == 0) {
		relevant = true;
		always_told(f, what != FOLDERWATCH_GONE, now);
	}
	if (relevant)
		begin_look(f, now);
	count_noise(f, now);
}

static void
told(struct folderwatch *w, int folder, const char *name,
    enum folderwatch_what what, tstamp now)
{
	struct supervisor *s = LOOP_OWNER(w, struct supervisor, folders);

	for (uint32_t n = 0; n < s->pool.napps; n++) {
		struct restart_files *f =
		    s->groups[n] == NULL ? NULL : s->groups[n]->restart_files;

		if (f != NULL &&
		    (folder == -1 || folder == f->folder ||
			folder == f->parent))
			told_one(f, folder, name, what, now);
	}
}

void
restart_files_init(struct supervisor *s)
{
	if (folderwatch_init(&s->folders, &s->loop, told) == -1)
		log_debug("files are looked at once a second: inotify: %s",
		    strerror(errno));
}

void
restart_files_fini(struct supervisor *s)
{
	folderwatch_fini(&s->folders);
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
	struct restart_look *l = restart_look_new(g->sup, n, look_done);

	if (f == NULL || l == NULL) {
		free(f);
		free(l);
		return NULL;
	}
	l->files = f;
	f->folder = f->parent = -1;
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
	    same_text(a->program.chroot, b->program.chroot);
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
		restart_look_free(f->look);
	free(f);
}
