/*
 * Turns of the PoolCounter service, over real sockets and in virtual time: how
 * much is done in each, and for whom.
 */

#include <sys/socket.h>

#include "../support/counter_check.h"
#include "check.h"
#include "still.h"
#include "tcp.h"

#define CLIENTS 200

static struct loop loop;
static struct lane closer; /* of our own; others count as TCP's */
static struct lockers all;
static struct counter_figures figures;
static int clients[CLIENTS]; /* their ends; -1: gone */
static unsigned lines[CLIENTS]; /* that each has heard */

static void
take_in(int i, int sv[2])
{
	clients[i] = sv[0];
	lines[i] = 0;
	lockers_add(&all, sv[1], true, LOCKERS_STRANGERS, now);
}

static void
begin(int count)
{
	const struct counter_limits limits = { .clients = CLIENTS, .keys = 8 };
	int sv[2];

	now = TSPAN_SECONDS(1000);
	if (loop_init(&loop, &still_clock) == -1)
		abort();
	if (lane_start(&closer, &loop, "closer", NULL) == -1)
		abort();
	memset(&figures, 0, sizeof(figures));
	if (!lockers_init(&all, &loop, &closer, &limits, &figures))
		abort();
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = -1;
	for (int i = 0; i < count; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == -1)
			abort();
		take_in(i, sv);
	}
}

static void
leave(int i)
{
	if (clients[i] != -1)
		(void)close(clients[i]);
	clients[i] = -1;
}

static void
finish(void)
{
	for (int i = 0; i < CLIENTS; i++)
		leave(i);
	lockers_fini(&all, now);
	(void)lane_stop(&closer, TSTAMP_NEVER);
	loop_fini(&loop);
}

static void
say(int i, const char *text)
{
	CHECK_EQ((ssize_t)strlen(text),
	    send(clients[i], text, strlen(text), MSG_NOSIGNAL));
}

/* At once: the room for small pieces is small. */
static void
say_often(int i, const char *text, unsigned times)
{
	char piece[8192] = "";
	size_t len = 0;

	while (times-- > 0)
		len += strlcpy(piece + len, text, sizeof(piece) - len);
	NEED(len < sizeof(piece));
	say(i, piece);
}

/* Lines that the client has heard so far; it reads what is there. */
static unsigned
heard(int i)
{
	char buf[4096];
	ssize_t n;

	while ((n = recv(clients[i], buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		for (const char *p = buf; p < buf + n; p++)
			lines[i] += *p == '\n';
	return lines[i];
}

static bool
hears_the_end(int i)
{
	char c;

	return recv(clients[i], &c, 1, MSG_DONTWAIT) == 0;
}

static void
turn(void)
{
	(void)loop_turn(&loop, now);
	lockers_turn(&all, now);
	counter_check(&all.counter);
}

/* Turns as long as the loop would not sleep; how many those were. */
static unsigned
turn_on(void)
{
	unsigned n = 0;

	do {
		turn();
		n++;
	} while (timers_first(&loop.timers) <= now);
	return n;
}

TEST(a_line_is_answered_in_the_turn_in_which_it_is_seen)
{
	begin(1);
	say(0, "RELEASE\n");
	turn();
	CHECK_EQ(1, heard(0));
	CHECK_EQ(TSTAMP_NEVER, timers_first(&loop.timers));
}

TEST(a_turn_carries_out_part_of_many_commands_and_the_next_ones_the_rest)
{
	begin(1);
	say_often(0, "STATS UPTIME\n", 200);
	turn();
	CHECK(heard(0) > 0);
	CHECK(heard(0) < 100);
	CHECK(timers_first(&loop.timers) <= now);
	CHECK(turn_on() < 100);
	CHECK_EQ(200, heard(0));
}

TEST(many_commands_of_one_client_do_not_delay_another)
{
	begin(2);
	say_often(0, "STATS UPTIME\n", 300);
	say(1, "RELEASE\n");
	turn();
	CHECK(heard(0) < 100);
	CHECK_EQ(1, heard(1));
}

TEST(many_clients_with_many_commands_have_equal_shares)
{
	unsigned least = 300, most = 0;

	begin(64);
	for (int i = 0; i < 64; i++)
		say_often(i, "STATS UPTIME\n", 200);
	for (int i = 0; i < 64; i++)
		turn();
	for (int i = 0; i < 64; i++) {
		if (heard(i) < least)
			least = lines[i];
		if (heard(i) > most)
			most = lines[i];
	}
	CHECK(least > 0);
	CHECK(most < 200);
	CHECK(most - least <= 1);
	(void)turn_on();
	for (int i = 0; i < 64; i++)
		CHECK_EQ(200, heard(i));
}

TEST(a_turn_sends_part_of_many_answers_and_the_next_ones_the_rest)
{
	unsigned told = 0;

	begin(CLIENTS);
	say(0, "ACQ4ANY k 1 1000 9\n");
	(void)turn_on();
	for (int i = 1; i < CLIENTS; i++)
		say(i, "ACQ4ANY k 1 1000 9\n");
	(void)turn_on();
	CHECK_EQ(CLIENTS - 1, figures.waiting);

	say(0, "RELEASE\n");
	turn();
	for (int i = 1; i < CLIENTS; i++)
		told += heard(i);
	CHECK(told > 0);
	CHECK(told < 100);
	CHECK(timers_first(&loop.timers) <= now);
	CHECK(turn_on() < 10);
	for (int i = 1; i < CLIENTS; i++)
		CHECK_EQ(1, heard(i));
}

TEST(a_client_that_closes_is_gone_when_all_it_said_is_carried_out)
{
	begin(2);
	say(0, "ACQ4ANY k 1 9 9\n");
	(void)turn_on();
	say(1, "ACQ4ANY k 1 9 9\n");
	(void)turn_on();
	say_often(0, "STATS UPTIME\n", 50);
	say(0, "RELEASE\n");
	CHECK_EQ(0, shutdown(clients[0], SHUT_WR));
	CHECK_EQ(0, heard(1));
	(void)turn_on();
	CHECK_EQ(52, heard(0));
	CHECK(hears_the_end(0));
	/* DONE, which only a release brings. */
	CHECK_EQ(1, heard(1));
	CHECK_EQ(0, figures.held);
	CHECK_EQ(1, figures.clients);
}

TEST(an_end_between_two_turns_is_seen)
{
	begin(1);
	say(0, "ACQ4ME k 1 9 9\n");
	(void)turn_on();
	leave(0);
	(void)turn_on();
	CHECK_EQ(0, figures.clients);
}

TEST(a_client_that_reads_late_loses_no_answer)
{
	const unsigned answers = 400 * 22;
	bool stalled = false;

	begin(1);
	/* More than there is room for. */
	say_often(0, "STATS FULL\n", 400);
	for (unsigned i = 0; i < 1000 && lines[0] < answers; i++) {
		(void)turn_on();
		stalled = stalled || all.pending > 0;
		(void)heard(0);
	}
	CHECK(stalled);
	CHECK_EQ(answers, lines[0]);
	CHECK_EQ(0, all.pending);
	say(0, "RELEASE\n");
	(void)turn_on();
	CHECK_EQ(answers + 1, heard(0));
}

TEST(each_client_that_does_not_read_is_cut_off_ten_seconds_later)
{
	begin(3);
	say(0, "ACQ4ME k 1 9 60\n");
	(void)turn_on();
	say(1, "ACQ4ME k 1 9 60\n");
	say_often(0, "STATS FULL\n", 400);
	(void)turn_on();
	now += TSPAN_SECONDS(5);
	say_often(2, "STATS FULL\n", 400);
	(void)turn_on();
	CHECK(all.pending > 0);
	CHECK_EQ(0, heard(1));
	now += TSPAN_SECONDS(5);
	(void)turn_on();
	CHECK_EQ(1, figures.failed_sends);
	CHECK_EQ(2, figures.clients);
	CHECK_EQ(1, heard(1));
	now += TSPAN_SECONDS(5);
	(void)turn_on();
	CHECK_EQ(2, figures.failed_sends);
	CHECK_EQ(1, figures.clients);
	CHECK_EQ(0, all.pending);
}

TEST(the_daemons_own_client_waits_for_no_other)
{
	int sv[2];

	begin(64);
	for (int i = 0; i < 64; i++)
		say_often(i, "STATS UPTIME\n", 200);
	turn();
	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	clients[64] = sv[0];
	lines[64] = 0;
	lockers_add(&all, sv[1], false, LOCKERS_OWN, now);
	say(64, "RELEASE\n");
	turn();
	CHECK_EQ(1, heard(64));
}

/* A read ends at urgent data, and what follows has come already. */
TEST(what_follows_urgent_data_is_read)
{
	int sv[2];

	begin(0);
	tcp_pair(sv);
	take_in(0, sv);
	say(0, "RELEASE\n");
	CHECK_EQ(1, send(clients[0], "!", 1, MSG_OOB));
	say(0, "RELEASE\n");
	(void)turn_on();
	CHECK_EQ(2, heard(0));
}

TESTS(NULL, finish)
