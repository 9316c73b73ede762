/* Descriptors that the daemon closes itself, and those of the keeper. */

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <libgen.h>
#include <limits.h>

#include "daemon/keeper.h"
#include "sys/descriptors.h"

#include "fixture.h"
#include "tcp.h"

static void
begin(void)
{
	static char keeper[PATH_MAX + 64];
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	struct rlimit limit;

	/* A login has 1,024 descriptors, and may have more. */
	(void)descriptors_raise_limit(&limit);
	path[n > 0 ? n : 0] = '\0';
	(void)snprintf(keeper, sizeof(keeper),
	    "%s/../../libexec/apppool-keeper", dirname(path));
	fixture_defaults();
	fixture_begin();
	fixture.conf.keeper = keeper;
	NEED(lane_start(&sup.spawner, &sup.loop, "spawner", NULL) == 0);
}

/* The keeper; 0: none runs. */
static pid_t
keeper(void)
{
	struct keeper_sight sights[KEEPER_SIGHTS];
	size_t n = keeper_sights(fixture.group, sights);

	return n == 0 || !sights[n - 1].answers ? 0 : sights[n - 1].pid;
}

/* Turns the loop until there is nothing to be closed. */
static void
close_all(void)
{
	while (fixture.group->keeper->nclosings > 0 || sup.keepers->closes)
		(void)loop_turn(&sup.loop, fixture.now);
}

static void
end(void)
{
	tstamp limit = clock_now() + TSPAN_SECONDS(FIXTURE_SECONDS);
	pid_t pid;

	close_all();
	CHECK_EQ(0, lane_stop(&sup.spawner, limit));
	pid = keeper();
	fixture_end();
	if (pid != 0)
		CHECK_EQ(pid, waitpid(pid, NULL, 0));
}

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) != -1;
}

/* Whether the other end of the pipe is closed everywhere. */
static bool
is_hung_up(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0;
}

TEST(one_that_lingers_is_closed_by_a_keeper)
{
	tstamp begun = clock_now();
	int client, server;
	char bytes[65536];

	server = tcp_lingering(&client, 20);
	keeper_close_conn(fixture.group, server, true, false);
	CHECK(is_open(server));
	close_all();
	/* All that was sent arrives. */
	while (recv(client, bytes, sizeof(bytes), 0) > 0)
		continue;
	CHECK(clock_now() - begun < TSPAN_SECONDS(5));
	close(client);
}

/* The client sees the end, and no reset, before its socket is closed. */
TEST(a_unix_socket_is_closed_here_unless_descriptors_lie_in_it)
{
	int pair[2], ends[2];
	char byte;

	CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	keeper_close_conn(fixture.group, pair[0], false, true);
	CHECK(!is_open(pair[0]));
	CHECK_EQ(0, recv(pair[1], &byte, 1, 0));
	close(pair[1]);

	CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	CHECK_EQ(0, pipe(ends));
	CHECK_EQ(1, fdpass_send(pair[1], "x", 1, ends[1]));
	close(ends[1]);
	keeper_close_conn(fixture.group, pair[0], false, true);
	CHECK(is_open(pair[0]));
	CHECK_EQ(0, recv(pair[1], &byte, 1, 0));
	CHECK(!is_hung_up(ends[0]));
	close_all();
	for (int i = 0; i < 1000 && !is_hung_up(ends[0]); i++)
		(void)loop_turn(&sup.loop, fixture.now);
	CHECK(is_hung_up(ends[0]));
	CHECK_EQ(0, recv(pair[1], &byte, 1, 0));
	close(pair[1]);
	close(ends[0]);
}

TEST(thousands_are_closed_by_one_keeper)
{
	int pair[2];

	for (int i = 0; i < 3000; i++) {
		CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
		CHECK_EQ(1, write(pair[1], "x", 1));
		keeper_close_conn(fixture.group, pair[0], false, true);
		close(pair[1]);
		if (i % 100 == 0)
			(void)loop_turn(&sup.loop, fixture.now);
	}
	CHECK(fixture.group->keeper->nclosings > KEEPER_CLOSINGS);
	close_all();
}

/*
 * A pipe full of empty lines, and a loop whose time stands still: so no line is
 * passed on for its own sake, once all work of a period is done.
 */
TEST(an_answer_waits_for_few_lines_of_a_worker_that_prints_without_end)
{
	tstamp limit = clock_now() + TSPAN_SECONDS(FIXTURE_SECONDS);
	char lines[4096];
	struct output *o;
	int ends[2], pair[2], out, before, unread = 0, events = 0;

	memset(lines, '\n', sizeof(lines));
	o = keeper_hold(fixture.group, "abcdefgh", KEEPER_NO_PROCESS, ends);
	NEED(o != NULL);
	out = dup(ends[0]);
	NEED(fcntl(out, F_SETFL, O_NONBLOCK) == 0);
	keeper_ends_given(o);
	close_all();
	do {
		while (write(out, lines, sizeof(lines)) > 0)
			continue;
		before = unread;
		(void)loop_turn(&sup.loop, fixture.now);
		CHECK_EQ(0, ioctl(out, FIONREAD, &unread));
	} while (unread != before || sup.keepers->lines.at == TSTAMP_NEVER);
	CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	keeper_close(fixture.group->keeper, pair[0], false);
	while (!is_hung_up(pair[1]) && clock_now() < limit)
		events += loop_turn(&sup.loop, fixture.now);
	CHECK(is_hung_up(pair[1]));
	CHECK(events < 150);
	close(pair[1]);
	close(out);
	fixture.now += TSPAN_SECONDS(1);
	(void)keeper_leave(&o, NULL, NULL, fixture.now);
	while (!TAILQ_EMPTY(&sup.keepers->unsaid))
		(void)loop_turn(&sup.loop, fixture.now += TSPAN_MSECONDS(1));
}

/* --- another keeper ------------------------------------------------------- */

/* Stops the keeper; it is seen to be stopped when it is told something. */
static pid_t
stop_keeper(void)
{
	pid_t pid;
	int status;

	while ((pid = keeper()) == 0)
		(void)loop_turn(&sup.loop, fixture.now);
	CHECK_EQ(0, kill(pid, SIGSTOP));
	CHECK_EQ(pid, waitpid(pid, &status, WUNTRACED));
	return pid;
}

/* Turns the loop, in which time passes, until there is another keeper. */
static void
await_another(pid_t former)
{
	tstamp limit = clock_now() + TSPAN_SECONDS(FIXTURE_SECONDS);

	while ((keeper() == former || keeper() == 0) && clock_now() < limit)
		(void)loop_turn(&sup.loop, fixture.now += TSPAN_MSECONDS(100));
	CHECK_EQ(former, waitpid(former, NULL, 0));
	CHECK(keeper_exited(&sup, former, fixture.now));
}

TEST(what_a_stalled_keeper_has_not_read_or_closed_the_next_one_does)
{
	tstamp limit = clock_now() + TSPAN_SECONDS(FIXTURE_SECONDS);
	struct output *o;
	int ends[2], pair[2], out;
	pid_t former;

	o = keeper_hold(fixture.group, "abcdefgh", KEEPER_NO_PROCESS, ends);
	NEED(o != NULL);
	out = dup(ends[0]);
	keeper_ends_given(o);
	close_all();
	former = stop_keeper();
	CHECK_EQ(5, write(out, "line\n", 5));
	CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	keeper_close(fixture.group->keeper, pair[0], false);
	await_another(former);
	close_all();
	CHECK(is_hung_up(pair[1]));
	close(pair[1]);
	while (strstr(fixture_log(), "web/abcdefgh: line") == NULL &&
	    clock_now() < limit)
		(void)loop_turn(&sup.loop, fixture.now);
	CHECK(fixture_said("web/abcdefgh: line"));
	close(out);
	(void)keeper_leave(&o, NULL, NULL, fixture.now);
	while (!TAILQ_EMPTY(&sup.keepers->unsaid))
		(void)loop_turn(&sup.loop, fixture.now);
}

TEST(a_keeper_that_has_nothing_to_do_costs_no_time)
{
	int pair[2];

	CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	keeper_close(fixture.group->keeper, pair[0], false);
	close_all();
	close(pair[1]);
	for (int i = 0; i < 8; i++)
		(void)loop_turn(&sup.loop, fixture.now += TSPAN_MSECONDS(300));
	CHECK_EQ(TSTAMP_NEVER, timers_first(&sup.loop.timers));
}

/* --- taking back ---------------------------------------------------------- */

static struct {
	bool over, complete;
	tstamp at;
} outcome;

static void
message(struct retake *r, const char *buf, size_t len, int fd, tstamp now)
{
	(void)r;
	(void)buf;
	(void)len;
	(void)now;
	if (fd != -1)
		close(fd);
}

static void
ended(struct retake *r, bool complete, tstamp now)
{
	(void)r;
	outcome.over = true;
	outcome.complete = complete;
	outcome.at = now;
}

TEST(keepers_that_die_one_after_another_end_it_after_a_while)
{
	static char dies[] = "/bin/false";
	struct retake r = {
		.id = "abcdefgh", .message = message, .end = ended
	};
	tstamp begun, limit;
	int pair[2];
	pid_t pid;

	fixture.conf.keeper = dies;
	NEED(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	CHECK_EQ(1, send(pair[0], "x", 1, 0));
	r.child_end = pair[1];

	begun = fixture.now;
	limit = clock_now() + TSPAN_SECONDS(FIXTURE_SECONDS);
	keeper_take_back(fixture.group, &r);
	while (!outcome.over && clock_now() < limit) {
		pid = keeper();
		if (pid != 0) {
			CHECK_EQ(pid, waitpid(pid, NULL, 0));
			CHECK(keeper_exited(&sup, pid, fixture.now));
			fixture.now += TSPAN_SECONDS(2);
		}
		(void)loop_turn(&sup.loop, fixture.now);
	}
	CHECK(outcome.over);
	CHECK(!outcome.complete);
	CHECK(outcome.at - begun <= 2 * KEEPER_TAKE_LIMIT);
	close(pair[0]);
	close(pair[1]);
}

TESTS(begin, end)
