/* Timers: their order, and what may be set or cleared while they fire. */

#include "sys/loop.h"

#include "check.h"

#define MANY 1000

static struct timers all;

/* A timer that notes when it fired, and may set or clear another. */
struct probe {
	struct timer timer;
	int fired;
	int order; /* place among those that fired */
	tstamp now;
	struct timer *other;
	tstamp other_at;
};

static int fired;

static void
fire(struct timer *t, tstamp now)
{
	struct probe *p = TIMER_OWNER(t, struct probe, timer);

	p->fired++;
	p->order = ++fired;
	p->now = now;
	if (p->other != NULL)
		timer_set(&all, p->other, p->other_at);
}

static void
begin(struct probe *probes, int n)
{
	memset(&all, 0, sizeof(all));
	fired = 0;
	for (int i = 0; i < n; i++) {
		probes[i] = (struct probe){ .fired = 0 };
		timer_init(&probes[i].timer, fire);
	}
}

TEST(timers_fire_in_the_order_of_their_times)
{
	static struct probe p[MANY];

	begin(p, MANY);
	for (int i = 0; i < MANY; i++)
		timer_set(&all, &p[i].timer, 1 + i * 7919 % MANY);
	timers_fire(&all, MANY);
	CHECK_EQ(MANY, fired);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(1 + i * 7919 % MANY, p[i].order);
}

TEST(timers_of_one_time_fire_in_the_order_of_setting)
{
	struct probe p[3];

	begin(p, 3);
	timer_set(&all, &p[2].timer, 5);
	timer_set(&all, &p[0].timer, 5);
	timer_set(&all, &p[1].timer, 5);
	timers_fire(&all, 5);
	CHECK_EQ(1, p[2].order);
	CHECK_EQ(2, p[0].order);
	CHECK_EQ(3, p[1].order);
}

TEST(a_cleared_timer_does_not_fire)
{
	struct probe p[2];

	begin(p, 2);
	timer_set(&all, &p[0].timer, 5);
	timer_set(&all, &p[1].timer, 6);
	timer_set(&all, &p[0].timer, TSTAMP_NEVER);
	timer_set(&all, &p[0].timer, TSTAMP_NEVER);
	CHECK_EQ(6, timers_first(&all));
	timers_fire(&all, 10);
	CHECK_EQ(0, p[0].fired);
	CHECK_EQ(1, p[1].fired);
}

TEST(advancing_moves_a_timer_only_towards_now)
{
	struct probe p;

	begin(&p, 1);
	timer_advance(&all, &p.timer, 50);
	timer_advance(&all, &p.timer, 70);
	CHECK_EQ(50, timers_first(&all));
	timer_advance(&all, &p.timer, 30);
	CHECK_EQ(30, timers_first(&all));
	timer_advance(&all, &p.timer, TSTAMP_NEVER);
	CHECK_EQ(30, timers_first(&all));
}

TEST(a_firing_timer_may_clear_another_that_is_due)
{
	struct probe p[2];

	begin(p, 2);
	p[0].other = &p[1].timer;
	p[0].other_at = TSTAMP_NEVER;
	timer_set(&all, &p[0].timer, 1);
	timer_set(&all, &p[1].timer, 2);
	timers_fire(&all, 10);
	CHECK_EQ(0, p[1].fired);
}

TEST(a_timer_set_to_the_past_while_firing_waits_for_the_next_call)
{
	struct probe p[2];

	begin(p, 2);
	p[0].other = &p[0].timer;
	p[0].other_at = 1;
	timer_set(&all, &p[0].timer, 1);
	timer_set(&all, &p[1].timer, 2);
	timers_fire(&all, 10);
	CHECK_EQ(1, p[0].fired);
	CHECK_EQ(1, p[1].fired);
	timers_fire(&all, 10);
	CHECK_EQ(2, p[0].fired);
}

TESTS(NULL, NULL)
