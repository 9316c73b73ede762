/* Numbers of our protocols. */

#include "sys/number.h"

#include "check.h"

#define LARGEST "18446744073709551615"

static uint64_t n;

static bool
parse(const char *text)
{
	n = 7;
	return number_parse(text, strlen(text), &n);
}

TEST(digits_are_a_number)
{
	CHECK(parse("0"));
	CHECK_EQ(0, n);
	CHECK(parse("4711"));
	CHECK_EQ(4711, n);
	CHECK(parse("007"));
	CHECK_EQ(7, n);
	CHECK(parse(LARGEST));
	CHECK(n == UINT64_MAX);
}

TEST(other_text_is_refused_and_changes_nothing)
{
	static const char *const texts[] = { "", " 1", "1 ", "+1", "-1", "0x1",
		"1.0", "18446744073709551616", "99999999999999999999",
		"100000000000000000000", "000000000000000000001" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		CHECK(!parse(texts[i]));
		CHECK_EQ(7, n);
	}
}

TEST(reading_stops_behind_the_digits)
{
	const char *text = "12 34", *at = text;

	CHECK(number_read(&at, text + 5, &n));
	CHECK_EQ(12, n);
	CHECK(at == text + 2);
	CHECK(!number_read(&at, text + 5, &n));
	CHECK(at == text + 2);
	at++;
	CHECK(number_read(&at, text + 4, &n));
	CHECK_EQ(3, n);
}

TEST(a_written_number_is_read_back)
{
	static const uint64_t numbers[] = { 0, 9, 10, 4711, UINT64_MAX };
	char buf[NUMBER_DIGITS], *end = buf + sizeof(buf);

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		char *at = number_write(end, numbers[i]);

		CHECK(number_parse(at, (size_t)(end - at), &n));
		CHECK(n == numbers[i]);
	}
	CHECK(memcmp(buf, LARGEST, sizeof(buf)) == 0);
}

TESTS(NULL, NULL)
