/*
 * The cgroup of an app, from before its first process until after the last, and
 * what is left in it then. Its figures are read by sampling.c.
 *
 * All processes of the app are in one group, for a group for each process would
 * end with that what it has left behind on purpose, as a job that is to go on
 * when its worker is replaced. The group stays while the app has no process for
 * want of work: its limits and counts go on.
 */

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/worker.h"

struct cgroup_job {
	struct lane_job job;
	struct supervisor *sup;
	struct conf *config; /* a reference */
	const struct conf_app *app;
	struct app_cgroup made;
	int error; /* errno of making it; 0: none */
	unsigned left; /* processes that were ended */
};

static void
cgroup_making(struct lane_job *job)
{
	struct cgroup_job *j = LOOP_OWNER(job, struct cgroup_job, job);
	int folder = cgroup_open(j->app->name, &j->app->cgroup);

	if (folder == -1) {
		j->error = errno;
		return;
	}
	cgroup_read(folder, &j->made.figures);
	j->made.events = openat(folder, "memory.events", O_RDONLY | O_CLOEXEC);
	(void)close(folder);
}

static bool
cgroup_is_another(void *app, const char *name)
{
	return strcmp(app, name) != 0;
}

static void
cgroup_leaving(struct lane_job *job)
{
	struct cgroup_job *j = LOOP_OWNER(job, struct cgroup_job, job);

	j->left = cgroup_clean(cgroup_is_another, j->app->name);
}

static void
cgroup_done(struct lane_job *job, tstamp now)
{
	struct cgroup_job *j = LOOP_OWNER(job, struct cgroup_job, job);
	struct group *g = group_find(j->sup, j->app->name);

	(void)now;
	if (j->error != 0)
		log_warnx("%s: its cgroup, or a limit of it, cannot be set: %s",
		    j->app->name, strerror(j->error));
	if (j->left > 0)
		log_info("%s: %u process%s that it had left behind %s killed",
		    j->app->name, j->left, j->left == 1 ? "" : "es",
		    j->left == 1 ? "is" : "are");
	if (g != NULL && j->made.events != -1) {
		int former = g->cgroup.events;

		/* Of a group that was removed meanwhile, perhaps. */
		g->cgroup = j->made;
		j->made.events = former;
		(void)cgroup_oom_kills(g->cgroup.events, &g->cgroup.oom_kills);
	}
	if (j->made.events != -1)
		(void)close(j->made.events);
	conf_free(j->config);
	free(j);
}

/* Starts come behind it in the same lane. */
static void
cgroup_submit(struct group *g, void (*work)(struct lane_job *))
{
	struct cgroup_job *j = calloc(1, sizeof(*j));

	if (j == NULL) {
		log_warn("%s: its cgroup", g->conf->name);
		return;
	}
	*j = (struct cgroup_job){ .sup = g->sup,
		.config = conf_ref(g->config),
		.app = g->conf,
		.made.events = -1 };
	j->job.work = work;
	j->job.done = cgroup_done;
	lane_submit(&g->sup->spawner, &j->job);
}

void
app_cgroup_make(struct group *g)
{
	if (cgroup_lacks(CGROUP_ANY) == NULL)
		cgroup_submit(g, cgroup_making);
}

void
app_cgroup_leave(struct group *g)
{
	struct group *other = NULL;

	if (cgroup_lacks(CGROUP_ANY) != NULL ||
	    app_living(&g->sup->pool.apps[g->app]) > 0 || template_leaves(g))
		return;
	/* Another one of this name, with another handoff, has its place. */
	while ((other = group_next(g->sup, other)) != NULL)
		if (other != g && strcmp(other->conf->name, g->conf->name) == 0)
			return;
	if (g->cgroup.events != -1)
		(void)close(g->cgroup.events);
	g->cgroup = (struct app_cgroup){ .events = -1 };
	cgroup_submit(g, cgroup_leaving);
}
