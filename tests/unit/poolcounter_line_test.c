/* The language of PoolCounter, line by line. */

#include "check.h"

#include "counter/poolcounter_line.h"

static struct poolcounter_line parsed;

static enum poolcounter_verb
parse(const char *text, size_t len)
{
	poolcounter_line_parse(text, len, &parsed);
	return parsed.verb;
}

#define PARSE(literal) parse(literal, sizeof(literal) - 1)

static bool
key_is(const char *text)
{
	return parsed.request.len == strlen(text) &&
	    memcmp(parsed.request.key, text, strlen(text)) == 0;
}

static bool
text_is(const char *text)
{
	return parsed.len == strlen(text) &&
	    (parsed.len == 0 || memcmp(parsed.text, text, parsed.len) == 0);
}

static void
an_acquisition_is_taken_apart(void)
{
	CHECK_EQ(POOLCOUNTER_ACQUIRE, PARSE("ACQ4ME key 2 10 15"));
	CHECK(key_is("key"));
	CHECK(!parsed.request.any);
	CHECK_EQ(2, parsed.request.workers);
	CHECK_EQ(10, parsed.request.maxqueue);
	CHECK_EQ(TSPAN_SECONDS(15), parsed.request.timeout);
	CHECK_EQ(POOLCOUNTER_ACQUIRE, PARSE("ACQ4ANY  k   3  4"));
	CHECK(key_is("k"));
	CHECK(parsed.request.any);
	CHECK_EQ(0, parsed.request.timeout);
}

static void
a_key_may_be_anything_but_a_space(void)
{
	CHECK_EQ(POOLCOUNTER_ACQUIRE, PARSE("ACQ4ME \t\r\x01\xff 1 1"));
	CHECK(key_is("\t\r\x01\xff"));
}

static void
a_carriage_return_at_the_end_is_dropped(void)
{
	CHECK_EQ(POOLCOUNTER_ACQUIRE, PARSE("ACQ4ME k 1 1 7\r"));
	CHECK_EQ(TSPAN_SECONDS(7), parsed.request.timeout);
	CHECK_EQ(POOLCOUNTER_RELEASE, PARSE("RELEASE\r"));
	CHECK_EQ(POOLCOUNTER_BAD_COMMAND, PARSE("RELEASE\r\r"));
	CHECK_EQ(POOLCOUNTER_BAD_COMMAND, PARSE("\r"));
}

static void
missing_words_and_bad_numbers_are_bad_syntax(void)
{
	CHECK_EQ(POOLCOUNTER_BAD_SYNTAX, PARSE("ACQ4ME   "));
	CHECK_EQ(POOLCOUNTER_BAD_SYNTAX, PARSE("ACQ4ME k"));
	CHECK_EQ(POOLCOUNTER_BAD_SYNTAX, PARSE("ACQ4ME k 1"));
	CHECK_EQ(POOLCOUNTER_BAD_SYNTAX, PARSE("ACQ4ME k 0 1"));
	CHECK_EQ(POOLCOUNTER_BAD_SYNTAX, PARSE("ACQ4ME k 1 0"));
	CHECK_EQ(POOLCOUNTER_BAD_SYNTAX, PARSE("ACQ4ME k 1x 1"));
	CHECK_EQ(POOLCOUNTER_BAD_SYNTAX, PARSE("ACQ4ME k -1 1"));
	CHECK_EQ(POOLCOUNTER_BAD_SYNTAX, PARSE("ACQ4ME k 1 1.0"));
}

static void
a_request_without_a_space_is_a_bad_command(void)
{
	CHECK_EQ(POOLCOUNTER_BAD_COMMAND, PARSE("ACQ4ME"));
	CHECK_EQ(POOLCOUNTER_BAD_COMMAND, PARSE("ACQ4ANY"));
	CHECK_EQ(POOLCOUNTER_BAD_COMMAND, PARSE("ACQ4ME\r"));
	CHECK_EQ(POOLCOUNTER_BAD_SYNTAX, PARSE("ACQ4ANY "));
}

static void
numbers_are_cut_to_the_largest_int(void)
{
	CHECK_EQ(POOLCOUNTER_ACQUIRE,
	    PARSE("ACQ4ME k 2147483648 99999999999999999999999 00000012"));
	CHECK_EQ(INT32_MAX, parsed.request.workers);
	CHECK_EQ(INT32_MAX, parsed.request.maxqueue);
	CHECK_EQ(TSPAN_SECONDS(12), parsed.request.timeout);
}

static void
a_timeout_may_have_a_fraction(void)
{
	PARSE("ACQ4ME k 1 1 0.5");
	CHECK_EQ(TSPAN_MSECONDS(500), parsed.request.timeout);
	PARSE("ACQ4ME k 1 1 12.0625");
	CHECK_EQ(12062500000, parsed.request.timeout);
	PARSE("ACQ4ME k 1 1 0.0000000001");
	CHECK_EQ(1, parsed.request.timeout);
	PARSE("ACQ4ME k 1 1 0.0000000000");
	CHECK_EQ(0, parsed.request.timeout);
}

static void
a_timeout_that_is_no_number_counts_as_zero(void)
{
	static const char *const none[] = { "x", "1s", "-1", ".5", "5.", "1.x",
		"1.2.3", "1e3", "." };
	char line[64];

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		(void)snprintf(line, sizeof(line), "ACQ4ME k 1 1 %s", none[i]);
		CHECK_EQ(POOLCOUNTER_ACQUIRE, parse(line, strlen(line)));
		CHECK_EQ(0, parsed.request.timeout);
	}
}

static void
a_release_may_name_its_key(void)
{
	CHECK_EQ(POOLCOUNTER_RELEASE, PARSE("RELEASE"));
	CHECK(text_is(""));
	CHECK_EQ(POOLCOUNTER_RELEASE, PARSE("RELEASE   "));
	CHECK(text_is(""));
	CHECK_EQ(POOLCOUNTER_RELEASE, PARSE("RELEASE  key word"));
	CHECK(text_is("key"));
}

static void
statistics_take_the_rest_of_the_line(void)
{
	CHECK_EQ(POOLCOUNTER_STATS, PARSE("STATS"));
	CHECK(text_is(""));
	CHECK_EQ(POOLCOUNTER_STATS, PARSE("STATS  FULL  "));
	CHECK(text_is("FULL"));
	CHECK_EQ(POOLCOUNTER_STATS, PARSE("STATS FULL x"));
	CHECK(text_is("FULL x"));
}

static void
a_nul_is_an_error(void)
{
	CHECK_EQ(POOLCOUNTER_BAD_SYNTAX, PARSE("ACQ4ME k\0 1 1"));
	CHECK_EQ(POOLCOUNTER_BAD_SYNTAX, PARSE("ACQ4ANY k 1 1 \0"));
	CHECK_EQ(POOLCOUNTER_BAD_COMMAND, PARSE("RELEASE \0"));
	CHECK_EQ(POOLCOUNTER_BAD_COMMAND, PARSE("STATS\0FULL"));
	CHECK_EQ(POOLCOUNTER_BAD_COMMAND, PARSE("\0"));
}

static void
other_lines_are_a_bad_command(void)
{
	CHECK_EQ(POOLCOUNTER_BAD_COMMAND, PARSE(""));
	CHECK_EQ(POOLCOUNTER_BAD_COMMAND, PARSE(" RELEASE"));
	CHECK_EQ(POOLCOUNTER_BAD_COMMAND, PARSE("release"));
	CHECK_EQ(POOLCOUNTER_BAD_COMMAND, PARSE("RELEASEX"));
	CHECK_EQ(POOLCOUNTER_BAD_COMMAND, PARSE("ACQ4ME\tk 1 1"));
	CHECK_EQ(POOLCOUNTER_BAD_COMMAND, PARSE("ACQ4"));
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(an_acquisition_is_taken_apart);
	RUN(a_key_may_be_anything_but_a_space);
	RUN(a_carriage_return_at_the_end_is_dropped);
	RUN(missing_words_and_bad_numbers_are_bad_syntax);
	RUN(a_request_without_a_space_is_a_bad_command);
	RUN(numbers_are_cut_to_the_largest_int);
	RUN(a_timeout_may_have_a_fraction);
	RUN(a_timeout_that_is_no_number_counts_as_zero);
	RUN(a_release_may_name_its_key);
	RUN(statistics_take_the_rest_of_the_line);
	RUN(a_nul_is_an_error);
	RUN(other_lines_are_a_bad_command);
	return check_finish();
}
