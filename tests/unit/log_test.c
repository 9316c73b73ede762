/* The log: how lines look, and that no caller waits for their reader. */

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <syslog.h>
#include <time.h>

#include "check.h"
#include "sys/address.h"
#include "sys/log.h"
#include "sys/text.h"

/*
 * The wall clock has been set to another time since the program began: the
 * kernel, which is not asked here, does not know.
 */
static time_t set_by;

int
clock_gettime(clockid_t clock, struct timespec *ts)
{
	int rc = (int)syscall(SYS_clock_gettime, clock, ts);

	if (clock == CLOCK_REALTIME)
		ts->tv_sec += set_by;
	return rc;
}

/* A test fails after this; a loaded machine may take long. */
#define PATIENCE TSPAN_SECONDS(20)

static char file[64];

static char text[4 * LOG_LINE_MAX];
static size_t text_len;

static tspan
elapsed(void (*function)(void))
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	function();
	clock_gettime(CLOCK_MONOTONIC, &b);
	return TSPAN_SECONDS(b.tv_sec - a.tv_sec) + b.tv_nsec - a.tv_nsec;
}

static void
collect(void *arg, const char *piece, size_t len)
{
	(void)arg;
	memcpy(text + text_len, piece, len);
	text_len += len;
	text[text_len] = '\0';
}

/* Logs what a worker has printed. */
static void
log_printed(enum log_level level, const char *printed, size_t len)
{
	struct logline line = { .level = level,
		.app = "web",
		.id = "ab",
		.text = printed,
		.len = len };

	log_put(&line);
}

static const char *
formatted(int head, bool json, const char *app, const char *s)
{
	const struct logline line = {
		/* 2026-11-21T08:50:01.123Z */
		.at = { .tv_sec = 1795251001, .tv_nsec = 123999999 },
		.level = LOG_LEVEL_INFO,
		.app = app,
		.id = app == NULL ? NULL : "ab12cd",
		.text = s,
		.len = strlen(s),
	};
	const struct log_style style = {
		.head = head, .json = json, .facility = LOG_LOCAL3
	};

	text_len = 0;
	log_format(&line, &style, collect, NULL);
	return text;
}

TEST(a_line_begins_with_time_and_level_and_names_its_worker)
{
#define TIME "2026-11-21T08:50:01.123Z"
	static const struct {
		const char *app;
		bool json;
		const char *text;
		const char *wanted;
	} lines[] = {
		{ NULL, false, "web: worker 4711 killed",
		    TIME " info web: worker 4711 killed" },
		{ "web", false, "hello", TIME " info web/ab12cd: hello" },
		{ NULL, true, "hello",
		    "{\"time\":\"" TIME "\",\"level\":\"info\","
		    "\"text\":\"hello\"}" },
		{ "web", true, "hello",
		    "{\"time\":\"" TIME "\",\"level\":\"info\","
		    "\"app\":\"web\",\"id\":\"ab12cd\","
		    "\"text\":\"hello\"}" },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		CHECK_STR(lines[i].wanted,
		    formatted(LOG_HEAD_TIME, lines[i].json, lines[i].app,
			lines[i].text));
}

TEST(controls_and_broken_utf8_are_escaped)
{
	CHECK_STR(TIME
	    " info a\\x1b[1m\tb\\x0ac\\x7f \\xff\\xc3( \\xc2\\x9b ä€𝄞",
	    formatted(LOG_HEAD_TIME, false, NULL,
		"a\x1b[1m\tb\nc\x7f \xff\xc3( \xc2\x9b ä€𝄞"));
}

TEST(syslog_gets_facility_and_severity_in_one_number)
{
	char expected[64];

	setenv("TZ", "UTC", 1);
	tzset();
	snprintf(expected, sizeof(expected),
	    "<%d>Nov 21 08:50:01 apppoold[%d]: hello", LOG_LOCAL3 | LOG_INFO,
	    (int)getpid());
	CHECK_STR(expected, formatted(LOG_HEAD_SYSLOG, false, NULL, "hello"));
}

/* Standard error becomes the writing end; returns the reading end. */
static int
redirect_to_pipe(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) == -1 || dup2(ends[1], STDERR_FILENO) == -1)
		exit(EXIT_FAILURE);
	close(ends[1]);
	signal(SIGPIPE, SIG_IGN);
	return ends[0];
}

/* Adds to text what comes within the time; returns whether it did. */
static bool
read_more(int fd, int milliseconds)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	ssize_t n;

	if (poll(&pfd, 1, milliseconds) != 1)
		return false;
	n = read(fd, text + text_len, sizeof(text) - 1 - text_len);
	if (n <= 0)
		return false;
	text_len += (size_t)n;
	text[text_len] = '\0';
	return true;
}

/* Empties text and reads until the word has come; returns whether it did. */
static bool
read_until(int fd, const char *word)
{
	text_len = 0;
	text[0] = '\0';
	while (strstr(text, word) == NULL) {
		if (text_len > sizeof(text) / 2) {
			memmove(text, text + text_len - 1000, 1001);
			text_len = 1000;
		}
		if (!read_more(fd, (int)(PATIENCE / 1000000)))
			return false;
	}
	return true;
}

static int
open_file(void)
{
	const struct log_spec spec = {
		.dest = LOG_DEST_FILE, .path = file, .level = LOG_LEVEL_INFO
	};

	return log_open(&spec);
}

/* Logs to an empty file. */
static int
open_fresh_file(void)
{
	unlink(file);
	return open_file();
}

static size_t
lines_in_file(const char *word)
{
	FILE *f = fopen(file, "r");
	char *line = NULL;
	size_t size = 0, n = 0;

	if (f == NULL)
		return 0;
	while (getline(&line, &size, f) != -1)
		n += strstr(line, word) != NULL;
	free(line);
	fclose(f);
	return n;
}

TEST_ALONE(errno_is_named_and_kept)
{
	int fd = redirect_to_pipe();

	errno = ENOENT;
	log_warn("%s", "x");
	CHECK_EQ(ENOENT, errno);
	log_info("y %m");
	CHECK_EQ(ENOENT, errno);
	CHECK(read_until(fd, "info y No such file or directory\n"));
	CHECK(strstr(text, "warn x: No such file or directory\n") != NULL);
}

TEST_ALONE(less_urgent_lines_than_asked_for_are_not_written)
{
	const struct log_spec spec = { .level = LOG_LEVEL_WARN };
	int fd = redirect_to_pipe();

	NEED(log_open(&spec) == 0);
	log_debug("one");
	log_info("two");
	log_printed(LOG_LEVEL_INFO, "printed", 7);
	log_printed(LOG_LEVEL_WARN, "complained", 10);
	log_warnx("three");
	CHECK(read_until(fd, "three"));
	CHECK(strstr(text, "two") == NULL);
	CHECK(strstr(text, "printed") == NULL);
	CHECK(strstr(text, "warn web/ab: complained\n") != NULL);
}

TEST_ALONE(lines_have_the_time_to_which_the_wall_clock_is_set)
{
	char now[16], then[16];
	struct timespec ts;

	NEED(open_fresh_file() == 0);
	clock_gettime(CLOCK_REALTIME, &ts);
	(void)strftime(now, sizeof(now), "%Y-", gmtime(&ts.tv_sec));
	ts.tv_sec -= 1000L * 86400;
	(void)strftime(then, sizeof(then), "%Y-", gmtime(&ts.tv_sec));
	NEED(log_start() == 0);
	log_info("one");
	set_by = -1000L * 86400;
	log_info("two");
	set_by = 0;
	log_info("three");
	CHECK(log_flush(PATIENCE));
	CHECK_EQ(1, lines_in_file(then));
	CHECK_EQ(2, lines_in_file(now));
}

static void
flood(void)
{
	for (int i = 0; i < 20000; i++)
		log_info("%0200d", i);
}

static void
flush_soon(void)
{
	CHECK(!log_flush(TSPAN_MSECONDS(100)));
}

/* Waits until standard error, a pipe, is full. */
static bool
wait_full(void)
{
	struct pollfd pfd = { .fd = STDERR_FILENO, .events = POLLOUT };

	for (int left = 20000; left > 0 && poll(&pfd, 1, 0) == 1; left--)
		(void)poll(NULL, 0, 1);
	return poll(&pfd, 1, 0) == 0;
}

TEST_ALONE(a_reader_that_does_not_read_holds_nobody_up)
{
	int fd = redirect_to_pipe();

	NEED(log_start() == 0);
	CHECK(elapsed(flood) < PATIENCE);
	CHECK(!log_flush(TSPAN_MSECONDS(10)));

	CHECK(read_until(fd, " lines of log dropped"));
	log_info("again");
	CHECK(read_until(fd, "again"));
	CHECK(log_flush(PATIENCE));
}

TEST_ALONE(the_end_does_not_wait_for_a_stuck_reader)
{
	int status;
	pid_t pid;

	(void)redirect_to_pipe();
	pid = fork();
	if (pid == 0) {
		(void)alarm((unsigned)tspan_to_seconds(PATIENCE));
		if (log_start() == 0) {
			flood();
			flush_soon();
		}
		exit(7);
	}
	NEED(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(7, WEXITSTATUS(status));
}

static volatile bool hangs;

/* A write(2) waits for ever that poll(2) has promised to be short. */
ssize_t
write(int fd, const void *buf, size_t len)
{
	while (hangs)
		(void)pause();
	return syscall(SYS_write, fd, buf, len);
}

/* The day would be over long after the test. */
TEST_ALONE(a_wall_clock_that_is_set_delays_no_end)
{
	(void)redirect_to_pipe();
	NEED(log_start() == 0);
	hangs = true;
	log_info("one");
	set_by = 86400;
	(void)alarm((unsigned)tspan_to_seconds(PATIENCE));
	CHECK(elapsed(flush_soon) < PATIENCE);
	hangs = false;
}

TEST_ALONE(another_destination_frees_the_log_of_a_stuck_reader)
{
	int fd = redirect_to_pipe();

	NEED(log_start() == 0);
	flood();
	NEED(wait_full());
	NEED(open_fresh_file() == 0);
	CHECK(log_flush(PATIENCE));
	CHECK_EQ(1, lines_in_file("lines of log lost: they are not"));
	CHECK(lines_in_file("lines of log dropped") > 0);
	close(fd);
}

/* Limits the size to which files may grow. */
static void
limit_file(rlim_t size)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = size;
	setrlimit(RLIMIT_FSIZE, &limit);
}

TEST_ALONE(half_a_line_is_ended_before_the_next)
{
	signal(SIGXFSZ, SIG_IGN);
	NEED(open_fresh_file() == 0);
	limit_file(50);
	log_info("this is cut somewhere in the middle, as the disk is full");
	log_info("this is lost altogether");
	limit_file(RLIM_INFINITY);
	log_info("this is written");
	CHECK_EQ(1, lines_in_file("Z info this is cut"));
	CHECK_EQ(1, lines_in_file("Z warn 2 lines of log lost: File too"));
	CHECK_EQ(1, lines_in_file("Z info this is written"));
	CHECK_EQ(3, lines_in_file("20"));
}

TEST_ALONE(a_broken_pipe_is_survived)
{
	close(redirect_to_pipe());
	NEED(log_start() == 0);
	log_info("one");
	CHECK(log_flush(PATIENCE));
	NEED(open_fresh_file() == 0);
	log_info("two");
	CHECK(log_flush(PATIENCE));
	CHECK_EQ(1, lines_in_file("1 lines of log lost: Broken pipe"));
	CHECK_EQ(1, lines_in_file("two"));
}

static int
syslog_server(char *path)
{
	struct sockaddr_un addr;
	socklen_t len = address_of_path(path, &addr);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	unlink(path);
	return bind(fd, (void *)&addr, len) == 0 ? fd : -1;
}

TEST_ALONE(syslog_gets_lines_before_and_after_its_restart)
{
	char path[64];
	const struct log_spec spec = { .dest = LOG_DEST_SYSLOG,
		.facility = LOG_LOCAL3,
		.path = path,
		.level = LOG_LEVEL_INFO };
	int fd;

	CHECK_FILE(path, "syslog");
	NEED(log_open(&spec) == 0);
	NEED(log_start() == 0);
	log_info("nobody there");
	CHECK(log_flush(PATIENCE));

	fd = syslog_server(path);
	NEED(fd != -1);
	log_warnx("one");
	CHECK(read_until(fd, "one"));
	CHECK(strstr(text, "1 lines of log lost: No such file") != NULL);
	close(fd);

	fd = syslog_server(path);
	NEED(fd != -1);
	log_errorx("two");
	CHECK(read_until(fd, "two"));
	CHECK(strncmp(text, "<155>", 5) == 0);
	CHECK(log_flush(PATIENCE));
	unlink(path);
}

TEST_ALONE(a_repeated_line_is_logged_once_a_minute_with_a_count)
{
	struct log_rate rate = { 0 };
	tstamp now = TSPAN_SECONDS(1000);
	int fd = redirect_to_pipe();

	log_limited(&rate, now, LOG_LEVEL_WARN, "trouble");
	log_limited(&rate, now, LOG_LEVEL_WARN, "trouble");
	now += TSPAN_SECONDS(59);
	log_limited(&rate, now, LOG_LEVEL_WARN, "trouble");
	now += TSPAN_SECONDS(1);
	errno = EMFILE;
	log_limited(&rate, now, LOG_LEVEL_WARN, "trouble: %m");
	log_info("end");
	CHECK(read_until(fd, "end"));
	CHECK(strstr(text, "Z warn trouble\n") != NULL);
	CHECK(strstr(text,
		  "Z warn trouble: Too many open files (and 2 times "
		  "since this was said last)\n") != NULL);
}

TEST_ALONE(fatal_writes_and_exits_71)
{
	int fd = redirect_to_pipe();
	int status;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		errno = EIO;
		if (log_start() == 0)
			fatal("%s", "cannot go on");
		_exit(1);
	}
	NEED(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(71, WEXITSTATUS(status));
	CHECK(read_until(fd, "Z error cannot go on: Input/output error\n"));
}

static void *
log_much(void *arg)
{
	for (int i = 0; i < 2000; i++)
		log_info("thread %s line %d", (const char *)arg, i);
	return NULL;
}

TEST_ALONE(many_threads_may_log)
{
	pthread_t a, b;

	NEED(open_fresh_file() == 0);
	NEED(log_start() == 0);
	NEED(pthread_create(&a, NULL, log_much, (void *)(uintptr_t) "a") == 0);
	NEED(pthread_create(&b, NULL, log_much, (void *)(uintptr_t) "b") == 0);
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(0, open_file());
		log_info("main line %d", i);
	}
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	CHECK(log_flush(PATIENCE));
	CHECK_EQ(2000, lines_in_file("thread a line"));
	CHECK_EQ(2000, lines_in_file("thread b line"));
	CHECK_EQ(100, lines_in_file("main line"));
}

/* Checks report on stderr, which must not follow descriptor 2 to a pipe. */
static void
keep_stderr_apart(void)
{
	FILE *f = fdopen(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10), "w");

	if (f == NULL)
		exit(EXIT_FAILURE);
	setvbuf(f, NULL, _IOLBF, 0);
	stderr = f;
}

int
main(int argc, char **argv)
{
	keep_stderr_apart();
	CHECK_FILE(file, "log");
	check_start(argc, argv);
	check_all();

	unlink(file);
	return check_finish();
}
