/*
 * The language of PoolCounter: what clients say, and what STATS answers.
 * Nothing is decoded and nothing is forgiven: words stand apart by spaces
 * alone, and a command begins in column 1.
 */

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "counter/counter.h"

struct language_word {
	const char *text;
	size_t len; /* 0: there is none */
};

static struct language_word
language_word(const char **p, const char *end)
{
	const char *from = *p;
	const char *to;

	while (from < end && *from == ' ')
		from++;
	to = memchr(from, ' ', (size_t)(end - from));
	if (to == NULL)
		to = end;
	*p = to;
	return (struct language_word){ from, (size_t)(to - from) };
}

static bool
language_is(struct language_word w, const char *text)
{
	return w.len == strlen(text) && memcmp(w.text, text, w.len) == 0;
}

/*
 * Returns how many digits the text begins with. *out is their value; a number
 * above INT_MAX, of any length, counts as INT_MAX.
 */
static size_t
language_digits(const char *text, size_t len, uint32_t *out)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < len && text[i] >= '0' && text[i] <= '9'; i++)
		if (n <= INT_MAX)
			n = n * 10 + (uint64_t)(text[i] - '0');
	*out = n > INT_MAX ? INT_MAX : (uint32_t)n;
	return i;
}

/* The value of a word; 0 if it is not a number. */
static uint32_t
language_number(struct language_word w)
{
	uint32_t n;

	return language_digits(w.text, w.len, &n) == w.len ? n : 0;
}

/* The span of a word, which may have a fraction; 0 if it is not a number. */
static tspan
language_seconds(struct language_word w)
{
	uint32_t n;
	size_t at = language_digits(w.text, w.len, &n);
	tspan span = TSPAN_SECONDS(n), unit = TSPAN_SECONDS(1);
	bool more = false;

	if (at == w.len)
		return span;
	if (at == 0 || w.text[at] != '.' || at + 1 == w.len)
		return 0;
	while (++at < w.len) {
		const char digit = w.text[at];

		if (digit < '0' || digit > '9')
			return 0;
		unit /= 10;
		span += unit * (digit - '0');
		more = more || (unit == 0 && digit != '0');
	}
	/* Rounded up, to nanoseconds: no TIMEOUT comes too early. */
	return span + more;
}

void
language_parse(const char *line, size_t len, struct language_line *out)
{
	const char *p = line, *end;
	struct counter_request *r = &out->request;
	struct language_word command, argument = { NULL, 0 };

	if (len > 0 && line[len - 1] == '\r')
		len--;
	end = line + len;
	*out = (struct language_line){ .verb = LANGUAGE_BAD_COMMAND };
	if (len == 0 || *line == ' ')
		return;
	command = language_word(&p, end);
	r->any = language_is(command, "ACQ4ANY");
	/* poolcounterd takes the space behind the word for a part of it. */
	if (p < end && (r->any || language_is(command, "ACQ4ME"))) {
		out->verb = LANGUAGE_BAD_SYNTAX;
		if (memchr(p, '\0', (size_t)(end - p)) != NULL)
			return;
		argument = language_word(&p, end);
		r->key = argument.text;
		r->len = argument.len;
		r->workers = language_number(language_word(&p, end));
		r->maxqueue = language_number(language_word(&p, end));
		r->timeout = language_seconds(language_word(&p, end));
		if (r->len > 0 && r->workers > 0 && r->maxqueue > 0)
			out->verb = LANGUAGE_ACQUIRE;
		return;
	}
	if (memchr(line, '\0', len) != NULL)
		return;
	if (language_is(command, "RELEASE")) {
		out->verb = LANGUAGE_RELEASE;
		argument = language_word(&p, end);
	} else if (language_is(command, "STATS")) {
		out->verb = LANGUAGE_STATS;
		/* All of the rest, without the spaces around it. */
		while (p < end && *p == ' ')
			p++;
		while (end > p && end[-1] == ' ')
			end--;
		argument = (struct language_word){ p, (size_t)(end - p) };
	}
	out->text = argument.text;
	out->len = argument.len;
}

/* --- STATS ---------------------------------------------------------------- */

/* A time, in the largest unit it needs and all units below. */
static void
stats_time(struct text *out, const char *name, uint64_t us)
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

/*
 * The counter of the name wanted, which may be in any case; NULL: all
 * counters. False: there is none of that name.
 */
static bool
stats_counters(struct text *out, const struct counter_figures *f,
    const char *wanted, size_t len)
{
	const struct {
		const char *name;
		uint64_t value;
	} counters[] = {
		{ "total_acquired", f->acquired },
		{ "total_releases", f->releases },
		{ "hashtable_entries", f->keys },
		{ "processing_workers", f->held },
		{ "waiting_workers", f->waiting },
		{ "connect_errors", f->connect_errors },
		{ "failed_sends", f->failed_sends },
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
language_stats(struct text *out, const struct counter_figures *f, tspan uptime,
    const char *what, size_t len)
{
	uint64_t processed = f->processed == 0 ? 1 : f->processed;
	uint64_t s = (uint64_t)(uptime / TSPAN_SECONDS(1));
	bool full = len == 4 && strncasecmp(what, "FULL", 4) == 0;

	if (!full && len != 0 &&
	    (len != 6 || strncasecmp(what, "UPTIME", 6) != 0))
		return stats_counters(out, f, what, len);
	text_printf(out,
	    "uptime: %" PRIu64 " days, %" PRIu64 "h %" PRIu64 "m %" PRIu64
	    "s\n",
	    s / 86400, s / 3600 % 24, s / 60 % 60, s % 60);
	if (!full)
		return true;
	stats_time(out, "total processing time", f->processing_time);
	stats_time(
	    out, "average processing time", f->processing_time / processed);
	stats_time(out, "gained time", f->gained_time);
	stats_time(out, "waiting time", f->me_time + f->any_time);
	stats_time(out, "waiting time for me", f->me_time);
	stats_time(out, "waiting time for anyone", f->any_time);
	stats_time(out, "waiting time for good", f->good_time);
	stats_time(out, "wasted timeout time", f->wasted_time);
	(void)stats_counters(out, f, NULL, 0);
	text_puts(out, "\n");
	return true;
}
