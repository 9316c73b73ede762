/* Clients in a closed loop, through the engine and our own core. */

#include "sim_help.h"

#define LENGTH TSPAN_SECONDS(1000)

/* Clients of an app with so many processes, which are there from the start. */
struct shape {
	unsigned processes;
	uint32_t clients;
	tspan think;
	tspan service;
	tspan longest; /* 0: all are as long as `service` */
	const char *options;
};

static struct result r;

static void
play(const struct shape *s)
{
	struct load_app app = { .name = "a",
		.clients = s->clients,
		.think = { .kind = SERVICE_FIXED, .mean = s->think },
		.service = {
		    .kind = s->longest == 0 ? SERVICE_FIXED : SERVICE_UNIFORM,
		    .mean = s->service,
		    .other = s->longest,
		} };
	struct load_spec spec = { .apps = &app,
		.apps_len = 1,
		.closed = true,
		.length = LENGTH,
		.seed = 1 };
	struct conf_report report;
	struct conf *conf;
	char text[500];

	(void)snprintf(text, sizeof(text),
	    APP("min_processes = %u max_processes = %u %s"), s->processes,
	    s->processes, s->options == NULL ? "" : s->options);
	conf_write("pool.conf", text);
	conf = conf_load(in_folder("pool.conf"), CONF_INSIDE, NULL, &report);
	conf_report_fini(&report);
	result_fini(&r);
	CHECK(engine_run(&spec, MS(100),
	    driver_new(&(struct balancer_spec){ 0 }, conf, 1), &r));
	help_check_balance(&r.total);
	conf_free(conf);
}

TEST(clients_who_never_wait_come_once_a_round)
{
	const struct shape s = { .processes = 10,
		.clients = 5,
		.think = TSPAN_SECONDS(1),
		.service = TSPAN_SECONDS(1) };

	play(&s);
	CHECK(r.total.arrived >= 5 * 500 - 5 && r.total.arrived <= 5 * 500 + 5);
	CHECK_EQ(0, r.total.wait.max);
	CHECK(r.total.busy > 2.48 && r.total.busy <= 2.5);
}

TEST(clients_who_do_not_think_keep_all_processes_busy)
{
	const struct shape s = {
		.processes = 10, .clients = 15, .service = TSPAN_SECONDS(2)
	};

	play(&s);
	CHECK(r.total.busy > 9.9);
	CHECK(r.total.most_waiting <= 15);
	CHECK_EQ(0, r.total.idle_while_waiting);
}

/* Sixty threads share ten sockets: what each waits is the others' sessions. */
TEST(the_more_clients_the_longer_the_waits_and_nothing_else)
{
	const struct shape s = { .processes = 10,
		.clients = 60,
		.think = TSPAN_SECONDS(1),
		.service = TSPAN_SECONDS(10) };

	play(&s);
	CHECK(r.total.busy > 9.9);
	CHECK(r.total.arrived <= 10 * 100 + 60);
	CHECK(r.total.wait.sum > 40e9 * (double)r.total.wait.total);
	CHECK(r.total.wait.sum < 50e9 * (double)r.total.wait.total);
}

TEST(a_client_that_is_turned_away_comes_back_later)
{
	const struct shape s = { .processes = 1,
		.clients = 2,
		.service = TSPAN_SECONDS(1),
		.options = "max_queue = 0 on_full = close" };

	play(&s);
	CHECK_EQ(r.total.arrived, r.total.completed + r.total.refused);
	CHECK(r.total.completed >= 990);
	CHECK(r.total.refused > 1000);
	CHECK(r.total.refused <=
	    (uint64_t)(LENGTH / LOAD_RETRY) + r.total.completed);
}

/* The study of a pool of sockets: ten of them, used for 1 to 20 seconds. */
TEST(clients_that_outnumber_the_processes_leave_none_idle)
{
	const struct shape s = { .processes = 10,
		.clients = 30,
		.think = TSPAN_SECONDS(1),
		.service = TSPAN_SECONDS(1),
		.longest = TSPAN_SECONDS(20) };

	play(&s);
	CHECK(r.total.busy > 9.9);
	CHECK_NEAR(0, r.total.wasted);
	/* 10.5 seconds on average. */
	CHECK(r.total.arrived > 900 && r.total.arrived < 1050);
}

TESTS(NULL, NULL)
