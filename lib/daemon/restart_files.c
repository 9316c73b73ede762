/* restart.txt, always_restart.txt and the files of watch. */

#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>

#include "daemon/carry.h"
#include "daemon/worker.h"

/* Between two looks. */
#define LOOK_PAUSE TSPAN_SECONDS(1)

/* The files of restart_dir; the second is told from others by its address. */
static const char restart_txt[] = "restart.txt";
static const char always_restart_txt[] = "always_restart.txt";

/* The file that a path named at a look. */
struct restart_mark {
	int error; /* errno of stat(2), ENOENT: absent; 0: it is there */
	struct stat st;
};

struct restart_file {
	char *path; /* owned; what is in restart_dir lies in the app's root */
	const char *name; /* for people */
	bool known; /* it was seen, or found to be absent, */
	struct restart_mark before; /* and was this then */
	struct restart_mark now; /* of the lane while it looks */
};

struct restart_files {
	struct lane_job job; /* the look */
	struct group *group; /* NULL: gone, and the look frees this */
	bool under_way;
	bool renew; /* as the core has been told */
	tstamp began; /* the latest look, */
	tstamp seen; /* and the latest that has come back; 0: none */
	int error; /* of the file that cannot be seen; 0: all can */
	size_t n;
	struct restart_file files[];
};

/* --- looking -------------------------------------------------------------- */

/* In the lane. Through symbolic links. */
static void
restart_look(struct lane_job *job)
{
	struct restart_files *f = LOOP_OWNER(job, struct restart_files, job);

	for (size_t i = 0; i < f->n; i++) {
		struct restart_mark *m = &f->files[i].now;

		m->error = stat(f->files[i].path, &m->st) == 0 ? 0
		    : errno == ENOTDIR                         ? ENOENT
							       : errno;
	}
}

static void
restart_files_drop(struct restart_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->files[i].path);
	free(f);
}

/*
 * A file has changed that has appeared, or become another or a newer one, since
 * it was known; not one that is gone or cannot be seen.
 */
static void
restart_looked(struct lane_job *job, tstamp now)
{
	struct restart_files *f = LOOP_OWNER(job, struct restart_files, job);
	struct group *g = f->group;
	const char *changed = NULL, *unseen = NULL;
	bool renew = false;
	int error = 0;

	f->under_way = false;
	if (g == NULL) {
		restart_files_drop(f);
		return;
	}
	for (size_t i = 0; i < f->n; i++) {
		struct restart_file *file = &f->files[i];
		const struct restart_mark *m = &file->now, *b = &file->before;
		bool always = file->name == always_restart_txt;

		if (m->error == 0 && file->known && !always &&
		    changed == NULL &&
		    (b->error != 0 || b->st.st_dev != m->st.st_dev ||
			b->st.st_ino != m->st.st_ino ||
			b->st.st_mtim.tv_sec != m->st.st_mtim.tv_sec ||
			b->st.st_mtim.tv_nsec != m->st.st_mtim.tv_nsec))
			changed = file->name;
		if (m->error == 0 || m->error == ENOENT) {
			file->before = *m;
			file->known = true;
		} else if (error == 0) {
			error = m->error;
			unseen = file->name;
		}
		if (always && file->known && b->error == 0)
			renew = group_has_channels(g->conf);
	}
	/* Said once, and again if the reason changes. */
	if (error != 0 && error != f->error)
		log_warnx("%s: cannot see whether %s changes: %s",
		    g->conf->name, unseen, strerror(error));
	f->error = error;
	if (f->seen == 0)
		log_debug("%s: its files are watched", g->conf->name);
	f->seen = f->began;
	if (g->closing)
		return;

	if (renew != f->renew) {
		log_info(renew ? "%s: %s is there: each connection gets a new "
				 "process"
			       : "%s: %s is gone",
		    g->conf->name, always_restart_txt);
		f->renew = renew;
		pool_app_renew(&g->sup->pool, g->app, renew, now);
	}
	if (changed != NULL) {
		tell_app(g, LOG_LEVEL_INFO, EVENT_RESTART, NULL,
		    "%s changed: restarting", changed);
		pool_app_restart(&g->sup->pool, g->app, now);
	}
}

static void
restart_look_begin(struct restart_files *f, tstamp now)
{
	f->under_way = true;
	f->began = now;
	lane_submit(&f->group->sup->looker, &f->job);
}

static void
restart_files_look(struct timer *t, tstamp now)
{
	struct supervisor *s = TIMER_OWNER(t, struct supervisor, files_timer);

	for (uint32_t n = 0; n < s->pool.napps; n++) {
		struct group *g = s->groups[n];

		if (g == NULL || g->restart_files == NULL || g->closing)
			continue;
		if (!g->restart_files->under_way)
			restart_look_begin(g->restart_files, now);
		timer_advance(&s->loop.timers, t, now + LOOK_PAUSE);
	}
}

bool
restart_files_seen(const struct group *g, tstamp since, tstamp now)
{
	struct restart_files *f = g->restart_files;

	if (f == NULL || g->closing || f->seen >= since ||
	    now - since >= LOOK_PAUSE)
		return true;
	if (!f->under_way)
		restart_look_begin(f, now);
	return false;
}

/* --- beginning and end -------------------------------------------------- */

/* The files of an app, of which nothing is known yet; NULL: no memory. */
static struct restart_files *
restart_files_new(struct group *g)
{
	const char *const names[] = { restart_txt, always_restart_txt };
	const char *root = g->conf->program.chroot, *dir = g->conf->restart_dir;
	size_t end = 2;
	struct restart_files *f;

	while (g->conf->watch[end - 2] != NULL)
		end++;
	f = calloc(1, sizeof(*f) + end * sizeof(f->files[0]));
	for (size_t i = dir == NULL ? 2 : 0; f != NULL && i < end; i++) {
		struct restart_file *file = &f->files[f->n++];

		if (i >= 2)
			file->path = strdup(g->conf->watch[i - 2]);
		else if (asprintf(&file->path, "%s%s/%s",
			     root == NULL ? "" : root, dir, names[i]) == -1)
			file->path = NULL;
		if (file->path == NULL) {
			restart_files_drop(f);
			return NULL;
		}
		file->name = i < 2 ? names[i] : file->path;
	}
	if (f == NULL)
		return NULL;
	f->job.work = restart_look;
	f->job.done = restart_looked;
	f->job.together = true;
	f->group = g;
	return f;
}

void
restart_files_configure(struct group *g, tstamp now)
{
	struct restart_files *old = g->restart_files;
	struct restart_files *f = g->closing ? NULL : restart_files_new(g);
	bool renew = old != NULL && old->renew;
	bool same = f != NULL && old != NULL && f->n == old->n;

	for (size_t i = 0; same && i < f->n; i++)
		same = strcmp(f->files[i].path, old->files[i].path) == 0 &&
		    strcmp(f->files[i].name, old->files[i].name) == 0;
	if (f == NULL && !g->closing)
		log_warn("%s: its files are not watched", g->conf->name);
	if (f != NULL && (same || f->n == 0)) {
		restart_files_drop(f);
		f = NULL;
	}
	if (same)
		return;
	if (old != NULL)
		old->group = NULL;
	/* A look that is under way frees itself. */
	if (old != NULL && !old->under_way)
		restart_files_drop(old);
	g->restart_files = f;
	if (f != NULL) {
		/* As it was, until the first look is back. */
		f->renew = renew;
		g->sup->files_timer.fire = restart_files_look;
		timer_set(&g->sup->loop.timers, &g->sup->files_timer, now);
	} else if (renew && !g->closing) {
		pool_app_renew(&g->sup->pool, g->app, false, now);
	}
}

/* --- carried over ------------------------------------------------------- */

static bool
restart_file_restore(struct carry *c, struct group *g, void *record)
{
	const struct restart_file *row = record;
	struct restart_files *f = g->restart_files;

	/* A file that is not looked at any more is not known, either. */
	for (size_t i = 0; f != NULL && row->path != NULL && i < f->n; i++)
		if (strcmp(f->files[i].path, row->path) == 0) {
			f->files[i].known = row->known;
			f->files[i].before = row->before;
			f->renew = c->sup->pool.apps[g->app].renewing;
		}
	return true;
}

#define F(m) CARRY(struct restart_file, m)
static const struct carry_field restart_fields[] = {
	CARRY_OWNED(struct restart_file, path), F(known), F(before.error),
	F(before.st.st_dev), F(before.st.st_ino), F(before.st.st_mtim.tv_sec),
	F(before.st.st_mtim.tv_nsec)
};
#undef F

static void
restart_files_carry(struct carry *c, const struct group *g)
{
	const struct restart_files *f = g->restart_files;

	for (size_t i = 0; f != NULL && i < f->n; i++)
		carry_put(c, CARRIED_FILE, g->app, &f->files[i]);
}

CARRY_KIND(carry_file, "file", struct restart_file, restart_fields,
    .of_app = true, .restore = restart_file_restore,
    .put_app = restart_files_carry);
