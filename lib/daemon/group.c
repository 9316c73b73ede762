/* Apps as the daemon sees them. */

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_pool.h"
#include "core/app.h"
#include "daemon/backlog.h"
#include "daemon/group.h"
#include "daemon/locks.h"
#include "daemon/restart_files.h"
#include "daemon/sampling.h"
#include "daemon/spawn.h"
#include "daemon/supervisor.h"

struct group *
group_new(struct supervisor *s, struct config *config,
    const struct conf_app *conf, tstamp now)
{
	struct group *g = calloc(1, sizeof(*g));
	struct app_options o;

	if (g == NULL)
		return NULL;
	g->name = strdup(conf->name);
	if (g->name == NULL) {
		free(g);
		return NULL;
	}
	g->sup = s;
	g->config = config_ref(config);
	g->conf = conf;
	TAILQ_INIT(&g->listeners);
	TAILQ_INIT(&g->queued);
	if (conf->broken != NULL)
		group_failed(g, "%s", conf->broken);
	if (conf->restricted)
		log_info("%s: handoff = accept sets no_new_privileges, so that "
			 "set-user-ID programs gain no rights",
		    conf->name);
	spawn_init(g);
	backlog_init(g);
	locks_configure(g);
	sampling_configure(g, now);
	restart_files_configure(g, NULL, now);
	conf_pool_options(conf, &o);
	g->app = pool_app_add(&s->pool, &o, now);
	assert(s->groups[g->app] == NULL);
	s->groups[g->app] = g;
	return g;
}

void
group_configure(
    struct group *g, struct config *config, const struct conf_app *conf)
{
	struct config *old = g->config;
	const struct conf_app *former = g->conf;
	tstamp now = loop_now(&g->sup->loop);

	g->config = config_ref(config);
	g->conf = conf;
	locks_configure(g);
	sampling_configure(g, now);
	restart_files_configure(g, former, now);
	config_unref(old);
}

void
group_free(struct group *g)
{
	assert(TAILQ_EMPTY(&g->listeners));
	g->sup->groups[g->app] = NULL;
	backlog_fini(g);
	locks_free(g);
	restart_files_free(g);
	config_unref(g->config);
	free(g->slots);
	free(g->name);
	free(g);
}

void
group_failed(struct group *g, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(g->last_failure, sizeof(g->last_failure), fmt, ap);
	va_end(ap);
}
