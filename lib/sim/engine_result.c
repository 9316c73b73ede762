/* The end of a run: what is left is counted, and the total made. */

#include <string.h>

#include "sim/engine_private.h"

/* What still waits has waited so long at least. */
static void
engine_count_rest(struct engine *e)
{
	for (uint32_t n = 0; n < e->manager->requests; n++) {
		const struct request *r = &e->requests[n];
		struct result_app *out = &e->result->apps[r->app];

		if (!r->used)
			continue;
		out->unfinished++;
		if (r->order == 0)
			histogram_add(&out->wait, e->now - r->arrived);
	}
}

static void
engine_add(struct result_app *t, const struct result_app *a)
{
	t->arrived += a->arrived;
	t->completed += a->completed;
	t->refused += a->refused;
	t->overflowed += a->overflowed;
	t->timed_out += a->timed_out;
	t->lost += a->lost;
	t->unfinished += a->unfinished;
	histogram_merge(&t->wait, &a->wait);
	t->spawned += a->spawned;
	t->spawned_running += a->spawned_running;
	t->ended += a->ended;
	t->taken += a->taken;
	/* Whoever waits, waits for his own app. */
	t->idle_while_waiting += a->idle_while_waiting;
	t->idle_while_unread += a->idle_while_unread;
	if (a->longest_unread > t->longest_unread)
		t->longest_unread = a->longest_unread;
}

void
engine_sum_up(struct engine *e)
{
	struct result *r = e->result;

	engine_count_rest(e);
	for (uint32_t app = 0; app < r->apps_len; app++) {
		engine_pass(e, app);
		tally_finish(&e->tallies[app], r->length);
	}
	r->ran = e->now - ENGINE_EPOCH;
	if (e->total == NULL) {
		r->total = r->apps[0];
		r->total.name = NULL;
		return;
	}
	tally_finish(e->total, r->length);
	r->total.idle_while_waiting = 0;
	r->total.idle_while_unread = 0;
	r->total.longest_unread = 0;
	for (uint32_t app = 0; app < r->apps_len; app++)
		engine_add(&r->total, &r->apps[app]);
}
