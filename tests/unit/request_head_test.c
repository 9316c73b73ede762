/* Whether more of the head of a request is to be waited for. */

#include <string.h>

#include "daemon/group.h"

#include "check.h"

static bool
lacks(const char *text)
{
	return parking_head_lacks(text, strlen(text));
}

static void
a_head_ends_with_an_empty_line(void)
{
	CHECK(!lacks("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
	CHECK(!lacks("GET / HTTP/1.1\n\n"));
	CHECK(!lacks("GET / HTTP/1.1\r\n\nbody"));
}

static void
each_shorter_part_of_a_head_lacks_the_rest(void)
{
	static const char head[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

	for (size_t n = 0; n < sizeof(head) - 2; n++)
		CHECK(parking_head_lacks(head, n));
	CHECK(!parking_head_lacks(head, sizeof(head) - 1));
}

static void
empty_lines_before_a_head_do_not_end_it(void)
{
	CHECK(lacks("\r\n\r\n"));
	CHECK(lacks("\r\n\r\nGET / HTTP/1.1\r\n"));
	CHECK(!lacks("\r\nGET / HTTP/1.1\r\n\r\n"));
}

static void
what_begins_no_request_is_not_waited_for(void)
{
	CHECK(!lacks("\x16\x03\x01"));
	CHECK(!lacks("get / HTTP/1.1\r\n"));
	CHECK(!lacks(" GET / HTTP/1.1\r\n"));
	CHECK(!lacks("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZ"));
	CHECK(!parking_head_lacks("GET /\0", 6));
}

static void
too_long_a_head_is_not_waited_for(void)
{
	static char head[PARKING_HEAD_MAX];

	memset(head, 'x', sizeof(head));
	memcpy(head, "GET /", 5);
	CHECK(parking_head_lacks(head, sizeof(head) - 1));
	CHECK(!parking_head_lacks(head, sizeof(head)));
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(a_head_ends_with_an_empty_line);
	RUN(each_shorter_part_of_a_head_lacks_the_rest);
	RUN(empty_lines_before_a_head_do_not_end_it);
	RUN(what_begins_no_request_is_not_waited_for);
	RUN(too_long_a_head_is_not_waited_for);
	return check_finish();
}
