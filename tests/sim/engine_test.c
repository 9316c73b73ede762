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
	void (*finished)(uint32_t worker);
	void (*exited)(uint32_t worker);
	void (*ticked)(void);
};

static struct {
	struct manager manager;
	struct script script;
	tstamp now; /* of the last call */
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

static void rig_tell(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

static void
rig_tell(const char *fmt, ...)
{
	va_list ap;

	if (ftell(rig.log) > 0)
		fputs("; ", rig.log);
	va_start(ap, fmt);
	vfprintf(rig.log, fmt, ap);
	va_end(ap);
	fprintf(rig.log, " at %ld", rig_now());
}

static void
plain_started(struct manager *m, tstamp now)
{
	(void)m;
	rig.now = now;
	rig_tell("started");
	if (rig.script.started != NULL)
		rig.script.started();
}

static void
plain_arrived(struct manager *m, uint32_t app, uint32_t request, tstamp now)
{
	CHECK_EQ(app, engine_app_of(m->engine, request));
	rig.now = now;
	rig_tell("arrived %s%u", app == 0 ? "" : "b", (unsigned)request);
	if (rig.script.arrived != NULL)
		rig.script.arrived(request);
}

static void
plain_ready(struct manager *m, uint32_t worker, tstamp now)
{
	(void)m;
	rig.now = now;
	rig_tell("ready %u", (unsigned)worker);
	if (rig.script.ready != NULL)
		rig.script.ready(worker);
}

static void
plain_finished(struct manager *m, uint32_t worker, uint32_t request, tstamp now)
{
	(void)m;
	rig.now = now;
	rig_tell("finished %u", (unsigned)request);
	if (rig.script.finished != NULL)
		rig.script.finished(worker);
}

static void
plain_exited(struct manager *m, uint32_t worker, bool killed, tstamp now)
{
	(void)m;
	rig.now = now;
	rig_tell("%s %u", killed ? "killed" : "exited", (unsigned)worker);
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
	rig.now = now;
	rig.due = TSTAMP_NEVER;
	rig_tell("tick");
	if (rig.script.ticked != NULL)
		rig.script.ticked();
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

static const struct engine_options options = {
	.start_time = MS(200),
	.exit_time = MS(5),
};

/* Fills rig.told and rig.result, which rig_end() frees. */
static void
rig_run(struct script script, const char *trace, size_t apps, tspan length)
{
	rig.manager = (struct manager){
		.ops = &plain_ops,
		.name = "plain",
		.workers = WORKERS,
		.requests = REQUESTS,
	};
	rig.script = script;
	rig.due = TSTAMP_NEVER;
	rig.log = open_memstream(&rig.told, &rig.told_len);
	CHECK(help_run_trace(
	    &rig.manager, trace, apps, length, &options, &rig.result));
	fclose(rig.log);
	help_check_balance(&rig.result.total);
}

static void
rig_end(void)
{
	free(rig.told);
	result_fini(&rig.result);
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
workers_of_the_beginning_are_ready_when_the_load_starts(void)
{
	rig_run(single, "0,a,0.1\n", 1, 0);
	CHECK_STR("started at -200; ready 0 at 0; arrived 0 at 0; "
		  "finished 0 at 100",
	    rig.told);
	CHECK_EQ(0, rig.result.total.wait.max);
	CHECK_EQ(1, rig.result.total.spawned);
	CHECK_EQ(0, rig.result.total.spawned_running);
	rig_end();
}

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
a_worker_is_ready_after_the_start_time(void)
{
	rig_run((struct script){ .arrived = start_late, .ready = give_all },
	    "1,a,0.1\n", 1, 0);
	CHECK_STR("started at -200; arrived 0 at 1000; ready 0 at 1200; "
		  "finished 0 at 1300",
	    rig.told);
	CHECK_EQ(MS(200), rig.result.total.wait.max);
	rig_end();
}

static void
a_worker_serves_requests_in_order(void)
{
	rig_run(single, "0,a,0.1\n0.01,a,0.2\n0.02,a,0.3\n", 1, 0);
	CHECK_STR("started at -200; ready 0 at 0; arrived 0 at 0; "
		  "arrived 1 at 10; arrived 2 at 20; finished 0 at 100; "
		  "finished 1 at 300; finished 2 at 600",
	    rig.told);
	CHECK_EQ(MS(280), rig.result.total.wait.max);
	CHECK_EQ(3, rig.result.total.completed);
	rig_end();
}

static void
a_worker_serves_as_many_at_a_time_as_its_concurrency(void)
{
	rig_run(
	    (struct script){ .started = start_double, .arrived = give_first },
	    "0,a,0.1\n0.01,a,0.2\n0.02,a,0.3\n", 1, 0);
	CHECK_STR("started at -200; ready 0 at 0; arrived 0 at 0; "
		  "arrived 1 at 10; arrived 2 at 20; finished 0 at 100; "
		  "finished 1 at 210; finished 2 at 400",
	    rig.told);
	CHECK_EQ(MS(80), rig.result.total.wait.max);
	rig_end();
}

static void
tick_soon(uint32_t worker)
{
	(void)worker;
	rig.due = ENGINE_EPOCH + MS(100);
}

static void
ends_come_before_arrivals_and_ticks_come_last(void)
{
	struct script script = single;

	script.ready = tick_soon;
	rig_run(script, "0,a,0.1\n0.1,a,0.1\n", 1, 0);
	CHECK_STR("started at -200; ready 0 at 0; arrived 0 at 0; "
		  "finished 0 at 100; arrived 0 at 100; tick at 100; "
		  "finished 0 at 200",
	    rig.told);
	rig_end();
}

static void
stop_at_third(uint32_t request)
{
	give_first(request);
	if (request == 2)
		engine_stop(rig.manager.engine, 0);
}

static void
a_stopped_worker_finishes_what_it_has(void)
{
	rig_run(
	    (struct script){ .started = start_one, .arrived = stop_at_third },
	    "0,a,0.1\n0.01,a,0.1\n0.02,a,0.1\n", 1, MS(1000));
	CHECK_STR("started at -200; ready 0 at 0; arrived 0 at 0; "
		  "arrived 1 at 10; arrived 2 at 20; finished 0 at 100; "
		  "finished 1 at 200; finished 2 at 300; exited 0 at 305",
	    rig.told);
	CHECK_EQ(1, rig.result.total.ended);
	rig_end();
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
a_worker_that_is_stopped_while_it_starts_is_never_ready(void)
{
	rig_run((struct script){ .arrived = stop_starting }, "0,a,0.1\n", 1, 0);
	CHECK_STR("started at -200; arrived 0 at 0; exited 0 at 205", rig.told);
	CHECK_EQ(1, rig.result.total.unfinished);
	rig_end();
}

static void
kill_at_third(uint32_t request)
{
	give_first(request);
	if (request == 2)
		engine_kill(rig.manager.engine, 0);
}

static void
a_killed_worker_loses_what_it_has(void)
{
	rig_run(
	    (struct script){ .started = start_one, .arrived = kill_at_third },
	    "0,a,0.1\n0.01,a,0.1\n0.02,a,0.1\n", 1, 0);
	CHECK_STR("started at -200; ready 0 at 0; arrived 0 at 0; "
		  "arrived 1 at 10; arrived 2 at 20; killed 0 at 25",
	    rig.told);
	CHECK_EQ(3, rig.result.total.lost);
	rig_end();
}

static void
take_and_refuse(uint32_t worker)
{
	uint32_t request;

	while (
	    (request = engine_take(rig.manager.engine, worker)) != ILIST_NONE) {
		rig_tell("took %u", (unsigned)request);
		engine_refuse(rig.manager.engine, request, ENGINE_REFUSED);
	}
}

static void
requests_that_a_killed_worker_had_not_read_can_be_taken(void)
{
	rig_run((struct script){ .started = start_one,
		    .arrived = kill_at_third,
		    .exited = take_and_refuse },
	    "0,a,0.1\n0.01,a,0.1\n0.02,a,0.1\n", 1, 0);
	CHECK_STR("started at -200; ready 0 at 0; arrived 0 at 0; "
		  "arrived 1 at 10; arrived 2 at 20; killed 0 at 25; "
		  "took 1 at 25; took 2 at 25",
	    rig.told);
	CHECK_EQ(1, rig.result.total.lost);
	CHECK_EQ(2, rig.result.total.refused);
	CHECK_EQ(2, rig.result.total.taken);
	rig_end();
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
the_oldest_unread_request_is_taken(void)
{
	rig_run(
	    (struct script){ .started = start_two, .arrived = take_for_second },
	    "0,a,0.1\n0.01,a,0.1\n0.02,a,0.1\n", 1, 0);
	CHECK_STR("started at -200; ready 0 at 0; ready 1 at 0; "
		  "arrived 0 at 0; arrived 1 at 10; arrived 2 at 20; "
		  "finished 0 at 100; finished 1 at 120; finished 2 at 200",
	    rig.told);
	rig_end();
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

static void
the_number_of_an_exited_worker_may_be_used_at_once(void)
{
	rig_run((struct script){ .started = start_one,
		    .arrived = kill_at_second,
		    .exited = restart_with_the_same_number },
	    "0,a,0.1\n0.01,a,0.1\n", 1, MS(500));
	CHECK_STR("started at -200; ready 0 at 0; arrived 0 at 0; "
		  "arrived 1 at 10; killed 0 at 15; ready 0 at 215",
	    rig.told);
	CHECK_EQ(2, rig.result.total.spawned);
	CHECK_EQ(1, rig.result.total.spawned_running);
	rig_end();
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

static void
refusals_are_counted_by_their_kind(void)
{
	rig_run((struct script){ .arrived = refuse_each },
	    "0,a,1\n1,a,1\n2,a,1\n3,a,1\n4,a,1\n5,a,1\n", 1, 0);
	CHECK_EQ(4, rig.result.total.refused);
	CHECK_EQ(2, rig.result.total.overflowed);
	CHECK_EQ(2, rig.result.total.timed_out);
	CHECK_EQ(0, rig.result.total.wait.total);
	rig_end();
}

static void
a_request_that_is_never_served_is_unfinished_and_its_wait_is_known(void)
{
	rig_run((struct script){ .started = NULL }, "0,a,1\n1,a,1\n", 1, 0);
	CHECK_EQ(2, rig.result.total.unfinished);
	CHECK_EQ(2, rig.result.total.wait.total);
	CHECK_EQ(MS(1000), rig.result.total.wait.max);
	rig_end();
}

static void
requests_that_the_manager_cannot_hold_are_refused(void)
{
	rig_run((struct script){ .started = NULL },
	    "0,a,1\n0,a,1\n0,a,1\n0,a,1\n0,a,1\n0,a,1\n0,a,1\n0,a,1\n"
	    "0,a,1\n0,a,1\n",
	    1, 0);
	CHECK_EQ(2, rig.result.total.overflowed);
	CHECK_EQ(2, rig.result.total.refused);
	CHECK_EQ(REQUESTS, rig.result.total.unfinished);
	rig_end();
}

static void
a_mistake_in_the_trace_ends_the_run(void)
{
	struct result r;
	struct manager m = {
		.ops = &plain_ops, .name = "plain", .workers = 1, .requests = 1
	};

	rig.script = (struct script){ .started = NULL };
	rig.due = TSTAMP_NEVER;
	rig.log = open_memstream(&rig.told, &rig.told_len);
	rig.manager.engine = NULL;
	rig.manager = m;
	CHECK(!help_run_trace(
	    &rig.manager, "1,a,1\n0.5,a,1\n", 1, 0, &options, &r));
	fclose(rig.log);
	free(rig.told);
	result_fini(&r);
}

/* --- figures ------------------------------------------------------------ */

static void
the_run_goes_on_until_the_last_connection_has_ended(void)
{
	rig_run(single, "0,a,0.1\n1,a,3\n", 1, 0);
	CHECK_EQ(MS(1000), rig.result.length);
	CHECK_EQ(MS(4000), rig.result.ran);
	rig_end();
}

static void
start_second(uint32_t request)
{
	give_first(request);
	if (request == 1)
		engine_start(rig.manager.engine, 1, 0, 1);
}

static void
workers_are_counted_from_their_start_while_the_load_lasts(void)
{
	rig_run(
	    (struct script){ .started = start_one, .arrived = start_second },
	    "0,a,5\n0.25,a,0.1\n", 1, MS(1000));
	CHECK_NEAR(1.75, rig.result.total.processes);
	CHECK_NEAR(1.75, rig.result.total.existing);
	CHECK_NEAR(1.0, rig.result.total.busy);
	CHECK_EQ(2, rig.result.total.most_processes);
	CHECK_EQ(1, rig.result.total.most_waiting);
	rig_end();
}

static void
the_series_adds_up_to_the_whole(void)
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
	rig_end();
}

static void
hold_one(uint32_t request)
{
	if (request == 1)
		engine_give(rig.manager.engine, 0, 0);
}

static void
waiting_beside_an_idle_worker_is_noted(void)
{
	rig_run((struct script){ .started = start_one, .arrived = hold_one },
	    "0.1,a,1\n0.4,a,1\n", 1, 0);
	CHECK_EQ(MS(300), rig.result.total.idle_while_waiting);
	/* Of 0.4 seconds of the load one process was idle for 0.3. */
	CHECK_NEAR(0.75, rig.result.total.wasted);
	CHECK_EQ(0, rig.result.total.idle_while_unread);
	rig_end();
}

static void
lying_unread_beside_an_idle_worker_is_noted(void)
{
	rig_run((struct script){ .started = start_two, .arrived = give_first },
	    "0,a,0.3\n0.1,a,1\n0.2,a,1\n", 1, 0);
	CHECK_EQ(0, rig.result.total.idle_while_waiting);
	CHECK_EQ(MS(1200), rig.result.total.idle_while_unread);
	CHECK_EQ(MS(1100), rig.result.total.longest_unread);
	rig_end();
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
	engine_give(rig.manager.engine,
	    engine_app_of(rig.manager.engine, request), request);
}

static void
the_total_is_that_of_all_apps(void)
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
	rig_end();
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	conf_folder_make();
	RUN(workers_of_the_beginning_are_ready_when_the_load_starts);
	RUN(a_worker_is_ready_after_the_start_time);
	RUN(a_worker_serves_requests_in_order);
	RUN(a_worker_serves_as_many_at_a_time_as_its_concurrency);
	RUN(ends_come_before_arrivals_and_ticks_come_last);
	RUN(a_stopped_worker_finishes_what_it_has);
	RUN(a_worker_that_is_stopped_while_it_starts_is_never_ready);
	RUN(a_killed_worker_loses_what_it_has);
	RUN(requests_that_a_killed_worker_had_not_read_can_be_taken);
	RUN(the_oldest_unread_request_is_taken);
	RUN(the_number_of_an_exited_worker_may_be_used_at_once);
	RUN(refusals_are_counted_by_their_kind);
	RUN(a_request_that_is_never_served_is_unfinished_and_its_wait_is_known);
	RUN(requests_that_the_manager_cannot_hold_are_refused);
	RUN(a_mistake_in_the_trace_ends_the_run);
	RUN(the_run_goes_on_until_the_last_connection_has_ended);
	RUN(workers_are_counted_from_their_start_while_the_load_lasts);
	RUN(the_series_adds_up_to_the_whole);
	RUN(waiting_beside_an_idle_worker_is_noted);
	RUN(lying_unread_beside_an_idle_worker_is_noted);
	RUN(the_total_is_that_of_all_apps);
	return check_finish();
}
