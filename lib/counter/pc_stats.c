/* The answers to STATS: what clients of the original read there. */

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "counter/pc_stats.h"

static void
put_uptime(struct text *out, uint64_t s)
{
	text_printf(out,
	    "uptime: %" PRIu64 " days, %" PRIu64 "h %" PRIu64 "m %" PRIu64
	    "s\n",
	    s / 86400, s / 3600 % 24, s / 60 % 60, s % 60);
}

/* A time, in the largest unit it needs and all units below. */
static void
put_time(struct text *out, const char *name, uint64_t us)
{
	uint64_t s = us / 1000000;

	text_printf(out, "%s: ", name);
	if (s >= 86400)
		text_printf(out, "%" PRIu64 " days ", s / 86400);
	if (s >= 3600)
		text_printf(out, "%" PRIu64 "h ", s / 3600 % 24);
	if (s >= 60)
		text_printf(out, "%" PRIu64 "m ", s / 60 % 60);
	text_printf(out, "%" PRIu64 ".%06" PRIu64 "s\n", s % 60, us % 1000000);
}

static void
put_times(struct text *out, const struct counter_figures *f)
{
	uint64_t processed = f->processed == 0 ? 1 : f->processed;

	put_time(out, "total processing time", f->processing_time);
	put_time(
	    out, "average processing time", f->processing_time / processed);
	put_time(out, "gained time", f->gained_time);
	put_time(out, "waiting time", f->me_time + f->any_time);
	put_time(out, "waiting time for me", f->me_time);
	put_time(out, "waiting time for anyone", f->any_time);
	put_time(out, "waiting time for good", f->good_time);
	put_time(out, "wasted timeout time", f->wasted_time);
}

/*
 * The counter of the name wanted, which may be in any case; NULL: all
 * counters. False: there is none of that name.
 */
static bool
put_counters(struct text *out, const struct counter_service_figures *all,
    const char *wanted, size_t len)
{
	const struct counter_figures *f = &all->counter;
	const struct {
		const char *name;
		uint64_t value;
	} counters[] = {
		{ "total_acquired", f->acquired },
		{ "total_releases", f->releases },
		{ "hashtable_entries", all->keys },
		{ "processing_workers", f->held },
		{ "waiting_workers", f->waiting },
		{ "connect_errors", all->connect_errors },
		{ "failed_sends", all->failed_sends },
		{ "full_queues", f->full_queues },
		{ "lock_mismatch", f->lock_mismatch },
		{ "lock_while_waiting", f->lock_while_waiting },
		{ "release_mismatch", f->release_mismatch },
		{ "processed_count", f->processed },
	};
	bool found = false;

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		if (wanted != NULL &&
		    (strlen(counters[i].name) != len ||
			strncasecmp(counters[i].name, wanted, len) != 0))
			continue;
		text_printf(out, "%s: %" PRIu64 "\n", counters[i].name,
		    counters[i].value);
		found = true;
	}
	return found;
}

bool
pc_stats_write(struct text *out, const struct counter_service_figures *f,
    const char *what, size_t len)
{
	if (len == 0 || (len == 6 && strncasecmp(what, "UPTIME", 6) == 0)) {
		put_uptime(out, f->uptime);
		return true;
	}
	if (len != 4 || strncasecmp(what, "FULL", 4) != 0)
		return put_counters(out, f, what, len);
	put_uptime(out, f->uptime);
	put_times(out, &f->counter);
	(void)put_counters(out, f, NULL, 0);
	text_puts(out, "\n");
	return true;
}
