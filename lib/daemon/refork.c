/* refork_after: workers that are asked to fork a template. */

#include "daemon/refork.h"
#include "daemon/template.h"

/* Between two looks at the workers of an app. */
#define PAUSE TSPAN_SECONDS(1)

/* Whether the template is to be replaced, and another one is not coming. */
static bool
is_due(const struct group *g)
{
	const struct template *t =
	    template_of(g, g->sup->pool.apps[g->app].generation);

	return t != NULL && t->from[0] == '\0' && g->seat->coming == NULL;
}

/* Whether the worker may fork when it holds no connection: it stays. */
static bool
is_warm(const struct group *g, const struct worker *w)
{
	const struct process *x = &g->sup->pool.processes[w->process];

	return w->group == g && w->pid != 0 &&
	    x->requests >= g->conf->refork_after && x->outdated == 0 &&
	    !x->expiring && w->generation == g->seat->generation;
}

/* Whether it holds none, or will not before it has read what is sent now. */
static bool
is_between(const struct worker *w, bool done)
{
	const struct process *x = &w->sup->pool.processes[w->process];

	return x->state == PROCESS_IDLE ||
	    (done && x->state == PROCESS_ACTIVE && x->concurrency == 1);
}

static bool
is_asked(struct group *g, struct worker *w, bool done, tstamp now)
{
	return is_warm(g, w) && is_between(w, done) &&
	    template_refork(w, now) == 0;
}

static void
look(struct timer *timer, tstamp now)
{
	struct group *g = TIMER_OWNER(timer, struct group, refork);
	struct supervisor *s = g->sup;
	bool asked = !is_due(g);

	for (uint32_t n = 0; !asked && n < s->pool.nprocesses; n++)
		asked = s->workers[n] != NULL &&
		    is_asked(g, s->workers[n], false, now);
	g->refork_due = !asked;
	timer_set(&s->loop.timers, timer, now + PAUSE);
}

void
refork_done(struct worker *w, tstamp now)
{
	struct group *g = w->group;

	if (g->refork_due && is_due(g) && is_asked(g, w, true, now))
		g->refork_due = false;
}

void
refork_init(struct group *g)
{
	timer_init(&g->refork, look);
}

void
refork_configure(struct group *g, tstamp now)
{
	g->refork_due = false;
	timer_set(&g->sup->loop.timers, &g->refork,
	    g->conf->refork_after > 0 ? now + PAUSE : TSTAMP_NEVER);
}

void
refork_fini(struct group *g)
{
	timer_set(&g->sup->loop.timers, &g->refork, TSTAMP_NEVER);
}
