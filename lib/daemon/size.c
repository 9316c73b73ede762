/* The size of an app, as an operator sets it. */

#include <inttypes.h>

#include "daemon/group.h"
#include "daemon/state.h"

/* Bounds of the file: job workers are as many as their minimum. */
static struct group_size
size_of_file(const struct conf_app *conf)
{
	return (struct group_size){ conf->pool.min_processes,
		conf->pool.max_processes };
}

const char *
size_format(struct group_size size, char buf[SIZE_TEXT])
{
	if (size.min == size.max)
		(void)snprintf(buf, SIZE_TEXT, "%" PRIu32 " process%s",
		    size.max, size.max == 1 ? "" : "es");
	else
		(void)snprintf(buf, SIZE_TEXT,
		    "%" PRIu32 " to %" PRIu32 " processes", size.min, size.max);
	return buf;
}

static bool
is_same(struct group_size a, struct group_size b)
{
	return a.min == b.min && a.max == b.max;
}

void
size_options(const struct group *g, struct app_options *out)
{
	*out = g->conf->pool;
	if (!g->resized)
		return;
	out->min_processes = g->size.min;
	out->max_processes = g->size.max;
}

/* The minima of all apps, if this one had another. */
static uint64_t
sum_with(const struct group *g, uint32_t min)
{
	const struct supervisor *s = g->sup;
	uint64_t sum = min;

	for (uint32_t n = 0; n < s->pool.napps; n++)
		if (s->groups[n] != NULL && s->groups[n] != g &&
		    !s->groups[n]->closing)
			sum += s->pool.apps[n].options.min_processes;
	return sum;
}

static bool
is_possible(
    const struct group *g, uint32_t min, uint32_t max, char why[SIZE_WHY])
{
	const struct conf_app *conf = g->conf;
	uint64_t sum = sum_with(g, min);

	why[0] = '\0';
	if (conf->handoff == CONF_HANDOFF_NONE && min != max)
		(void)snprintf(why, SIZE_WHY,
		    "with handoff = none there are always min_processes: both "
		    "numbers have to be the same");
	else if (max < 1 && conf->handoff != CONF_HANDOFF_NONE)
		(void)snprintf(why, SIZE_WHY, "max_processes is at least 1");
	else if (min > max)
		(void)snprintf(why, SIZE_WHY,
		    "min_processes (%" PRIu32
		    ") is over max_processes (%" PRIu32 ")",
		    min, max);
	else if (conf->pool.min_idle > max)
		(void)snprintf(why, SIZE_WHY,
		    "min_idle (%u) is over max_processes (%" PRIu32 ")",
		    conf->pool.min_idle, max);
	else if (sum > g->sup->pool.max_processes)
		(void)snprintf(why, SIZE_WHY,
		    "the apps' min_processes would add up to %" PRIu64
		    ", over max_processes of the daemon (%" PRIu32 ")",
		    sum, g->sup->pool.max_processes);
	return why[0] == '\0';
}

bool
size_set(
    struct group *g, uint32_t min, uint32_t max, char why[SIZE_WHY], tstamp now)
{
	struct app_options o;

	if (!is_possible(g, min, max, why))
		return false;
	g->size = (struct group_size){ min, max == 0 ? 1 : max };
	g->file_size = size_of_file(g->conf);
	g->resized = !is_same(g->size, g->file_size);
	size_options(g, &o);
	pool_app_change(&g->sup->pool, g->app, &o, now);
	return true;
}

void
size_reloaded(struct group *g, FILE *answer)
{
	struct group_size file = size_of_file(g->conf);
	char set[SIZE_TEXT], says[SIZE_TEXT];

	if (!g->resized)
		return;
	g->resized = is_same(file, g->file_size) && !is_same(file, g->size);
	(void)size_format(g->size, set);
	(void)size_format(file, says);
	if (g->resized)
		logging_tell(answer, true,
		    "%s: keeps %s, as resized; the file says %s as before",
		    g->conf->name, set, says);
	else
		logging_tell(answer, true,
		    "%s: %s, as the file says; no longer %s as resized",
		    g->conf->name, says, set);
}
