/* Traces: reading them, and telling their mistakes. */

#include <sys/mman.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "../unit/check.h"
#include "sim/simulate.h"

static const struct load_app apps[] = {
	{ .name = "web" },
	{ .name = "api" },
	{ .name = "a" },
};

static char path[64];
static int file = -1;

/* A file that is in memory alone, named /proc/self/fd/N. */
static void
write_trace(const char *text, size_t len)
{
	if (file != -1)
		(void)close(file);
	file = memfd_create("trace", MFD_CLOEXEC);
	if (file == -1 || write(file, text, len) != (ssize_t)len)
		abort();
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
}

static struct load_source *
load_file(size_t apps_len, tspan length)
{
	static struct load_spec spec;

	spec = (struct load_spec){
		.apps = apps,
		.apps_len = apps_len,
		.length = length,
		.trace = path,
	};
	return load_open(&spec);
}

static struct load_source *
load_text(const char *text)
{
	write_trace(text, strlen(text));
	return load_file(3, 0);
}

/* True if just this connection comes next. */
static bool
gives(struct load_source *l, double at, uint32_t app, double service)
{
	struct arrival a;

	if (load_next(l, &a) != LOAD_ARRIVAL)
		return false;
	if (a.at == (tstamp)(at * 1e9 + 0.5) && a.app == app &&
	    a.service == (tspan)(service * 1e9 + 0.5))
		return true;
	fprintf(
	    stderr, "%jd %u %jd\n", (intmax_t)a.at, a.app, (intmax_t)a.service);
	return false;
}

static bool
ends(struct load_source *l)
{
	struct arrival a;
	enum load_got got = load_next(l, &a);

	if (got == LOAD_MISTAKE)
		fprintf(stderr, "%s\n", load_mistake(l));
	return got == LOAD_END && load_next(l, &a) == LOAD_END &&
	    load_mistake(l) == NULL;
}

/* The mistakes that are told, without "FILE" in front of each line. */
static const char *
said_of(struct load_source *l)
{
	static char said[4096];
	const char *mistake;
	struct arrival a;
	enum load_got got;

	while ((got = load_next(l, &a)) == LOAD_ARRIVAL)
		;
	if (got != LOAD_MISTAKE || load_next(l, &a) != LOAD_MISTAKE)
		return NULL;
	said[0] = '\0';
	for (mistake = load_mistake(l); *mistake != '\0';) {
		size_t len = strcspn(mistake, "\n");
		char line[1000];

		if (strncmp(mistake, path, strlen(path)) != 0)
			return "it does not name the file";
		(void)snprintf(line, sizeof(line), "%.*s",
		    (int)(len - strlen(path)), mistake + strlen(path));
		(void)strlcat(said, line, sizeof(said));
		mistake += len + (mistake[len] == '\n');
		if (*mistake != '\0')
			(void)strlcat(said, "\n", sizeof(said));
	}
	load_close(l);
	return said;
}

static const char *
mistake_of(const char *text)
{
	return said_of(load_text(text));
}

/* --- what is good ------------------------------------------------------- */

static void
lines_are_connections(void)
{
	struct load_source *l =
	    load_text("0.5,web,0.25\n0.5,api,1\n3,a,.125\n");

	CHECK(gives(l, 0.5, 0, 0.25));
	CHECK(gives(l, 0.5, 1, 1));
	CHECK(gives(l, 3, 2, 0.125));
	CHECK(ends(l));
	load_close(l);
}

static void
a_last_line_needs_no_end(void)
{
	struct load_source *l = load_text("1,web,1");

	CHECK(gives(l, 1, 0, 1));
	CHECK(ends(l));
	load_close(l);
}

static void
titles_comments_and_empty_lines_are_no_connections(void)
{
	struct load_source *l =
	    load_text("# recorded on a Monday\n\narrival,app,service time\n"
		      " # so\n \t\n1,web,1\n#2,web,1\n");

	CHECK(gives(l, 1, 0, 1));
	CHECK(ends(l));
	load_close(l);
}

static void
marks_quotes_and_blanks_of_spreadsheets_do_not_matter(void)
{
	struct load_source *l =
	    load_text("\xef\xbb\xbf\"time\",\"app\",\"took\"\r\n"
		      "\"1\",\"web\",\"0.5\"\r\n 2 ,\tapi , 1 \r\n");

	CHECK(gives(l, 1, 0, 0.5));
	CHECK(gives(l, 2, 1, 1));
	CHECK(ends(l));
	load_close(l);
}

static void
times_have_the_units_of_the_configuration(void)
{
	struct load_source *l =
	    load_text("100ms,web,250ms\n1.5s,web,1m\n"
		      "2m,web,2h\n1h,web,0.5d\n1d,web,1.5ms\n");

	CHECK(gives(l, 0.1, 0, 0.25));
	CHECK(gives(l, 1.5, 0, 60));
	CHECK(gives(l, 120, 0, 7200));
	CHECK(gives(l, 3600, 0, 43200));
	CHECK(gives(l, 86400, 0, 0.0015));
	CHECK(ends(l));
	load_close(l);
}

static void
times_are_exact_to_the_nanosecond(void)
{
	struct load_source *l =
	    load_text("1234.123456789,web,0.000000001999\n");

	CHECK(gives(l, 1234.123456789, 0, 2e-9));
	load_close(l);
}

/* Most logs count in milliseconds. */
static void
a_service_time_of_zero_is_the_shortest(void)
{
	struct load_source *l = load_text("1,web,0\n2,web,0.000\n");

	CHECK(gives(l, 1, 0, 1e-9));
	CHECK(gives(l, 2, 0, 1e-9));
	load_close(l);
}

static void
times_of_day_count_from_the_first(void)
{
	struct load_source *l =
	    load_text("1764000000.250,web,1\n1764000001.500,web,1\n");

	CHECK(gives(l, 0, 0, 1));
	CHECK(gives(l, 1.25, 0, 1));
	load_close(l);
}

static void
the_only_app_need_not_be_named(void)
{
	struct load_source *l;

	write_trace("1,,1\n2,web,1\n", 13);
	l = load_file(1, 0);
	CHECK(gives(l, 1, 0, 1));
	CHECK(gives(l, 2, 0, 1));
	CHECK(ends(l));
	load_close(l);
}

static void
connections_past_the_length_are_left_out(void)
{
	struct load_source *l;

	write_trace("1,web,1\n2,web,1\nnonsense\n", 25);
	l = load_file(3, TSPAN_SECONDS(2));
	CHECK(gives(l, 1, 0, 1));
	CHECK(ends(l));
	load_close(l);
}

/* Lines lie across the pieces in which the file is read, in every way. */
static void
a_long_trace_comes_whole(void)
{
	size_t size = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);
	struct load_source *l;
	unsigned i;

	for (i = 0; i < 100000; i++)
		(void)fprintf(out, "%u,%s,%u\n", i, apps[i % 3].name, i + 1);
	(void)fclose(out);
	write_trace(text, size);
	free(text);
	l = load_file(3, 0);
	for (i = 0; i < 100000 && gives(l, i, i % 3, i + 1); i++)
		;
	CHECK_EQ(100000, i);
	CHECK(ends(l));
	load_close(l);
}

/* A pipe that gives one byte at a time; standard input may be one. */
static void
a_pipe_is_read_as_it_comes(void)
{
	static const char text[] = "1,web,1\n2,api,1\n3,a,1\n";
	struct load_source *l;
	int ends_of[2];
	pid_t pid;

	NEED(pipe2(ends_of, O_DIRECT) == 0);
	pid = fork();
	if (pid == 0) {
		for (const char *c = text; *c != '\0'; c++)
			(void)!write(ends_of[1], c, 1);
		_exit(0);
	}
	(void)close(ends_of[1]);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", ends_of[0]);
	l = load_file(3, 0);
	(void)close(ends_of[0]);
	CHECK(gives(l, 1, 0, 1));
	CHECK(gives(l, 2, 1, 1));
	CHECK(gives(l, 3, 2, 1));
	CHECK(ends(l));
	load_close(l);
	(void)waitpid(pid, NULL, 0);
}

/* --- what is bad -------------------------------------------------------- */

#define TIME_HELP \
	": write seconds, as 12.25, or a unit of ms, s, m, h or d behind it"
#define LINE_HELP ": write arrival,app,service time"

static void
a_mistake_has_its_line(void)
{
	CHECK_STR(":4: 'x' is not a time of arrival" TIME_HELP,
	    mistake_of("# 1\n2,web,1\n\nx,web,1\n"));
}

static void
a_bad_number_is_a_mistake(void)
{
	static const char *const bad[] = { "-", "", "1.764e+09", "-1", "+1",
		"0x10", "inf", "nan", "1,5", "1us", "1 s", ".", "ms", "1.5.5",
		"1764000000000", "99999999999999999999", "1\x01" };

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char line[100];

		(void)snprintf(line, sizeof(line), "0,web,1\n%s,web,1", bad[i]);
		CHECK(mistake_of(line) != NULL);
		(void)snprintf(line, sizeof(line), "1,web,%s", bad[i]);
		CHECK(mistake_of(line) != NULL);
	}
	CHECK_STR(":1: '1\\x01' is not a time of service" TIME_HELP,
	    mistake_of("1,web,1\x01"));
}

static void
an_unknown_app_is_answered_by_the_known_ones(void)
{
	CHECK_STR(":1: there is no app 'wob': write web, api or a",
	    mistake_of("1,wob,1\n"));
	CHECK_STR(":1: there is no app 'we': write web, api or a",
	    mistake_of("1,we,1\n"));
	CHECK_STR(":1: there is no app 'webb': write web, api or a",
	    mistake_of("1,webb,1\n"));
	CHECK_STR(":1: the app is missing: write web, api or a",
	    mistake_of("1,,1\n"));
}

static void
a_line_needs_three_fields(void)
{
	CHECK_STR(":1: fields are missing" LINE_HELP, mistake_of("1,web\n"));
	CHECK_STR(":1: fields are missing" LINE_HELP, mistake_of("1\n"));
	CHECK_STR(
	    ":1: too many fields" LINE_HELP, mistake_of("1,web,1,GET /\n"));
}

static void
titles_stand_before_all_else(void)
{
	CHECK_STR(":2: 'arrival' is not a time of arrival" TIME_HELP,
	    mistake_of("1,web,1\narrival,app,service\n"));
	CHECK_STR(":2: 'at' is not a time of arrival" TIME_HELP,
	    mistake_of("arrival,app,service\nat,app,took\n"));
}

static void
arrivals_stand_in_their_order(void)
{
	CHECK_STR(":2: '0.9' is earlier than what stands before it: sort the "
		  "file by time, as sort -t, -k1,1n does",
	    mistake_of("1,web,1\n0.9,web,1\n"));
}

static void
a_line_that_is_too_long_is_a_mistake(void)
{
	static char text[200000];

	memset(text, '1', sizeof(text) - 1);
	CHECK_STR(":1: this line is too long" LINE_HELP, mistake_of(text));
	memcpy(text + 100000, "\nx,web,1\n", 10);
	CHECK_STR(":1: this line is too long" LINE_HELP
		  "\n:2: 'x' is not a time of arrival" TIME_HELP,
	    mistake_of(text));
}

static void
a_line_with_a_nul_is_a_mistake(void)
{
	write_trace("1,web\0,1\n", 9);
	CHECK_STR(
	    ":1: a NUL is in this line" LINE_HELP, said_of(load_file(3, 0)));
}

static void
an_empty_trace_is_a_mistake(void)
{
	CHECK_STR(": no connection is in it: write lines of "
		  "arrival,app,service time",
	    mistake_of("# nothing\narrival,app,service time\n"));
}

static void
all_mistakes_are_told_at_once(void)
{
	CHECK_STR(":1: fields are missing" LINE_HELP
		  "\n:3: '0.5' is earlier than what stands before it: sort "
		  "the file by time, as sort -t, -k1,1n does\n"
		  ":5: fields are missing" LINE_HELP,
	    mistake_of("1\n1,web,1\n0.5,web,1\n2,web,1\n2"));
}

static void
ten_mistakes_are_told_at_most(void)
{
	const char *said = mistake_of("x\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\n");
	unsigned lines = 1;

	NEED(said != NULL);
	for (const char *c = said; *c != '\0'; c++)
		lines += *c == '\n';
	CHECK_EQ(11, lines);
	CHECK_STR("\n: and so on", strrchr(said, '\n'));
}

static void
a_folder_is_a_mistake(void)
{
	(void)snprintf(path, sizeof(path), "/tmp");
	CHECK_STR(": Is a directory", said_of(load_file(3, 0)));
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(lines_are_connections);
	RUN(a_last_line_needs_no_end);
	RUN(titles_comments_and_empty_lines_are_no_connections);
	RUN(marks_quotes_and_blanks_of_spreadsheets_do_not_matter);
	RUN(times_have_the_units_of_the_configuration);
	RUN(times_are_exact_to_the_nanosecond);
	RUN(a_service_time_of_zero_is_the_shortest);
	RUN(times_of_day_count_from_the_first);
	RUN(the_only_app_need_not_be_named);
	RUN(connections_past_the_length_are_left_out);
	RUN(a_long_trace_comes_whole);
	RUN(a_pipe_is_read_as_it_comes);
	RUN(a_mistake_has_its_line);
	RUN(a_bad_number_is_a_mistake);
	RUN(an_unknown_app_is_answered_by_the_known_ones);
	RUN(a_line_needs_three_fields);
	RUN(titles_stand_before_all_else);
	RUN(arrivals_stand_in_their_order);
	RUN(a_line_that_is_too_long_is_a_mistake);
	RUN(a_line_with_a_nul_is_a_mistake);
	RUN(an_empty_trace_is_a_mistake);
	RUN(all_mistakes_are_told_at_once);
	RUN(ten_mistakes_are_told_at_most);
	RUN(a_folder_is_a_mistake);
	return check_finish();
}
