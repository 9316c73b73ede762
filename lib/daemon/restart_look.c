/* Looks at restart.txt, always_restart.txt and the files of watch. */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/restart_look.h"
#include "sys/folderwatch.h"

/* Looks at a file in restart_dir, which the processes see in their root. */
static void
look_into(const struct conf_app *conf, const char *name, struct filemark *out)
{
	const char *root =
	    conf->program.chroot == NULL ? "" : conf->program.chroot;
	char path[PATH_MAX];
	int len = snprintf(
	    path, sizeof(path), "%s%s/%s", root, conf->restart_dir, name);

	if (len >= (int)sizeof(path))
		*out = (struct filemark){ .error = ENAMETOOLONG };
	else
		filemark_look(path, out);
}

/* The path of restart_dir, or of the folder that it is in. */
static bool
path_of_folder(const struct conf_app *conf, bool parent, char *out)
{
	const char *root =
	    conf->program.chroot == NULL ? "" : conf->program.chroot;
	const char *dir = conf->restart_dir;
	size_t len = strlen(dir);

	while (parent && len > 0 && dir[len - 1] == '/')
		len--;
	while (parent && len > 0 && dir[len - 1] != '/')
		len--;
	return snprintf(out, PATH_MAX, "%s%.*s", root, (int)len, dir) <
	    PATH_MAX;
}

static void
move_watch(const struct restart_look *l, int *folder, int to)
{
	if (*folder != -1 && *folder != to)
		folderwatch_drop(&l->sup->folders, *folder);
	*folder = to;
}

/*
 * Has the kernel tell us of restart_dir or, while that is not there, of the
 * folder in which it will be.  Another app that is told of the same folder, and
 * loses it here, gets it back with its next look.
 */
static void
watch_folder(struct restart_look *l)
{
	char path[PATH_MAX];
	int folder = -1, parent = -1;
	bool watches = l->conf != NULL && !l->deaf;

	if (watches && path_of_folder(l->conf, false, path))
		folder = folderwatch_add(&l->sup->folders, path);
	if (watches && folder == -1 && path_of_folder(l->conf, true, path))
		parent = folderwatch_add(&l->sup->folders, path);
	move_watch(l, &l->folder, folder);
	move_watch(l, &l->parent, parent);
}

static void
look_work(struct lane_job *job)
{
	struct restart_look *l = LOOP_OWNER(job, struct restart_look, job);
	struct filemark dir;

	/* First, for a change behind the look to be told. */
	if (l->conf == NULL || l->conf->restart_dir != NULL)
		watch_folder(l);
	if (l->conf == NULL)
		return;
	if (l->conf->restart_dir != NULL) {
		look_into(l->conf, ".", &dir);
		l->there = dir.state != FILEMARK_ABSENT;
		look_into(l->conf, RESTART_TXT, &l->restart);
		look_into(l->conf, ALWAYS_RESTART_TXT, &l->always);
	}
	for (size_t i = 0; l->conf->watch[i] != NULL; i++)
		filemark_look(l->conf->watch[i], &l->watch[i]);
}

struct restart_look *
restart_look_new(struct supervisor *s, size_t nwatch,
    void (*done)(struct lane_job *, tstamp now))
{
	struct restart_look *l =
	    calloc(1, sizeof(*l) + nwatch * sizeof(l->watch[0]));

	if (l == NULL)
		return NULL;
	l->job.work = look_work;
	l->job.done = done;
	l->sup = s;
	l->folder = l->parent = -1;
	return l;
}

void
restart_look_begin(struct restart_look *l, const struct group *g, bool deaf)
{
	l->deaf = deaf;
	l->config = config_ref(g->config);
	l->conf = g->conf;
	lane_submit(&g->sup->looker, &l->job);
}

void
restart_look_over(struct restart_look *l)
{
	if (l->config != NULL)
		config_unref(l->config);
	l->config = NULL;
	l->conf = NULL;
}

void
restart_look_free(struct restart_look *l)
{
	bool watches = l->folder != -1 || l->parent != -1;

	if (watches && !l->sup->looker.stopping)
		lane_submit(&l->sup->looker, &l->job);
	else
		free(l);
}
