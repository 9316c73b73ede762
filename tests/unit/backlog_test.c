/* Which processes hold connections, and what has changed meanwhile. */

#include "daemon/backlog.h"
#include "daemon/listeners.h"
#include "daemon/sampling.h"

#include "fixture.h"

static struct app_listener listener;

static void
sleeps(void)
{
	sleep(1000);
}

/*
 * An app of two processes, one over its minimum, with a listener of which the
 * kernel does not tell the connections: each process may hold one.
 */
static void
begin(void)
{
	struct action a;

	fixture_defaults();
	fixture.web.handoff = CONF_HANDOFF_LISTEN;
	fixture.web.min_processes = 2;
	fixture_begin();
	listener.acceptor.listener.fd = sup.closer.io.fd;
	TAILQ_INSERT_TAIL(&fixture.group->listeners, &listener, next);
	while (pool_next_action(&sup.pool, &a))
		if (a.kind == ACTION_SPAWN)
			(void)fixture_join(a.process, sleeps);
	sup.pool.apps[fixture.group->app].options.min_processes = 1;
}

static void
end(void)
{
	TAILQ_REMOVE(&fixture.group->listeners, &listener, next);
	fixture_end();
}

static tstamp
used(uint32_t process)
{
	return sup.pool.processes[process].used;
}

/* The lane looks; a second later the answer is there. */
static void
wait_for_answer(void)
{
	fixture.now += TSPAN_SECONDS(1);
	fixture_collect();
}

static void
a_process_that_may_hold_a_connection_is_in_use(void)
{
	begin();
	backlog_look_for_owners(fixture.group, fixture.now);
	wait_for_answer();
	CHECK_EQ(fixture.now, used(0));
	CHECK_EQ(fixture.now, used(1));
	CHECK(fixture.group->owners == NULL);
	end();
}

static void
a_look_outlives_its_app(void)
{
	tstamp before;

	begin();
	before = used(0);
	backlog_look_for_owners(fixture.group, fixture.now);
	backlog_fini(fixture.group);
	wait_for_answer();
	CHECK_EQ(before, used(0));
	end();
}

static void
a_look_outlives_a_process(void)
{
	struct worker *w;

	begin();
	w = sup.workers[0];
	backlog_look_for_owners(fixture.group, fixture.now);
	NEED(kill(w->pid, SIGKILL) == 0 && waitpid(w->pid, NULL, 0) == w->pid);
	worker_free(w);
	wait_for_answer();
	CHECK_EQ(fixture.now, used(1));
	end();
}

/* Numbers of processes are used again, also for another app. */
static void
a_process_of_another_app_is_left_alone(void)
{
	struct group other = { .conf = &fixture.web };
	tstamp before;

	begin();
	before = used(0);
	backlog_look_for_owners(fixture.group, fixture.now);
	sup.workers[0]->group = &other;
	wait_for_answer();
	CHECK_EQ(before, used(0));
	CHECK_EQ(fixture.now, used(1));
	sup.workers[0]->group = fixture.group;
	end();
}

static void
processor_time_that_runs_backwards_is_none(void)
{
	begin();
	sup.workers[0]->cpu_at = fixture.now - TSPAN_SECONDS(10);
	sup.workers[0]->cpu = TSPAN_SECONDS(1000);
	/* The program's own sockets are not looked at. */
	sup.workers[0]->accepts = true;
	timer_set(&sup.loop.timers, &sup.cpu.timer, fixture.now);
	CHECK(loop_turn(&sup.loop, fixture.now) != -1);
	NEED(fixture.group->owners != NULL);
	wait_for_answer();
	CHECK_EQ(fixture.now, used(0));
	CHECK_NEAR(0, sup.workers[0]->processors);
	end();
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN_ALONE(a_process_that_may_hold_a_connection_is_in_use);
	RUN_ALONE(a_look_outlives_its_app);
	RUN_ALONE(a_look_outlives_a_process);
	RUN_ALONE(a_process_of_another_app_is_left_alone);
	RUN_ALONE(processor_time_that_runs_backwards_is_none);
	return check_finish();
}
