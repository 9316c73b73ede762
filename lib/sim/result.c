/* The result of a run. */

#include <stdlib.h>
#include <string.h>

#include "sim/result.h"

int
result_init(struct result *r, size_t apps_len)
{
	memset(r, 0, sizeof(*r));
	r->apps = calloc(apps_len, sizeof(*r->apps));
	r->apps_len = apps_len;
	return r->apps == NULL ? -1 : 0;
}

void
result_fini(struct result *r)
{
	free(r->apps);
	r->apps = NULL;
}

static void
add_app(struct result_app *t, const struct result_app *a)
{
	t->arrived += a->arrived;
	t->completed += a->completed;
	t->refused += a->refused;
	t->overflowed += a->overflowed;
	t->timed_out += a->timed_out;
	t->lost += a->lost;
	t->unfinished += a->unfinished;
	t->work += a->work;
	histogram_merge(&t->wait, &a->wait);
	t->spawned += a->spawned;
	t->spawned_running += a->spawned_running;
	t->ended += a->ended;
	t->taken += a->taken;
	t->idle_while_waiting += a->idle_while_waiting;
	t->idle_while_unread += a->idle_while_unread;
	if (a->longest_unread > t->longest_unread)
		t->longest_unread = a->longest_unread;
}

void
result_sum(struct result *r)
{
	struct result_app *t = &r->total;

	if (r->apps_len == 1) {
		*t = r->apps[0];
		t->name = NULL;
		return;
	}
	/* An idle process of one app is no waste of another's connections. */
	t->idle_while_waiting = t->idle_while_unread = t->longest_unread = 0;
	for (size_t app = 0; app < r->apps_len; app++)
		add_app(t, &r->apps[app]);
}
