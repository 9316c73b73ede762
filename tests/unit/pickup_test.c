/* Connections unread in the sockets of living processes, and their way back. */

#include <sys/socket.h>

#include "daemon/worker.h"

#include "../support/pool_check.h"

#include "fixture.h"

/* The latest actions that settle() has found: to take something back. */
static struct action met[16];
static unsigned nmet;

static uint32_t third; /* of four connections, "c" */

/* Carries out spawning and handing, and notes what is to be taken back. */
static void
settle(void)
{
	struct action a;

	while (pool_next_action(&sup.pool, &a)) {
		switch (a.kind) {
		case ACTION_SPAWN:
			(void)fixture_join(a.process, NULL);
			break;
		case ACTION_HAND:
			channel_hand(&sup, &a, fixture.now);
			CHECK_EQ(-1, sup.accepted[a.conn].fd);
			break;
		case ACTION_TAKE:
			met[nmet++ % 16] = a;
			break;
		default:
			break;
		}
	}
}

static void
begin_anyhow(unsigned workers)
{
	nmet = 0;
	fixture.web.pool.min_processes = workers;
	fixture.web.pool.max_processes = workers;
	fixture_begin();
	settle();
}

static void
begin(unsigned workers, unsigned prefetch)
{
	fixture_defaults();
	fixture.web.pool.prefetch = prefetch;
	begin_anyhow(workers);
}

/* A connection, whose client says `text`. */
static uint32_t
arrive(const char *text)
{
	int ends[2];
	uint32_t conn =
	    pool_arrived(&sup.pool, fixture.group->app, fixture.now);

	CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
	CHECK(write(ends[1], text, strlen(text)) > 0);
	close(ends[1]);
	sup.accepted[conn].fd = ends[0];
	settle();
	return conn;
}

/* The text of the oldest message that the process has not received. */
static const char *
next_text(struct worker *w)
{
	static char message[64];
	int fd = -1;
	ssize_t n = fdpass_recv_one(
	    w->child_end, message, sizeof(message) - 1, MSG_DONTWAIT, &fd);

	if (fd != -1)
		close(fd);
	message[n > 0 ? n : 0] = '\0';
	return message;
}

/* The process receives the oldest message; 0 if there is none. */
static size_t
receive(struct worker *w)
{
	return strlen(next_text(w));
}

static void
finish(struct worker *w)
{
	CHECK(pool_session_over(&sup.pool, w->process,
	    sup.pool.processes[w->process].conns.first, SESSION_DONE,
	    fixture.now));
	settle();
}

static bool
says(uint32_t conn, const char *text)
{
	char got[16] = "";

	return read(sup.accepted[conn].fd, got, sizeof(got) - 1) > 0 &&
	    CHECK_STR(text, got);
}

/* Two busy processes. */
static void
begin_busy(void)
{
	begin(2, 1);
	(void)arrive("a");
	(void)arrive("b");
	CHECK(receive(sup.workers[0]) > 0);
	CHECK(receive(sup.workers[1]) > 0);
}

/* The same, and a connection prefetched behind each session. */
static void
begin_prefetched(void)
{
	begin_busy();
	third = arrive("c");
	(void)arrive("d");
	CHECK_EQ(0, app_waiting(&sup.pool.apps[0]));
}

/* The process that is taken from when the first falls idle. */
static struct worker *
fall_idle(void)
{
	struct worker *w = sup.workers[0];

	/* The process's own prefetched connection comes first. */
	finish(w);
	CHECK(receive(w) > 0);
	fixture.now += TSPAN_MSECONDS(20);
	finish(w);
	if (!CHECK_EQ(1, nmet))
		return sup.workers[1];
	return sup.workers[met[0].process];
}

/* --- pickup_timeout ----------------------------------------------------- */

/* Whether the process is late since then, a second later. */
static void
later_is_late_since(const struct worker *w, tstamp since)
{
	struct pickup *p = &sup.workers[w->process]->pickup;

	fixture.now += TSPAN_SECONDS(1);
	pickup_look(&p->timer, fixture.now);
	CHECK_EQ(since,
	    p->unread_since == fixture.now ? TSTAMP_NEVER : p->unread_since);
}

TEST(a_process_is_late_from_the_hand_over_until_it_receives)
{
	struct worker *w;
	tstamp given;

	begin(1, 0);
	w = sup.workers[0];
	later_is_late_since(w, TSTAMP_NEVER);
	given = fixture.now;
	(void)arrive("a");
	later_is_late_since(w, given);
	later_is_late_since(w, given);
	CHECK(receive(w) > 0);
	later_is_late_since(w, TSTAMP_NEVER);
	/* A busy process may leave a STOP unread. */
	channel_stop(w);
	later_is_late_since(w, TSTAMP_NEVER);
}

TEST(a_prefetched_connection_counts_from_its_turn)
{
	struct worker *w;
	tstamp turn;

	begin_prefetched();
	w = sup.workers[0];
	for (int i = 0; i < 100; i++)
		later_is_late_since(w, TSTAMP_NEVER);
	turn = fixture.now;
	finish(w);
	later_is_late_since(w, turn);
	later_is_late_since(w, turn);
	CHECK(receive(w) > 0);
	later_is_late_since(w, TSTAMP_NEVER);
	/* A STOP behind a prefetched connection may lie there, too. */
	channel_stop(sup.workers[1]);
	later_is_late_since(sup.workers[1], TSTAMP_NEVER);
}

TEST(a_process_that_receives_neither_connection_is_late)
{
	struct worker *w;
	tstamp given;

	begin(1, 2);
	w = sup.workers[0];
	given = fixture.now;
	(void)arrive("a");
	fixture.now += TSPAN_SECONDS(1);
	(void)arrive("b");
	(void)arrive("c");
	later_is_late_since(w, given);
	CHECK(receive(w) > 0);
	later_is_late_since(w, TSTAMP_NEVER);
}

/* Time passes, look by look, until the process is killed; or for so long. */
static void
pass_until_killed(const struct worker *w, tspan most)
{
	const struct process *x = &sup.pool.processes[w->process];
	tstamp end = fixture.now + most, next;

	while (x->step < STEP_KILL &&
	    (next = timers_first(&sup.loop.timers)) <= end) {
		fixture.now = next;
		timers_fire(&sup.loop.timers, next);
	}
}

/* A process of two sessions, and pickup_timeout. */
static struct worker *
begin_limited(tspan limit)
{
	fixture_defaults();
	fixture.web.pool.concurrency = 2;
	fixture.web.pool.pickup_timeout = limit;
	begin_anyhow(1);
	return sup.workers[0];
}

TEST(a_late_process_is_killed_within_a_tenth_of_the_limit)
{
	static const struct {
		tspan limit;
		bool beside; /* a session that began before */
	} tries[] = { { TSPAN_MSECONDS(100), false },
		{ TSPAN_SECONDS(2), false }, { TSPAN_SECONDS(2), true },
		{ TSPAN_SECONDS(3600), false } };

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		tspan limit = tries[i].limit;
		struct worker *w = begin_limited(limit);
		tstamp given;

		if (tries[i].beside) {
			(void)arrive("a");
			CHECK(receive(w) > 0);
			fixture.now += TSPAN_MSECONDS(150);
		}
		given = fixture.now;
		(void)arrive("b");
		pass_until_killed(w, 2 * limit);
		CHECK_EQ(STEP_KILL, sup.pool.processes[0].step);
		CHECK(fixture.now - given >= limit);
		CHECK(fixture.now - given <= limit + limit / 10);
	}
}

TEST(what_was_received_is_looked_at_no_more)
{
	struct worker *w = begin_limited(TSPAN_SECONDS(2));

	(void)arrive("a");
	CHECK(receive(w) > 0);
	pass_until_killed(w, TSPAN_MSECONDS(300));
	CHECK_EQ(TSTAMP_NEVER, w->pickup.timer.at);
}

/* Among thousands of late processes each look at one would look at all. */
TEST(a_look_at_a_process_looks_at_no_other)
{
	struct worker *w = begin_limited(TSPAN_SECONDS(2)), **all;
	tstamp given = fixture.now;

	(void)arrive("a");
	all = sup.workers;
	sup.workers = NULL;
	pass_until_killed(w, TSPAN_SECONDS(4));
	sup.workers = all;
	CHECK_EQ(STEP_KILL, sup.pool.processes[0].step);
	CHECK_EQ(given + TSPAN_SECONDS(2), fixture.now);
}

/* --- taking back -------------------------------------------------------- */

/* The keeper receives what is there; false: it was not asked. */
static bool
keeper_takes(struct worker *from)
{
	struct retake *r = &from->retake;
	char text[64];
	int fd = -1;
	ssize_t n;

	if (r->end == NULL)
		return false;
	n = fdpass_recv_one(
	    from->child_end, text, sizeof(text), MSG_DONTWAIT, &fd);
	TAILQ_REMOVE(&sup.keepers->retakes, r, next);
	if (n > 0)
		r->message(r, text, (size_t)n, fd, fixture.now);
	r->end(r, true, fixture.now);
	return true;
}

/* The pool asks for it. */
static bool
take(struct worker *from)
{
	CHECK(loop_set(&sup.loop, &from->channel, EPOLLIN) == 0);
	channel_take(&sup, &met[0], fixture.now);
	return keeper_takes(from);
}

TEST(a_connection_comes_back_with_its_socket)
{
	struct worker *from;
	uint32_t conn;

	begin_prefetched();
	from = fall_idle();
	CHECK(from == sup.workers[1]);
	conn = sup.pool.processes[from->process].conns.last;
	CHECK(take(from));
	CHECK(says(conn, conn == third ? "c" : "d"));
	CHECK_EQ(0, receive(from));
	/* A connection that was taken back does not count as received. */
	later_is_late_since(from, TSTAMP_NEVER);
	pool_check(&sup.pool);
	/* The idle process gets it. */
	settle();
	CHECK_EQ(0, sup.pool.conns[conn].process);
	CHECK(receive(sup.workers[0]) > 0);
	CHECK_EQ(1, (intmax_t)sup.pool.apps[0].figures.retaken);
}

TEST(a_connection_stays_that_was_received_or_that_the_process_keeps)
{
	struct worker *from;

	for (int keeps = 0; keeps < 2; keeps++) {
		begin_prefetched();
		from = fall_idle();
		/* An adapter may be giving it to its program just now. */
		from->keeps = keeps;
		CHECK(keeps || receive(from) > 0);
		CHECK_EQ(!keeps, take(from));
		pool_check(&sup.pool);
		CHECK(!keeps || receive(from) > 0);
		CHECK_EQ(0, (intmax_t)sup.pool.apps[0].figures.retaken);
		CHECK_EQ(2, sup.pool.processes[from->process].conns.count);
	}
}

TEST(a_stop_taken_back_is_sent_again)
{
	struct worker *from;
	uint64_t sent;

	begin_prefetched();
	from = fall_idle();
	CHECK(receive(from) > 0);
	channel_stop(from);
	sent = from->pickup.sent;
	CHECK(take(from));
	CHECK_EQ((intmax_t)sent, (intmax_t)from->pickup.sent);
	CHECK_EQ(4, (intmax_t)receive(from));
}

/* Its "DONE" could be of the connection behind that which is on its way back.
 */
TEST(what_a_process_says_while_something_is_taken_back_is_read_later)
{
	struct worker *from;
	uint32_t count;

	begin_prefetched();
	from = fall_idle();
	NEED(loop_set(&sup.loop, &from->channel, EPOLLIN) == 0);
	channel_take(&sup, &met[0], fixture.now);
	sup.keepers->rest = TSTAMP_NEVER;
	CHECK_EQ(4, send(from->child_end, "DONE", 4, 0));
	count = sup.pool.processes[from->process].conns.count;
	(void)loop_turn(&sup.loop, fixture.now);
	CHECK_EQ(count, sup.pool.processes[from->process].conns.count);
	CHECK(keeper_takes(from));
	(void)loop_turn(&sup.loop, fixture.now);
	CHECK_EQ(count - 2, sup.pool.processes[from->process].conns.count);
	pool_check(&sup.pool);
}

TEST(a_process_whose_connection_may_have_gone_with_a_keeper_is_replaced)
{
	struct worker *from;

	begin_prefetched();
	from = fall_idle();
	NEED(loop_set(&sup.loop, &from->channel, EPOLLIN) == 0);
	channel_take(&sup, &met[0], fixture.now);
	TAILQ_REMOVE(&sup.keepers->retakes, &from->retake, next);
	from->retake.end(&from->retake, false, fixture.now);
	CHECK_EQ(END_KEEPER, sup.pool.processes[from->process].outdated);
	CHECK_EQ(EPOLLIN, from->channel.events);
	CHECK_EQ(0, (intmax_t)sup.pool.apps[0].figures.retaken);
	pool_check(&sup.pool);
}

/* A process could hold the lock of its socket while another one receives. */
TEST(nothing_is_taken_back_from_an_app_that_has_stalled_a_keeper)
{
	struct worker *from;

	begin_prefetched();
	from = fall_idle();
	fixture.group->keeper->stalls = 1;
	CHECK(!take(from));
	fixture.group->keeper->stalls = 0;
	CHECK(receive(from) > 0);
}

/* Received without a number for its socket, it would be lost. */
TEST(without_a_free_descriptor_a_connection_stays)
{
	struct rlimit before, low;
	struct worker *from;
	int lowest;

	begin_prefetched();
	from = fall_idle();
	NEED(getrlimit(RLIMIT_NOFILE, &before) == 0);
	lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(lowest);
	low = before;
	low.rlim_cur = (rlim_t)lowest;
	NEED(setrlimit(RLIMIT_NOFILE, &low) == 0);
	CHECK(!take(from));
	NEED(setrlimit(RLIMIT_NOFILE, &before) == 0);
	CHECK(receive(from) > 0);
	CHECK_EQ(0, (intmax_t)sup.pool.apps[0].figures.lost);
	pool_check(&sup.pool);
}

static const char *
load_of_next(struct worker *w)
{
	const char *at = next_text(w);

	/* The verb, the serial, the wait. */
	for (int i = 0; i < 3 && at != NULL; i++) {
		at = strchr(at, ' ');
		at = at == NULL ? NULL : at + 1;
	}
	return at == NULL ? "none" : at;
}

/* Of eight sessions: one in hand, then all, and two in the queue. */
TEST(a_message_has_the_load_of_the_app_where_that_is_reported)
{
	struct worker *w;

	fixture_defaults();
	fixture.web.load_report = true;
	fixture.web.pool.concurrency = 2;
	begin_anyhow(4);
	w = sup.workers[sup.pool.conns[arrive("a")].process];
	CHECK_STR("125", load_of_next(w));
	for (int i = 1; i < 8; i++)
		(void)arrive("b");
	(void)next_text(w);
	(void)arrive("c");
	(void)arrive("d");
	finish(w);
	CHECK_STR("1125", load_of_next(w));
}

TEST(a_message_has_no_load_by_default)
{
	begin(1, 0);
	(void)arrive("a");
	CHECK_STR("none", load_of_next(sup.workers[0]));
}

TESTS(NULL, fixture_end)
