/*
 * The syntax of pool.conf, above all where libconfuse 3.3 alone would read a
 * file wrongly.
 */

#include "conf_help.h"

/* ---- what is not text ---- */

TEST(a_nul_byte_is_a_mistake)
{
	static const char text[] = "# one\nlog = std\0err\n";

	conf_write_bytes("pool.conf", text, sizeof(text) - 1);
	MISTAKES("pool.conf:2: NUL byte: this is not a text file\n", NULL);
}

/* ---- values ---- */

TEST(a_variable_comes_from_the_environment)
{
	setenv("CONF_TEST", "/run/here", 1);
	unsetenv("CONF_NONE");
	SHOWS("pid_file = \"/run/here/pid\"\ndump_file = \"/none/dump\"\n",
	    "pid_file = ${CONF_TEST}/pid\n"
	    "dump_file = \"${CONF_NONE:-/none}/dump\"\n" ANY_APP);
	SHOWS("log = \"/\\${CONF_TEST}\"\n", "log = '/${CONF_TEST}'\n" ANY_APP);
}

#define WRITE_LIST ": write { \"a\", \"b\" }\n"

/* ---- options ---- */

TEST(a_message_is_a_line_of_bounded_length)
{
	char text[2000];
	char *found;

	MISTAKE("option 'log': 'a?b?c' is not one of",
	    "log = \"a\\nb\\ec\"\n" ANY_APP);
	memset(text, 'x', sizeof(text));
	memcpy(text, "log = ", 6);
	text[sizeof(text) - 1] = '\0';
	found = mistakes_with(0, text);
	CHECK(strlen(found) < 600);
	CHECK(strstr(found, "xxx...\n") != NULL);
	free(found);
}

static const struct fact facts[] = {
	{ "a_star_without_quotes_is_kept", 0, SHOWN "listen = { \"*:0\" }\n",
	    "app a { listen = *:0 command = /bin/true }\n" },
	{ NULL, 0, SHOWN "pid_file = \"/a*b+c\"\n",
	    "pid_file = /a*b+c\n" ANY_APP },
	{ "a_value_without_quotes_keeps_its_backslashes", 0,
	    SHOWN "pid_file = \"/a\\\\nb\"\n", "pid_file = /a\\nb\n" ANY_APP },
	{ "a_comma_may_stand_behind_the_last_element", 0,
	    SHOWN "command = { \"/bin/a\", \"b\" }\n",
	    "app a { handoff = none command = { \"/bin/a\", \"b\", } }\n" },
	{ "comments_do_not_move_the_lines", 0,
	    "pool.conf:7: unknown option 'foo'\n",
	    "# one\n// two\n/* three\n * four */\n### five\n" ANY_APP
	    "foo = 1\n" },
	{ "carriage_returns_do_not_move_the_lines", 0,
	    "pool.conf:3: unknown option 'foo'\n",
	    "# one\r\nlog = stderr\r\nfoo = 1\r\n" ANY_APP },
	{ "a_list_over_many_lines_is_reported_at_its_first", 0,
	    PART "pool.conf:2: option 'listen': 'x' is not an address",
	    "app \"a\" {\nlisten = {\n\"*:0\",\n\"x\"\n}\n"
	    "command = \"/bin/true\"\n}\n" },
	{ "a_line_continued_in_a_string_is_counted", 0,
	    "pool.conf:3: unknown option 'foo'\n",
	    "pid_file = \"/tmp/\\\nx\"\nfoo = 1\n" ANY_APP },
	{ "a_byte_order_mark_is_skipped", 0, "", "\xef\xbb\xbf" ANY_APP },
	{ "a_missing_brace_at_the_end_is_a_mistake", 0,
	    "pool.conf:4: missing '}' at the end of the file "
	    "('{' is of line 2)\n",
	    "# one\napp \"a\" {\nhandoff = none\ncommand = \"/bin/true\"\n" },
	{ "a_section_without_its_closing_brace_is_checked", 0,
	    "pool.conf:2: unknown option 'foo'\n"
	    "pool.conf:3: missing '}' at the end of the file "
	    "('{' is of line 1)\n",
	    "app \"a\" { handoff = none\nfoo = 1\ncommand = \"/bin/true\"\n" },
	{ "a_string_ends_with_its_line", 0,
	    "pool.conf:1: string is not closed on its line\n"
	    "pool.conf:2: unknown option 'foo'\n",
	    "log = \"stderr\nfoo = \"x\"\n" ANY_APP },
	{ "an_unclosed_comment_is_reported_where_it_begins", 0,
	    PART "pool.conf:2: comment is never closed",
	    ANY_APP "/* one\ntwo\n" },
	{ "an_unclosed_list_ends_before_the_next_option", 0,
	    "pool.conf:2: the list of option 'listen' is never closed "
	    "with '}'\n",
	    "app \"a\" {\nlisten = { \"*:0\",\n"
	    "command = \"/bin/true\"\n}\n" },
	{ "an_unclosed_variable_is_a_mistake", 0,
	    "pool.conf:1: '${' without its '}'\n"
	    "pool.conf:2: '${' without its '}'\n",
	    "pid_file = \"${HOME\"\nlog = /${HOME\n" ANY_APP },
	{ "a_brace_too_much_is_a_mistake", 0,
	    "pool.conf:2: unexpected '}': nothing is open\n", ANY_APP "}\n" },
	{ "a_section_without_a_name_is_a_mistake", 0,
	    "pool.conf:2: unexpected '{': a section begins with its "
	    "name\n",
	    ANY_APP "{ foo = 1 }\n" },
	{ "an_escaped_nul_is_a_mistake", 0,
	    "pool.conf:1: a NUL cannot be part of a value\n"
	    "pool.conf:2: a NUL cannot be part of a value\n",
	    "pid_file = \"/a\\0b\"\nlog = \"/a\\x00b\"\n" ANY_APP },
	{ "an_escape_that_means_nothing_is_a_mistake", 0,
	    "pool.conf:2: invalid octal number '\\777'\n",
	    "# one\nlog = \"/\\777\"\n" ANY_APP },
	{ NULL, 0, "pool.conf:2: bad escape sequence '\\9'\n",
	    "# one\npid_file = \"/\\9\"\n" ANY_APP },
	{ "values_behind_a_bad_escape_are_checked", 0,
	    "pool.conf:1: bad escape sequence '\\9'\n"
	    "pool.conf:2: option 'process_slack': '1x' is not a whole "
	    "number from 0 to 10000\n",
	    "log = \"/\\9\"\nprocess_slack = 1x\n" ANY_APP },
	{ "a_lone_hash_is_a_comment", 0,
	    "pool.conf:1: neither an app nor a counter is configured\n", "#" },
	{ "a_comment_sign_within_a_word_is_a_mistake", 0,
	    PART "pool.conf:1: '//' within a word begins a comment",
	    "control = /run//x.sock\n" ANY_APP },
	{ NULL, 0, PART "pool.conf:1: '#' within a word begins a comment",
	    "max_processes = 5#6\n" ANY_APP },
	{ NULL, 0, PART "pool.conf:1: '/*' within a word begins a comment",
	    "control = /run/*.sock\n" ANY_APP },
	{ "a_semicolon_is_a_mistake", 0,
	    "pool.conf:1: unexpected ';': leave it out, a statement ends "
	    "without it\n",
	    "max_processes = 5;\n" ANY_APP },
	{ "more_than_one_value_is_a_mistake", 0,
	    "pool.conf:1: unexpected 's' after the value of "
	    "'stop_timeout': a value with spaces stands in quotes, a "
	    "list in { \"a\", \"b\" }\n",
	    "stop_timeout = 5 s\n" ANY_APP },
	{ "no_value_is_a_mistake", 0,
	    "pool.conf:1: option 'max_processes' has no value\n"
	    "pool.conf:2: unknown option 'foo'\n",
	    "max_processes =\nfoo = 1\n" ANY_APP },
	{ "no_equal_sign_is_a_mistake", 0,
	    "pool.conf:1: 'max_processes' is not followed by '=': write "
	    "max_processes = 5\n",
	    "max_processes 5\n" ANY_APP },
	{ "a_missing_comma_is_a_mistake", 0,
	    "pool.conf:1: unexpected '\"b\"' in the list of option "
	    "'command'" WRITE_LIST,
	    "app \"a\" { handoff = none command = { \"a\" \"b\" } }\n" },
	{ NULL, 0,
	    "pool.conf:5: unexpected '\"b\"' in the list of option "
	    "'command'" WRITE_LIST,
	    "/* one\ntwo */ app \"a\" { handoff = none\n"
	    "command = { # three\n\"a\"\n\"b\" } }\n" },
	{ "a_list_in_disorder_hides_nothing_behind_it", 0,
	    "pool.conf:1: unexpected ',' in the list of option "
	    "'counter'" WRITE_LIST
	    "pool.conf:2: option 'max_processes': '1x' is not auto, "
	    "auto:NUMBER or a whole number from 1 to 10000\n"
	    "pool.conf:3: unexpected '{' in the list of option "
	    "'watch'" WRITE_LIST
	    "pool.conf:3: option 'nice': '1x' is not a nice value: -20 to "
	    "19, or 'inherit'\n",
	    "counter = { \"fd:a\",, \"fd:b\" }\nmax_processes = 1x\n" APP(
		"watch = { { a } } nice = 1x") },
	{ "a_variable_in_a_list_wants_quotes", 0,
	    "pool.conf:1: 'A=' in a list: put NAME=VALUE in quotes\n",
	    APP("environment = { A=b }") },
	{ "an_option_given_twice_is_a_mistake", 0,
	    "pool.conf:3: option 'log' is given twice (first at "
	    "pool.conf:1)\n",
	    "log = stderr\n" ANY_APP "log = syslog\n" },
	{ "both_values_of_an_option_given_twice_are_checked", 0,
	    "pool.conf:1: option 'max_processes': '1x' is not auto, "
	    "auto:NUMBER or a whole number from 1 to 10000\n"
	    "pool.conf:2: option 'max_processes' is given twice (first "
	    "at pool.conf:1)\n"
	    "pool.conf:2: option 'max_processes': '2x' is not auto, "
	    "auto:NUMBER or a whole number from 1 to 10000\n",
	    "max_processes = 1x\nmax_processes = 2x\n" ANY_APP },
	{ "the_second_definition_of_an_app_is_a_mistake_and_is_checked", 0,
	    "pool.conf:2: app 'any' is defined twice (first at "
	    "pool.conf:1)\n"
	    "pool.conf:3: unknown option 'foo'\n",
	    ANY_APP "app any {\nfoo = 1 handoff = none command = /bin/a }\n" },
	{ "defaults_given_twice_are_a_mistake", 0,
	    "pool.conf:2: section 'defaults' is given twice (first at "
	    "pool.conf:1)\n",
	    "defaults { }\ndefaults { }\n" ANY_APP },
	{ "the_nearest_name_is_suggested_for_an_unknown_one", 0,
	    "pool.conf:1: unknown option 'max_procesess'; did you mean "
	    "'max_processes'?\n"
	    "pool.conf:2: unknown section 'ap'; did you mean 'app'?\n"
	    "pool.conf:3: unknown option 'quite_another'\n",
	    "max_procesess = 3\nap \"x\" { a = b }\nquite_another = 1\n" ANY_APP },
	{ "the_message_says_where_a_misplaced_option_belongs", 0,
	    "pool.conf:1: option 'listen' belongs in an app or in "
	    "defaults\n"
	    "pool.conf:2: option 'control' belongs outside of "
	    "sections\n"
	    "pool.conf:3: include() stands outside of sections\n"
	    "pool.conf:4: section 'app' within another one: a '}' is "
	    "missing before\n",
	    "listen = \"*:0\"\ndefaults { control = x\ninclude(\"x\")\n"
	    "app \"b\" { } }\n" ANY_APP },
	{ "every_mistake_is_told_in_one_run", 0,
	    "pool.conf:1: option 'control_mode': '0999' is not a mode: "
	    "octal digits, at most 0777\n"
	    "pool.conf:2: unknown option 'foo'\n"
	    "pool.conf:3: string is not closed on its line\n"
	    "pool.conf:4: option 'stop_timeout': '5q' is not a "
	    "duration: write 250ms, 10s, 5m, 2h or 1d\n"
	    "pool.conf:5: option 'kill_timeout': '-1' is not a "
	    "duration: write 250ms, 10s, 5m, 2h or 1d\n"
	    "pool.conf:6: app 'a' has no command\n"
	    "pool.conf:6: app 'a' has no listen address (only handoff = "
	    "none needs none)\n",
	    "control_mode = 0999\nfoo = 1\nlog = 'x\n"
	    "defaults { stop_timeout = 5q }\n"
	    "app \"b\" { handoff = none kill_timeout = -1 command = a }\n"
	    "app \"a\" { }\n" },
	{ "a_required_option_with_a_mistake_is_not_reported_missing", 0,
	    "pool.conf:1: option 'command' has no value\n",
	    "app \"a\" { listen = \"*:0\" command = }\n" },
	{ "the_name_of_a_section_is_no_part_of_an_options_name", 0,
	    "pool.conf:2: unexpected 'defaults|log' where an option "
	    "should begin\n",
	    ANY_APP "defaults|log = 1\n" },
	{ "a_malformed_call_is_a_mistake", 0,
	    "pool.conf:1: unexpected '\"b\"' in the call of 'include'\n"
	    "pool.conf:2: unexpected ',' in the call of 'include'\n"
	    "pool.conf:3: '(' after 'include' is never closed\n",
	    "include(\"a*\" \"b\")\ninclude(, \"a*\")\n"
	    "include(\"a*\"\n" ANY_APP },
	{ "sections_begin_with_a_name", 0,
	    "pool.conf:2: unexpected 'app*' where a section should "
	    "begin\n"
	    "pool.conf:3: unexpected '\"app\"' where a section should "
	    "begin\n",
	    ANY_APP "app* \"x\" { foo = 1 }\n\"app\" \"x\" { }\n" },
	{ "a_title_with_a_control_byte_is_no_name", 0,
	    "pool.conf:1: app 'a?b': a name is made of letters, digits "
	    "and '_.-'\n",
	    "app \"a\\x01b\" { handoff = none command = a }\n" },
	{ "an_option_or_section_in_the_form_of_another_is_a_mistake", 0,
	    "pool.conf:1: option 'log' takes one value, no list\n"
	    "pool.conf:2: option 'log_level' is no list that '+=' could "
	    "add to\n"
	    "pool.conf:3: 'pid_file' is an option: pid_file = VALUE\n"
	    "pool.conf:4: section 'app' needs a name: app \"NAME\" { ... "
	    "}\n"
	    "pool.conf:5: 'defaults' is a section: defaults { ... }\n",
	    "log = { stderr }\nlog_level += info\npid_file { }\napp { }\n"
	    "defaults = 1\n" ANY_APP },
};

FACT_TESTS(facts)
