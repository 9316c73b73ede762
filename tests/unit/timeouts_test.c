/* Slow processes: their lines in the log, and their signals. */

#include <semaphore.h>

#include "daemon/settle.c"

#include "fixture.h"

static sem_t busy; /* keeps the lane busy until it is posted */
static unsigned done; /* jobs that kept it busy */

/* An app of so many workers that sleep, in sessions as old as fixture.now. */
static void
begin(unsigned workers)
{
	struct action a;

	fixture_defaults();
	fixture.web.pool.min_processes = workers;
	fixture.web.timeout_signal = 1; /* TERM */
	fixture_begin();
	fixture_join_all(fixture_sleep);
	for (unsigned n = 0; n < workers; n++)
		(void)pool_arrived(&sup.pool, fixture.group->app, fixture.now);
	while (pool_next_action(&sup.pool, &a))
		continue;
}

static void
slow(uint32_t process)
{
	struct action a = { .kind = ACTION_SLOW, .process = process };

	settle_late(&sup, &a, fixture.now);
}

static void
terminate(uint32_t process)
{
	struct action a = { .kind = ACTION_TERM, .process = process };

	settle_late(&sup, &a, fixture.now);
}

/* Waits for the end of the process: gives its signal. 0: it lives on. */
static int
ended_by(struct worker *w)
{
	int status = 0;

	for (int left = FIXTURE_SECONDS * 1000; left > 0; left--) {
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

	for (const char *at = fixture_log(); (at = strstr(at, text)) != NULL;
	     at++)
		n++;
	return n;
}

/* --- a lane that is stuck ------------------------------------- */

static void
job_work(struct lane_job *job)
{
	(void)job;
	sem_wait(&busy);
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
	sem_init(&busy, 0, 0);
	/* A loop that is behind the time would add a thread to the lane. */
	CHECK(loop_turn(&sup.loop, fixture.now) != -1);
	lane_submit(&sup.looker, &hog);
}

/* Lets the lane go on, and waits until it has done all. */
static void
release_lane(void)
{
	struct lane_job last = { .work = job_work, .done = job_done };

	sem_post(&busy);
	sem_post(&busy);
	done = 0;
	lane_submit(&sup.looker, &last);
	while (done < 2)
		fixture_collect();
}

/* --- facts -------------------------------------------------------------- */

TEST(the_log_says_how_old_a_slow_session_is_and_where_it_hangs)
{
	begin(1);
	fixture.now += TSPAN_MSECONDS(2500);
	slow(0);
	slow(0);
	CHECK_EQ(0, times("slow"));
	fixture_collect();
	CHECK_EQ(1, times("is slow"));
	CHECK(fixture_said(" is slow: its session is 2.5 s old, "));
	CHECK(fixture_said("warn web: worker "));
	CHECK(sup.workers[0]->report == NULL);
	CHECK(lives(sup.workers[0]));
	slow(0);
	fixture_collect();
	CHECK_EQ(2, times("is slow"));
}

TEST(ten_reports_in_a_second_are_made)
{
	begin(12);
	for (uint32_t n = 0; n < 12; n++)
		slow(n);
	while (times("is slow") < 10)
		fixture_collect();
	CHECK_EQ(1, times("more than 10 processes are slow"));
	CHECK(sup.workers[10]->report == NULL);
	fixture.now += TSPAN_SECONDS(1);
	slow(10);
	fixture_collect();
	CHECK_EQ(11, times("is slow"));
}

/* The same one, if it was under way for a slow session. */
TEST(sigterm_is_sent_after_the_report)
{
	for (int asked = 0; asked < 2; asked++) {
		begin(2);
		fixture.now += TSPAN_SECONDS(30);
		hold_lane();
		if (asked)
			slow(0);
		terminate(0);
		CHECK(lives(sup.workers[0]));
		release_lane();
		CHECK_EQ(
		    1, times("is terminated: its request is 30.0 s old, "));
		CHECK_EQ(0, times("is slow"));
		CHECK_EQ(SIGTERM, ended_by(sup.workers[0]));
		CHECK(lives(sup.workers[1]));
	}
}

TEST(the_signal_of_a_slow_session_is_sent_after_the_report)
{
	begin(1);
	sup.workers[0]->slow_signal = SIGUSR2;
	hold_lane();
	slow(0);
	CHECK(lives(sup.workers[0]));
	release_lane();
	CHECK_EQ(1, times("is slow"));
	CHECK_EQ(SIGUSR2, ended_by(sup.workers[0]));
}

TEST(sigterm_waits_a_second_for_the_report)
{
	begin(1);
	hold_lane();
	terminate(0);
	fixture.now += TSPAN_MSECONDS(900);
	CHECK(loop_turn(&sup.loop, fixture.now) != -1);
	CHECK(lives(sup.workers[0]));
	fixture.now += TSPAN_MSECONDS(100);
	CHECK(loop_turn(&sup.loop, fixture.now) != -1);
	CHECK_EQ(SIGTERM, ended_by(sup.workers[0]));
	release_lane();
}

TEST(without_a_report_sigterm_is_sent_at_once)
{
	begin(12);
	for (uint32_t n = 0; n < 11; n++)
		slow(n);
	terminate(11);
	CHECK(fixture_said(" is terminated: its request is 0.0 s old\n"));
	CHECK_EQ(SIGTERM, ended_by(sup.workers[11]));
}

TEST(a_number_that_was_reaped_gets_no_signal)
{
	struct reap_death death = { .signal = SIGSEGV };
	struct worker *w;
	char name[96], number[32];

	begin(1);
	w = sup.workers[0];
	death.pid = w->pid;
	CHECK_EQ(0, setpgid(death.pid, 0));
	hold_lane();
	terminate(0);
	/* The process plays another one, which has its number now. */
	worker_died(w, &death);
	fixture.now += TSPAN_SECONDS(1);
	CHECK(loop_turn(&sup.loop, fixture.now) != -1);
	release_lane();
	CHECK(w->report == NULL);
	/* Actions decided before the death are carried out after it. */
	worker_signal(w, SIGTERM);
	worker_signal(w, SIGKILL);
	usleep(10000);
	CHECK_EQ(0, waitpid(death.pid, NULL, WNOHANG));
	/* The log still names it. */
	(void)snprintf(number, sizeof(number), "(pid %ld)", (long)death.pid);
	CHECK(strstr(worker_name(w, name, sizeof(name)), number) != NULL);
	kill(death.pid, SIGKILL);
	(void)waitpid(death.pid, NULL, 0);
}

TESTS(NULL, fixture_end)
