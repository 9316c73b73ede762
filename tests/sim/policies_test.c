/*
 * The rules of the peers, by their manuals and sources: one policy at a time in
 * virtual time, with an engine of this file's own: workers are
 * ready, finish and so on when a test says so, and nothing else happens.
 * Tests count milliseconds from rig_begin(); what the policy has started and
 * stopped since the last look comes out of rig_starts() and rig_stops().
 */

#include <assert.h>

#include "sim/engine.h"

#include "../bench/peers/policies.h"
#include "../unit/check.h"

#define RIG_START TSPAN_SECONDS(3600)
#define RIG_APPS 8
#define RIG_WORKERS 600
#define RIG_REQUESTS 4000

enum rig_state {
	RIG_FREE,
	RIG_STARTING,
	RIG_READY,
};

struct rig_worker {
	enum rig_state state;
	bool leaving;
	unsigned order; /* of its start */
	uint32_t serving[8]; /* requests in its hands, oldest first */
	unsigned nserving;
};

static struct {
	struct conf conf;
	struct conf_app apps[RIG_APPS];
	uint32_t app_of[RIG_REQUESTS];
	struct manager *manager;
	struct rig_worker workers[RIG_WORKERS];
	unsigned order;
	bool used[RIG_REQUESTS];
	tstamp now;
	unsigned starts;
	unsigned stops;
	unsigned refused;
	uint32_t stopped; /* the last one */
} rig;

/* --- the engine --------------------------------------------------------- */

void
engine_start(
    struct engine *e, uint32_t process, uint32_t app, uint32_t concurrency)
{
	(void)e;
	(void)app;
	(void)concurrency;
	assert(process < RIG_WORKERS);
	assert(rig.workers[process].state == RIG_FREE);
	rig.workers[process] =
	    (struct rig_worker){ .state = RIG_STARTING, .order = ++rig.order };
	rig.starts++;
}

void
engine_stop(struct engine *e, uint32_t process)
{
	(void)e;
	assert(!rig.workers[process].leaving);
	rig.workers[process].leaving = true;
	rig.stopped = process;
	rig.stops++;
}

void
engine_give(struct engine *e, uint32_t process, uint32_t request)
{
	struct rig_worker *w = &rig.workers[process];

	(void)e;
	assert(w->state == RIG_READY && !w->leaving && w->nserving < 8);
	w->serving[w->nserving++] = request;
}

void
engine_refuse(struct engine *e, uint32_t request, enum engine_refusal how)
{
	(void)e;
	assert(how == ENGINE_OVERFLOWED);
	rig.used[request] = false;
	rig.refused++;
}

uint32_t
engine_app_of(const struct engine *e, uint32_t request)
{
	(void)e;
	return rig.app_of[request];
}

/* --- what happens ------------------------------------------------------- */

/* Lets workers exit that are to leave and have nothing to do. */
static void
rig_settle(void)
{
	for (uint32_t n = 0; n < RIG_WORKERS; n++) {
		struct rig_worker *w = &rig.workers[n];

		if (!w->leaving || w->nserving > 0)
			continue;
		w->state = RIG_FREE;
		w->leaving = false;
		rig.manager->ops->exited(rig.manager, n, false, rig.now);
	}
}

/* Begins with so many apps like this. No worker is ready: rig_ready(). */
static void
rig_begin_like(enum policies policy, struct conf_app app, unsigned apps)
{
	memset(&rig, 0, sizeof(rig));
	rig.now = RIG_START;
	app.listen.backlog = 1024;
	app.pool.max_queue = 100;
	for (unsigned i = 0; i < apps; i++)
		rig.apps[i] = app;
	rig.conf = (struct conf){
		.max_processes = apps * app.pool.max_processes,
		.apps = rig.apps,
		.apps_len = apps,
	};
	rig.manager = policies_new(policy, &rig.conf, 1);
	rig.manager->ops->started(rig.manager, rig.now);
}

static void
rig_begin_apps(enum policies policy, unsigned apps, unsigned min, unsigned max)
{
	rig_begin_like(policy,
	    (struct conf_app){
		.pool.sessions = true,
		.pool.min_processes = min,
		.pool.max_processes = max,
		.pool.concurrency = 1,
	    },
	    apps);
}

static void
rig_begin(enum policies policy, unsigned min, unsigned max)
{
	rig_begin_apps(policy, 1, min, max);
}

static void
rig_end(void)
{
	rig.manager->ops->fini(rig.manager);
}

/* Lets all workers that start be ready. */
static void
rig_ready(void)
{
	for (uint32_t n = 0; n < RIG_WORKERS; n++) {
		struct rig_worker *w = &rig.workers[n];

		if (w->state != RIG_STARTING || w->leaving)
			continue;
		w->state = RIG_READY;
		rig.manager->ops->ready(rig.manager, n, rig.now);
	}
	rig_settle();
}

/* Begins with all first workers ready, and their starts seen. */
static void
rig_begin_ready(enum policies policy, unsigned min, unsigned max)
{
	rig_begin(policy, min, max);
	rig_ready();
	rig.starts = 0;
}

static void
rig_arrive_at(uint32_t app, unsigned n)
{
	for (uint32_t request = 0; n > 0; request++) {
		assert(request < RIG_REQUESTS);
		if (rig.used[request])
			continue;
		rig.used[request] = true;
		rig.app_of[request] = app;
		rig.manager->ops->arrived(rig.manager, app, request, rig.now);
		n--;
	}
	rig_settle();
}

static void
rig_arrive(unsigned n)
{
	rig_arrive_at(0, n);
}

/* Lets the worker finish its oldest request. */
static void
rig_finish(uint32_t worker)
{
	struct rig_worker *w = &rig.workers[worker];
	uint32_t request = w->serving[0];

	assert(w->nserving > 0);
	memmove(
	    w->serving, w->serving + 1, --w->nserving * sizeof(w->serving[0]));
	rig.used[request] = false;
	rig.manager->ops->finished(rig.manager, worker, request, rig.now);
	rig_settle();
}

/* Lets every worker that is busy now finish a request. */
static void
rig_finish_all(void)
{
	bool busy[RIG_WORKERS];

	for (uint32_t n = 0; n < RIG_WORKERS; n++)
		busy[n] = rig.workers[n].nserving > 0;
	for (uint32_t n = 0; n < RIG_WORKERS; n++) {
		if (busy[n])
			rig_finish(n);
	}
}

/* Lets that much time pass, with all ticks that are due. */
static void
rig_pass(unsigned milliseconds)
{
	tstamp end = rig.now + TSPAN_MSECONDS(milliseconds);

	while (rig.manager->ops->due(rig.manager) <= end) {
		tstamp due = rig.manager->ops->due(rig.manager);

		if (due > rig.now)
			rig.now = due;
		rig.manager->ops->tick(rig.manager, rig.now);
		rig_settle();
	}
	rig.now = end;
}

/* Lets seconds pass in which nothing happens but ticks. */
static void
rig_seconds(unsigned n)
{
	rig_pass(1000 * n);
}

/* --- what there is ------------------------------------------------------ */

static unsigned
rig_starts(void)
{
	unsigned n = rig.starts;

	rig.starts = 0;
	return n;
}

static unsigned
rig_stops(void)
{
	unsigned n = rig.stops;

	rig.stops = 0;
	return n;
}

/* The number of workers, leaving ones not included. */
static unsigned
rig_count(void)
{
	unsigned count = 0;

	for (uint32_t n = 0; n < RIG_WORKERS; n++)
		count +=
		    rig.workers[n].state != RIG_FREE && !rig.workers[n].leaving;
	return count;
}

/* The worker that was started as the n-th, from 1; RIG_WORKERS: none. */
static uint32_t
rig_nth(unsigned order)
{
	uint32_t n = 0;

	while (n < RIG_WORKERS &&
	    (rig.workers[n].state == RIG_FREE || rig.workers[n].order != order))
		n++;
	return n;
}

/* The first worker with something to do; RIG_WORKERS: there is none. */
static uint32_t
rig_busy(void)
{
	uint32_t n = 0;

	while (n < RIG_WORKERS && rig.workers[n].nserving == 0)
		n++;
	return n;
}

/* --- the backlog -------------------------------------------------------- */

static void
the_longest_blocked_worker_accepts(void)
{
	rig_begin_ready(POLICIES_STATIC, 1, 3);
	rig_arrive(3);
	rig_finish(2);
	rig_finish(0);
	rig_arrive(1);
	CHECK_EQ(1, rig.workers[2].nserving);
	CHECK_EQ(0, rig.workers[0].nserving);
	rig_end();
}

static void
a_worker_that_finishes_accepts_the_oldest_waiting_connection(void)
{
	rig_begin_ready(POLICIES_STATIC, 1, 1);
	rig_arrive(3);
	rig_finish(0);
	CHECK_EQ(1, rig.workers[0].serving[0]);
	rig_finish(0);
	CHECK_EQ(2, rig.workers[0].serving[0]);
	rig_end();
}

static void
a_worker_with_concurrency_accepts_so_many(void)
{
	rig_begin_like(POLICIES_STATIC,
	    (struct conf_app){ .pool.sessions = true,
		.pool.max_processes = 2,
		.pool.concurrency = 3 },
	    1);
	rig_ready();
	rig_arrive(7);
	CHECK_EQ(3, rig.workers[0].nserving);
	CHECK_EQ(3, rig.workers[1].nserving);
	rig_end();
}

static void
a_full_backlog_refuses_connections(void)
{
	rig_begin_ready(POLICIES_STATIC, 1, 1);
	rig_arrive(1 + 1024 + 100);
	CHECK_EQ(0, rig.refused);
	rig_arrive(1);
	CHECK_EQ(1, rig.refused);
	rig_end();
}

static void
an_app_without_connections_has_its_minimum(void)
{
	for (unsigned policy = 0; policy < POLICIES_LEN; policy++) {
		rig_begin_like(policy,
		    (struct conf_app){
			.handoff = CONF_HANDOFF_NONE,
			.pool.min_processes = 3,
			.pool.max_processes = 8,
			.pool.concurrency = 1,
		    },
		    1);
		rig_ready();
		rig_seconds(1000);
		CHECK_EQ(3, rig_count());
		rig_end();
	}
}

/* --- static ------------------------------------------------------------- */

static void
static_has_all_workers_from_the_start_for_ever(void)
{
	rig_begin(POLICIES_STATIC, 1, 8);
	CHECK_EQ(8, rig_starts());
	rig_ready();
	rig_arrive(100);
	rig_seconds(100);
	CHECK_EQ(0, rig_starts());
	rig_end();
}

/* --- php-fpm, dynamic --------------------------------------------------- */

static void
dynamic_has_the_sizes_of_its_pool_file(void)
{
	rig_begin_ready(POLICIES_FPM_DYNAMIC, 1, 5);
	CHECK_EQ(2, rig_count());
	rig_arrive(2);
	rig_seconds(1);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

static void
dynamic_forks_1_2_4_8_in_seconds_that_follow(void)
{
	rig_begin_ready(POLICIES_FPM_DYNAMIC, 1, 100);
	CHECK_EQ(40, rig_count());
	rig_arrive(1000);
	for (unsigned n = 1; n <= 8; n *= 2) {
		rig_seconds(1);
		CHECK_EQ(n, rig_starts());
		rig_ready();
	}
	rig_end();
}

static void
dynamic_forks_no_more_than_are_missing(void)
{
	/* At least 4 spare ones, 8 at first. */
	rig_begin_ready(POLICIES_FPM_DYNAMIC, 1, 20);
	rig_arrive(1000);
	rig_seconds(3);
	rig_ready();
	CHECK_EQ(1 + 2 + 4, rig_starts());
	rig_seconds(1);
	CHECK_EQ(4, rig_starts());
	rig_end();
}

/* Five children, all of them idle. */
static void
begin_grown_dynamic(void)
{
	rig_begin_ready(POLICIES_FPM_DYNAMIC, 1, 5);
	rig_arrive(5);
	for (unsigned n = 0; n < 5; n++) {
		rig_seconds(1);
		rig_ready();
	}
	rig_finish_all();
	(void)rig_starts();
	(void)rig_stops();
}

static void
dynamic_stops_one_a_second_over_max_spare(void)
{
	begin_grown_dynamic();
	rig_seconds(1);
	CHECK_EQ(1, rig_stops());
	rig_seconds(1);
	CHECK_EQ(1, rig_stops());
	rig_end();
}

static void
dynamic_stops_the_idle_child_with_the_longest_life(void)
{
	uint32_t oldest;

	begin_grown_dynamic();
	oldest = rig_nth(1);
	rig_seconds(1);
	CHECK_EQ(oldest, rig.stopped);
	rig_end();
}

/* --- php-fpm, ondemand -------------------------------------------------- */

static void
ondemand_begins_with_none(void)
{
	rig_begin_ready(POLICIES_FPM_ONDEMAND, 4, 8);
	CHECK_EQ(0, rig_count());
	rig_end();
}

static void
ondemand_forks_for_each_connection_without_an_idle_child(void)
{
	rig_begin_ready(POLICIES_FPM_ONDEMAND, 1, 8);
	rig_arrive(3);
	CHECK_EQ(3, rig_starts());
	rig_ready();
	rig_finish_all();
	rig_arrive(2);
	CHECK_EQ(0, rig_starts());
	rig_arrive(2);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

static void
ondemand_stops_one_a_second_after_more_than_10_whole_seconds(void)
{
	rig_begin_ready(POLICIES_FPM_ONDEMAND, 1, 8);
	rig_arrive(3);
	rig_ready();
	rig_finish_all();
	rig_seconds(11);
	CHECK_EQ(0, rig_stops());
	rig_seconds(1);
	CHECK_EQ(1, rig_stops());
	rig_seconds(1);
	CHECK_EQ(1, rig_stops());
	rig_seconds(1);
	CHECK_EQ(0, rig_count());
	rig_end();
}

/* --- Apache prefork ----------------------------------------------------- */

static void
prefork_has_its_defaults_at_256(void)
{
	rig_begin_ready(POLICIES_PREFORK, 1, 256);
	CHECK_EQ(5, rig_count());
	rig_arrive(1);
	rig_seconds(1);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

static void
prefork_forks_1_2_4_up_to_32_however_few_are_missing(void)
{
	rig_begin_ready(POLICIES_PREFORK, 1, 256);
	rig_arrive(1000);
	for (unsigned n = 1; n <= 32; n *= 2) {
		rig_seconds(1);
		CHECK_EQ(n, rig_starts());
		rig_ready();
	}
	rig_seconds(1);
	CHECK_EQ(32, rig_starts());
	rig_end();
}

/* All of 20 children are idle. */
static void
begin_grown_prefork(void)
{
	rig_begin_ready(POLICIES_PREFORK, 1, 20);
	rig_arrive(20);
	for (unsigned n = 0; n < 10; n++) {
		rig_seconds(1);
		rig_ready();
	}
	rig_finish_all();
	(void)rig_stops();
}

static void
prefork_stops_the_longest_blocked(void)
{
	begin_grown_prefork();
	rig_arrive(1);
	rig_finish(rig_busy());
	rig_seconds(1);
	CHECK_EQ(1, rig.stopped);
	rig_end();
}

/* Waits for so many workers, at most 1000 seconds. */
static void
grow_to(unsigned n)
{
	for (unsigned i = 0; rig_count() < n && i < 1000; i++) {
		rig_seconds(1);
		rig_ready();
	}
}

/*
 * Keeps so many workers busy for that share of each second, with a request
 * each; the ends of the seconds are the ends of the pauses.
 */
static void
work(unsigned workers, unsigned percent, unsigned n)
{
	while (n-- > 0) {
		rig_arrive(workers);
		rig_pass(10 * percent);
		rig_finish_all();
		rig_pass(1000 - 10 * percent);
	}
}

/* --- uWSGI -------------------------------------------------------------- */

static void
busyness_begins_with_cheaper(void)
{
	rig_begin(POLICIES_UWSGI, 3, 8);
	CHECK_EQ(3, rig_starts());
	rig_end();
	rig_begin(POLICIES_UWSGI, 0, 8);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

static void
busyness_over_50_starts_one_every_third_second(void)
{
	rig_begin_ready(POLICIES_UWSGI, 2, 8);
	work(2, 80, 3);
	CHECK_EQ(0, rig_starts());
	work(2, 80, 1);
	CHECK_EQ(1, rig_starts());
	work(2, 80, 2);
	CHECK_EQ(0, rig_starts());
	rig_end();
}

/* Four workers, idle, the last one started just now. */
static void
begin_grown_busyness(void)
{
	rig_begin_ready(POLICIES_UWSGI, 1, 4);
	rig_arrive(4);
	grow_to(4);
	rig_finish_all();
	(void)rig_starts();
}

static void
busyness_stops_one_after_10_idle_windows(void)
{
	begin_grown_busyness();
	rig_seconds(29);
	CHECK_EQ(0, rig_stops());
	rig_seconds(1);
	CHECK_EQ(1, rig_stops());
	rig_seconds(29);
	CHECK_EQ(0, rig_stops());
	rig_seconds(1);
	CHECK_EQ(1, rig_stops());
	rig_end();
}

static void
busyness_stops_the_worker_that_was_started_first(void)
{
	uint32_t first;

	begin_grown_busyness();
	first = rig_nth(1);
	rig_seconds(30);
	CHECK_EQ(first, rig.stopped);
	rig_end();
}

static void
busyness_pays_a_penalty_for_a_start_after_a_stop(void)
{
	begin_grown_busyness();
	rig_seconds(30);
	CHECK_EQ(1, rig_stops());
	work(3, 90, 3);
	CHECK_EQ(1, rig_starts());
	rig_ready();
	/* 12 windows now. */
	rig_seconds(35);
	CHECK_EQ(0, rig_stops());
	rig_seconds(2);
	CHECK_EQ(1, rig_stops());
	rig_end();
}

static void
busyness_starts_one_each_second_for_a_long_backlog(void)
{
	rig_begin_ready(POLICIES_UWSGI, 1, 8);
	rig_arrive(1 + 33);
	rig_seconds(2);
	CHECK_EQ(0, rig_starts());
	rig_arrive(1);
	rig_seconds(1);
	CHECK_EQ(1, rig_starts());
	rig_seconds(1);
	CHECK_EQ(1, rig_starts());
	rig_seconds(1);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

/* --- mod_fastcgi -------------------------------------------------------- */

static void
fastcgi_starts_one_for_a_connection_that_has_waited_3_seconds(void)
{
	rig_begin_ready(POLICIES_FASTCGI, 1, 8);
	rig_arrive(1);
	rig_ready();
	rig_arrive(1);
	(void)rig_starts();
	rig_pass(2999);
	CHECK_EQ(0, rig_starts());
	rig_pass(1);
	CHECK_EQ(1, rig_starts());
	rig_pass(2999);
	CHECK_EQ(0, rig_starts());
	rig_pass(1);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

static void
fastcgi_starts_one_a_second_however_many_wait(void)
{
	rig_begin_ready(POLICIES_FASTCGI, 1, 8);
	rig_arrive(1);
	rig_ready();
	(void)rig_starts();
	for (unsigned n = 0; n < 100; n++) {
		rig_arrive(1);
		rig_pass(10);
	}
	rig_seconds(3);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

/* n processes, all idle, a second before the next kill policy. */
static void
begin_grown_fastcgi(unsigned min, unsigned n)
{
	rig_begin_ready(POLICIES_FASTCGI, min, 8);
	rig_arrive(100);
	grow_to(n);
	while (rig_busy() != RIG_WORKERS)
		rig_finish_all();
	(void)rig_starts();
	rig_seconds(299 - (unsigned)((rig.now - RIG_START) / TSPAN_SECONDS(1)));
}

/*
 * Lets n processes be there when the kill policy has just run, at this
 * smoothed load: the sum of the last interval was twice as much, in one
 * request.
 */
static void
look_at(unsigned n, unsigned percent)
{
	unsigned served = 2 * n * 300 * percent / 100;
	unsigned end = (served + 30 + 299) / 300 * 300;

	rig_begin_ready(POLICIES_FASTCGI, 0, 8);
	rig_arrive(1);
	rig_ready();
	rig_finish(0);
	rig_seconds(end - 20 - served);
	rig_arrive(1);
	rig_seconds(served);
	rig_finish(0);
	rig_arrive(n);
	grow_to(n);
	rig_finish_all();
	rig_seconds(20);
}

static void
fastcgi_stops_one_at_each_kill_interval(void)
{
	begin_grown_fastcgi(0, 4);
	CHECK_EQ(0, rig_stops());
	rig_seconds(300);
	CHECK_EQ(1, rig_stops());
	rig_seconds(300);
	CHECK_EQ(1, rig_stops());
	rig_end();
}

static void
fastcgi_looks_at_min_processes_too_late(void)
{
	begin_grown_fastcgi(4, 4);
	rig_seconds(300);
	CHECK_EQ(3, rig_count());
	rig_seconds(5000);
	CHECK_EQ(1, rig_count());
	rig_end();
}

static void
fastcgi_divides_integers_so_that_three_can_be_too_many(void)
{
	/* 45 percent of three would be 67 of two: over the threshold of 50. */
	look_at(3, 45);
	CHECK_EQ(2, rig_count());
	rig_end();
	look_at(3, 53);
	CHECK_EQ(3, rig_count());
	rig_end();
}

static void
fastcgi_waits_restart_delay_for_a_slot_that_was_used(void)
{
	begin_grown_fastcgi(0, 3);
	rig_seconds(601);
	CHECK_EQ(2, rig_stops());
	rig_arrive(100);
	rig_seconds(3);
	CHECK_EQ(1, rig_starts());
	/* Other connections ask again 3 seconds later, which is too early. */
	rig_seconds(3);
	CHECK_EQ(0, rig_starts());
	rig_seconds(3);
	CHECK_EQ(1, rig_starts());
	rig_end();
}

/* --- AnyEvent::Fork::Pool ----------------------------------------------- */

static void
anyevent_begins_with_idle(void)
{
	rig_begin(POLICIES_ANYEVENT, 3, 8);
	CHECK_EQ(3, rig_starts());
	rig_end();
}

static void
anyevent_queues_a_second_job_behind_the_first(void)
{
	rig_begin_ready(POLICIES_ANYEVENT, 0, 8);
	rig_arrive(1);
	rig_ready();
	(void)rig_starts();
	rig_arrive(1);
	CHECK_EQ(2, rig.workers[0].nserving);
	rig_seconds(10);
	CHECK_EQ(0, rig_starts());
	rig_end();
}

static void
anyevent_starts_one_every_tenth_of_a_second_while_jobs_wait(void)
{
	rig_begin_ready(POLICIES_ANYEVENT, 0, 8);
	rig_arrive(20);
	CHECK_EQ(1, rig_starts());
	rig_pass(99);
	CHECK_EQ(0, rig_starts());
	rig_pass(1);
	CHECK_EQ(1, rig_starts());
	rig_pass(200);
	CHECK_EQ(2, rig_starts());
	rig_end();
}

static void
anyevent_with_idle_0_never_stops_one(void)
{
	rig_begin_ready(POLICIES_ANYEVENT, 0, 4);
	rig_arrive(100);
	for (unsigned n = 0; n < 50; n++) {
		rig_pass(100);
		rig_ready();
		rig_finish_all();
	}
	rig_seconds(1000);
	CHECK_EQ(4, rig_count());
	rig_end();
}

static void
anyevent_with_idle_1_stops_one_every_10_seconds_and_the_last(void)
{
	rig_begin_ready(POLICIES_ANYEVENT, 1, 4);
	rig_arrive(8);
	rig_pass(300);
	rig_ready();
	CHECK_EQ(4, rig_count());
	while (rig_busy() != RIG_WORKERS)
		rig_finish_all();
	rig_pass(9999);
	CHECK_EQ(0, rig_stops());
	rig_pass(1);
	CHECK_EQ(1, rig_stops());
	rig_seconds(100);
	CHECK_EQ(1, rig_count());
	rig_arrive(1);
	rig_finish(rig_busy());
	rig_seconds(10);
	CHECK_EQ(0, rig_count());
	rig_end();
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(the_longest_blocked_worker_accepts);
	RUN(a_worker_that_finishes_accepts_the_oldest_waiting_connection);
	RUN(a_worker_with_concurrency_accepts_so_many);
	RUN(a_full_backlog_refuses_connections);
	RUN(an_app_without_connections_has_its_minimum);
	RUN(static_has_all_workers_from_the_start_for_ever);
	RUN(dynamic_has_the_sizes_of_its_pool_file);
	RUN(dynamic_forks_1_2_4_8_in_seconds_that_follow);
	RUN(dynamic_forks_no_more_than_are_missing);
	RUN(dynamic_stops_one_a_second_over_max_spare);
	RUN(dynamic_stops_the_idle_child_with_the_longest_life);
	RUN(ondemand_begins_with_none);
	RUN(ondemand_forks_for_each_connection_without_an_idle_child);
	RUN(ondemand_stops_one_a_second_after_more_than_10_whole_seconds);
	RUN(prefork_has_its_defaults_at_256);
	RUN(prefork_forks_1_2_4_up_to_32_however_few_are_missing);
	RUN(prefork_stops_the_longest_blocked);
	RUN(busyness_begins_with_cheaper);
	RUN(busyness_over_50_starts_one_every_third_second);
	RUN(busyness_stops_one_after_10_idle_windows);
	RUN(busyness_stops_the_worker_that_was_started_first);
	RUN(busyness_pays_a_penalty_for_a_start_after_a_stop);
	RUN(busyness_starts_one_each_second_for_a_long_backlog);
	RUN(fastcgi_starts_one_for_a_connection_that_has_waited_3_seconds);
	RUN(fastcgi_starts_one_a_second_however_many_wait);
	RUN(fastcgi_stops_one_at_each_kill_interval);
	RUN(fastcgi_looks_at_min_processes_too_late);
	RUN(fastcgi_divides_integers_so_that_three_can_be_too_many);
	RUN(fastcgi_waits_restart_delay_for_a_slot_that_was_used);
	RUN(anyevent_begins_with_idle);
	RUN(anyevent_queues_a_second_job_behind_the_first);
	RUN(anyevent_starts_one_every_tenth_of_a_second_while_jobs_wait);
	RUN(anyevent_with_idle_0_never_stops_one);
	RUN(anyevent_with_idle_1_stops_one_every_10_seconds_and_the_last);
	return check_finish();
}
