/*
 * A lane that spawns, a loop that hears of deaths, and the rule by which both
 * know whose child it was: one that dies before its birth has been told is
 * left alone until then.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "sys/lane.h"
#include "sys/loop.h"

#include "check.h"
#include "child_help.h"
#include "descriptors.h"

#define BIRTHS 300

/* No more than this at a time, as the supervisor has it. */
#define FLIGHT 8

struct birth {
	struct lane_job job; /* first */
	struct child_spec spec;
	struct child_result result;
	bool told;
	int deaths;
};

static struct birth births[BIRTHS];
static struct loop loop;
static struct lane lane;
static int submitted, told, failed, dead, unborn, put_off;

static void
birth_work(struct lane_job *job)
{
	struct birth *b = (struct birth *)job;

	(void)child_spawn(&b->spec, &b->result);
}

static struct birth *
find(pid_t pid)
{
	for (int i = 0; i < submitted; i++) {
		if (births[i].result.pid == pid && births[i].deaths == 0 &&
		    births[i].result.error == 0)
			return &births[i];
	}
	return NULL;
}

static bool
in_flight(pid_t pid)
{
	for (int i = 0; i < submitted; i++) {
		if (!births[i].told && births[i].result.pid == pid)
			return true;
	}
	return false;
}

static void
reap(void)
{
	struct reap_death died;
	struct birth *b;

	while (reap_peek(&died)) {
		if (in_flight(died.pid)) {
			put_off++;
			break;
		}
		b = find(died.pid);
		if (b == NULL) {
			unborn++;
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
birth_told(struct lane_job *job, tstamp now)
{
	struct birth *b = (struct birth *)job;

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
	while (submitted < BIRTHS && submitted - told < FLIGHT) {
		struct birth *b = &births[submitted];

		b->spec = shell("exit 0");
		if (submitted % 3 == 1)
			b->spec.path = "/nonexistent";
		if (submitted % 3 == 2)
			b->spec.directory = "/nonexistent";
		b->job.work = birth_work;
		b->job.done = birth_told;
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
each_birth_has_its_death(void)
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
	while (told < BIRTHS || dead + unborn < BIRTHS) {
		if (loop_now(&loop) >= limit)
			break;

		CHECK(loop_turn(&loop, limit) != -1);
		submit_more();
		reap();
	}

	CHECK_EQ(BIRTHS, told);
	CHECK_EQ(BIRTHS / 3 * 2, failed);
	CHECK_EQ(BIRTHS / 3, dead);
	CHECK_EQ(failed, unborn);
	for (int i = 0; i < BIRTHS; i++)
		CHECK_EQ(i % 3 == 0, births[i].deaths);
	fprintf(stderr, "%d deaths came before their births\n", put_off);

	CHECK_EQ(0, lane_stop(&lane, limit));
	loop_fini(&loop);
	CHECK_EQ(before, descriptors());
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(each_birth_has_its_death);
	return check_finish();
}
