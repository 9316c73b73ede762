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
	emit_init(&json, &text);
}

static const char *
written(void)
{
	text_put(&text, "", 1);
	return text.failed ? NULL : text.data;
}

static const char *
quoted(const char *s)
{
	begin();
	emit_string(&json, s);
	return written();
}

static const char *
seconds(tspan span)
{
	begin();
	emit_span(&json, span);
	return written();
}

static void
commas_stand_between_values_only(void)
{
	emit_object(&json);
	emit_key(&json, "a");
	emit_array(&json);
	emit_uint(&json, 1);
	emit_array(&json);
	emit_array_end(&json);
	emit_uint(&json, 2);
	emit_array_end(&json);
	emit_key(&json, "b");
	emit_object(&json);
	emit_object_end(&json);
	emit_key(&json, "c");
	emit_bool(&json, true);
	emit_object_end(&json);
	CHECK_STR("{\"a\":[1,[],2],\"b\":{},\"c\":true}", written());
}

static void
lines_end_behind_a_comma_or_a_bracket(void)
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

static void
quotes_and_controls_are_escaped(void)
{
	CHECK_STR("\"a\\\"b\\\\c\\nd\\te\\u001b[2Jf\\u0001\\u007f\"",
	    quoted("a\"b\\c\nd\te\033[2Jf\001\177"));
}

static void
each_byte_that_is_not_utf_8_becomes_a_replacement(void)
{
	/* A lone tail, an overlong slash, a surrogate, a cut character. */
	CHECK_STR("\"\\ufffd\"", quoted("\200"));
	CHECK_STR("\"\\ufffd\\ufffd\"", quoted("\300\257"));
	CHECK_STR("\"\\ufffd\\ufffd\\ufffd\"", quoted("\355\240\200"));
	CHECK_STR("\"a\\ufffd\\ufffd\"", quoted("a\342\202"));
	CHECK_STR("\"\\ufffdb\"", quoted("\377b"));
}

static void
keys_have_values_of_all_kinds(void)
{
	emit_object(&json);
	emit_put_string(&json, "a", "b");
	emit_put_uint(&json, "c", 1);
	emit_put_bool(&json, "d", false);
	emit_put_null(&json, "e");
	emit_put_span(&json, "f", TSPAN_MSECONDS(1500));
	emit_put_percent(&json, "g", 50);
	emit_put_number(&json, "h", 0.25);
	emit_object_end(&json);
	CHECK_STR("{\"a\":\"b\",\"c\":1,\"d\":false,\"e\":null,\"f\":1.5,"
		  "\"g\":50.0,\"h\":0.25}",
	    written());
}

static void
short_times_have_microseconds(void)
{
	CHECK_STR("0", seconds(0));
	CHECK_STR("0", seconds(499));
	CHECK_STR("0.000001", seconds(500));
	CHECK_STR("0.0125", seconds(TSPAN_USECONDS(12500)));
	CHECK_STR("0.999999", seconds(TSPAN_SECONDS(1) - 1001));
	CHECK_STR("1", seconds(TSPAN_SECONDS(1) - 1));
}

static void
long_times_have_milliseconds(void)
{
	CHECK_STR("1", seconds(TSPAN_SECONDS(1)));
	CHECK_STR("1.25", seconds(TSPAN_MSECONDS(1250)));
	CHECK_STR("86400.001", seconds(TSPAN_SECONDS(86400) + 1000000));
	CHECK_STR("9223372036.855", seconds(INT64_MAX));
}

static void
a_percentage_that_is_no_number_is_null(void)
{
	emit_percent(&json, 12.34);
	emit_percent(&json, 0);
	emit_percent(&json, NAN);
	emit_percent(&json, INFINITY);
	CHECK_STR("12.3,0.0,null,null", written());
}

static void
numbers_have_six_places(void)
{
	emit_array(&json);
	emit_number(&json, 0);
	emit_number(&json, 3.25);
	emit_number(&json, 123.4567891);
	emit_number(&json, 12345678.0);
	emit_number(&json, -0.0000125);
	emit_array_end(&json);
	CHECK_STR("[0,3.25,123.457,1.23457e+07,-1.25e-05]", written());
}

static void
infinity_and_nan_are_null(void)
{
	emit_number(&json, (double)NAN);
	CHECK_STR("null", written());
	begin();
	emit_number(&json, -(double)INFINITY);
	CHECK_STR("null", written());
}

static void
text_past_its_bound_is_refused_for_good(void)
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

static void
a_long_format_is_written_whole(void)
{
	text_printf(&text, "%0*d%s", 3000, 7, "end");
	CHECK_EQ(3003, text.len);
	CHECK(memcmp(text.data + 2998, "07end", 5) == 0);
}

static void
text_for_a_terminal_holds_no_controls(void)
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
	RUN(commas_stand_between_values_only);
	RUN(lines_end_behind_a_comma_or_a_bracket);
	RUN(quotes_and_controls_are_escaped);
	RUN(each_byte_that_is_not_utf_8_becomes_a_replacement);
	RUN(keys_have_values_of_all_kinds);
	RUN(short_times_have_microseconds);
	RUN(long_times_have_milliseconds);
	RUN(a_percentage_that_is_no_number_is_null);
	RUN(numbers_have_six_places);
	RUN(infinity_and_nan_are_null);
	RUN(text_past_its_bound_is_refused_for_good);
	RUN(a_long_format_is_written_whole);
	RUN(text_for_a_terminal_holds_no_controls);
	text_fini(&text);
	return check_finish();
}
