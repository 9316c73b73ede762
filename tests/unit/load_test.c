/* The decaying estimate of busy processes. */

#include "core/promise.h"

#include "check.h"

#define START TSPAN_SECONDS(1000)
#define INTERVAL TSPAN_SECONDS(10)
#define GAIN 0.5

static struct load l;
static tstamp now;

static void
begin(void)
{
	now = START;
	l = (struct load){ .updated = now, .seen = now };
}

TEST(estimates_are_integrals_weighed_by_their_length)
{
	static const struct {
		const char *fact;
		struct {
			double busy;
			int64_t seconds;
			bool update;
		} steps[4];
		double work;
	} rows[] = {
		{ "the first update is the sample", { { 3, 10, true } }, 3 },
		{ "busy time is integrated",
		    { { 4, 2, false }, { 0, 6, false }, { 1, 2, true } }, 1 },
		{ "a session without an end counts",
		    { { 1, 10, true }, { 1, 10, true } }, 1 },
		{ "an update weighs by the gain",
		    { { 0, 10, true }, { 4, 10, true } }, 2 },
		{ "and so does the next",
		    { { 0, 10, true }, { 4, 10, true }, { 0, 10, true } }, 1 },
		{ "a late update weighs like several in time",
		    { { 8, 10, true }, { 0, 30, true } }, 1 },
		{ "early updates weigh less",
		    { { 8, 10, true }, { 0, 5, true }, { 0, 5, true } }, 4 },
		{ "two updates at one time are one",
		    { { 2, 10, true }, { 2, 0, true } }, 2 },
		{ "a month of sleep leaves nothing",
		    { { 8, 10, true }, { 0, 30 * 86400, true } }, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin();
		for (unsigned k = 0; k < 4; k++) {
			load_set(&l, rows[i].steps[k].busy, now);
			now += TSPAN_SECONDS(rows[i].steps[k].seconds);
			if (rows[i].steps[k].update)
				load_update(&l, GAIN, INTERVAL, now);
		}
		check_near(
		    rows[i].work, l.work, rows[i].fact, __FILE__, __LINE__);
	}
	CHECK(load_at_rest(&l));
}

TEST(the_estimate_can_be_looked_at_between_updates)
{
	load_update(&l, GAIN, INTERVAL, now += INTERVAL);
	load_set(&l, 4, now);
	now += INTERVAL;
	CHECK_NEAR(2, load_work(&l, GAIN, INTERVAL, now));
	CHECK_NEAR(0, l.work);
}

TEST(a_load_is_not_at_rest_while_a_process_is_busy_or_was)
{
	CHECK(load_at_rest(&l));
	load_set(&l, 1, now);
	CHECK(!load_at_rest(&l));
	load_set(&l, 0, now + TSPAN_SECONDS(1));
	CHECK(!load_at_rest(&l));
}

TESTS(begin, NULL)
