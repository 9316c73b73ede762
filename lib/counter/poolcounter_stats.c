/* What STATS answers. */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "counter/poolcounter_private.h"

/* Bytes a line of STATS may have. */
#define LINE_SIZE 128

static void put_line(struct pc_client *cl, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
put_line(struct pc_client *cl, const char *fmt, ...)
{
	char line[LINE_SIZE];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	pc_client_put(cl, line, (size_t)len);
}

static void
put_uptime(struct pc_client *cl, uint64_t s)
{
	put_line(cl,
	    "uptime: %" PRIu64 " days, %" PRIu64 "h %" PRIu64 "m %" PRIu64
	    "s\n",
	    s / 86400, s / 3600 % 24, s / 60 % 60, s % 60);
}

/* The largest unit that is needed, and all below it. */
static void
put_time(struct pc_client *cl, const char *name, uint64_t us)
{
	uint64_t s = us / 1000000;
	char text[LINE_SIZE / 2];
	int len = 0;

	text[0] = '\0';
	if (s >= 86400)
		len += snprintf(
		    text, sizeof(text), "%" PRIu64 " days ", s / 86400);
	if (s >= 3600)
		len += snprintf(text + len, sizeof(text) - (size_t)len,
		    "%" PRIu64 "h ", s / 3600 % 24);
	if (s >= 60)
		(void)snprintf(text + len, sizeof(text) - (size_t)len,
		    "%" PRIu64 "m ", s / 60 % 60);
	put_line(cl, "%s: %s%" PRIu64 ".%06" PRIu64 "s\n", name, text, s % 60,
	    us % 1000000);
}

static void
put_times(struct pc_client *cl, const struct counter_figures *f)
{
	uint64_t processed = f->processed == 0 ? 1 : f->processed;

	put_time(cl, "total processing time", f->processing_time);
	put_time(cl, "average processing time", f->processing_time / processed);
	put_time(cl, "gained time", f->gained_time);
	put_time(cl, "waiting time", f->me_time + f->any_time);
	put_time(cl, "waiting time for me", f->me_time);
	put_time(cl, "waiting time for anyone", f->any_time);
	put_time(cl, "waiting time for good", f->good_time);
	put_time(cl, "wasted timeout time", f->wasted_time);
}

/* A word that is none of these, in any case, is no counter. */
static bool
put_counters(struct pc_client *cl, const struct counter_service_figures *all,
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
		put_line(cl, "%s: %" PRIu64 "\n", counters[i].name,
		    counters[i].value);
		found = true;
	}
	return found;
}

void
pc_stats(struct pc_client *cl, const char *what, size_t len, tstamp now)
{
	struct counter_service_figures all;

	(void)poolcounter_figures(cl->pc, now, &all);
	if (len == 0 || (len == 6 && strncasecmp(what, "UPTIME", 6) == 0)) {
		put_uptime(cl, all.uptime);
	} else if (len == 4 && strncasecmp(what, "FULL", 4) == 0) {
		put_uptime(cl, all.uptime);
		put_times(cl, &all.counter);
		(void)put_counters(cl, &all, NULL, 0);
		pc_client_put(cl, "\n", 1);
	} else if (!put_counters(cl, &all, what, len)) {
		pc_client_say(cl, "ERROR WRONG_STAT");
	}
}
