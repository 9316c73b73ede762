/* The answer of the daemon, shown by apppoolctl, in any pieces. */

#include "check.h"
#include "ctl/ctl_answer.h"

static char *shown;
static size_t shown_len;
static char error[9000];

/* Shows s in pieces of so many bytes. */
static enum ctl_end
show(const char *s, size_t piece, bool json)
{
	struct ctl_answer a;
	const char *why = "";
	size_t len = strlen(s);
	enum ctl_end end;
	FILE *to;

	free(shown);
	to = open_memstream(&shown, &shown_len);
	ctl_answer_init(&a, to, json, NULL);
	for (size_t at = 0; at < len; at += piece)
		ctl_answer_put(&a, s + at, len - at < piece ? len - at : piece);
	end = ctl_answer_end(&a, &why);
	(void)snprintf(error, sizeof(error), "%s", why);
	(void)fclose(to);
	return end;
}

static void
lines_are_shown_as_they_are(void)
{
	static const char text[] = "web: running\n\nerr\nerror\nerror:x\n";

	for (size_t piece = 1; piece < sizeof(text); piece++) {
		CHECK_EQ(CTL_END_DONE, show(text, piece, false));
		CHECK_STR(text, shown);
	}
}

static void
a_last_line_that_is_an_error_is_kept_back(void)
{
	static const char text[] = "pool.conf:3: what\nerror: not done\n";

	for (size_t piece = 1; piece < sizeof(text); piece++) {
		CHECK_EQ(CTL_END_REFUSED, show(text, piece, false));
		CHECK_STR("pool.conf:3: what\n", shown);
		CHECK_STR("not done", error);
	}
}

static void
an_error_in_the_middle_is_a_line_like_others(void)
{
	static const char text[] = "error: no\nerror: no\nyes\n";

	for (size_t piece = 1; piece < sizeof(text); piece++) {
		CHECK_EQ(CTL_END_DONE, show(text, piece, false));
		CHECK_STR(text, shown);
	}
}

static void
the_last_of_two_errors_counts(void)
{
	CHECK_EQ(CTL_END_REFUSED, show("error: a\nerror: b\n", 3, false));
	CHECK_STR("error: a\n", shown);
	CHECK_STR("b", error);
}

static void
an_error_longer_than_memory_is_shown(void)
{
	static char text[20000];

	(void)snprintf(text, sizeof(text), "error: %0*d\n", 19000, 0);
	CHECK_EQ(CTL_END_DONE, show(text, 777, false));
	CHECK_STR(text, shown);
}

static void
an_unended_line_is_an_answer_cut_off(void)
{
	CHECK_EQ(CTL_END_CUT, show("", 1, false));
	CHECK_EQ(CTL_END_CUT, show("web: run", 1, false));
	CHECK_STR("web: run", shown);
	CHECK_EQ(CTL_END_CUT, show("error: the", 1, false));
	CHECK_STR("error: the", shown);
}

static void
json_that_does_not_end_is_an_answer_cut_off(void)
{
	CHECK_EQ(CTL_END_CUT, show("{\"apps\":[\n", 2, true));
	CHECK_EQ(CTL_END_CUT, show("{\"apps\":[\n{},\n", 2, true));
	CHECK_EQ(CTL_END_DONE, show("{\"apps\":[\n{},\n{}]}\n", 2, true));
	CHECK_EQ(CTL_END_DONE, show("web,\n", 2, false));
}

static void
progress_is_shown_in_one_place_and_then_cleared(void)
{
	static const char text[] =
	    "progress: 9 of 10\nprogress: none\nerror: so\nprogrammed\n";
	char *terminal = NULL, *out = NULL;
	size_t terminal_len, out_len;
	const char *why;

	for (size_t piece = 1; piece < sizeof(text); piece++) {
		FILE *to = open_memstream(&out, &out_len);
		FILE *on = open_memstream(&terminal, &terminal_len);
		struct ctl_answer a;

		ctl_answer_init(&a, to, false, on);
		for (size_t at = 0; at < sizeof(text) - 1; at += piece)
			ctl_answer_put(&a, text + at,
			    sizeof(text) - 1 - at < piece
				? sizeof(text) - 1 - at
				: piece);
		CHECK_EQ(CTL_END_DONE, ctl_answer_end(&a, &why));
		(void)fclose(to);
		(void)fclose(on);
		CHECK_STR("error: so\nprogrammed\n", out);
		CHECK_STR("\r9 of 10\rnone   \r    \r", terminal);
		free(out);
		free(terminal);
	}
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(lines_are_shown_as_they_are);
	RUN(a_last_line_that_is_an_error_is_kept_back);
	RUN(an_error_in_the_middle_is_a_line_like_others);
	RUN(the_last_of_two_errors_counts);
	RUN(an_error_longer_than_memory_is_shown);
	RUN(an_unended_line_is_an_answer_cut_off);
	RUN(json_that_does_not_end_is_an_answer_cut_off);
	RUN(progress_is_shown_in_one_place_and_then_cleared);
	free(shown);
	return check_finish();
}
