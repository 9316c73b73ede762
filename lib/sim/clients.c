/* Clients that come again when they have been served. */

#include <errno.h>
#include <stdlib.h>

#include "core/prng.h"
#include "sim/clients.h"
#include "sim/events.h"
#include "sim/load.h"

struct clients {
	const struct load_spec *spec;
	struct prng services;
	struct prng thoughts;
	struct events events; /* connections to come; number: of the app */
};

static void
think(struct clients *c, uint32_t app, tstamp now, tspan least)
{
	const struct load_app *a = &c->spec->apps[app];
	tspan span = load_draw(&a->think, &c->thoughts);

	(void)events_put(
	    &c->events, tstamp_add(now, span > least ? span : least), app);
}

static void
begin(struct clients *c, uint32_t app)
{
	const struct load_app *a = &c->spec->apps[app];
	tspan cycle =
	    load_service_mean(&a->think) + load_service_mean(&a->service);

	for (uint32_t i = 0; i < a->clients; i++) {
		double share =
		    (double)(prng_next(&c->thoughts) >> 11) * 0x1p-53;

		(void)events_put(
		    &c->events, (tstamp)(share * (double)cycle), app);
	}
}

struct clients *
clients_new(const struct load_spec *spec)
{
	struct clients *c = calloc(1, sizeof(*c));
	struct prng seeds = { .state = spec->seed };
	uint32_t all = 0;

	if (c == NULL)
		return NULL;
	c->spec = spec;
	c->services.state = prng_next(&seeds);
	c->thoughts.state = prng_next(&seeds);
	for (size_t i = 0; i < spec->apps_len; i++)
		all += spec->apps[i].clients;
	if (events_init(&c->events, all) == -1) {
		free(c);
		errno = ENOMEM;
		return NULL;
	}
	for (uint32_t i = 0; i < spec->apps_len; i++)
		begin(c, i);
	return c;
}

void
clients_free(struct clients *c)
{
	if (c == NULL)
		return;
	events_fini(&c->events);
	free(c);
}

tstamp
clients_due(const struct clients *c)
{
	return events_first(&c->events);
}

struct arrival
clients_connect(struct clients *c)
{
	struct event event = events_pop(&c->events);
	const struct load_app *app = &c->spec->apps[event.number];

	return (struct arrival){
		.at = event.at,
		.app = event.number,
		.service = load_draw(&app->service, &c->services),
	};
}

void
clients_leave(struct clients *c, uint32_t app, bool served, tstamp now)
{
	think(c, app, now, served ? 0 : CLIENTS_RETRY);
}
