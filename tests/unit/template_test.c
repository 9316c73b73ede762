/* Which process a worker is that a template was asked to fork. */

#include <sys/wait.h>

#include "daemon/worker.h"
#include "sys/child.h"

#include "fixture.h"

static struct worker *w; /* its process is to be forked */
static struct worker *by; /* was asked to fork it */
static struct worker *other;
static char refused[128];
static bool died;

static void
note_died(struct worker *forked, struct worker *asked,
    const struct reap_death *death, tstamp now)
{
	(void)death;
	(void)now;
	died = forked == w && asked == by;
}

static void
note_refused(
    struct worker *forked, struct worker *asked, const char *why, tstamp now)
{
	(void)now;
	CHECK(forked == w && asked == by);
	(void)snprintf(refused, sizeof(refused), "%s", why);
}

static void
begin(void)
{
	static const struct fork_ops ops = { .died = note_died,
		.refused = note_refused };
	struct action a;

	died = false;
	refused[0] = '\0';
	fixture_defaults();
	fixture.web.pool.min_processes = 3;
	fixture_begin();
	while (pool_next_action(&sup.pool, &a))
		if (a.kind == ACTION_SPAWN)
			(void)fixture_join(a.process, NULL);
	w = sup.workers[0];
	by = sup.workers[1];
	other = sup.workers[2];
	NEED(fork_begin(w, by, &ops));
}

/* The process that was asked says that this is the one. */
static void
name(pid_t pid)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "1 %ld", (long)pid);

	CHECK(fork_answered(by, text, (size_t)len, fixture.now));
}

static void
end(void)
{
	fork_fini(&sup);
	fixture_end();
}

static void
an_exit_before_the_process_was_named_is_its_own(void)
{
	const struct reap_death death = { .pid = INT32_MAX, .status = 3 };

	begin();
	fork_reap(&sup, &death, fixture.now);
	name(death.pid);
	CHECK(died);
	end();
}

/* The number of an orphan that has ended may be a worker's by now. */
static void
a_worker_that_is_named_is_not_taken_for_one_that_has_ended(void)
{
	const struct reap_death death = { .pid = INT32_MAX };

	begin();
	fork_reap(&sup, &death, fixture.now);
	worker_started(other, death.pid);
	name(death.pid);
	CHECK(!died);
	CHECK(strstr(refused, " was named and is another one") != NULL);
	worker_died(other, &death);
	end();
}

static void
a_process_that_is_being_started_by_itself_cannot_be_named(void)
{
	struct child_result result = { .pid = fork() };

	if (result.pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
	}
	begin();
	other->start.result = &result;
	TAILQ_INSERT_TAIL(&sup.starting, other, start.next);
	name(result.pid);
	CHECK(strstr(refused, " was named and is another one") != NULL);
	CHECK_EQ(0, waitpid(result.pid, NULL, WNOHANG));
	TAILQ_REMOVE(&sup.starting, other, start.next);
	other->start.result = NULL;
	kill(result.pid, SIGKILL);
	waitpid(result.pid, NULL, 0);
	end();
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(an_exit_before_the_process_was_named_is_its_own);
	RUN(a_worker_that_is_named_is_not_taken_for_one_that_has_ended);
	RUN(a_process_that_is_being_started_by_itself_cannot_be_named);
	return check_finish();
}
