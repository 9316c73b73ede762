/* Looks at who holds connections, and what has changed when they come back. */

#include "daemon/holding.h"

#include "crew.h"

static struct door door;

static void
sleeps(void)
{
	sleep(1000);
}

/*
 * An app of two processes, one over its minimum, with a door of which nobody
 * knows who has its connections: each of them may.
 */
static void
begin(void)
{
	struct action a;

	crew_defaults();
	crew.web.handoff = CONF_HANDOFF_LISTEN;
	crew.web.min_processes = 2;
	crew_begin();
	TAILQ_INIT(&sup.listening);
	TAILQ_INSERT_TAIL(&sup.listening, crew.group, listening_next);
	door.listener.fd = sup.closer.io.fd;
	TAILQ_INSERT_TAIL(&crew.group->doors, &door, next);
	while (pool_next_action(&sup.pool, &a))
		if (a.kind == ACTION_SPAWN)
			(void)crew_join(a.process, sleeps);
	sup.pool.apps[crew.group->app].options.min_processes = 1;
}

static tstamp
used(uint32_t process)
{
	return sup.pool.processes[process].used;
}

/* The lane looks; a second later its answer is heard. */
static void
hear(void)
{
	crew.now += TSPAN_SECONDS(1);
	crew_collect();
}

static void
who_may_hold_a_connection_is_in_use(void)
{
	begin();
	holding_look(crew.group, crew.now);
	hear();
	CHECK_EQ(crew.now, used(0));
	CHECK_EQ(crew.now, used(1));
	CHECK(crew.group->holding == NULL);
	crew_end();
}

static void
a_look_outlives_its_app(void)
{
	tstamp before;

	begin();
	before = used(0);
	holding_look(crew.group, crew.now);
	holding_forget(crew.group);
	hear();
	CHECK_EQ(before, used(0));
	crew_end();
}

static void
a_look_outlives_a_process(void)
{
	struct worker *w;

	begin();
	w = sup.workers[0];
	holding_look(crew.group, crew.now);
	NEED(kill(w->pid, SIGKILL) == 0 && waitpid(w->pid, NULL, 0) == w->pid);
	worker_free(w);
	hear();
	CHECK_EQ(crew.now, used(1));
	crew_end();
}

/* Numbers of processes come again, also to another app. */
static void
a_process_of_another_app_is_left_alone(void)
{
	struct group other = { .conf = &crew.web };
	tstamp before;

	begin();
	before = used(0);
	holding_look(crew.group, crew.now);
	sup.workers[0]->group = &other;
	hear();
	CHECK_EQ(before, used(0));
	CHECK_EQ(crew.now, used(1));
	sup.workers[0]->group = crew.group;
	crew_end();
}

static void
processor_time_that_runs_backwards_is_none(void)
{
	begin();
	sup.workers[0]->cpu_at = crew.now - TSPAN_SECONDS(10);
	sup.workers[0]->cpu = TSPAN_SECONDS(1000);
	timer_set(&sup.loop.timers, &sup.cpu.timer, crew.now);
	CHECK(loop_turn(&sup.loop, crew.now) != -1);
	NEED(crew.group->holding != NULL);
	hear();
	CHECK_EQ(crew.now, used(0));
	CHECK_NEAR(0, sup.workers[0]->processors);
	crew_end();
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN_ALONE(who_may_hold_a_connection_is_in_use);
	RUN_ALONE(a_look_outlives_its_app);
	RUN_ALONE(a_look_outlives_a_process);
	RUN_ALONE(a_process_of_another_app_is_left_alone);
	RUN_ALONE(processor_time_that_runs_backwards_is_none);
	return check_finish();
}
