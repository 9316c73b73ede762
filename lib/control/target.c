/* The apps and workers that a command is about. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/target.h"
#include "sys/suggest.h"

/* --- apps by name ------------------------------------------------------- */

/* The app whose name is nearest to this one; NULL: none is near. */
static const char *
nearest_app(const struct supervisor *s, const char *name)
{
	const char **names;
	const char *nearest;
	size_t len = 0;

	names = calloc((size_t)s->pool.napps + 1, sizeof(*names));
	if (names == NULL)
		return NULL;
	for (uint32_t n = 0; n < s->pool.napps; n++)
		if (s->groups[n] != NULL)
			names[len++] = s->groups[n]->conf->name;
	nearest = suggest_nearest(name, names);
	free(names);
	return nearest;
}

/* An app that has left the configuration, and still has something to do. */
static struct group *
find_leaving(const struct supervisor *s, const char *name)
{
	for (uint32_t n = 0; n < s->pool.napps; n++)
		if (s->groups[n] != NULL &&
		    strcmp(s->groups[n]->conf->name, name) == 0)
			return s->groups[n];
	return NULL;
}

struct group *
target_lookup(const struct supervisor *s, const char *name)
{
	struct group *g = group_find(s, name);

	return g != NULL ? g : find_leaving(s, name);
}

/* Writes that there is no such thing. */
static void
explain_none(
    const struct supervisor *s, const char *what, const char *name, char *why)
{
	const char *nearest = nearest_app(s, name);

	if (nearest == NULL)
		(void)snprintf(why, TARGET_WHY, "no %s %.128s", what, name);
	else
		(void)snprintf(why, TARGET_WHY,
		    "no %s %.128s; is %.128s meant?", what, name, nearest);
}

struct group *
target_group(const struct supervisor *s, const char *name, char why[TARGET_WHY])
{
	struct group *g = target_lookup(s, name);

	if (g == NULL)
		explain_none(s, "app", name, why);
	return g;
}

/* --- apps and workers --------------------------------------------------- */

static const struct worker *
find_worker(const struct supervisor *s, const char *id)
{
	for (uint32_t n = 0; n < s->pool.nprocesses; n++)
		if (s->workers[n] != NULL && strcmp(s->workers[n]->id, id) == 0)
			return s->workers[n];
	return NULL;
}

static bool
has(const struct targets *all, uint32_t app, uint32_t process)
{
	for (size_t i = 0; i < all->len; i++)
		if (all->list[i].app == app && all->list[i].process == process)
			return true;
	return false;
}

/* w NULL: the app as a whole. False: no memory. */
static bool
add(struct targets *all, const struct group *g, const struct worker *w)
{
	const struct pool *p = &g->sup->pool;
	struct target *t = &all->list[all->len];
	uint32_t process = w == NULL ? ILIST_NONE : w->process;

	if (has(all, g->app, process))
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

/* Apps are looked for first: a name may be that of a worker, too. */
static bool
add_word(const struct supervisor *s, struct targets *all, const char *word,
    char *why)
{
	const struct group *g = target_lookup(s, word);
	const struct worker *w = g == NULL ? find_worker(s, word) : NULL;

	if (w != NULL)
		g = w->group;
	if (g == NULL) {
		explain_none(s, "app or worker", word, why);
		return false;
	}
	if (g->closing) {
		(void)snprintf(
		    why, TARGET_WHY, "%.128s is being removed", word);
		return false;
	}
	return add(all, g, w);
}

static bool
add_all(const struct supervisor *s, struct targets *all)
{
	for (uint32_t n = 0; n < s->pool.napps; n++)
		if (s->groups[n] != NULL &&
		    s->pool.apps[n].phase == APP_RUNNING &&
		    !add(all, s->groups[n], NULL))
			return false;
	return true;
}

struct targets *
target_find(
    const struct supervisor *s, char *const *words, char why[TARGET_WHY])
{
	size_t nwords = 0;
	struct targets *all;
	bool found = true;

	(void)snprintf(why, TARGET_WHY, "%s", strerror(ENOMEM));
	while (words[nwords] != NULL)
		nwords++;
	all = calloc(
	    1, sizeof(*all) + (nwords + s->pool.napps) * sizeof(all->list[0]));
	if (all == NULL)
		return NULL;
	if (words[0] == NULL)
		found = add_all(s, all);
	for (; *words != NULL && found; words++)
		found = add_word(s, all, *words, why);
	if (found)
		return all;
	target_free(all);
	return NULL;
}

const struct group *
target_subject(const struct supervisor *s, char *const *words)
{
	const struct group *subject = NULL;

	for (; *words != NULL; words++) {
		const struct group *g = target_lookup(s, *words);
		const struct worker *w = find_worker(s, *words);

		if (g == NULL && w != NULL)
			g = w->group;
		if (g != NULL && subject != NULL && g != subject)
			return NULL;
		if (g != NULL)
			subject = g;
	}
	return subject;
}

void
target_free(struct targets *all)
{
	if (all == NULL)
		return;
	for (size_t i = 0; i < all->len; i++)
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
