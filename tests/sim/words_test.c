/* Numbers, times and loads in words, read and shown. */

#include "../unit/check.h"
#include "sim/simulate.h"

/* --- reading ------------------------------------------------------------ */

TEST(rates_have_units)
{
	static const struct {
		const char *text;
		double rate;
	} rates[] = { { "12.5", 12.5 }, { "1000/s", 1000 }, { "90/m", 1.5 },
		{ "86400/d", 1 }, { "0", 0 } };
	double rate;

	for (unsigned i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		CHECK(words_read_rate(rates[i].text, &rate) == NULL);
		CHECK_NEAR(rates[i].rate, rate);
	}
}

TEST(a_bad_rate_is_answered_by_a_valid_one)
{
	static const char *const bad[] = { "", "x", "-1", "1e3", "inf", "nan",
		"0x10", "1/x", "1 /s", "1/s/s", ".", "100000001", "10ms" };
	double rate = 7;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *valid = words_read_rate(bad[i], &rate);

		CHECK(valid != NULL && strstr(valid, "write") != NULL);
	}
	CHECK_NEAR(7, rate);
}

TEST(a_bad_service_is_answered_by_a_valid_one)
{
	static const char *const bad[] = { "", "x", "0", "fixed",
		"fixed:", "fixed:1ms,2ms", "fixed:0ms", "exponential:-1ms",
		"exponential:1us", "lognormal:50ms", "lognormal:50ms,0",
		"lognormal:50ms,6", "lognormal:50ms,x", "lognormal:50ms,1,1",
		"lognormal:p50=50ms,1", "lognormal:50ms,p99=1s",
		"lognormal:p50=50ms,p99=50ms", "lognormal:p50=1ms,p99=1000d",
		"bimodal:1ms,2ms", "bimodal:1ms,2ms,101%",
		"bimodal:1ms,2ms,1%%", "bimodal:1ms,2ms,-1",
		"bimodal:1ms,2ms,1,1", "uniform:1s", "uniform:2s,1s",
		"uniform:0,1s", "normal:1ms", "fixed:1ms:1ms" };
	struct service s = { .mean = 7 };

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *valid = words_read_service(bad[i], &s);

		if (!CHECK(valid != NULL && strstr(valid, "write") != NULL))
			fprintf(stderr, "%s\n", bad[i]);
	}
	CHECK_EQ(7, s.mean);
}

TEST(a_bad_profile_is_answered_by_a_valid_one)
{
	static const char *const bad[] = { "", "x", "steady:1", "ramp:1",
		"burst:", "burst:0.5", "burst:x", "burst:10,0s", "burst:10,60s",
		"burst:10,2m,1m", "burst:10,1s,1m,1", "day:0", "day:1h,1",
		"day:" };
	struct profile p = { .factor = 7 };

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *valid = words_read_profile(bad[i], &p);

		if (!CHECK(valid != NULL && *valid != '\0'))
			fprintf(stderr, "%s\n", bad[i]);
	}
	CHECK_NEAR(7, p.factor);
}

/* --- showing ------------------------------------------------------------ */

TEST(times_have_three_places)
{
	static const struct {
		tspan span;
		const char *words;
	} cases[] = {
		{ 0, "0" },
		{ 1, "1ns" },
		{ 999, "999ns" },
		{ 1000, "1us" },
		{ 1234, "1.23us" },
		{ 12345, "12.3us" },
		{ 999499, "999us" },
		{ 999500, "1ms" },
		{ TSPAN_MSECONDS(250), "250ms" },
		{ 999499999, "999ms" },
		{ 999500000, "1s" },
		{ 1500000000, "1.5s" },
		{ 59940000000, "59.9s" },
		{ 59960000000, "1m" },
		{ TSPAN_SECONDS(150), "2m30s" },
		{ TSPAN_SECONDS(3599), "59m59s" },
		{ TSPAN_SECONDS(3600) - 1, "1h" },
		{ TSPAN_SECONDS(3660), "1h1m" },
		{ TSPAN_SECONDS(86400) - 1, "1d" },
		{ TSPAN_SECONDS(90000), "1d1h" },
		{ TSPAN_SECONDS(864000), "10d" },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_STR(cases[i].words, words_span(cases[i].span).text);
}

TEST(counts_have_commas_and_numbers_three_places)
{
	static const struct {
		uint64_t n;
		const char *words;
	} counts[] = { { 0, "0" }, { 999, "999" }, { 1000, "1,000" },
		{ 123456, "123,456" },
		{ UINT64_MAX, "18,446,744,073,709,551,615" } };
	static const struct {
		double n;
		const char *words;
	} numbers[] = { { 0, "0" }, { 0.25, "0.25" }, { 0.00125, "0.00125" },
		{ 0.9999, "1" }, { 12.34, "12.3" }, { 99.96, "100" },
		{ 4711, "4711" }, { 1e8, "100000000" } };

	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		CHECK_STR(counts[i].words, words_count(counts[i].n).text);
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		CHECK_STR(numbers[i].words, words_number(numbers[i].n).text);
}

TEST(services_are_shown_in_the_words_of_the_command_line)
{
	static const char *const words[] = { "fixed:20ms", "exponential:1m30s",
		"lognormal:50ms,1.5", "bimodal:5ms,500ms,1%",
		"bimodal:1us,1s,0.01%", "uniform:1s,20s" };
	struct service s;

	for (unsigned i = 0; i < 5; i++) {
		/* Two units together, and microseconds, are for eyes. */
		if (words_read_service(words[i], &s) == NULL)
			CHECK_STR(words[i], words_service(&s).text);
		else
			CHECK(i == 1 || i == 4);
	}
	CHECK(words_read_service("20ms", &s) == NULL);
	CHECK_STR("fixed:20ms", words_service(&s).text);
}

TEST(profiles_are_shown_in_the_words_of_the_command_line)
{
	static const char *const words[] = { "steady", "burst:10,5s,1m",
		"burst:2.5,100ms,1h", "day", "day:12h", "ramp" };
	struct profile p;

	for (unsigned i = 0; i < 6; i++) {
		CHECK(words_read_profile(words[i], &p) == NULL);
		CHECK_STR(words[i], words_profile(&p).text);
	}
	CHECK(words_read_profile("burst", &p) == NULL);
	CHECK_STR("burst:10,5s,1m", words_profile(&p).text);
}

TESTS(NULL, NULL)
