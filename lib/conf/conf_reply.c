/*
 * What on_full = reply:FILE sends. It is read with the configuration, and not
 * when there is no time for anything.
 */

#include <stdlib.h>

#include "conf/conf_private.h"

static void
read_reply(struct conf_build *b, struct conf_app *app)
{
	struct conf_where where = conf_app_where(b, app, "on_full");
	struct stat st;
	char *why;

	app->on_full_reply = conf_file_read(
	    app->on_full_file, CONF_REPLY_MAX, &st, &app->on_full_reply_len);
	if (app->on_full_reply == NULL)
		why = conf_file_why(CONF_REPLY_MAX);
	else if (app->on_full_reply_len == 0)
		why = conf_strdup("is empty; 'close' sends nothing");
	else
		return;
	conf_mistake(b->findings, where, "option 'on_full': %s: %s",
	    app->on_full_file, why);
	free(why);
}

void
conf_reply_read(struct conf_build *b)
{
	if ((b->findings->flags & CONF_INSIDE) != 0)
		return;
	for (size_t i = 0; i < b->conf->apps_len; i++) {
		if (b->conf->apps[i].on_full == CONF_ON_FULL_REPLY)
			read_reply(b, &b->conf->apps[i]);
	}
}
