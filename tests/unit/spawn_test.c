/*
 * A lane that spawns, a loop that reaps, and the rule by which both know
 * their children: a child that dies before its start is over is left alone
 * until then.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "sys/lane.h"
#include "sys/loop.h"

#include "check.h"
#include "child_help.h"
#include "descriptors.h"

#define STARTS 300

/* Starts under way at a time, as the supervisor has it. */
#define FLIGHT 8

struct start {
	struct lane_job job; /* first */
	struct child_spec spec;
	struct child_result result;
	bool told;
	int deaths;
};

static struct start starts[STARTS];
static struct loop loop;
static struct lane lane;
static int submitted, told, failed, dead, strangers, put_off;

static void
start_work(struct lane_job *job)
{
	struct start *b = (struct start *)job;

	(void)child_spawn(&b->spec, &b->result);
}

static struct start *
find(pid_t pid)
{
	for (int i = 0; i < submitted; i++) {
		if (starts[i].result.pid == pid && starts[i].deaths == 0 &&
		    starts[i].result.error == 0)
			return &starts[i];
	}
	return NULL;
}

static bool
in_flight(pid_t pid)
{
	for (int i = 0; i < submitted; i++) {
		if (!starts[i].told && starts[i].result.pid == pid)
			return true;
	}
	return false;
}

static void
reap(void)
{
	struct reap_death died;
	struct start *b;

	while (reap_peek(&died)) {
		if (in_flight(died.pid)) {
			put_off++;
			break;
		}
		b = find(died.pid);
		if (b == NULL) {
			strangers++;
			reap_stranger(died.pid);
			continue;
		}
		CHECK(b->told);
		reap_take(died.pid);
		b->deaths++;
		dead++;
	}
}

static void
start_done(struct lane_job *job, tstamp now)
{
	struct start *b = (struct start *)job;

	(void)now;
	b->told = true;
	told++;
	if (b->result.error != 0) {
		CHECK_EQ(ENOENT, b->result.error);
		failed++;
	}
}

static void
submit_more(void)
{
	while (submitted < STARTS && submitted - told < FLIGHT) {
		struct start *b = &starts[submitted];

		b->spec = shell("exit 0");
		if (submitted % 3 == 1)
			b->spec.path = "/nonexistent";
		if (submitted % 3 == 2)
			b->spec.directory = "/nonexistent";
		b->job.work = start_work;
		b->job.done = start_done;
		child_result_init(&b->result);
		submitted++;
		lane_submit(&lane, &b->job);
	}
}

static void
signalled(void *arg, const struct signalfd_siginfo *info, tstamp now)
{
	(void)arg;
	(void)info;
	(void)now;
	reap();
}

static void
each_start_has_its_death(void)
{
	sigset_t set;
	tstamp limit;
	int before = descriptors();

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	NEED(loop_init(&loop, NULL) == 0);
	NEED(loop_signals(&loop, &set, signalled, NULL) == 0);
	NEED(lane_start(&lane, &loop, "spawn test", NULL) == 0);

	limit = loop_now(&loop) + TSPAN_SECONDS(30);
	submit_more();
	while (told < STARTS || dead + strangers < STARTS) {
		if (loop_now(&loop) >= limit)
			break;

		CHECK(loop_turn(&loop, limit) != -1);
		submit_more();
		reap();
	}

	CHECK_EQ(STARTS, told);
	CHECK_EQ(STARTS / 3 * 2, failed);
	CHECK_EQ(STARTS / 3, dead);
	CHECK_EQ(failed, strangers);
	for (int i = 0; i < STARTS; i++)
		CHECK_EQ(i % 3 == 0, starts[i].deaths);
	fprintf(
	    stderr, "%d deaths came before their starts were over\n", put_off);

	CHECK_EQ(0, lane_stop(&lane, limit));
	loop_fini(&loop);
	CHECK_EQ(before, descriptors());
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(each_start_has_its_death);
	return check_finish();
}
