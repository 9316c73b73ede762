/* Apps as the daemon sees them. */

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/group.h"

struct group *
group_new(struct supervisor *s, struct config *config,
    const struct conf_app *conf, tstamp now)
{
	struct group *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return NULL;
	g->name = strdup(conf->name);
	if (g->name == NULL) {
		free(g);
		return NULL;
	}
	g->sup = s;
	g->since = now;
	g->config = config_ref(config);
	g->conf = conf;
	TAILQ_INIT(&g->listeners);
	TAILQ_INIT(&g->workers);
	TAILQ_INIT(&g->queued);
	g->app = pool_app_add(&s->pool, &conf->pool, now);
	if (conf->broken != NULL)
		group_failed(g, "%s", conf->broken);
	assert(s->groups[g->app] == NULL);
	s->groups[g->app] = g;
	return g;
}

void
group_free(struct group *g)
{
	assert(TAILQ_EMPTY(&g->listeners));
	assert(TAILQ_EMPTY(&g->queued));
	g->sup->groups[g->app] = NULL;
	config_unref(g->config);
	free(g->slots);
	free(g->name);
	free(g);
}

struct group *
group_find(const struct supervisor *s, const char *name)
{
	for (uint32_t app = 0; app < s->pool.napps; app++) {
		struct group *g = s->groups[app];

		if (g != NULL && !g->closing &&
		    strcmp(g->conf->name, name) == 0)
			return g;
	}
	return NULL;
}

void
group_failed(struct group *g, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(g->last_failure, sizeof(g->last_failure), fmt, ap);
	va_end(ap);
	g->failed_at = loop_now(&g->sup->loop);
	g->failed_generation = g->sup->pool.apps[g->app].generation;
}

void
group_log_backoff(const struct group *g, tstamp now)
{
	const struct app *app = &g->sup->pool.apps[g->app];

	/* Of a failed app, NEWS_FAILED says more. */
	if (!app_has_failed(app) && app->backoff.until > now)
		log_info("%s: next start in %.1f s", g->conf->name,
		    tspan_to_seconds(app->backoff.until - now));
}

/* A hint at a program that may be the wrong one; NULL: it is not. */
static const char *
doubted(const struct group *g)
{
	static const char *const expected[] = {
		[CONF_HANDOFF_NATIVE] = "to speak apppool-worker(7)",
		[CONF_HANDOFF_ACCEPT] = "to accept on descriptor 0 or 3",
	};
	const struct app *app = &g->sup->pool.apps[g->app];
	const uint64_t *exits = app->figures.exits;

	if (!app_has_failed(app) || app_is_announced(app) ||
	    g->conf->broken != NULL || exits[END_SPAWN] != 0 ||
	    exits[END_FAIL] != 0 || g->conf->handoff > CONF_HANDOFF_ACCEPT)
		return NULL;
	return expected[g->conf->handoff];
}

const char *
group_failure(const struct group *g, char buf[GROUP_FAILURE_MAX])
{
	const char *why = g->last_failure, *expected = doubted(g);

	if (g->failed_generation < g->sup->pool.apps[g->app].proven)
		why = "";
	if (why[0] == '\0' && app_has_failed(&g->sup->pool.apps[g->app]))
		why = "it does not start";
	if (expected == NULL)
		(void)snprintf(buf, GROUP_FAILURE_MAX, "%s", why);
	else
		(void)snprintf(buf, GROUP_FAILURE_MAX,
		    "%s; handoff = %s expects the program %s", why,
		    conf_handoff_name(g->conf->handoff), expected);
	return buf;
}
