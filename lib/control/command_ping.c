/* Where an app can be reached, for a client that wants to try it. */

#include <string.h>

#include "control/control_private.h"
#include "sys/json.h"

/* The first listener of the configuration that is held; NULL: none is. */
static const struct door *
first_door(const struct group *g)
{
	const struct door *d;

	/* The doors themselves take turns. */
	for (size_t i = 0; i < g->conf->listen_len; i++)
		TAILQ_FOREACH(d, &g->doors, next)
			if (!d->leaving &&
			    strcmp(d->where.text, g->conf->listen[i].text) == 0)
				return d;
	return NULL;
}

/* Why the app has failed; NULL: it has not. */
static const char *
failure(const struct group *g)
{
	if (!app_has_failed(&g->sup->pool.apps[g->app]))
		return NULL;
	return g->last_failure[0] == '\0' ? "it does not start"
					  : g->last_failure;
}

/*
 * A line: the protocol, and the address, which may have spaces.  If the app
 * has failed another one: for a client to whom nobody would say so.
 */
void
command_ping(struct client *cl, char *const *args, tstamp now)
{
	const struct group *g;
	const struct door *d;
	const char *protocol, *why;
	struct json j;

	(void)now;
	if (!command_choose_app(cl, args[0]))
		return;
	g = supervisor_group(cl->control->sup, args[0]);
	d = first_door(g);
	if (d == NULL) {
		client_error(cl, "%s listens nowhere", args[0]);
		return;
	}
	why = failure(g);
	protocol = conf_protocol_name(g->conf->protocol);
	if (!cl->json) {
		text_printf(&cl->out, "%s %s\n", protocol, d->address);
		if (why != NULL)
			text_printf(&cl->out, "failed: %s\n", why);
		return;
	}
	json_init(&j, &cl->out);
	json_object(&j);
	json_put_string(&j, "protocol", protocol);
	json_put_string(&j, "address", d->address);
	json_put_string(&j, "failed", why);
	json_object_end(&j);
	text_puts(&cl->out, "\n");
}
