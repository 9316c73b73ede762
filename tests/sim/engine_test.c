/* The engine: what it plays and notes, with the test as the manager. */

#include <stdarg.h>

#include "core/ilist.h"

#include "sim_help.h"

#define WORKERS 4
#define REQUESTS 8

/* Functions of a test that the manager calls. All may be NULL. */
struct script {
	void (*started)(void);
	void (*arrived)(uint32_t request);
	void (*ready)(uint32_t worker);
	void (*exited)(uint32_t worker);
};

static struct {
	struct manager manager;
	struct script script;
	tstamp now; /* of the last call */
	uint32_t app; /* of the last arrival */
	tstamp due;
	FILE *log;
	char *told; /* what the manager was told, "; " between */
	size_t told_len;
	struct result result;
} rig;

/* --- a manager ---------------------------------------------------------- */

/* Milliseconds since the start of the load. */
static long
rig_now(void)
{
	return (long)((rig.now - ENGINE_EPOCH) / MS(1));
}

/* Writes down what the manager was told, and when. */
static void __attribute__((format(printf, 2, 3)))
rig_tell(tstamp now, const char *fmt, ...)
{
	va_list ap;

	rig.now = now;
	fputs(ftell(rig.log) > 0 ? "; " : "", rig.log);
	va_start(ap, fmt);
	vfprintf(rig.log, fmt, ap);
	va_end(ap);
	fprintf(rig.log, " at %ld", rig_now());
}

static void
plain_started(struct manager *m, tstamp now)
{
	(void)m;
	rig_tell(now, "started");
	if (rig.script.started != NULL)
		rig.script.started();
}

static void
plain_arrived(struct manager *m, uint32_t app, uint32_t request, tstamp now)
{
	(void)m;
	rig.app = app;
	rig_tell(now, "arrived %s%u", app == 0 ? "" : "b", (unsigned)request);
	if (rig.script.arrived != NULL)
		rig.script.arrived(request);
}

static void
plain_ready(struct manager *m, uint32_t worker, tstamp now)
{
	(void)m;
	rig_tell(now, "ready %u", (unsigned)worker);
	if (rig.script.ready != NULL)
		rig.script.ready(worker);
}

static void
plain_finished(struct manager *m, uint32_t worker, uint32_t request, tstamp now)
{
	(void)m;
	(void)worker;
	rig_tell(now, "finished %u", (unsigned)request);
}

static void
plain_exited(struct manager *m, uint32_t worker, bool killed, tstamp now)
{
	(void)m;
	rig_tell(now, "%s %u", killed ? "killed" : "exited", (unsigned)worker);
	if (rig.script.exited != NULL)
		rig.script.exited(worker);
}

static tstamp
plain_due(const struct manager *m)
{
	(void)m;
	return rig.due;
}

static void
plain_tick(struct manager *m, tstamp now)
{
	(void)m;
	rig.due = TSTAMP_NEVER;
	rig_tell(now, "tick");
}

static void
plain_fini(struct manager *m)
{
	(void)m;
}

static const struct manager_ops plain_ops = {
	.started = plain_started,
	.arrived = plain_arrived,
	.ready = plain_ready,
	.finished = plain_finished,
	.exited = plain_exited,
	.due = plain_due,
	.tick = plain_tick,
	.fini = plain_fini,
};

/* --- a run -------------------------------------------------------------- */

/* Fills rig.told and rig.result. False: there is a mistake in the trace. */
static bool
rig_play(struct script script, const char *trace, size_t apps, tspan length)
{
	const struct result_app *r = &rig.result.total;
	bool played;

	rig.manager = (struct manager){
		.ops = &plain_ops,
		.name = "plain",
		.workers = WORKERS,
		.requests = REQUESTS,
	};
	rig.script = script;
	rig.due = TSTAMP_NEVER;
	free(rig.told);
	result_fini(&rig.result);
	rig.log = open_memstream(&rig.told, &rig.told_len);
	played = help_run_trace(
	    &rig.manager, trace, apps, length, MS(200), &rig.result);
	fprintf(rig.log, "; spawned %d+%d ended %d completed %d",
	    (int)(r->spawned - r->spawned_running), (int)r->spawned_running,
	    (int)r->ended, (int)r->completed);
	fprintf(rig.log,
	    " refused %d+%d taken %d lost %d unfinished %d waits %d <= %ld",
	    (int)(r->refused - r->overflowed), (int)r->overflowed,
	    (int)r->taken, (int)r->lost, (int)r->unfinished, (int)r->wait.total,
	    (long)(r->wait.max / MS(1)));
	fclose(rig.log);
	return played;
}

static void
rig_run(struct script script, const char *trace, size_t apps, tspan length)
{
	CHECK(rig_play(script, trace, apps, length));
	help_check_balance(&rig.result.total);
}

/* --- what scripts do ---------------------------------------------------- */

static void
start_one(void)
{
	engine_start(rig.manager.engine, 0, 0, 1);
}

static void
start_double(void)
{
	engine_start(rig.manager.engine, 0, 0, 2);
}

static void
start_two(void)
{
	engine_start(rig.manager.engine, 0, 0, 1);
	engine_start(rig.manager.engine, 1, 0, 1);
}

static void
give_first(uint32_t request)
{
	engine_give(rig.manager.engine, 0, request);
}

static const struct script single = { .started = start_one,
	.arrived = give_first };

/* --- workers ------------------------------------------------------------ */

static void
start_late(uint32_t request)
{
	if (request == 0)
		start_one();
}

static void
give_all(uint32_t worker)
{
	engine_give(rig.manager.engine, worker, 0);
}

static void
tick_soon(uint32_t worker)
{
	(void)worker;
	rig.due = ENGINE_EPOCH + MS(100);
}

static void
stop_at_third(uint32_t request)
{
	give_first(request);
	if (request == 2)
		engine_stop(rig.manager.engine, 0);
}

static void
stop_starting(uint32_t request)
{
	if (request == 0) {
		start_one();
		engine_stop(rig.manager.engine, 0);
	}
}

static void
kill_at_third(uint32_t request)
{
	give_first(request);
	if (request == 2)
		engine_kill(rig.manager.engine, 0);
}

static void
take_and_refuse(uint32_t worker)
{
	uint32_t request;

	while (
	    (request = engine_take(rig.manager.engine, worker)) != ILIST_NONE) {
		rig_tell(rig.now, "took %u", (unsigned)request);
		engine_refuse(rig.manager.engine, request, ENGINE_REFUSED);
	}
}

static void
take_for_second(uint32_t request)
{
	uint32_t taken;

	give_first(request);
	if (request != 2)
		return;
	taken = engine_take(rig.manager.engine, 0);
	CHECK_EQ(1, taken);
	engine_give(rig.manager.engine, 1, taken);
}

static void
restart_with_the_same_number(uint32_t worker)
{
	if (rig_now() < 1000)
		engine_start(rig.manager.engine, worker, 0, 1);
	CHECK_EQ(1, engine_take(rig.manager.engine, worker));
	engine_refuse(rig.manager.engine, 1, ENGINE_REFUSED);
}

static void
kill_at_second(uint32_t request)
{
	give_first(request);
	if (request == 1)
		engine_kill(rig.manager.engine, 0);
}

#define THREE "0,a,0.1\n0.01,a,0.1\n0.02,a,0.1\n"
#define LONGER "0,a,0.1\n0.01,a,0.2\n0.02,a,0.3\n"

#define BEGUN "started at -200; ready 0 at 0; arrived 0 at 0; "
#define ARRIVED BEGUN "arrived 1 at 10; arrived 2 at 20; "

/* The manager's facts, and its actions. */
static const struct {
	const char *fact;
	struct script script;
	const char *trace;
	tspan length;
	const char *told;
} plays[] = {
	{ "workers of the beginning are ready when the load starts",
	    { .started = start_one, .arrived = give_first }, "0,a,0.1\n", 0,
	    BEGUN "finished 0 at 100; spawned 1+0 ended 0 completed 1 "
		  "refused 0+0 taken 0 lost 0 unfinished 0 waits 1 <= 0" },
	{ "a worker is ready after the start time",
	    { .arrived = start_late, .ready = give_all }, "1,a,0.1\n", 0,
	    "started at -200; arrived 0 at 1000; ready 0 at 1200; "
	    "finished 0 at 1300; spawned 0+1 ended 0 completed 1 "
	    "refused 0+0 taken 0 lost 0 unfinished 0 waits 1 <= 200" },
	{ "a worker serves requests in order",
	    { .started = start_one, .arrived = give_first }, LONGER, 0,
	    ARRIVED "finished 0 at 100; finished 1 at 300; finished 2 "
		    "at 600; spawned 1+0 ended 0 completed 3 refused 0+0 taken "
		    "0 lost 0 unfinished 0 waits 3 <= 280" },
	{ "a worker serves as many at a time as its concurrency",
	    { .started = start_double, .arrived = give_first }, LONGER, 0,
	    ARRIVED "finished 0 at 100; finished 1 at 210; finished 2 "
		    "at 400; spawned 1+0 ended 0 completed 3 refused 0+0 taken "
		    "0 lost 0 unfinished 0 waits 3 <= 80" },
	{ "ends come before arrivals, and ticks come last",
	    { .started = start_one, .arrived = give_first, .ready = tick_soon },
	    "0,a,0.1\n0.1,a,0.1\n", 0,
	    BEGUN "finished 0 at 100; arrived 0 at 100; tick at 100; "
		  "finished 0 at 200; spawned 1+0 ended 0 completed 2 refused "
		  "0+0 taken 0 lost 0 unfinished 0 waits 2 <= 0" },
	{ "a stopped worker finishes what it has",
	    { .started = start_one, .arrived = stop_at_third }, THREE, MS(1000),
	    ARRIVED "finished 0 at 100; finished 1 at 200; finished 2 "
		    "at 300; exited 0 at 305; spawned 1+0 ended 1 completed 3 "
		    "refused 0+0 taken 0 lost 0 unfinished 0 waits 3 <= 180" },
	{ "a worker that is stopped while it starts is never ready",
	    { .arrived = stop_starting }, "0,a,0.1\n", 0,
	    "started at -200; arrived 0 at 0; exited 0 at 205; spawned "
	    "0+1 ended 0 completed 0 refused 0+0 taken 0 lost 0 "
	    "unfinished 1 waits 1 <= 205" },
	{ "a killed worker loses what it has",
	    { .started = start_one, .arrived = kill_at_third }, THREE, 0,
	    ARRIVED "killed 0 at 25; spawned 1+0 ended 0 completed 0 "
		    "refused 0+0 taken 0 lost 3 unfinished 0 waits 1 <= 0" },
	{ "requests that a killed worker had not read can be taken",
	    { .started = start_one,
		.arrived = kill_at_third,
		.exited = take_and_refuse },
	    THREE, 0,
	    ARRIVED
	    "killed 0 at 25; took 1 at 25; took 2 at 25; "
	    "spawned 1+0 ended 0 completed 0 refused 2+0 taken 2 lost 1 "
	    "unfinished 0 waits 1 <= 0" },
	{ "the oldest unread request is taken",
	    { .started = start_two, .arrived = take_for_second }, THREE, 0,
	    "started at -200; ready 0 at 0; ready 1 at 0; arrived 0 at "
	    "0; arrived 1 at 10; arrived 2 at 20; finished 0 at 100; "
	    "finished 1 at 120; finished 2 at 200; spawned 2+0 ended 0 "
	    "completed 3 refused 0+0 taken 1 lost 0 unfinished 0 waits "
	    "3 <= 80" },
	{ "the number of an exited worker may be used at once",
	    { .started = start_one,
		.arrived = kill_at_second,
		.exited = restart_with_the_same_number },
	    "0,a,0.1\n0.01,a,0.1\n", MS(500),
	    BEGUN "arrived 1 at 10; killed 0 at 15; ready 0 at 215; "
		  "spawned 1+1 ended 1 completed 0 refused 1+0 taken 1 lost 1 "
		  "unfinished 0 waits 1 <= 0" },
	{ "requests that the manager cannot hold are refused", { 0 },
	    "0,a,1\n0,a,1\n0,a,1\n0,a,1\n0,a,1\n0,a,1\n0,a,1\n0,a,1\n"
	    "0,a,1\n1,a,1\n",
	    0,
	    "started at -200; arrived 0 at 0; arrived 1 at 0; arrived "
	    "2 at 0; arrived 3 at 0; arrived 4 at 0; arrived 5 at 0; "
	    "arrived 6 at 0; arrived 7 at 0; spawned 0+0 ended 0 "
	    "completed 0 refused 0+2 taken 0 lost 0 unfinished 8 waits "
	    "8 <= 1000" },
};

TEST(workers_do_as_the_manager_says)
{
	for (size_t i = 0; i < sizeof(plays) / sizeof(plays[0]); i++) {
		rig_run(plays[i].script, plays[i].trace, 1, plays[i].length);
		if (!CHECK_STR(plays[i].told, rig.told))
			fprintf(stderr, "%s\n", plays[i].fact);
	}
}

/* --- connections -------------------------------------------------------- */

static void
refuse_each(uint32_t request)
{
	static const enum engine_refusal hows[] = {
		ENGINE_REFUSED,
		ENGINE_OVERFLOWED,
		ENGINE_TIMED_OUT,
	};
	static unsigned next;

	engine_refuse(rig.manager.engine, request, hows[next++ % 3]);
}

TEST(refusals_are_counted_by_their_kind)
{
	rig_run((struct script){ .arrived = refuse_each },
	    "0,a,1\n1,a,1\n2,a,1\n3,a,1\n4,a,1\n5,a,1\n", 1, 0);
	CHECK_EQ(4, rig.result.total.refused);
	CHECK_EQ(2, rig.result.total.overflowed);
	CHECK_EQ(2, rig.result.total.timed_out);
	CHECK_EQ(0, rig.result.total.wait.total);
}

TEST(a_mistake_in_the_trace_ends_the_run)
{
	CHECK(!rig_play(
	    (struct script){ .started = NULL }, "1,a,1\n0.5,a,1\n", 1, 0));
}

/* --- figures ------------------------------------------------------------ */

TEST(the_run_goes_on_until_the_last_connection_has_ended)
{
	rig_run(single, "0,a,0.1\n1,a,3\n", 1, 0);
	CHECK_EQ(MS(1000), rig.result.length);
	CHECK_EQ(MS(4000), rig.result.ran);
}

static void
start_second(uint32_t request)
{
	give_first(request);
	if (request == 1)
		engine_start(rig.manager.engine, 1, 0, 1);
}

TEST(workers_are_counted_from_their_start_while_the_load_lasts)
{
	rig_run(
	    (struct script){ .started = start_one, .arrived = start_second },
	    "0,a,5\n0.25,a,0.1\n", 1, MS(1000));
	CHECK_NEAR(1.75, rig.result.total.processes);
	CHECK_NEAR(1.75, rig.result.total.existing);
	CHECK_NEAR(1.0, rig.result.total.busy);
	CHECK_EQ(2, rig.result.total.most_processes);
	CHECK_EQ(1, rig.result.total.most_waiting);
}

TEST(the_series_adds_up_to_the_whole)
{
	double processes = 0, busy = 0, waiting = 0;
	uint64_t arrived = 0;
	const struct series *s = &rig.result.total.series;

	rig_run(single, "0,a,0.1\n0.05,a,0.1\n3000,a,0.1\n", 1, 0);
	for (uint32_t i = 0; i < s->used; i++) {
		processes += s->buckets[i].processes;
		busy += s->buckets[i].busy;
		waiting += s->buckets[i].waiting;
		arrived += s->buckets[i].counts[SERIES_ARRIVED];
	}
	CHECK(s->used > SERIES_BUCKETS / 2 && s->used <= SERIES_BUCKETS);
	CHECK_NEAR((double)MS(3000000), processes);
	CHECK_NEAR((double)MS(200), busy);
	CHECK_NEAR((double)MS(50), waiting);
	CHECK_EQ(3, arrived);
}

static void
hold_one(uint32_t request)
{
	if (request == 1)
		engine_give(rig.manager.engine, 0, 0);
}

TEST(waiting_beside_an_idle_worker_is_noted)
{
	rig_run((struct script){ .started = start_one, .arrived = hold_one },
	    "0.1,a,1\n0.4,a,1\n", 1, 0);
	CHECK_EQ(MS(300), rig.result.total.idle_while_waiting);
	/* Of 0.4 seconds of the load one process was idle for 0.3. */
	CHECK_NEAR(0.75, rig.result.total.wasted);
	CHECK_EQ(0, rig.result.total.idle_while_unread);
}

TEST(lying_unread_beside_an_idle_worker_is_noted)
{
	rig_run((struct script){ .started = start_two, .arrived = give_first },
	    "0,a,0.3\n0.1,a,1\n0.2,a,1\n", 1, 0);
	CHECK_EQ(0, rig.result.total.idle_while_waiting);
	CHECK_EQ(MS(1200), rig.result.total.idle_while_unread);
	CHECK_EQ(MS(1100), rig.result.total.longest_unread);
}

static void
start_b(void)
{
	start_one();
	engine_start(rig.manager.engine, 1, 1, 1);
}

static void
give_own(uint32_t request)
{
	engine_give(rig.manager.engine, rig.app, request);
}

TEST(the_total_is_that_of_all_apps)
{
	const struct result *r = &rig.result;

	rig_run((struct script){ .started = start_b, .arrived = give_own },
	    "0,a,0.5\n0.1,b,0.2\n0.15,b,0.2\n1,a,1\n", 2, 0);
	CHECK_EQ(4, r->total.completed);
	CHECK_EQ(2, r->apps[0].completed);
	CHECK_EQ(2, r->apps[1].completed);
	CHECK_NEAR(2.0, r->total.processes);
	CHECK_NEAR(0.9, r->total.busy);
	CHECK_NEAR(0.5, r->apps[0].busy);
	CHECK_EQ(4, r->total.wait.total);
	CHECK_EQ(r->apps[1].wait.max, r->total.wait.max);
	/* The worker of a is idle later, while a request of b waits. */
	CHECK_EQ(0, r->total.idle_while_unread);
	CHECK_NEAR(0, r->total.wasted);
	CHECK_STR("b", r->apps[1].name);
}

TESTS(NULL, NULL)
