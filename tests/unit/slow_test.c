/* What is told of processes that are slow, and when they are signalled. */

#include <semaphore.h>

#include "daemon/slow.h"

#include "crew.h"

static sem_t held; /* what keeps the lane busy */
static unsigned done; /* of what kept it so */

static void
sleeps(void)
{
	sleep(1000);
}

/* An app of so many workers that sleep, in sessions as old as crew.now. */
static void
begin(unsigned workers)
{
	struct action a;

	crew_defaults();
	crew.web.min_processes = workers;
	crew_begin();
	while (pool_next_action(&sup.pool, &a))
		if (a.kind == ACTION_SPAWN)
			(void)crew_join(a.process, sleeps);
	for (unsigned n = 0; n < workers; n++)
		(void)pool_arrived(&sup.pool, crew.group->app, crew.now);
	while (pool_next_action(&sup.pool, &a))
		continue;
}

static void
slow(uint32_t process)
{
	struct action a = { .kind = ACTION_SLOW, .process = process };

	slow_session(&sup, &a, crew.now);
}

/* Until the process ends: by which signal. 0: it does not. */
static int
ended_by(struct worker *w)
{
	int status = 0;

	for (int left = CREW_SECONDS * 1000; left > 0; left--) {
		if (waitpid(w->pid, &status, WNOHANG) == w->pid) {
			w->pid = 0;
			return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
		}
		usleep(1000);
	}
	return 0;
}

static bool
lives(const struct worker *w)
{
	return waitpid(w->pid, NULL, WNOHANG) == 0;
}

/* How often the log says so. */
static unsigned
times(const char *text)
{
	unsigned n = 0;

	for (const char *at = crew_log(); (at = strstr(at, text)) != NULL; at++)
		n++;
	return n;
}

/* --- a lane that does not come back ------------------------------------- */

static void
job_work(struct lane_job *job)
{
	(void)job;
	sem_wait(&held);
}

static void
job_done(struct lane_job *job, tstamp now)
{
	(void)job;
	(void)now;
	done++;
}

static struct lane_job hog = { .work = job_work, .done = job_done };

static void
hold_lane(void)
{
	sem_init(&held, 0, 0);
	lane_submit(&sup.looker, &hog);
}

/* Lets it go on, and hears all that it has done. */
static void
release_lane(void)
{
	struct lane_job last = { .work = job_work, .done = job_done };

	sem_post(&held);
	sem_post(&held);
	done = 0;
	lane_submit(&sup.looker, &last);
	while (done < 2)
		crew_collect();
}

/* --- facts -------------------------------------------------------------- */

static void
it_is_told_how_old_and_where(void)
{
	begin(1);
	crew.now += TSPAN_MSECONDS(2500);
	slow(0);
	CHECK_EQ(0, times("slow"));
	crew_collect();
	CHECK(crew_said(" is slow: its session is 2.5 s old, "));
	CHECK(crew_said("warn web: worker "));
	CHECK(sup.workers[0]->slow == NULL);
	CHECK(lives(sup.workers[0]));
	crew_end();
}

static void
it_can_be_told_again(void)
{
	begin(1);
	slow(0);
	slow(0);
	crew_collect();
	CHECK_EQ(1, times("is slow"));
	slow(0);
	crew_collect();
	CHECK_EQ(2, times("is slow"));
	crew_end();
}

static void
ten_in_a_second_are_told(void)
{
	begin(12);
	for (uint32_t n = 0; n < 12; n++)
		slow(n);
	while (times("is slow") < 10)
		crew_collect();
	CHECK_EQ(1, times("more than 10 processes are slow"));
	CHECK(sup.workers[10]->slow == NULL);
	crew.now += TSPAN_SECONDS(1);
	slow(10);
	crew_collect();
	CHECK_EQ(11, times("is slow"));
	crew_end();
}

static void
sigterm_comes_when_it_has_been_told(void)
{
	begin(2);
	crew.now += TSPAN_SECONDS(30);
	hold_lane();
	slow_terminate(sup.workers[0], crew.now);
	CHECK(lives(sup.workers[0]));
	release_lane();
	CHECK(crew_said(" is terminated: its request is 30.0 s old, "));
	CHECK_EQ(SIGTERM, ended_by(sup.workers[0]));
	CHECK(lives(sup.workers[1]));
	crew_end();
}

static void
one_that_is_looked_at_already_is_told_once(void)
{
	begin(1);
	hold_lane();
	slow(0);
	crew.now += TSPAN_SECONDS(1);
	slow_terminate(sup.workers[0], crew.now);
	release_lane();
	CHECK_EQ(1, times("is terminated"));
	CHECK_EQ(0, times("is slow"));
	CHECK_EQ(SIGTERM, ended_by(sup.workers[0]));
	crew_end();
}

static void
sigterm_waits_for_a_look_a_second_only(void)
{
	begin(1);
	hold_lane();
	slow_terminate(sup.workers[0], crew.now);
	crew.now += TSPAN_MSECONDS(900);
	slow_second(sup.workers[0], crew.now);
	CHECK(lives(sup.workers[0]));
	crew.now += TSPAN_MSECONDS(100);
	slow_second(sup.workers[0], crew.now);
	CHECK_EQ(SIGTERM, ended_by(sup.workers[0]));
	release_lane();
	crew_end();
}

static void
without_a_look_sigterm_comes_at_once(void)
{
	begin(12);
	for (uint32_t n = 0; n < 11; n++)
		slow(n);
	slow_terminate(sup.workers[11], crew.now);
	CHECK(crew_said(" is terminated: its request is 0.0 s old\n"));
	CHECK_EQ(SIGTERM, ended_by(sup.workers[11]));
	crew_end();
}

static void
one_that_dies_meanwhile_is_not_told(void)
{
	struct worker *w;
	pid_t pid;

	begin(1);
	w = sup.workers[0];
	pid = w->pid;
	hold_lane();
	slow_terminate(w, crew.now);
	kill(pid, SIGKILL);
	CHECK_EQ(SIGKILL, ended_by(w));
	worker_free(w);
	release_lane();
	CHECK_EQ(0, times("is terminated"));
	crew_end();
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(it_is_told_how_old_and_where);
	RUN(it_can_be_told_again);
	RUN(ten_in_a_second_are_told);
	RUN(sigterm_comes_when_it_has_been_told);
	RUN(one_that_is_looked_at_already_is_told_once);
	RUN(sigterm_waits_for_a_look_a_second_only);
	RUN(without_a_look_sigterm_comes_at_once);
	RUN(one_that_dies_meanwhile_is_not_told);
	return check_finish();
}
