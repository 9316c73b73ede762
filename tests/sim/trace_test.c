/* Traces: reading them, and telling their mistakes. */

#include <sys/mman.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "sim_help.h"

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

/* The mistakes that are told, without "FILE" in front of each line. */
static const char *
said_of(struct load_source *l)
{
	static char said[4096];
	const char *mistake;
	struct arrival a;
	enum load_got got;

	while ((got = help_next(l, &a)) == LOAD_ARRIVAL)
		;
	if (got != LOAD_MISTAKE || help_next(l, &a) != LOAD_MISTAKE)
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

/* --- what is good ------------------------------------------------------- */

/* Whether the load has just these connections, and then ends. */
static bool
gives(struct load_source *l, const struct arrival *wanted, size_t len)
{
	enum load_got got = LOAD_END;
	struct arrival a = { 0 };
	size_t i = 0;

	while (i < len && (got = help_next(l, &a)) == LOAD_ARRIVAL &&
	    a.at == wanted[i].at && a.app == wanted[i].app &&
	    a.service == wanted[i].service)
		i++;
	if (i < len)
		fprintf(stderr, "%zu: %d %jd %u %jd\n", i, (int)got,
		    (intmax_t)a.at, a.app, (intmax_t)a.service);
	return i == len && help_next(l, &a) == LOAD_END &&
	    help_next(l, &a) == LOAD_END && load_mistake(l) == NULL;
}

#define MS(n) TSPAN_MSECONDS(n)
#define S(n) TSPAN_SECONDS(n)

/* Text, and its connections; of three apps, of all its time, unless said. */
static const struct good {
	const char *fact;
	const char *text;
	struct arrival wanted[5];
	size_t len;
	size_t apps;
	tspan length;
} goods[] = {
	{ "lines are connections", "0.5,web,0.25\n0.5,api,1\n3,a,.125\n",
	    { { MS(500), 0, MS(250) }, { MS(500), 1, S(1) },
		{ S(3), 2, MS(125) } },
	    .len = 3 },
	{ "a last line needs no end", "1,web,1", { { S(1), 0, S(1) } },
	    .len = 1 },
	{ "titles, comments and empty lines are no connections",
	    "# recorded on a Monday\n\narrival,app,service time\n"
	    " # so\n \t\n1,web,1\n#2,web,1\n",
	    { { S(1), 0, S(1) } }, .len = 1 },
	{ "marks, quotes and blanks of spreadsheets do not matter",
	    "\xef\xbb\xbf\"time\",\"app\",\"took\"\r\n"
	    "\"1\",\"web\",\"0.5\"\r\n 2 ,\tapi , 1 \r\n",
	    { { S(1), 0, MS(500) }, { S(2), 1, S(1) } }, .len = 2 },
	{ "times have the units of the configuration",
	    "100ms,web,250ms\n1.5s,web,1m\n2m,web,2h\n1h,web,0.5d\n"
	    "1d,web,1.5ms\n",
	    { { MS(100), 0, MS(250) }, { MS(1500), 0, S(60) },
		{ S(120), 0, S(7200) }, { S(3600), 0, S(43200) },
		{ S(86400), 0, TSPAN_USECONDS(1500) } },
	    .len = 5 },
	{ "times are exact to the nanosecond",
	    "1234.123456789,web,0.000000001999\n", { { 1234123456789, 0, 2 } },
	    .len = 1 },
	/* Most logs count in milliseconds. */
	{ "a service time of zero is the shortest", "1,web,0\n2,web,0.000\n",
	    { { S(1), 0, 1 }, { S(2), 0, 1 } }, .len = 2 },
	{ "times of day count from the first",
	    "1764000000.250,web,1\n1764000001.500,web,1\n",
	    { { 0, 0, S(1) }, { MS(1250), 0, S(1) } }, .len = 2 },
	{ "the only app need not be named", "1,,1\n2,web,1\n",
	    { { S(1), 0, S(1) }, { S(2), 0, S(1) } }, .len = 2, .apps = 1 },
	{ "connections past the length are left out",
	    "1,web,1\n2,web,1\nnonsense\n", { { S(1), 0, S(1) } }, .len = 1,
	    .length = S(2) },
};

TEST(a_good_trace_gives_its_connections)
{
	for (size_t i = 0; i < sizeof(goods) / sizeof(goods[0]); i++) {
		const struct good *g = &goods[i];
		struct load_source *l;

		write_trace(g->text, strlen(g->text));
		l = load_file(g->apps == 0 ? 3 : g->apps, g->length);
		if (!CHECK(gives(l, g->wanted, g->len)))
			fprintf(stderr, "%s\n", g->fact);
		load_close(l);
	}
}

/* Lines lie across the pieces in which the file is read, in every way. */
TEST(a_long_trace_comes_whole)
{
	static struct arrival wanted[100000];
	size_t size = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);
	struct load_source *l;

	for (unsigned i = 0; i < 100000; i++) {
		wanted[i] = (struct arrival){ S(i), i % 3, S(i + 1) };
		(void)fprintf(out, "%u,%s,%u\n", i, apps[i % 3].name, i + 1);
	}
	(void)fclose(out);
	write_trace(text, size);
	free(text);
	l = load_file(3, 0);
	CHECK(gives(l, wanted, 100000));
	load_close(l);
}

/* A pipe that gives one byte at a time; standard input may be one. */
TEST(a_pipe_is_read_as_it_comes)
{
	int ends_of[2];
	struct load_source *l;
	pid_t pid;

	NEED(pipe2(ends_of, O_DIRECT) == 0);
	pid = fork();
	if (pid == 0) {
		for (const char *c = goods[0].text; *c != '\0'; c++)
			(void)!write(ends_of[1], c, 1);
		_exit(0);
	}
	(void)close(ends_of[1]);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", ends_of[0]);
	l = load_file(3, 0);
	(void)close(ends_of[0]);
	CHECK(gives(l, goods[0].wanted, goods[0].len));
	load_close(l);
	(void)waitpid(pid, NULL, 0);
}

/* --- what is bad -------------------------------------------------------- */

static const char *
mistake_of(const char *text)
{
	write_trace(text, strlen(text));
	return said_of(load_file(3, 0));
}

#define TIME_HELP \
	": write seconds, as 12.25, or a unit of ms, s, m, h or d behind it"
#define LINE_HELP ": write arrival,app,service time"
#define SORT_HELP \
	" is earlier than what stands before it: sort the file by time, as " \
	"sort -t, -k1,1n does"
#define APPS ": write web, api or a"

TEST(a_mistake_has_its_line_and_says_what_is_right)
{
	static const struct {
		const char *text;
		const char *said;
	} bad[] = {
		{ "# 1\n2,web,1\n\nx,web,1\n",
		    ":4: 'x' is not a time of arrival" TIME_HELP },
		{ "1,web,1\x01",
		    ":1: '1\\x01' is not a time of service" TIME_HELP },
		{ "1,wob,1\n", ":1: there is no app 'wob'" APPS },
		{ "1,we,1\n", ":1: there is no app 'we'" APPS },
		{ "1,webb,1\n", ":1: there is no app 'webb'" APPS },
		{ "1,,1\n", ":1: the app is missing" APPS },
		{ "1,web\n", ":1: fields are missing" LINE_HELP },
		{ "1\n", ":1: fields are missing" LINE_HELP },
		{ "1,web,1,GET /\n", ":1: too many fields" LINE_HELP },
		/* Titles stand before all else. */
		{ "1,web,1\narrival,app,service\n",
		    ":2: 'arrival' is not a time of arrival" TIME_HELP },
		{ "arrival,app,service\nat,app,took\n",
		    ":2: 'at' is not a time of arrival" TIME_HELP },
		{ "1,web,1\n0.9,web,1\n", ":2: '0.9'" SORT_HELP },
		{ "# nothing\narrival,app,service time\n",
		    ": no connection is in it: write lines of "
		    "arrival,app,service time" },
		/* All mistakes are told at once. */
		{ "1\n1,web,1\n0.5,web,1\n2,web,1\n2",
		    ":1: fields are missing" LINE_HELP "\n:3: '0.5'" SORT_HELP
		    "\n:5: fields are missing" LINE_HELP },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_STR(bad[i].said, mistake_of(bad[i].text));
	write_trace("1,web\0,1\n", 9);
	CHECK_STR(
	    ":1: a NUL is in this line" LINE_HELP, said_of(load_file(3, 0)));
	(void)snprintf(path, sizeof(path), "/tmp");
	CHECK_STR(": Is a directory", said_of(load_file(3, 0)));
}

TEST(a_bad_number_is_a_mistake)
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
}

TEST(a_line_that_is_too_long_is_a_mistake)
{
	static char text[200000];

	memset(text, '1', sizeof(text) - 1);
	CHECK_STR(":1: this line is too long" LINE_HELP, mistake_of(text));
	memcpy(text + 100000, "\nx,web,1\n", 10);
	CHECK_STR(":1: this line is too long" LINE_HELP
		  "\n:2: 'x' is not a time of arrival" TIME_HELP,
	    mistake_of(text));
}

TEST(ten_mistakes_are_told_at_most)
{
	const char *said = mistake_of("x\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\n");
	unsigned lines = 1;

	NEED(said != NULL);
	for (const char *c = said; *c != '\0'; c++)
		lines += *c == '\n';
	CHECK_EQ(11, lines);
	CHECK_STR("\n: and so on", strrchr(said, '\n'));
}

TEST(a_file_that_is_not_there_is_an_error)
{
	(void)snprintf(path, sizeof(path), "/nonexistent/trace.csv");
	CHECK(load_file(3, 0) == NULL);
	CHECK_EQ(ENOENT, errno);
}

TESTS(NULL, NULL)
