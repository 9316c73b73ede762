/* The apps and workers that a command is about. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/room.h"
#include "daemon/group.h"
#include "sys/suggest.h"

/* --- apps and workers by name ------------------------------------------- */

struct group *
target_lookup(const struct supervisor *s, const char *name)
{
	struct group *g = group_find(s, name);

	/* One that has left the configuration may still have work to do. */
	for (uint32_t n = 0; n < s->pool.napps && g == NULL; n++)
		if (s->groups[n] != NULL &&
		    strcmp(s->groups[n]->conf->name, name) == 0)
			g = s->groups[n];
	return g;
}

static const struct worker *
target_worker(const struct supervisor *s, const char *id)
{
	for (uint32_t n = 0; n < s->pool.nprocesses; n++)
		if (s->workers[n] != NULL && strcmp(s->workers[n]->id, id) == 0)
			return s->workers[n];
	return NULL;
}

/* Tells the client that there is no such thing, and which app may be meant. */
static void
tell_none(struct client *cl, const char *what, const char *name)
{
	const struct supervisor *s = cl->all->sup;
	const char **names, *nearest = NULL;
	size_t len = 0;

	names = calloc((size_t)s->pool.napps + 1, sizeof(*names));
	for (uint32_t n = 0; n < s->pool.napps && names != NULL; n++)
		if (s->groups[n] != NULL)
			names[len++] = s->groups[n]->conf->name;
	if (names != NULL)
		nearest = suggest_nearest(name, names);
	if (nearest == NULL)
		client_error(cl, "no %s %.128s", what, name);
	else
		client_error(
		    cl, "no %s %.128s; is %.128s meant?", what, name, nearest);
	free(names);
}

struct group *
target_group(struct client *cl, const char *name)
{
	struct group *g = target_lookup(cl->all->sup, name);

	if (g == NULL)
		tell_none(cl, "app", name);
	return g;
}

const struct group *
target_subject(const struct supervisor *s, char *const *words)
{
	const struct group *subject = NULL;

	for (; *words != NULL; words++) {
		const struct group *g = target_lookup(s, *words);
		const struct worker *w = target_worker(s, *words);

		if (g == NULL && w != NULL)
			g = w->group;
		if (g != NULL && subject != NULL && g != subject)
			return NULL;
		if (g != NULL)
			subject = g;
	}
	return subject;
}

/* --- targets ------------------------------------------------------------ */

/* w NULL: the app as a whole. False: there is no memory. */
static bool
add_target(struct targets *all, const struct group *g, const struct worker *w)
{
	const struct pool *p = &g->sup->pool;
	struct target *t = &all->list[all->len];
	uint32_t process = w == NULL ? ILIST_NONE : w->process;

	for (size_t i = 0; i < all->len; i++)
		if (all->list[i].app == g->app &&
		    all->list[i].process == process)
			return true;
	*t = (struct target){ .app = g->app,
		.app_stamp = p->apps[g->app].stamp,
		.process = process };
	if (w != NULL) {
		t->stamp = p->processes[process].stamp;
		t->pid = w->pid;
		memcpy(t->id, w->id, sizeof(t->id));
	}
	t->name = strdup(g->conf->name);
	if (t->name == NULL)
		return false;
	all->len++;
	return true;
}

bool
target_choose(struct client *cl, char *const *words)
{
	const struct supervisor *s = cl->all->sup;
	struct targets *all;
	size_t nwords = 0;

	while (words[nwords] != NULL)
		nwords++;
	cl->targets = all = calloc(
	    1, sizeof(*all) + (nwords + s->pool.napps) * sizeof(all->list[0]));
	if (all == NULL)
		goto no_memory;
	for (uint32_t n = 0; n < s->pool.napps && nwords == 0; n++)
		if (s->groups[n] != NULL &&
		    s->pool.apps[n].phase == APP_RUNNING &&
		    !add_target(all, s->groups[n], NULL))
			goto no_memory;
	for (; *words != NULL; words++) {
		/* Apps come first: a name may be that of a worker, too. */
		const struct group *g = target_lookup(s, *words);
		const struct worker *w =
		    g == NULL ? target_worker(s, *words) : NULL;

		if (w != NULL)
			g = w->group;
		if (g == NULL) {
			tell_none(cl, "app or worker", *words);
			return false;
		}
		if (g->closing) {
			client_error(cl, "%.128s is being removed", *words);
			return false;
		}
		if (!add_target(all, g, w))
			goto no_memory;
	}
	return true;

no_memory:
	client_error(cl, "%s", strerror(ENOMEM));
	return false;
}

void
target_free(struct targets *all)
{
	for (size_t i = 0; all != NULL && i < all->len; i++)
		free(all->list[i].name);
	free(all);
}

const struct app *
target_app(const struct supervisor *s, const struct target *t)
{
	const struct app *a = &s->pool.apps[t->app];

	return a->stamp == t->app_stamp && s->groups[t->app] != NULL ? a : NULL;
}

const struct process *
target_process(const struct supervisor *s, const struct target *t)
{
	const struct process *x = &s->pool.processes[t->process];

	return x->stamp == t->stamp && x->state != PROCESS_GONE ? x : NULL;
}
