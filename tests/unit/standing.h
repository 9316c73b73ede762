#ifndef TESTS_UNIT_STANDING_H
#define TESTS_UNIT_STANDING_H

/* A supervisor with up to four apps, of which nothing runs. */

#include <stdlib.h>

#include "control/room.h"
#include "core/pool.h"
#include "daemon/group.h"
#include "daemon/worker.h"

#include "../support/usable.h"

#include "check.h"

static struct supervisor sup;
static struct conf conf;
static struct conf_app web;
static struct accepted accepted[64];
static struct group *groups[4];

static inline void
standing_begin(uint32_t processes, tstamp at)
{
	static char file[] = "/etc/pool.conf", name[] = "web";
	const struct pool_limits limits = {
		.apps = 4, .processes = processes, .conns = 64, .sessions = 4
	};

	memset(&sup, 0, sizeof(sup));
	memset(groups, 0, sizeof(groups));
	conf = (struct conf){ .file = file, .max_processes = processes };
	web = (struct conf_app){ .name = name, .pool = usable_options() };
	NEED(poolcounter_init(&sup) == 0);
	sup.config = &conf;
	sup.groups = groups;
	sup.accepted = accepted;
	sup.workers = calloc(processes, sizeof(struct worker *));
	sup.pool_memory = calloc(1, pool_memory(&limits));
	pool_init(&sup.pool, &limits, sup.pool_memory, processes, 1, at);
}

static inline struct group *
standing_add(struct conf_app *c, tstamp at)
{
	static struct keepers keepers;
	static struct keeper_app keeper;
	struct group *g = calloc(1, sizeof(*g));

	g->sup = &sup;
	g->conf = c;
	g->config = sup.config;
	TAILQ_INIT(&g->listeners);
	TAILQ_INIT(&keepers.stalled);
	sup.keepers = &keepers;
	g->keeper = &keeper;
	g->app = pool_app_add(&sup.pool, &c->pool, at);
	return groups[g->app] = g;
}

static inline void
standing_listen(struct group *g, const char *address)
{
	struct app_listener *l = calloc(1, sizeof(*l));

	l->acceptor.listener.fd = -1;
	l->group = g;
	(void)snprintf(l->address, sizeof(l->address), "%s", address);
	TAILQ_INSERT_TAIL(&g->listeners, l, next);
}

static inline void
standing_end(void)
{
	for (unsigned n = 0; n < 4; n++) {
		struct app_listener *l;

		while (groups[n] != NULL &&
		    (l = TAILQ_FIRST(&groups[n]->listeners)) != NULL) {
			TAILQ_REMOVE(&groups[n]->listeners, l, next);
			free(l);
		}
		free(groups[n]);
	}
	poolcounter_fini(&sup);
	free(sup.workers);
	free(sup.pool_memory);
}

#endif
