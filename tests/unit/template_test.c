/* The process of a worker that a template was asked to fork. */

#include <sys/wait.h>

#include "daemon/template.c"

#include "fixture.h"

static struct worker *w; /* its process is to be forked */
static struct template *by; /* was asked to fork it */
static struct worker *other; /* is started by itself, in the lane */

static void
begin(void)
{
	struct action a;

	fixture_defaults();
	fixture.web.pool.min_processes = 2;
	fixture.web.pool.min_server_life = TSPAN_SECONDS(1);
	fixture.web.template = true;
	fixture_begin();
	template_configure(fixture.group, fixture.now);
	by = template_new(fixture.group, fixture.now);
	NEED(by != NULL);
	template_serve(by, fixture.now);
	while (pool_next_action(&sup.pool, &a))
		continue;
	w = worker_new(fixture.group, 0);
	other = worker_new(fixture.group, 1);
	NEED(w != NULL && other != NULL && channel_open(w) == 0);
	pool_start_queued(&sup.pool, 0, false, fixture.now);
	pool_start_queued(&sup.pool, 1, false, fixture.now);
	/* A worker is not started by itself where it is not forked. */
	pool_stop_now(&sup.pool, TSPAN_SECONDS(5), fixture.now);
	NEED(fork_begin(w, by->w));
}

/* The process that was asked says that this is the one. */
static void
name(pid_t pid)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "1 %ld", (long)pid);

	CHECK(fork_answered(by->w, text, (size_t)len, fixture.now));
	CHECK(sup.workers[0] == NULL);
	CHECK_EQ(0, fixture.group->starts.n);
}

static void
end(void)
{
	struct template *t;
	struct fork *f;

	fixture.group->closing = true;
	template_configure(fixture.group, fixture.now);
	while ((t = TAILQ_FIRST(&sup.templates.all)) != NULL) {
		t->w->group = NULL;
		template_free(t);
	}
	while ((f = TAILQ_FIRST(&sup.templates.forks)) != NULL) {
		timer_set(&sup.loop.timers, &f->timer, TSTAMP_NEVER);
		f->by = NULL;
		fork_over(f);
	}
	fixture_end();
}

static const struct reap_death death = { .pid = INT32_MAX, .status = 3 };

/* The template has passed its copy on, and that process has ended. */
static void
shut_socket(void)
{
	char text[128];
	struct fdpass_got got;

	NEED(fdpass_recv(by->w->child_end, text, sizeof(text), 0, &got) > 0);
	close(got.fds[0]);
	close(w->child_end);
	w->child_end = -1;
	fork_look(&w->start.fork->io, EPOLLIN, fixture.now);
}

TEST(an_exit_before_the_process_was_named_is_its_own)
{
	fork_reap(&sup, &death, fixture.now);
	name(death.pid);
	CHECK(fixture_said("(pid 2147483647) exited with status 3"));
}

TEST(an_exit_is_told_though_the_socket_was_seen_shut_before)
{
	shut_socket();
	fork_reap(&sup, &death, fixture.now);
	name(death.pid);
	CHECK(fixture_said("(pid 2147483647) exited with status 3"));
}

TEST(a_shut_socket_of_no_process_that_is_known_is_told_after_a_second)
{
	shut_socket();
	CHECK_EQ(fixture.now + TSPAN_SECONDS(1), w->start.fork->timer.at);
	fork_due(&w->start.fork->timer, fixture.now + TSPAN_SECONDS(1));
	CHECK(fixture_said(" is killed: no process has its socket"));
}

/* The number of an orphan that has ended may be a worker's by now. */
TEST(a_worker_that_is_named_is_not_taken_for_one_that_has_ended)
{
	fork_reap(&sup, &death, fixture.now);
	worker_started(other, death.pid, fixture.now);
	name(death.pid);
	CHECK(fixture_said(" is killed: process 2147483647 was named and is "
			   "another one"));
	worker_died(other, &death);
}

TEST(a_process_that_is_being_started_by_itself_cannot_be_named)
{
	struct child_result result = { .pid = fork() };

	if (result.pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
	}
	other->start.result = &result;
	TAILQ_INSERT_TAIL(&sup.starting.list, other, start.next);
	name(result.pid);
	CHECK(fixture_said(" was named and is another one"));
	CHECK_EQ(0, waitpid(result.pid, NULL, WNOHANG));
	TAILQ_REMOVE(&sup.starting.list, other, start.next);
	other->start.result = NULL;
	kill(result.pid, SIGKILL);
	waitpid(result.pid, NULL, 0);
}

TESTS(begin, end)
