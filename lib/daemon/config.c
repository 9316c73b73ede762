/* A configuration, which lasts as long as anybody uses it. */

#include <assert.h>
#include <stdlib.h>

#include "daemon/config.h"

struct config *
config_new(struct conf *conf)
{
	struct config *c = malloc(sizeof(*c));

	if (c != NULL)
		*c = (struct config){ .conf = conf, .refs = 1 };
	return c;
}

struct config *
config_ref(struct config *c)
{
	c->refs++;
	return c;
}

void
config_unref(struct config *c)
{
	assert(c->refs > 0);
	if (--c->refs == 0) {
		conf_free(c->conf);
		free(c);
	}
}
