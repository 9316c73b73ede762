/*
 * Servers that may have the key of a limit.
 */

#include <stdio.h>
#include <string.h>

#include "counter/keyservers.h"

/* A server that took no connection is left alone for so long. */
#define DOWN_REST TSPAN_SECONDS(1)

static void
set_server(struct keyserver *v, const struct conf_server *server)
{
	(void)snprintf(v->name, sizeof(v->name), "%s", server->name);
	v->addr = server->where.addr;
	v->addr_len = server->where.addr_len;
}

bool
keyservers_set(struct keyservers *all, const struct conf_limit *limit)
{
	static const struct conf_server own = { .name = "local" };
	struct keyservers new = { .local = limit->local };
	bool same;

	new.len = limit->local ? 1 : limit->servers_len;
	same = new.len == all->len &&new.local == all->local;
	for (unsigned i = 0; i < new.len; i++) {
		struct keyserver *v = &new.list[i];
		const struct keyserver *old = &all->list[i];

		set_server(v, limit->local ? &own : &limit->servers[i]);
		same = same && strcmp(v->name, old->name) == 0 &&
		    v->addr_len == old->addr_len &&
		    memcmp(&v->addr, &old->addr, v->addr_len) == 0;
	}
	if (!same)
		*all = new;
	return !same;
}

unsigned
keyservers_next(const struct keyservers *all, unsigned from, tstamp now)
{
	while (from < all->len && all->list[from].down &&
	    now < all->list[from].retry_at)
		from++;
	return from;
}

void
keyservers_tried(struct keyservers *all, unsigned server, tstamp now)
{
	all->list[server].retry_at = now + DOWN_REST;
}

void
keyservers_lost(struct keyservers *all, unsigned server, const char *app,
    const char *why, tstamp now)
{
	struct keyserver *v = &all->list[server];

	keyservers_tried(all, server, now);
	/* The loss of the only server is told with what follows from it. */
	if (!v->down && all->len > 1)
		log_limited(&v->loss, now, LOG_LEVEL_WARN,
		    "%s: limit: %s: %s; it is passed over until it is back",
		    app, v->name, why);
	v->down = true;
}

void
keyservers_found(
    struct keyservers *all, unsigned server, const char *app, tstamp now)
{
	struct keyserver *v = &all->list[server];

	if (v->down && all->len > 1)
		log_limited(&v->recovery, now, LOG_LEVEL_INFO,
		    "%s: limit: %s: it is back", app, v->name);
	v->down = false;
}
