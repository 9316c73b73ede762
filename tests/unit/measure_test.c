/* How often, and whose, resident size is looked at. */

#include "daemon/measure.h"

#include "crew.h"
#include "descriptors.h"

#define LIMIT ((uint64_t)1 << 40)

/* An app of so many workers, all of which are this process. */
static void
begin(unsigned workers, uint64_t max_memory)
{
	struct action a;

	crew_defaults();
	crew.web.min_processes = workers;
	crew.web.max_memory = max_memory;
	crew_begin();
	measure_configure(crew.group, crew.now);
	while (pool_next_action(&sup.pool, &a))
		if (a.kind == ACTION_SPAWN)
			(void)crew_join(a.process, NULL);
}

static unsigned
measured(tstamp since)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < sup.pool.nprocesses; i++)
		if (sup.workers[i] != NULL && sup.workers[i]->measured >= since)
			n++;
	return n;
}

static void
an_app_without_max_memory_is_not_looked_at(void)
{
	begin(2, 0);
	CHECK_EQ(TSTAMP_NEVER, measure_deadline(&sup));
	measure_worker(sup.workers[0], crew.now);
	CHECK_EQ(-1, sup.workers[0]->memory_fd);
	CHECK_EQ(0, sup.workers[0]->measured);
	crew_end();
}

static void
a_look_takes_one_descriptor_for_as_long_as_it_lives(void)
{
	int before;

	begin(2, LIMIT);
	before = descriptors();
	for (int i = 0; i < 3; i++)
		measure_worker(sup.workers[0], ++crew.now);
	CHECK_EQ(before + 1, descriptors());
	CHECK_EQ(crew.now, sup.workers[0]->measured);
	close(sup.workers[0]->memory_fd);
	sup.workers[0]->memory_fd = -1;
	crew_end();
}

static void
each_is_looked_at_once_in_an_interval(void)
{
	tstamp start;

	begin(3, LIMIT);
	start = crew.now;
	CHECK_EQ(start + TSPAN_SECONDS(10), measure_deadline(&sup));
	crew.now = measure_deadline(&sup);
	measure_tick(&sup, crew.now);
	CHECK_EQ(3, measured(crew.now));
	CHECK_EQ(start + TSPAN_SECONDS(20), measure_deadline(&sup));
	crew_end();
}

static void
one_that_was_looked_at_a_moment_ago_is_left_out(void)
{
	begin(3, LIMIT);
	crew.now = measure_deadline(&sup) - TSPAN_SECONDS(1);
	measure_worker(sup.workers[1], crew.now);
	crew.now = measure_deadline(&sup);
	measure_tick(&sup, crew.now);
	CHECK_EQ(2, measured(crew.now));
	crew_end();
}

static void
many_are_looked_at_in_several_turns(void)
{
	unsigned turns = 0;

	begin(200, LIMIT);
	crew.now = measure_deadline(&sup);
	while (measure_deadline(&sup) <= crew.now && turns < 100) {
		unsigned before = measured(crew.now);

		measure_tick(&sup, crew.now);
		CHECK(measured(crew.now) - before <= 64);
		turns++;
	}
	CHECK_EQ(200, measured(crew.now));
	CHECK_EQ(4, turns);
	crew_end();
}

static void
one_that_is_not_born_yet_is_left_out(void)
{
	begin(1, LIMIT);
	sup.workers[0]->pid = 0;
	measure_worker(sup.workers[0], crew.now);
	CHECK_EQ(0, sup.workers[0]->measured);
	crew_end();
}

static void
one_that_is_dead_is_left_out(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	CHECK_EQ(pid, waitpid(pid, NULL, 0));
	begin(1, LIMIT);
	sup.workers[0]->pid = pid;
	measure_worker(sup.workers[0], crew.now);
	CHECK_EQ(0, sup.workers[0]->measured);
	sup.workers[0]->pid = 0;
	crew_end();
}

static void
a_reload_may_bring_it(void)
{
	begin(1, 0);
	crew.web.max_memory = LIMIT;
	measure_configure(crew.group, crew.now);
	CHECK_EQ(crew.now + TSPAN_SECONDS(10), measure_deadline(&sup));
	/* And take it away: the round that is due is the last one. */
	crew.web.max_memory = 0;
	crew.now = measure_deadline(&sup);
	measure_tick(&sup, crew.now);
	CHECK_EQ(0, measured(crew.now));
	CHECK_EQ(TSTAMP_NEVER, measure_deadline(&sup));
	crew_end();
}

static void
rounds_are_not_made_without_a_pause(void)
{
	begin(1, LIMIT);
	crew.web.update_interval = TSPAN_MSECONDS(1);
	crew.now = measure_deadline(&sup);
	measure_tick(&sup, crew.now);
	CHECK_EQ(crew.now + TSPAN_MSECONDS(100), measure_deadline(&sup));
	crew_end();
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(an_app_without_max_memory_is_not_looked_at);
	RUN(a_look_takes_one_descriptor_for_as_long_as_it_lives);
	RUN(each_is_looked_at_once_in_an_interval);
	RUN(one_that_was_looked_at_a_moment_ago_is_left_out);
	RUN(many_are_looked_at_in_several_turns);
	RUN(one_that_is_not_born_yet_is_left_out);
	RUN(one_that_is_dead_is_left_out);
	RUN(a_reload_may_bring_it);
	RUN(rounds_are_not_made_without_a_pause);
	return check_finish();
}
