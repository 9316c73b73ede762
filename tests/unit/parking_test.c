/* Connections that are parked, and what their clients have sent. */

#include <sys/socket.h>

#include <string.h>

#include "daemon/parking.c"

#include "fixture.h"

static bool
lacks(const char *text)
{
	return parking_head_lacks(text, strlen(text));
}

TEST(a_head_ends_with_an_empty_line)
{
	CHECK(!lacks("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
	CHECK(!lacks("GET / HTTP/1.1\n\n"));
	CHECK(!lacks("GET / HTTP/1.1\r\n\nbody"));
}

TEST(each_shorter_part_of_a_head_lacks_the_rest)
{
	static const char head[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

	for (size_t n = 0; n < sizeof(head) - 2; n++)
		CHECK(parking_head_lacks(head, n));
	CHECK(!parking_head_lacks(head, sizeof(head) - 1));
}

TEST(empty_lines_before_a_head_do_not_end_it)
{
	CHECK(lacks("\r\n\r\n"));
	CHECK(lacks("\r\n\r\nGET / HTTP/1.1\r\n"));
	CHECK(!lacks("\r\nGET / HTTP/1.1\r\n\r\n"));
}

TEST(what_begins_no_request_is_not_waited_for)
{
	CHECK(!lacks("\x16\x03\x01"));
	CHECK(!lacks("get / HTTP/1.1\r\n"));
	CHECK(!lacks(" GET / HTTP/1.1\r\n"));
	CHECK(!lacks("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZ"));
	CHECK(!parking_head_lacks("GET /\0", 6));
}

TEST(too_long_a_head_is_not_waited_for)
{
	static char head[PARKING_HEAD_MAX];

	memset(head, 'x', sizeof(head));
	memcpy(head, "GET /", 5);
	CHECK(parking_head_lacks(head, sizeof(head) - 1));
	CHECK(!parking_head_lacks(head, sizeof(head)));
}

/* Between the look at all of them and the end of the silent ones. */
TEST(a_request_that_comes_as_its_app_begins_to_leave_is_served)
{
	int ends[2];

	fixture_defaults();
	fixture.web.parking.wait_for_data = true;
	fixture.web.parking.max_parked = 10;
	fixture_begin();
	CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
	parking_hold(fixture.group, ends[0], false, fixture.now);
	fixture.group->closing = true;
	parking_leave(fixture.group, fixture.now);
	CHECK_EQ(1, write(ends[1], "x", 1));
	CHECK_EQ(1, loop_turn(&sup.loop, TSTAMP_NEVER));
	CHECK_EQ(0, sup.pool.apps[0].figures.parked);
	CHECK_EQ(1, app_waiting(&sup.pool.apps[0]));
	parking_forget(&sup, &sup.accepted[0]);
	close(ends[1]);
	fixture.group->over = true;
	parking_leave(fixture.group, fixture.now);
	fixture_end();
}

TESTS(NULL, NULL)
