/* The language of PoolCounter, line by line. */

#include "check.h"
#include "counter/counter.h"

static struct language_line parsed;

/* A line as a literal, in which a NUL may stand. */
#define LINE(literal) literal, sizeof(literal) - 1

static bool
is_request(bool any, const char *key, uint32_t workers, uint32_t maxqueue,
    tspan timeout)
{
	const struct counter_request *r = &parsed.request;

	return parsed.verb == LANGUAGE_ACQUIRE && r->any == any &&
	    r->len == strlen(key) && memcmp(r->key, key, r->len) == 0 &&
	    r->workers == workers && r->maxqueue == maxqueue &&
	    r->timeout == timeout;
}

TEST(requests_are_taken_apart)
{
	static const struct {
		const char *line;
		bool any;
		const char *key;
		uint32_t workers, maxqueue;
		tspan timeout;
	} cases[] = {
		{ "ACQ4ME key 2 10 15", false, "key", 2, 10,
		    TSPAN_SECONDS(15) },
		{ "ACQ4ANY  k   3  4", true, "k", 3, 4, 0 },
		{ "ACQ4ME \t\r\x01\xff 1 1", false, "\t\r\x01\xff", 1, 1, 0 },
		{ "ACQ4ME k 1 1 7\r", false, "k", 1, 1, TSPAN_SECONDS(7) },
		{ "ACQ4ME k 2147483648 99999999999999999999999 00000012", false,
		    "k", INT32_MAX, INT32_MAX, TSPAN_SECONDS(12) },
		/* Fractions are rounded up. */
		{ "ACQ4ME k 1 1 0.5", false, "k", 1, 1, TSPAN_MSECONDS(500) },
		{ "ACQ4ME k 1 1 12.0625", false, "k", 1, 1, 12062500000 },
		{ "ACQ4ME k 1 1 0.0000000001", false, "k", 1, 1, 1 },
		{ "ACQ4ME k 1 1 0.0000000000", false, "k", 1, 1, 0 },
		/* A timeout that is no number counts as 0. */
		{ "ACQ4ME k 1 1 x", false, "k", 1, 1, 0 },
		{ "ACQ4ME k 1 1 1s", false, "k", 1, 1, 0 },
		{ "ACQ4ME k 1 1 -1", false, "k", 1, 1, 0 },
		{ "ACQ4ME k 1 1 .5", false, "k", 1, 1, 0 },
		{ "ACQ4ME k 1 1 5.", false, "k", 1, 1, 0 },
		{ "ACQ4ME k 1 1 1.x", false, "k", 1, 1, 0 },
		{ "ACQ4ME k 1 1 1.2.3", false, "k", 1, 1, 0 },
		{ "ACQ4ME k 1 1 1e3", false, "k", 1, 1, 0 },
		{ "ACQ4ME k 1 1 .", false, "k", 1, 1, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		language_parse(cases[i].line, strlen(cases[i].line), &parsed);
		CHECK_STR(cases[i].line,
		    is_request(cases[i].any, cases[i].key, cases[i].workers,
			cases[i].maxqueue, cases[i].timeout)
			? cases[i].line
			: "another request");
	}
}

TEST(other_lines_have_a_verb_and_a_text_or_an_error)
{
	static const struct {
		const char *line;
		size_t len;
		enum language_verb verb;
		const char *text; /* NULL: not looked at */
	} cases[] = {
		{ LINE("RELEASE"), LANGUAGE_RELEASE, "" },
		{ LINE("RELEASE\r"), LANGUAGE_RELEASE, "" },
		{ LINE("RELEASE   "), LANGUAGE_RELEASE, "" },
		{ LINE("RELEASE  key word"), LANGUAGE_RELEASE, "key" },
		{ LINE("STATS"), LANGUAGE_STATS, "" },
		{ LINE("STATS  FULL  "), LANGUAGE_STATS, "FULL" },
		{ LINE("STATS FULL x"), LANGUAGE_STATS, "FULL x" },
		/* Missing words and bad numbers. */
		{ LINE("ACQ4ME   "), LANGUAGE_BAD_SYNTAX, NULL },
		{ LINE("ACQ4ANY "), LANGUAGE_BAD_SYNTAX, NULL },
		{ LINE("ACQ4ME k"), LANGUAGE_BAD_SYNTAX, NULL },
		{ LINE("ACQ4ME k 1"), LANGUAGE_BAD_SYNTAX, NULL },
		{ LINE("ACQ4ME k 0 1"), LANGUAGE_BAD_SYNTAX, NULL },
		{ LINE("ACQ4ME k 1 0"), LANGUAGE_BAD_SYNTAX, NULL },
		{ LINE("ACQ4ME k 1x 1"), LANGUAGE_BAD_SYNTAX, NULL },
		{ LINE("ACQ4ME k -1 1"), LANGUAGE_BAD_SYNTAX, NULL },
		{ LINE("ACQ4ME k 1 1.0"), LANGUAGE_BAD_SYNTAX, NULL },
		{ LINE("ACQ4ME k\0 1 1"), LANGUAGE_BAD_SYNTAX, NULL },
		{ LINE("ACQ4ANY k 1 1 \0"), LANGUAGE_BAD_SYNTAX, NULL },
		/* A request without a space is no command. */
		{ LINE("ACQ4ME"), LANGUAGE_BAD_COMMAND, NULL },
		{ LINE("ACQ4ANY"), LANGUAGE_BAD_COMMAND, NULL },
		{ LINE("ACQ4ME\r"), LANGUAGE_BAD_COMMAND, NULL },
		{ LINE("ACQ4ME\tk 1 1"), LANGUAGE_BAD_COMMAND, NULL },
		{ LINE("ACQ4"), LANGUAGE_BAD_COMMAND, NULL },
		{ LINE("RELEASE\r\r"), LANGUAGE_BAD_COMMAND, NULL },
		{ LINE("RELEASE \0"), LANGUAGE_BAD_COMMAND, NULL },
		{ LINE("STATS\0FULL"), LANGUAGE_BAD_COMMAND, NULL },
		{ LINE("RELEASEX"), LANGUAGE_BAD_COMMAND, NULL },
		{ LINE("release"), LANGUAGE_BAD_COMMAND, NULL },
		{ LINE(" RELEASE"), LANGUAGE_BAD_COMMAND, NULL },
		{ LINE("\0"), LANGUAGE_BAD_COMMAND, NULL },
		{ LINE("\r"), LANGUAGE_BAD_COMMAND, NULL },
		{ LINE(""), LANGUAGE_BAD_COMMAND, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *text = cases[i].text;

		language_parse(cases[i].line, cases[i].len, &parsed);
		if (!CHECK_EQ(cases[i].verb, parsed.verb) ||
		    (text != NULL &&
			!CHECK(parsed.len == strlen(text) &&
			    (parsed.len == 0 ||
				memcmp(parsed.text, text, parsed.len) == 0))))
			fprintf(stderr, "in \"%s\"\n", cases[i].line);
	}
}

TESTS(NULL, NULL)
