/* The processes that hold connections, and changes meanwhile. */

#include <netinet/in.h>

#include "daemon/group.h"

#include "fixture.h"

static struct app_listener listener;

static int client, conn;

/*
 * An app of two processes, one over its minimum, with a listener of which a
 * process has a connection that is none of the two: of a child, perhaps. So
 * each may hold one.
 */
static void
begin(void)
{
	struct listener *l = &listener.acceptor.listener;

	fixture_defaults();
	fixture.web.handoff = CONF_HANDOFF_LISTEN;
	fixture.web.pool.sessions = false;
	fixture.web.pool.listens = true;
	fixture.web.pool.min_processes = 2;
	fixture_begin();
	l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	l->addr = (struct sockaddr_storage){ .ss_family = AF_INET };
	l->addrlen = sizeof(struct sockaddr_in);
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(bind(l->fd, (void *)&l->addr, l->addrlen) == 0 &&
	    listen(l->fd, 5) == 0 &&
	    getsockname(l->fd, (void *)&l->addr, &l->addrlen) == 0 &&
	    connect(client, (void *)&l->addr, l->addrlen) == 0);
	conn = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
	CHECK(conn != -1);
	TAILQ_INSERT_TAIL(&fixture.group->listeners, &listener, next);
	fixture_join_all(fixture_sleep);
	sup.pool.apps[fixture.group->app].options.min_processes = 1;
}

static void
end(void)
{
	close(conn);
	close(client);
	close(listener.acceptor.listener.fd);
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

TEST_ALONE(a_process_that_may_hold_a_connection_is_in_use)
{
	tstamp began = fixture.now;

	backlog_sampled(sup.workers[0], began);
	wait_for_answer();
	CHECK_EQ(fixture.now, used(0));
	CHECK_EQ(fixture.now, used(1));
	CHECK_EQ(began, sup.pool.apps[fixture.group->app].shrinking.looked);
	CHECK(fixture.group->backlog.look == NULL);
}

TEST_ALONE(a_look_outlives_its_app)
{
	tstamp before = used(0);

	backlog_sampled(sup.workers[0], fixture.now);
	backlog_fini(fixture.group);
	wait_for_answer();
	CHECK_EQ(before, used(0));
}

TEST_ALONE(a_look_outlives_a_process)
{
	struct worker *w = sup.workers[0];

	backlog_sampled(w, fixture.now);
	NEED(kill(w->pid, SIGKILL) == 0 && waitpid(w->pid, NULL, 0) == w->pid);
	worker_free(w);
	wait_for_answer();
	CHECK_EQ(fixture.now, used(1));
}

/* Numbers of processes are used again, also for another app. */
TEST_ALONE(a_process_of_another_app_is_left_alone)
{
	struct group other = { .conf = &fixture.web };
	tstamp before = used(0);

	backlog_sampled(sup.workers[0], fixture.now);
	sup.workers[0]->group = &other;
	wait_for_answer();
	CHECK_EQ(before, used(0));
	CHECK_EQ(fixture.now, used(1));
	sup.workers[0]->group = fixture.group;
}

TEST_ALONE(processor_time_that_runs_backwards_is_none)
{
	sup.workers[0]->cpu_at = fixture.now - TSPAN_SECONDS(10);
	sup.workers[0]->cpu = TSPAN_SECONDS(1000);
	/* The program's own sockets are not looked at. */
	sup.workers[0]->accepts = true;
	timer_set(&sup.loop.timers, &sup.sampling.timer, fixture.now);
	CHECK(loop_turn(&sup.loop, fixture.now) != -1);
	NEED(fixture.group->backlog.look != NULL);
	wait_for_answer();
	CHECK_EQ(fixture.now, used(0));
	CHECK_NEAR(0, sup.workers[0]->processors);
}

TESTS(begin, end)
