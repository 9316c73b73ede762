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

/* Whether the worker may fork: it holds no connection, and stays. */
static bool
is_warm(const struct group *g, const struct worker *w)
{
	const struct process *x = &g->sup->pool.processes[w->process];

	return w->group == g && w->pid != 0 && x->state == PROCESS_IDLE &&
	    x->requests >= g->conf->refork_after && x->outdated == 0 &&
	    !x->expiring && w->generation == g->seat->generation;
}

static void
look(struct timer *timer, tstamp now)
{
	struct group *g = TIMER_OWNER(timer, struct group, refork);
	struct supervisor *s = g->sup;
	bool asked = !is_due(g);

	for (uint32_t n = 0; !asked && n < s->pool.nprocesses; n++)
		asked = s->workers[n] != NULL && is_warm(g, s->workers[n]) &&
		    template_refork(s->workers[n], now) == 0;
	timer_set(&s->loop.timers, timer, now + PAUSE);
}

void
refork_init(struct group *g)
{
	timer_init(&g->refork, look);
}

void
refork_configure(struct group *g, tstamp now)
{
	timer_set(&g->sup->loop.timers, &g->refork,
	    g->conf->refork_after > 0 ? now + PAUSE : TSTAMP_NEVER);
}

void
refork_fini(struct group *g)
{
	timer_set(&g->sup->loop.timers, &g->refork, TSTAMP_NEVER);
}
