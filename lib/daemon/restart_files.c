/* restart.txt, always_restart.txt and the files of watch. */

#include <sys/stat.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/restart_files.h"
#include "daemon/worker.h"
#include "sys/lane.h"
#include "sys/log.h"

/* Between two looks. */
#define LOOK_PAUSE TSPAN_SECONDS(1)

/* The files of an app, in their order; those of watch follow. */
enum {
	FILE_RESTART,
	FILE_ALWAYS,
	FILE_WATCH
};

static const char *const names[] = {
	[FILE_RESTART] = "restart.txt",
	[FILE_ALWAYS] = "always_restart.txt",
};

/* The file that a path named at a look; all zero: never looked at. */
struct restart_mark {
	enum {
		MARK_UNKNOWN, /* never looked at, or stat(2) failed */
		MARK_ABSENT,
		MARK_THERE,
	} state;
	int error; /* errno of stat(2), if UNKNOWN */
	dev_t device;
	ino_t inode;
	struct timespec mtime;
};

struct restart_files {
	struct lane_job job; /* the look */
	struct group *group; /* NULL: gone, and the look frees this */
	struct conf *config; /* a reference while the look is under way */
	const struct conf_app *conf; /* lies in it */
	bool under_way;
	bool again; /* another look is wanted behind this one */
	bool seen; /* a look has come back */
	bool renew; /* as the core has been told */
	tstamp awaited_until; /* somebody waits for a look until then */
	int error; /* of the file that cannot be seen; 0: all can */
	size_t n;
	struct {
		struct restart_mark known;
		struct restart_mark now; /* of the lane while it looks */
	} files[];
};

/* --- in the lane -------------------------------------------------------- */

/* Through symbolic links. What is in restart_dir lies in the app's root. */
static void
restart_look(struct lane_job *job)
{
	struct restart_files *f = LOOP_OWNER(job, struct restart_files, job);
	const struct conf_app *conf = f->conf;
	const char *root = conf->program.chroot, *path;
	char in_dir[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < f->n; i++) {
		struct restart_mark *m = &f->files[i].now;
		int error = 0;

		*m = (struct restart_mark){ .state = MARK_UNKNOWN };
		if (i < FILE_WATCH && conf->restart_dir == NULL)
			continue;
		path = i < FILE_WATCH ? in_dir : conf->watch[i - FILE_WATCH];
		if (i < FILE_WATCH &&
		    snprintf(in_dir, sizeof(in_dir), "%s%s/%s",
			root == NULL ? "" : root, conf->restart_dir,
			names[i]) >= (int)sizeof(in_dir))
			error = ENAMETOOLONG;
		else if (stat(path, &st) == -1)
			error = errno;
		if (error == ENOENT || error == ENOTDIR)
			m->state = MARK_ABSENT;
		else if (error != 0)
			m->error = error;
		else
			*m = (struct restart_mark){ MARK_THERE, 0, st.st_dev,
				st.st_ino, st.st_mtim };
	}
}

/* --- what was seen ------------------------------------------------------ */

/*
 * Brings what is known of a file up to date. Returns whether it has appeared,
 * or become another or a newer one, since then; not at the first look, and not
 * if it is gone or cannot be seen.
 */
static bool
restart_mark_update(struct restart_mark *known, const struct restart_mark *m)
{
	const struct restart_mark before = *known;

	if (m->state == MARK_UNKNOWN) {
		known->error = m->error;
		return false;
	}
	*known = *m;
	if (before.state == MARK_UNKNOWN || m->state == MARK_ABSENT)
		return false;
	return before.state == MARK_ABSENT || before.device != m->device ||
	    before.inode != m->inode ||
	    before.mtime.tv_sec != m->mtime.tv_sec ||
	    before.mtime.tv_nsec != m->mtime.tv_nsec;
}

static const char *
restart_name(const struct restart_files *f, size_t i)
{
	return i < FILE_WATCH ? names[i] : f->conf->watch[i - FILE_WATCH];
}

/* Takes in what a look found, and does what that calls for. */
static void
restart_seen(struct restart_files *f, tstamp now)
{
	struct group *g = f->group;
	const char *changed = NULL, *unseen = NULL;
	int error = 0;
	bool renew;

	for (size_t i = 0; i < f->n; i++) {
		bool new =
		    restart_mark_update(&f->files[i].known, &f->files[i].now);

		if (new &&i != FILE_ALWAYS && changed == NULL)
			changed = restart_name(f, i);
		if (error == 0 && f->files[i].known.error != 0) {
			error = f->files[i].known.error;
			unseen = restart_name(f, i);
		}
	}
	/* Said once, and again if the reason changes. */
	if (error != 0 && error != f->error)
		log_warnx("%s: cannot see whether %s changes: %s",
		    g->conf->name, unseen, strerror(error));
	f->error = error;
	if (!f->seen)
		log_debug("%s: its files are watched", g->conf->name);
	f->seen = true;
	if (g->closing)
		return;

	renew = f->files[FILE_ALWAYS].known.state == MARK_THERE &&
	    group_has_channels(g->conf);
	if (renew != f->renew) {
		log_info(renew ? "%s: %s is there: each connection gets a new "
				 "process"
			       : "%s: %s is gone",
		    g->conf->name, names[FILE_ALWAYS]);
		f->renew = renew;
		pool_app_renew(&g->sup->pool, g->app, renew, now);
	}
	if (changed != NULL) {
		tell_app(g, LOG_LEVEL_INFO, EVENT_RESTART, NULL,
		    "%s changed: restarting", changed);
		pool_app_restart(&g->sup->pool, g->app, now);
	}
}

/* --- looking ------------------------------------------------------------ */

static void
restart_look_begin(struct restart_files *f)
{
	const struct group *g = f->group;

	f->again = f->under_way && !g->closing;
	if (f->under_way || g->closing)
		return;
	f->under_way = true;
	f->config = conf_ref(g->config);
	f->conf = g->conf;
	lane_submit(&g->sup->looker, &f->job);
}

static void
restart_look_done(struct lane_job *job, tstamp now)
{
	struct restart_files *f = LOOP_OWNER(job, struct restart_files, job);

	f->under_way = false;
	if (f->group != NULL)
		restart_seen(f, now);
	conf_free(f->config);
	if (f->group == NULL)
		free(f);
	else if (f->again)
		restart_look_begin(f);
	else
		f->awaited_until = 0;
}

void
restart_files_look(struct timer *t, tstamp now)
{
	struct supervisor *s = TIMER_OWNER(t, struct supervisor, files_timer);
	bool any = false;

	for (uint32_t n = 0; n < s->pool.napps; n++) {
		struct group *g = s->groups[n];

		if (g == NULL || g->restart_files == NULL || g->closing)
			continue;
		any = true;
		if (!g->restart_files->under_way)
			restart_look_begin(g->restart_files);
	}
	if (any)
		timer_set(&s->loop.timers, t, now + LOOK_PAUSE);
}

void
restart_files_await(struct supervisor *s, tstamp now)
{
	for (uint32_t n = 0; n < s->pool.napps; n++) {
		struct restart_files *f =
		    s->groups[n] == NULL ? NULL : s->groups[n]->restart_files;

		if (f == NULL)
			continue;
		f->awaited_until = now + LOOK_PAUSE;
		restart_look_begin(f);
	}
}

bool
restart_files_are_awaited(const struct group *g, tstamp now)
{
	const struct restart_files *f = g->restart_files;

	return f != NULL && f->under_way && now < f->awaited_until;
}

/* --- beginning and end -------------------------------------------------- */

static bool
restart_same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool
restart_same_files(const struct conf_app *a, const struct conf_app *b)
{
	size_t i = 0;

	while (
	    a->watch[i] != NULL && restart_same_text(a->watch[i], b->watch[i]))
		i++;
	return a->watch[i] == NULL && b->watch[i] == NULL &&
	    restart_same_text(a->restart_dir, b->restart_dir) &&
	    restart_same_text(a->program.chroot, b->program.chroot);
}

void
restart_files_configure(struct group *g, const struct conf_app *old, tstamp now)
{
	struct supervisor *s = g->sup;
	bool renew = g->restart_files != NULL && g->restart_files->renew;
	struct restart_files *f = NULL;
	size_t n = FILE_WATCH;

	if (old != NULL && restart_same_files(old, g->conf))
		return;
	restart_files_free(g);
	while (g->conf->watch[n - FILE_WATCH] != NULL)
		n++;
	if (g->conf->restart_dir != NULL || n > FILE_WATCH) {
		f = calloc(1, sizeof(*f) + n * sizeof(f->files[0]));
		if (f == NULL)
			log_warn(
			    "%s: its files are not watched", g->conf->name);
	}
	if (f == NULL) {
		if (renew)
			pool_app_renew(&s->pool, g->app, false, now);
		return;
	}
	g->restart_files = f;
	f->job.work = restart_look;
	f->job.done = restart_look_done;
	f->job.together = true;
	f->group = g;
	f->n = n;
	/* As it was, until the first look is back. */
	f->renew = renew;
	restart_look_begin(f);
	timer_advance(&s->loop.timers, &s->files_timer, now + LOOK_PAUSE);
}

void
restart_files_free(struct group *g)
{
	struct restart_files *f = g->restart_files;

	if (f == NULL)
		return;
	g->restart_files = NULL;
	f->group = NULL;
	/* A look that is under way frees itself. */
	if (!f->under_way)
		free(f);
}
