/* How often, and of which processes, the resident size is sampled. */

#include "daemon/group.h"

#include "descriptors.h"
#include "fixture.h"

#define LIMIT ((uint64_t)1 << 40)

/* An app of so many workers, each of which is this process. */
static void
begin(unsigned workers, uint64_t max_memory)
{
	fixture_defaults();
	fixture.web.pool.min_processes = workers;
	fixture.web.pool.max_memory = max_memory;
	fixture_begin();
	sampling_begin(fixture.group, fixture.now);
	fixture_join_all(NULL);
}

static void
turn(void)
{
	CHECK(loop_turn(&sup.loop, fixture.now) != -1);
}

static unsigned
sampled(tstamp since)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < sup.pool.nprocesses; i++)
		if (sup.workers[i] != NULL &&
		    sup.workers[i]->memory_at >= since)
			n++;
	return n;
}

TEST(an_app_without_max_memory_is_not_sampled)
{
	begin(2, 0);
	CHECK_EQ(TSTAMP_NEVER, sup.sampling.timer.at);
	sampling_memory(sup.workers[0], fixture.now);
	CHECK_EQ(-1, sup.workers[0]->memory_fd);
	CHECK_EQ(0, sup.workers[0]->memory_at);
}

TEST(samples_of_a_process_take_one_descriptor)
{
	int before;

	begin(2, LIMIT);
	before = descriptors();
	for (int i = 0; i < 3; i++)
		sampling_memory(sup.workers[0], ++fixture.now);
	CHECK_EQ(before + 1, descriptors());
	CHECK_EQ(fixture.now, sup.workers[0]->memory_at);
}

TEST(each_process_is_sampled_once_in_update_interval)
{
	tstamp start;

	begin(3, LIMIT);
	start = fixture.now;
	CHECK_EQ(start + TSPAN_SECONDS(10), sup.sampling.timer.at);
	/* A process that was sampled a moment ago is left out. */
	sampling_memory(sup.workers[1], start + TSPAN_SECONDS(9));
	fixture.now = sup.sampling.timer.at;
	turn();
	CHECK_EQ(2, sampled(fixture.now));
	CHECK_EQ(start + TSPAN_SECONDS(20), sup.sampling.timer.at);
	fixture.now = sup.sampling.timer.at;
	turn();
	CHECK_EQ(3, sampled(fixture.now));
}

TEST(many_processes_are_sampled_in_several_turns)
{
	unsigned turns = 0;

	begin(200, LIMIT);
	fixture.now = sup.sampling.timer.at;
	while (sup.sampling.timer.at <= fixture.now && turns < 100) {
		unsigned before = sampled(fixture.now);

		turn();
		CHECK(sampled(fixture.now) - before <= 64);
		turns++;
	}
	CHECK_EQ(200, sampled(fixture.now));
	CHECK_EQ(4, turns);
}

TEST(a_process_not_started_yet_or_dead_is_left_out)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	CHECK_EQ(pid, waitpid(pid, NULL, 0));
	begin(1, LIMIT);
	for (int i = 0; i < 2; i++) {
		sup.workers[0]->pid = i == 0 ? 0 : pid;
		sampling_memory(sup.workers[0], fixture.now);
		CHECK_EQ(0, sup.workers[0]->memory_at);
	}
	sup.workers[0]->pid = 0;
}

TEST(a_reload_may_set_max_memory)
{
	begin(1, 0);
	fixture.web.pool.max_memory = LIMIT;
	sampling_begin(fixture.group, fixture.now);
	CHECK_EQ(fixture.now + TSPAN_SECONDS(10), sup.sampling.timer.at);
	/* A new configuration takes it away: the round due is the last. */
	fixture.web.pool.max_memory = 0;
	fixture.now = sup.sampling.timer.at;
	turn();
	CHECK_EQ(0, sampled(fixture.now));
	CHECK_EQ(TSTAMP_NEVER, sup.sampling.timer.at);
}

TEST(between_rounds_there_is_a_pause)
{
	begin(1, LIMIT);
	fixture.web.pool.load.update_interval = TSPAN_MSECONDS(1);
	fixture.now = sup.sampling.timer.at;
	turn();
	CHECK_EQ(fixture.now + TSPAN_MSECONDS(100), sup.sampling.timer.at);
}

TESTS(NULL, fixture_end)
