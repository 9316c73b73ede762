/*
 * The study of a pool of sockets, repeated: A. Jesse Jiryu Davis, "A Curious
 * Concurrency Case".
 *
 * Threads share ten sockets: each uses one for 1 to 20 seconds, sleeps for
 * one second and asks again.  In the pool of the study a thread is bound to
 * one socket for life, and waits for it in one queue with all others.  A
 * socket that comes back wakes one of them (signal), who may want another
 * one and goes to the end of the queue; or all of them (broadcast).  Beside
 * these stands the core of this program, in which a process is a socket and
 * a client is a thread.
 *
 * What is wasted: the seconds of a socket that lies idle while a thread
 * waits.  Idle is also what nobody wants, while threads sleep.
 */

#include "core/pool.h"

#include "../support/pool_check.h"
#include "../unit/check.h"

#define SOCKETS 10
#define THREADS_MAX 60
#define USE_MAX 20
#define SLEEP 1
#define SECONDS 3000 /* that a run lasts */
#define SEEDS 10

enum kind {
	SIGNAL,
	BROADCAST,
	OURS,
	KINDS
};

enum doing {
	SLEEPING,
	WAITING,
	USING,
};

struct thread {
	enum doing doing;
	int until; /* second of the next step, unless it waits */
	uint32_t socket; /* that it is bound to, or that it was given */
	uint32_t conn; /* its number in our pool */
};

static struct {
	enum kind kind;
	uint32_t threads;
	int now;
	struct prng random;
	struct thread thread[THREADS_MAX];
	bool in_use[SOCKETS];
	uint32_t waiting[THREADS_MAX]; /* threads, in the order of the queue */
	uint32_t nwaiting;
	struct pool pool;
	void *memory;
	uint32_t thread_of[THREADS_MAX]; /* by connection */
} study;

struct outcome {
	uint64_t idle; /* seconds of sockets */
	uint64_t wasted;
	tspan admitted; /* what the core itself says it has wasted */
};

static uint32_t
a_number_below(uint32_t n)
{
	return (uint32_t)(prng_next(&study.random) % n);
}

static void
begins_to_use(uint32_t thread, uint32_t socket)
{
	struct thread *t = &study.thread[thread];

	CHECK(!study.in_use[socket]);
	study.in_use[socket] = true;
	t->doing = USING;
	t->socket = socket;
	t->until = study.now + 1 + (int)a_number_below(USE_MAX);
}

/* --- the pool of the study ----------------------------------------------- */

static bool
gets_its_own_socket(uint32_t thread)
{
	uint32_t socket = study.thread[thread].socket;

	if (study.in_use[socket])
		return false;
	begins_to_use(thread, socket);
	return true;
}

static void
asks_for_its_own(uint32_t thread)
{
	if (gets_its_own_socket(thread))
		return;
	study.thread[thread].doing = WAITING;
	study.waiting[study.nwaiting++] = thread;
}

/* Wakes the first of the queue, which may become the last again. */
static void
wakes_one(void)
{
	uint32_t thread = study.waiting[0];

	study.nwaiting--;
	memmove(study.waiting, study.waiting + 1,
	    study.nwaiting * sizeof(study.waiting[0]));
	asks_for_its_own(thread);
}

static void
wakes_waiting_threads(void)
{
	uint32_t n = study.nwaiting;

	if (study.kind == SIGNAL && n > 1)
		n = 1;
	while (n-- > 0)
		wakes_one();
}

/* --- ours ---------------------------------------------------------------- */

static tstamp
pool_time(void)
{
	return TSPAN_SECONDS(1 + study.now);
}

static void
carry_out(void)
{
	struct action a;

	while (pool_next_action(&study.pool, &a)) {
		if (a.kind == ACTION_SPAWN) {
			pool_spawned(&study.pool, a.process, pool_time());
			CHECK(pool_ready(&study.pool, a.process, pool_time()));
		} else if (a.kind == ACTION_HAND) {
			begins_to_use(study.thread_of[a.conn], a.process);
		} else {
			CHECK(a.kind == ACTION_TELL);
		}
	}
	pool_check(&study.pool);
}

static void
asks_for_any(uint32_t thread)
{
	struct thread *t = &study.thread[thread];

	t->doing = WAITING;
	t->conn = pool_arrived(&study.pool, 0, pool_time());
	study.thread_of[t->conn] = thread;
	carry_out();
}

static void
comes_back_to_ours(uint32_t thread)
{
	const struct thread *t = &study.thread[thread];

	CHECK(pool_done(&study.pool, t->socket, t->conn, pool_time()));
	carry_out();
}

static void
open_our_pool(void)
{
	struct pool_limits limits = { .apps = 1,
		.processes = SOCKETS,
		.conns = THREADS_MAX,
		.sessions = 1 };
	struct app_options o = { .min_processes = SOCKETS,
		.max_processes = SOCKETS,
		.concurrency = 1,
		.max_queue = THREADS_MAX,
		.retry_limit = 10,
		.start_limit = 5,
		.sessions = true,
		.update_interval = TSPAN_SECONDS(10),
		.gain = 0.5,
		.grow_threshold = 90,
		.multi_threshold = 50,
		.kill_interval = TSPAN_SECONDS(60),
		.start_timeout = TSPAN_SECONDS(30),
		.pickup_timeout = TSPAN_SECONDS(10),
		.min_server_life = TSPAN_SECONDS(30),
		.stop_timeout = TSPAN_SECONDS(30),
		.kill_timeout = TSPAN_SECONDS(5) };

	study.memory = calloc(1, pool_memory(&limits));
	pool_init(&study.pool, &limits, study.memory, SOCKETS, 1, pool_time());
	CHECK_EQ(0, pool_app_add(&study.pool, &o, pool_time()));
	carry_out();
}

/* --- a run --------------------------------------------------------------- */

/* The first ten threads have a socket each, the others get any. */
static void
open_pool(void)
{
	for (uint32_t i = 0; i < study.threads; i++)
		study.thread[i].socket =
		    i < SOCKETS ? i : a_number_below(SOCKETS);
	if (study.kind == OURS)
		open_our_pool();
}

static void
steps(uint32_t thread)
{
	struct thread *t = &study.thread[thread];

	if (t->doing == SLEEPING && study.kind == OURS) {
		asks_for_any(thread);
	} else if (t->doing == SLEEPING) {
		asks_for_its_own(thread);
	} else {
		t->doing = SLEEPING;
		t->until = study.now + SLEEP;
		study.in_use[t->socket] = false;
		if (study.kind == OURS)
			comes_back_to_ours(thread);
		else
			wakes_waiting_threads();
	}
}

/* Adds what this second costs, after all that happens at its beginning. */
static void
look(struct outcome *out)
{
	uint32_t idle = 0, waiting = 0;

	for (uint32_t i = 0; i < SOCKETS; i++)
		idle += study.in_use[i] ? 0 : 1;
	for (uint32_t i = 0; i < study.threads; i++)
		waiting += study.thread[i].doing == WAITING ? 1 : 0;
	out->idle += idle;
	out->wasted += idle < waiting ? idle : waiting;
}

static void
run(enum kind kind, uint32_t threads, uint64_t seed, struct outcome *out)
{
	memset(&study, 0, sizeof(study));
	study.kind = kind;
	study.threads = threads;
	study.random.state = seed;
	open_pool();
	for (; study.now < SECONDS; study.now++) {
		if (kind == OURS && pool_deadline(&study.pool) <= pool_time())
			pool_tick(&study.pool, pool_time());
		for (uint32_t i = 0; i < threads; i++)
			if (study.thread[i].doing != WAITING &&
			    study.thread[i].until <= study.now)
				steps(i);
		look(out);
	}
	if (kind == OURS)
		out->admitted +=
		    pool_idle_while_waiting(&study.pool, 0, pool_time());
	free(study.memory);
}

/* --- what came of it ----------------------------------------------------- */

static const uint32_t numbers[] = { 10, 12, 15, 20, 25, 30, 40, 50, 60 };

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static struct outcome outcomes[NUMBERS][KINDS];

/* A share of all seconds of the sockets. */
static double
percent(uint64_t seconds)
{
	return 100.0 * (double)seconds / ((double)SOCKETS * SECONDS * SEEDS);
}

static double
wasted(size_t i, enum kind kind)
{
	return percent(outcomes[i][kind].wasted);
}

static void
print_table(void)
{
	printf("Socket-seconds wasted of %d, and percent idle:\n"
	       "threads     signal        broadcast           ours\n",
	    SOCKETS * SECONDS * SEEDS);
	for (size_t i = 0; i < NUMBERS; i++) {
		printf("%7" PRIu32, numbers[i]);
		for (int k = 0; k < KINDS; k++)
			printf("  %7" PRIu64 " %4.1f %%", outcomes[i][k].wasted,
			    percent(outcomes[i][k].idle));
		printf("\n");
	}
}

static void
study_all(void)
{
	for (size_t i = 0; i < NUMBERS; i++)
		for (int k = 0; k < KINDS; k++)
			for (uint64_t seed = 1; seed <= SEEDS; seed++)
				run((enum kind)k, numbers[i], seed,
				    &outcomes[i][k]);
	print_table();
}

static void
signal_wastes_about_eight_percent_whatever_the_number_of_threads(void)
{
	for (size_t i = 1; i < NUMBERS; i++) {
		CHECK(wasted(i, SIGNAL) > 6.5);
		CHECK(wasted(i, SIGNAL) < 9);
	}
}

static void
broadcast_needs_more_than_thirty_threads_to_keep_all_sockets_busy(void)
{
	for (size_t i = 1; i < NUMBERS; i++) {
		CHECK(wasted(i, BROADCAST) < wasted(i, SIGNAL));
		if (numbers[i] <= 15)
			CHECK(wasted(i, BROADCAST) > 4);
		if (numbers[i] <= 30)
			CHECK(wasted(i, BROADCAST) > 0.5);
		else
			CHECK(wasted(i, BROADCAST) < 0.5);
	}
}

static void
our_pool_wastes_nothing(void)
{
	for (size_t i = 0; i < NUMBERS; i++) {
		CHECK_EQ(0, outcomes[i][OURS].wasted);
		CHECK_EQ(0, outcomes[i][OURS].admitted);
	}
}

static void
with_a_socket_for_each_thread_none_is_better_than_another(void)
{
	for (int k = 0; k < KINDS; k++) {
		CHECK_EQ(0, outcomes[0][k].wasted);
		CHECK(percent(outcomes[0][k].idle) > 8);
		CHECK(percent(outcomes[0][k].idle) < 9.5);
	}
}

static void
our_pool_is_never_idle_where_twice_as_many_threads_are_there(void)
{
	for (size_t i = 0; i < NUMBERS; i++)
		if (numbers[i] >= 2 * SOCKETS)
			CHECK_EQ(0, outcomes[i][OURS].idle);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	study_all();
	RUN(signal_wastes_about_eight_percent_whatever_the_number_of_threads);
	RUN(broadcast_needs_more_than_thirty_threads_to_keep_all_sockets_busy);
	RUN(our_pool_wastes_nothing);
	RUN(with_a_socket_for_each_thread_none_is_better_than_another);
	RUN(our_pool_is_never_idle_where_twice_as_many_threads_are_there);
	return check_finish();
}
