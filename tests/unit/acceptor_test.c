/* Listeners in the loop, over real sockets and in virtual time. */

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "check.h"
#include "still.h"
#include "sys/address.h"
#include "sys/listener.h"

#define MOST 8

static struct loop loop;
static struct acceptor acceptor;
static char path[64];

static unsigned arrivals;
static unsigned reopened;
static unsigned rests;
static unsigned room;
static bool pauses; /* when there is no room */

/* --- the user ----------------------------------------------------------- */

static bool
admits(struct acceptor *a, tstamp at)
{
	(void)at;
	if (arrivals < room)
		return true;
	if (pauses)
		acceptor_pause(a, true);
	return false;
}

static void
arrived(struct acceptor *a, int fd, tstamp at)
{
	(void)a;
	(void)at;
	arrivals++;
	(void)close(fd);
}

static void
resting(struct acceptor *a)
{
	(void)a;
	rests++;
}

static void
open_it(struct acceptor *a)
{
	const struct listener_spec spec = {
		.name = path,
		.path = path,
		.inherited_fd = -1,
		.backlog = 1024,
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
		.mode = 0600,
	};
	const char *why;

	CHECK_EQ(0, listener_open(&a->listener, &spec, &why));
	acceptor_start(a);
}

/* At the second attempt, a second after the first. */
static void
reopen(struct acceptor *a, tstamp at)
{
	if (++reopened == 1) {
		listener_fini(&a->listener);
		acceptor_rest(a, at + TSPAN_SECONDS(1));
	} else {
		open_it(a);
	}
}

static void
begin(void)
{
	CHECK_FILE(path, "sock");
	static const struct acceptor_ops ops = {
		.admits = admits,
		.arrived = arrived,
		.resting = resting,
		.reopen = reopen,
	};

	now = TSPAN_SECONDS(1000);
	arrivals = reopened = rests = 0;
	room = UINT_MAX;
	pauses = false;
	CHECK_EQ(0, loop_init(&loop, &still_clock));
	acceptor_init(&acceptor, &loop, NULL, &ops, MOST);
	open_it(&acceptor);
}

static void
end(void)
{
	acceptor_close(&acceptor);
	acceptor_close(&acceptor);
	loop_fini(&loop);
}

static void
dial(unsigned n)
{
	struct sockaddr_un addr;
	socklen_t len = address_of_path(path, &addr);

	for (; n > 0; n--) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		CHECK_EQ(0, connect(fd, (struct sockaddr *)&addr, len));
		(void)close(fd);
	}
}

/* --- tests -------------------------------------------------------------- */

TEST(the_budget_of_a_turn_doubles_while_connections_wait)
{
	dial(30);
	for (unsigned most = 1, total = 1; total < 30; total += most) {
		CHECK_EQ(1, loop_turn(&loop, now));
		CHECK_EQ(total, arrivals);
		most = most < MOST ? 2 * most : MOST;
	}
	CHECK_EQ(1, loop_turn(&loop, now));
	CHECK_EQ(30, arrivals);
	CHECK_EQ(0, loop_turn(&loop, now));
	CHECK_EQ(1, acceptor.budget);
}

TEST(a_connection_without_room_stays_in_the_backlog)
{
	room = 1;
	pauses = true;
	dial(3);
	CHECK_EQ(1, loop_turn(&loop, now));
	CHECK_EQ(1, loop_turn(&loop, now));
	CHECK_EQ(0, loop_turn(&loop, now));
	CHECK_EQ(1, arrivals);
	CHECK_EQ(ACCEPTOR_FULL, acceptor_take(&acceptor, now));
	/* Though it is paused. */
	room = 3;
	CHECK_EQ(ACCEPTOR_ONE, acceptor_take(&acceptor, now));
	CHECK_EQ(ACCEPTOR_ONE, acceptor_take(&acceptor, now));
	CHECK_EQ(3, arrivals);
	room = 4;
	CHECK_EQ(ACCEPTOR_EMPTY, acceptor_take(&acceptor, now));
}

TEST(an_acceptor_without_descriptors_rests)
{
	struct rlimit before, none;
	int next;

	dial(1);
	next = dup(STDIN_FILENO);
	(void)close(next);
	CHECK_EQ(0, getrlimit(RLIMIT_NOFILE, &before));
	none = before;
	none.rlim_cur = (rlim_t)next;
	CHECK_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	CHECK_EQ(1, loop_turn(&loop, now));
	CHECK_EQ(1, rests);
	CHECK_EQ(0, setrlimit(RLIMIT_NOFILE, &before));
	CHECK_EQ(0, loop_turn(&loop, now));
	now += LISTENER_REST;
	CHECK_EQ(0, loop_turn(&loop, now));
	CHECK_EQ(1, loop_turn(&loop, now));
	CHECK_EQ(1, arrivals);
}

TEST(a_listener_that_was_shut_down_is_opened_anew)
{
	CHECK_EQ(0, shutdown(acceptor.listener.fd, SHUT_RDWR));
	CHECK_EQ(1, loop_turn(&loop, now));
	CHECK_EQ(1, loop_turn(&loop, now));
	CHECK_EQ(1, reopened);
	CHECK_EQ(0, loop_turn(&loop, now));
	now += TSPAN_SECONDS(1);
	CHECK_EQ(0, loop_turn(&loop, now));
	CHECK_EQ(2, reopened);
	dial(1);
	CHECK_EQ(1, loop_turn(&loop, now));
	CHECK_EQ(1, arrivals);
}

/* Connections in the queue stay for the programs that have the socket. */
TEST(hiding_a_unix_socket_removes_its_file_alone)
{
	struct lane lane;

	CHECK_EQ(0, lane_start(&lane, &loop, "looker", NULL));
	acceptor.lane = &lane;
	dial(1);
	acceptor_hide(&acceptor, true);
	CHECK_EQ(0, lane_stop(&lane, TSTAMP_NEVER));
	CHECK_ERRNO(ENOENT, access(path, F_OK));
	CHECK(!listener_is_broken(&acceptor.listener));
	CHECK_EQ(ACCEPTOR_ONE, acceptor_take(&acceptor, now));
	acceptor.lane = NULL;
}

TESTS(begin, end)
