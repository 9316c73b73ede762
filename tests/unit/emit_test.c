/* The JSON emitter, and the text it writes into. */

#include <math.h>

#include "check.h"
#include "sys/emit.h"

static struct text text;
static struct emit json;

static void
begin(void)
{
	text_fini(&text);
	text_init(&text, 65536);
	json = (struct emit){ .out = &text };
}

static const char *
written(void)
{
	text_put(&text, "", 1);
	return text.failed ? NULL : text.data;
}

TEST(lines_end_behind_a_comma_or_a_bracket)
{
	emit_array(&json);
	emit_break(&json);
	emit_uint(&json, 1);
	emit_break(&json);
	emit_uint(&json, 2);
	emit_break(&json);
	emit_array_end(&json);
	emit_uint(&json, 3);
	CHECK_STR("[\n1,\n2],3", written());
}

TEST(strings_are_escaped_and_utf_8)
{
	static const char *const strings[][2] = {
		{ "a\"b\\c\nd\te\033[2Jf\001\177",
		    "\"a\\\"b\\\\c\\nd\\te\\u001b[2Jf\\u0001\\u007f\"" },
		/* A lone tail, an overlong slash, a surrogate, a cut character.
		 */
		{ "\200", "\"\\ufffd\"" },
		{ "\301\277", "\"\\ufffd\\ufffd\"" },
		{ "\340\237\277", "\"\\ufffd\\ufffd\\ufffd\"" },
		{ "\360\217\277\277", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
		{ "\364\220\200\200", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
		{ "\365\200\200\200", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
		{ "\300\257", "\"\\ufffd\\ufffd\"" },
		{ "\355\240\200", "\"\\ufffd\\ufffd\\ufffd\"" },
		{ "a\342\202", "\"a\\ufffd\\ufffd\"" },
		{ "\377b\302\205", "\"\\ufffdb\\u0085\"" },
		{ "\302\240\357\277\277\364\217\277\277",
		    "\"\302\240\357\277\277\364\217\277\277\"" },
		{ "\303\244\360\235\204\236", "\"\303\244\360\235\204\236\"" },
	};

	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
		begin();
		emit_string(&json, strings[i][0]);
		CHECK_STR(strings[i][1], written());
	}
}

TEST(times_have_microseconds_below_a_second_and_then_milliseconds)
{
	static const struct {
		tspan span;
		const char *wanted;
	} times[] = {
		{ 0, "0" },
		{ 499, "0" },
		{ 500, "0.000001" },
		{ TSPAN_USECONDS(12500), "0.0125" },
		{ TSPAN_SECONDS(1) - 1001, "0.999999" },
		{ TSPAN_SECONDS(1) - 1, "1" },
		{ TSPAN_SECONDS(1), "1" },
		{ TSPAN_MSECONDS(1250), "1.25" },
		{ TSPAN_SECONDS(86400) + 1000000, "86400.001" },
		{ INT64_MAX, "9223372036.855" },
	};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		begin();
		emit_span(&json, times[i].span);
		CHECK_STR(times[i].wanted, written());
	}
}

TEST(numbers_have_six_places_and_percentages_one)
{
	static const double numbers[] = { 0, 3.25, 123.4567891, 12345678.0,
		-0.0000125, NAN, -INFINITY };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		emit_number(&json, numbers[i]);
	emit_percent(&json, 12.34);
	emit_percent(&json, 0);
	emit_percent(&json, NAN);
	emit_percent(&json, INFINITY);
	CHECK_STR("0,3.25,123.457,1.23457e+07,-1.25e-05,null,null,"
		  "12.3,0.0,null,null",
	    written());
}

TEST(text_past_its_bound_is_refused_for_good)
{
	struct text t;

	text_init(&t, 8);
	text_puts(&t, "12345");
	text_puts(&t, "6789");
	CHECK(t.failed);
	CHECK_EQ(5, t.len);
	text_puts(&t, "6");
	CHECK_EQ(5, t.len);
	text_clear(&t);
	text_puts(&t, "12345678");
	CHECK(!t.failed);
	CHECK_EQ(8, t.len);
	text_fini(&t);
}

TEST(text_for_a_terminal_holds_no_controls)
{
	static const char hostile[] = "a\033]0;b\a\r\nc\302\233d\377\303\274";

	text_escaped(&text, hostile, sizeof(hostile) - 1);
	CHECK_STR(
	    "a\\x1b]0;b\\x07\\x0d\\x0ac\\xc2\\x9bd\\xff\303\274", written());
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	check.begin = begin;
	check_all();
	text_fini(&text);
	return check_finish();
}
