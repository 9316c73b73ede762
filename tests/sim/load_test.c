/*
 * Loads that are drawn at random: their distributions and profiles. Seeds are
 * fixed, so nothing here depends on luck; tolerances are several standard
 * errors all the same.
 */

#include <math.h>

#include "sim_help.h"

static struct service
service(const char *words)
{
	struct service s = { 0 };

	CHECK(words_read_service(words, &s) == NULL);
	return s;
}

static struct load_spec
spec_of(
    const struct load_app *apps, size_t len, const char *profile, tspan length)
{
	struct load_spec spec = {
		.apps = apps, .apps_len = len, .length = length, .seed = 42
	};

	CHECK(words_read_profile(profile, &spec.profile) == NULL);
	return spec;
}

/* The load of one app; the latest four are there. */
static struct load_spec
load_of(double rate, const char *words, const char *profile, unsigned seconds)
{
	static struct load_app apps[4];
	static unsigned next;
	struct load_app *app = &apps[next++ % 4];

	*app = (struct load_app){ .rate = rate, .service = service(words) };
	return spec_of(app, 1, profile, TSPAN_SECONDS(seconds));
}

static bool
near(double expected, double tolerance, double actual)
{
	return fabs(actual - expected) <= tolerance;
}

/* The same for a CHECK(): tells the actual value. */
static bool
within(double expected, double tolerance, double actual)
{
	if (near(expected, tolerance, actual))
		return true;
	fprintf(stderr, "%g is not %g +- %g\n", actual, expected, tolerance);
	return false;
}

/* --- service times ------------------------------------------------------ */

#define DRAWS 200000

static double drawn[DRAWS]; /* in milliseconds, sorted */

static int
order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Draws all of drawn[]; gives their mean. */
static double
draw(const char *words)
{
	struct load_spec spec = load_of(2000, words, "steady", 3600);
	struct load_source *l = load_open(&spec);
	struct arrival a;
	double sum = 0;

	for (unsigned i = 0; i < DRAWS; i++) {
		CHECK_EQ(LOAD_ARRIVAL, help_next(l, &a));
		drawn[i] = (double)a.service / 1e6;
		sum += drawn[i];
	}
	load_close(l);
	qsort(drawn, DRAWS, sizeof(drawn[0]), order);
	return sum / DRAWS;
}

/* Means and quantiles in milliseconds, each with its tolerance. */
static const struct {
	const char *words;
	double mean, off;
	struct {
		double share, value, off;
	} quantiles[3];
} distributions[] = {
	{ "20ms", 20, 1e-9,
	    { { 0, 20, 1e-9 }, { 0.5, 20, 1e-9 }, { 0.99999, 20, 1e-9 } } },
	{ "exponential:50ms", 50, 0.5,
	    { { 0.5, 34.657, 0.5 }, { 0.99, 230.26, 5 },
		{ 0.999, 345.39, 12 } } },
	{ "lognormal:50ms,1", 50, 0.8,
	    { { 0.5, 30.327, 0.4 }, { 0.9, 109.24, 2 },
		{ 0.99, 310.56, 12 } } },
	{ "lognormal:p50=20ms,p99=300ms", 39.380508, 1.5,
	    { { 0.5, 20, 0.3 }, { 0.5, 20, 0.3 }, { 0.99, 300, 14 } } },
	{ "uniform:1s,20s", 10500, 100,
	    { { 0, 1000, 10 }, { 0.25, 5750, 100 }, { 0.9999, 20000, 10 } } },
	/* A hundredth is rare, give or take a thousandth. */
	{ "bimodal:5ms,500ms,1%", 9.95, 0.6,
	    { { 0, 5, 1e-9 }, { 0.989, 5, 1e-9 }, { 0.991, 500, 1e-9 } } },
};

TEST(service_times_have_their_mean_and_quantiles)
{
	for (size_t i = 0; i < sizeof(distributions) / sizeof(distributions[0]);
	     i++) {
		const double mean = distributions[i].mean;
		struct service s = service(distributions[i].words);

		CHECK(within(
		    mean, distributions[i].off, draw(distributions[i].words)));
		CHECK(within(
		    mean, mean * 1e-6, (double)load_service_mean(&s) / 1e6));
		for (unsigned q = 0; q < 3; q++)
			CHECK(within(distributions[i].quantiles[q].value,
			    distributions[i].quantiles[q].off,
			    drawn[(unsigned)(DRAWS *
				distributions[i].quantiles[q].share)]));
	}
	/* Each service time of the last distribution is one of two values. */
	for (unsigned i = 0; i < DRAWS; i++)
		NEED(within(drawn[i] > 250 ? 500 : 5, 1e-9, drawn[i]));
}

/* --- arrivals ----------------------------------------------------------- */

/* Counts arrivals in `len` equal parts of the run; gives their sum. */
static uint64_t
count(const struct load_spec *spec, uint64_t *parts, size_t len)
{
	struct load_source *l = load_open(spec);
	struct arrival a;
	tstamp last = 0;
	uint64_t sum = 0;

	memset(parts, 0, len * sizeof(*parts));
	while (help_next(l, &a) == LOAD_ARRIVAL) {
		CHECK(a.at >= last && a.at < spec->length);
		last = a.at;
		parts[a.at / (spec->length / (tspan)len)]++;
		sum++;
	}
	CHECK_EQ(LOAD_END, help_next(l, &a));
	load_close(l);
	return sum;
}

TEST(arrivals_have_their_rate)
{
	struct load_spec spec = load_of(100, "1ms", "steady", 6000);
	uint64_t parts[60];

	/* The deviation of a Poisson process is the root. */
	CHECK(within(600000, 3000, (double)count(&spec, parts, 60)));
	for (unsigned i = 0; i < 60; i++)
		CHECK(within(10000, 400, (double)parts[i]));
}

/* The variance of the number of arrivals is its mean. */
TEST(arrivals_are_a_poisson_process)
{
	struct load_spec spec = load_of(10, "1ms", "steady", 10000);
	static uint64_t parts[10000];
	double mean, variance = 0;

	mean = (double)count(&spec, parts, 10000) / 10000;
	for (unsigned i = 0; i < 10000; i++)
		variance += pow((double)parts[i] - mean, 2) / 10000;
	CHECK(within(10, 0.15, mean));
	CHECK(within(10, 0.5, variance));
}

/* No gap depends on the gap before it. */
TEST(gaps_are_exponential)
{
	struct load_spec spec = load_of(100, "1ms", "steady", 1000);
	struct load_source *l = load_open(&spec);
	struct arrival a;
	tstamp last = 0;
	double n = 0, over_mean = 0, over_three = 0;

	while (help_next(l, &a) == LOAD_ARRIVAL) {
		n++;
		over_mean += a.at - last > TSPAN_MSECONDS(10);
		over_three += a.at - last > TSPAN_MSECONDS(30);
		last = a.at;
	}
	load_close(l);
	CHECK(within(exp(-1), 0.008, over_mean / n));
	CHECK(within(exp(-3), 0.004, over_three / n));
}

TEST(a_load_without_a_rate_is_empty)
{
	struct load_spec spec = load_of(0, "1ms", "steady", 10);
	uint64_t parts[1];

	CHECK_EQ(0, count(&spec, parts, 1));
}

/* --- profiles ----------------------------------------------------------- */

TEST(every_profile_has_the_rate_as_its_mean)
{
	static const char *const profiles[] = { "steady", "burst", "day",
		"day:30m", "ramp", "burst:3,10s,20s" };
	struct load_app app = { .rate = 100, .service = service("1ms") };

	for (unsigned i = 0; i < 6; i++) {
		struct load_spec spec =
		    spec_of(&app, 1, profiles[i], TSPAN_SECONDS(3600));
		uint64_t parts[1];

		CHECK(within(360000, 2400, (double)count(&spec, parts, 1)));
	}
}

TEST(a_day_has_a_trough_and_two_peaks)
{
	struct load_spec spec = load_of(1000, "1ms", "day", 2400);
	uint64_t parts[24 * 5];
	/* A fifth of an hour, around the full hour. */
	const double fifth = 1000 * 2400 / 120.0;

	(void)count(&spec, parts, 24 * 5);
	CHECK(within(0.12 * fifth, 0.04 * fifth,
	    (double)(parts[4 * 5 - 1] + parts[4 * 5]) / 2));
	CHECK(within(1.80 * fifth, 0.05 * fifth,
	    (double)(parts[11 * 5 - 1] + parts[11 * 5]) / 2));
	CHECK(within(1.20 * fifth, 0.05 * fifth,
	    (double)(parts[17 * 5 - 1] + parts[17 * 5]) / 2));
	CHECK(within(1.70 * fifth, 0.05 * fifth,
	    (double)(parts[20 * 5 - 1] + parts[20 * 5]) / 2));
}

TEST(a_day_shorter_than_the_run_comes_again)
{
	struct load_spec spec = load_of(1000, "1ms", "day:20m", 3600);
	uint64_t parts[72];

	(void)count(&spec, parts, 72);
	for (unsigned i = 0; i < 24; i++) {
		double deviation = 6 * sqrt((double)parts[i]);

		CHECK(
		    within((double)parts[i], deviation, (double)parts[24 + i]));
		CHECK(
		    within((double)parts[i], deviation, (double)parts[48 + i]));
	}
}

/* Many hours in a row have no connection. */
TEST(a_day_may_be_shorter_than_the_time_between_arrivals)
{
	struct load_spec spec = load_of(1, "1ms", "day:500ms", 10000);
	uint64_t parts[1];

	CHECK(within(10000, 400, (double)count(&spec, parts, 1)));
}

TEST(a_ramp_goes_up_to_twice_the_rate_and_down)
{
	struct load_spec spec = load_of(1000, "1ms", "ramp", 1000);
	uint64_t parts[10];

	(void)count(&spec, parts, 10);
	for (unsigned i = 0; i < 5; i++) {
		double rate = 20000 + 40000.0 * i;

		CHECK(within(rate, 1000, (double)parts[i]));
		CHECK(within(rate, 1000, (double)parts[9 - i]));
	}
}

/* With 10 times the rate for 5 of 60 s, 57.1 % is the quiet rate. */
TEST(each_period_has_one_burst)
{
	struct load_spec spec = load_of(1000, "1ms", "burst", 1800);
	static uint64_t parts[1800];

	(void)count(&spec, parts, 1800);
	for (unsigned minute = 0; minute < 30; minute++) {
		unsigned high = 0, quiet = 0;

		for (unsigned s = 0; s < 60; s++) {
			uint64_t n = parts[minute * 60 + s];

			high += near(5714, 400, (double)n);
			quiet += near(571, 140, (double)n);
		}
		/* A burst may begin and end within a second. */
		CHECK(high == 4 || high == 5);
		CHECK(quiet >= 54 && quiet + high >= 58);
	}
}

TEST(bursts_are_not_regular)
{
	struct load_spec spec = load_of(100, "1ms", "burst", 600);
	uint64_t parts[600];
	unsigned places = 0, seen[60] = { 0 };

	(void)count(&spec, parts, 600);
	for (unsigned i = 0; i < 600; i++) {
		if (parts[i] > 300)
			places += seen[i % 60]++ == 0;
	}
	CHECK(places > 20);
}

/* --- several apps ------------------------------------------------------- */

#define APPS 100

TEST(apps_have_their_shares)
{
	static struct load_app apps[APPS];
	uint64_t seen[APPS] = { 0 };
	struct load_spec spec;
	struct arrival a;
	struct load_source *l;

	/* App 7 has most, app 50 nothing, the others little. */
	for (unsigned i = 0; i < APPS; i++) {
		apps[i].rate = i == 7 ? 1000 : i == 50 ? 0 : i * 0.1;
		apps[i].service = service(i % 2 == 0 ? "1ms" : "2ms");
	}
	spec = spec_of(apps, APPS, "steady", TSPAN_SECONDS(1000));
	l = load_open(&spec);
	while (help_next(l, &a) == LOAD_ARRIVAL) {
		seen[a.app]++;
		CHECK_EQ(TSPAN_MSECONDS(a.app % 2 == 0 ? 1 : 2), a.service);
	}
	load_close(l);
	for (unsigned i = 0; i < APPS; i++) {
		double expected = apps[i].rate * 1000;

		CHECK(within(expected, 5 * sqrt(expected), (double)seen[i]));
	}
}

/* --- seeds -------------------------------------------------------------- */

/* Counts equal times and equal services among the first thousand. */
static void
compare(const struct load_spec *a, const struct load_spec *b,
    unsigned *times_out, unsigned *services_out)
{
	struct load_source *la = load_open(a), *lb = load_open(b);
	struct arrival xa, xb;

	*times_out = *services_out = 0;
	for (unsigned i = 0; i < 1000; i++) {
		CHECK_EQ(LOAD_ARRIVAL, help_next(la, &xa));
		CHECK_EQ(LOAD_ARRIVAL, help_next(lb, &xb));
		*times_out += xa.at == xb.at;
		*services_out += xa.service == xb.service;
	}
	load_close(la);
	load_close(lb);
}

/* Services can be compared under the same arrivals, and profiles, too. */
TEST(services_and_profiles_change_nothing_but_their_own)
{
	struct load_spec fixed = load_of(100, "1ms", "day", 100);
	struct load_spec lognormal = load_of(100, "lognormal:1s,1", "day", 100);
	struct load_spec day = load_of(100, "exponential:1ms", "day", 100);
	struct load_spec ramp = load_of(100, "exponential:1ms", "ramp", 100);
	unsigned times, services;

	compare(&fixed, &lognormal, &times, &services);
	CHECK_EQ(1000, times);
	compare(&day, &ramp, &times, &services);
	CHECK_EQ(1000, services);
}

TESTS(NULL, NULL)
