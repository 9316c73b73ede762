/* The memory of policies that keep a band of idle workers. */

#include <stdlib.h>

#include "sim/policy_spare.h"

struct manager *
spares_new(const struct backlog_ops *ops,
    struct spare (*first_band)(const struct conf_app *),
    const struct conf *conf, uint64_t seed)
{
	struct spares *s =
	    (struct spares *)backlog_new(sizeof(*s), ops, conf, seed);

	if (s == NULL)
		return NULL;
	s->bands = calloc(conf->apps_len, sizeof(*s->bands));
	if (s->bands == NULL) {
		backlog_free(&s->backlog);
		return NULL;
	}
	for (size_t app = 0; app < conf->apps_len; app++)
		s->bands[app] = first_band(&conf->apps[app]);
	return &s->backlog.manager;
}

void
spares_fini(struct backlog *b)
{
	free(((struct spares *)b)->bands);
}
