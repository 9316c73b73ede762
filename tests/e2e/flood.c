/*
 * flood: clients by the thousand against one address, and the end of each.
 *
 *     flood --tcp HOST:PORT | --unix PATH [option ...]
 *
 *     --count N          connections to make (1000)
 *     --concurrency N    open at a time (64; with --rate, as many as
 * descriptors allow)
 *     --rate N           connections a second, as they come; else a closed loop
 *     --timeout SECONDS  for each connection (10)
 *     --limit SECONDS    start no more after so long (60)
 *     --seed N           of the arrivals (1)
 *     --request TEXT     what each sends; a line end is added if it has none.
 *                        Else its number, 0 to count - 1
 *     --echo             an answer must begin with what was sent
 *     --stop-on-refused  start no more after one was refused
 *     --max KEY=N        fail if KEY is above N; may be repeated
 *     --min KEY=N        fail if KEY is below N; may be repeated
 *     --quiet            no lines about single connections
 *
 * Each connects, sends, reads to the end of the stream.  One line is printed,
 * of KEY=VALUE:
 *
 *     started   connections begun
 *     answered  a whole line came
 *     eof       connected, then the stream ended without a line
 *     reset     connected, then reset without a line
 *     timeout   did not end in time
 *     refused   no process listened
 *     failed    not connected for another reason
 *     wrong     answered with something else (--echo)
 *     lost      connected and not answered rightly
 *     late      connected although begun after one had been refused
 *
 * and, in seconds: elapsed; first_refused and last_connected since the start
 * (-1: never); p50, p99, max of the time from connect to the end of those
 * answered.  The first 20 lost ones are described on stderr.
 *
 * Exit status: 0, 1 a --max or --min is not met, 64 usage, 71 system.
 */

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "../support/clients.h"
#include "../support/options.h"
#include "../support/samples.h"
#include "core/tstamp.h"

static const char usage[] = "flood --tcp HOST:PORT | --unix PATH [option ...]";

enum {
	LIMITS_MAX = 16,
	LOST_SHOWN = 20
};

enum key {
	KEY_STARTED,
	KEY_ANSWERED,
	KEY_EOF,
	KEY_RESET,
	KEY_TIMEOUT,
	KEY_REFUSED,
	KEY_FAILED,
	KEY_WRONG,
	KEY_LOST,
	KEY_LATE,
	KEYS
};

static const char *const key_names[KEYS] = {
	[KEY_STARTED] = "started",
	[KEY_ANSWERED] = "answered",
	[KEY_EOF] = "eof",
	[KEY_RESET] = "reset",
	[KEY_TIMEOUT] = "timeout",
	[KEY_REFUSED] = "refused",
	[KEY_FAILED] = "failed",
	[KEY_WRONG] = "wrong",
	[KEY_LOST] = "lost",
	[KEY_LATE] = "late",
};

static const enum key key_of_end[CLIENT_ENDS] = {
	[CLIENT_ANSWERED] = KEY_ANSWERED,
	[CLIENT_EOF] = KEY_EOF,
	[CLIENT_RESET] = KEY_RESET,
	[CLIENT_TIMEOUT] = KEY_TIMEOUT,
	[CLIENT_REFUSED] = KEY_REFUSED,
	[CLIENT_FAILED] = KEY_FAILED,
};

struct limit {
	enum key key;
	bool most; /* else at least */
	int64_t value;
};

struct flood {
	struct client_plan plan;
	const char *request;
	bool echo, quiet;
	struct limit limits[LIMITS_MAX];
	int limits_count;
	int64_t counts[KEYS];
	tstamp began, first_refused, last_connected;
	struct samples times;
};

static size_t
flood_request(void *arg, int64_t number, char *buf, size_t size)
{
	const struct flood *f = arg;
	int n;

	if (f->request == NULL)
		n = snprintf(buf, size, "%lld\n", (long long)number);
	else if (f->request[0] != '\0' &&
	    f->request[strlen(f->request) - 1] == '\n')
		n = snprintf(buf, size, "%s", f->request);
	else
		n = snprintf(buf, size, "%s\n", f->request);
	return (size_t)n < size ? (size_t)n : size - 1;
}

static bool
flood_is_echo(struct flood *f, const struct client_result *r)
{
	char sent[CLIENT_REQUEST_MAX];
	size_t len = flood_request(f, r->number, sent, sizeof(sent)) - 1;

	return r->len >= len && memcmp(r->answer, sent, len) == 0;
}

static double
seconds(tspan span)
{
	return (double)span / 1e9;
}

static void
flood_lost(struct flood *f, const struct client_result *r, const char *how)
{
	if (f->counts[KEY_LOST]++ >= LOST_SHOWN || f->quiet)
		return;
	warnx("lost: number %lld, %s (%s), begun at %.6f, connected at %.6f, "
	      "ended at %.6f, %zu bytes read",
	    (long long)r->number, how, r->error == 0 ? "-" : strerror(r->error),
	    seconds(r->started - f->began), seconds(r->connected - f->began),
	    seconds(r->ended - f->began), r->len);
}

static void
flood_ended(void *arg, const struct client_result *r)
{
	struct flood *f = arg;
	enum key key = key_of_end[r->end];

	if (key == KEY_ANSWERED && f->echo && !flood_is_echo(f, r))
		key = KEY_WRONG;
	f->counts[key]++;

	if (r->connected > f->last_connected)
		f->last_connected = r->connected;
	if (r->connected != 0 && r->started > f->first_refused)
		f->counts[KEY_LATE]++;
	if (key == KEY_REFUSED && f->first_refused == TSTAMP_NEVER)
		f->first_refused = r->ended;
	if (key == KEY_ANSWERED)
		samples_add(&f->times, seconds(r->ended - r->started));
	else if (r->connected != 0)
		flood_lost(f, r, key_names[key]);
}

static void
flood_print(struct flood *f, const struct clients_totals *totals)
{
	int i;

	for (i = 0; i < KEYS; i++)
		printf("%s=%lld ", key_names[i], (long long)f->counts[i]);
	printf("elapsed=%.3f first_refused=%.6f last_connected=%.6f",
	    seconds(totals->elapsed),
	    f->first_refused == TSTAMP_NEVER
		? -1.0
		: seconds(f->first_refused - f->began),
	    f->last_connected == 0 ? -1.0
				   : seconds(f->last_connected - f->began));
	if (f->times.count != 0)
		printf(" p50=%.6f p99=%.6f max=%.6f",
		    samples_quantile(&f->times, 0.5),
		    samples_quantile(&f->times, 0.99),
		    samples_quantile(&f->times, 1));
	putchar('\n');
}

/* The exit status. */
static int
flood_judge(const struct flood *f)
{
	int i, rc = 0;

	for (i = 0; i < f->limits_count; i++) {
		const struct limit *l = &f->limits[i];
		int64_t is = f->counts[l->key];

		if (l->most ? is <= l->value : is >= l->value)
			continue;
		warnx("%s is %lld, %s %lld is asked for", key_names[l->key],
		    (long long)is, l->most ? "at most" : "at least",
		    (long long)l->value);
		rc = 1;
	}
	return rc;
}

static void
flood_limit(struct flood *f, bool most, const char *text)
{
	const char *equals = strchr(text, '=');
	size_t len = equals == NULL ? 0 : (size_t)(equals - text);
	struct limit *l = &f->limits[f->limits_count];
	int i;

	if (f->limits_count == LIMITS_MAX)
		errx(EX_USAGE, "more than %d limits", LIMITS_MAX);
	for (i = 0; i < KEYS; i++) {
		if (strlen(key_names[i]) != len ||
		    strncmp(key_names[i], text, len) != 0)
			continue;
		l->key = (enum key)i;
		l->most = most;
		l->value =
		    options_number(key_names[i], equals + 1, 0, INT64_MAX);
		f->limits_count++;
		return;
	}
	errx(EX_USAGE, "%s: not KEY=N with a KEY of the output", text);
}

static void
flood_max(void *arg, const char *text)
{
	flood_limit(arg, true, text);
}

static void
flood_min(void *arg, const char *text)
{
	flood_limit(arg, false, text);
}

static void
flood_to(struct flood *f, const char *prefix, const char *address)
{
	char text[512];

	(void)snprintf(text, sizeof(text), "%s%s", prefix, address);
	if (endpoint_parse(text, &f->plan.to) == -1)
		errx(EX_USAGE, "%s: not an address", address);
}

static void
flood_tcp(void *arg, const char *text)
{
	flood_to(arg, "", text);
}

static void
flood_unix(void *arg, const char *text)
{
	flood_to(arg, "unix:", text);
}

static void
flood_options(struct flood *f, int argc, char **argv)
{
	const int64_t room = clients_raise_nofile() - 16;
	int64_t concurrency = 0, rate = 0, timeout = 10, limit = 60, seed = 1;
	const struct option_place table[] = {
		{ "tcp", .call = flood_tcp, .arg = f },
		{ "unix", .call = flood_unix, .arg = f },
		{ "count", .number = &f->plan.count, .min = 1,
		    .max = INT64_MAX },
		{ "concurrency", .number = &concurrency, .min = 1,
		    .max = room },
		{ "rate", .number = &rate, .min = 1, .max = 1000000 },
		{ "timeout", .number = &timeout, .min = 1, .max = 3600 },
		{ "limit", .number = &limit, .min = 1, .max = 3600 },
		{ "seed", .number = &seed, .min = 0, .max = INT64_MAX },
		{ "request", .text = &f->request },
		{ "echo", .flag = &f->echo },
		{ "stop-on-refused", .flag = &f->plan.stop_on_refused },
		{ "max", .call = flood_max, .arg = f },
		{ "min", .call = flood_min, .arg = f },
		{ "quiet", .flag = &f->quiet },
		{ .name = NULL },
	};

	options_parse(table, argc, argv, usage);
	if (f->plan.to.len == 0)
		errx(EX_USAGE, "usage: %s", usage);
	f->plan.rate = (double)rate;
	f->plan.timeout = TSPAN_SECONDS(timeout);
	f->plan.limit = TSPAN_SECONDS(limit);
	f->plan.seed = (uint64_t)seed;
	f->plan.concurrency = (int)concurrency;
	if (concurrency == 0)
		f->plan.concurrency = rate > 0 ? (int)room : 64;
}

int
main(int argc, char **argv)
{
	struct flood f = {
		.plan = { .count = 1000,
		    .request = flood_request,
		    .ended = flood_ended },
		.first_refused = TSTAMP_NEVER,
	};
	struct clients_totals totals;

	f.plan.arg = &f;
	flood_options(&f, argc, argv);
	f.began = client_now();
	if (clients_run(&f.plan, &totals) == -1)
		err(EX_OSERR, "clients");
	f.counts[KEY_STARTED] = totals.started;
	flood_print(&f, &totals);
	samples_fini(&f.times);
	return flood_judge(&f);
}
