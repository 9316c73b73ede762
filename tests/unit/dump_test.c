/* The dump of the state: piece by piece, through a lane, into a file. */

#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "check.h"
#include "standing.h"
#include "sys/log.h"

#define LISTENERS 2000

static struct control control = { .sup = &sup };
static char path[64], log_path[64];
static const tstamp now = TSPAN_SECONDS(1000);

static void
begin(void)
{
	CHECK_FILE(path, "dump");
	CHECK_FILE(log_path, "log");
	standing_begin(1, now);
	sup.control_arg = &control;
	conf.dump_file = path;
	(void)standing_add(&web, now);
	CHECK_EQ(0, loop_init(&sup.loop, NULL));
	(void)lane_start(&sup.looker, &sup.loop, "looker", NULL);
}

/* Makes the status longer than one piece. */
static void
grow(void)
{
	for (unsigned i = 0; i < LISTENERS; i++)
		standing_listen(
		    groups[0], "unix:/run/a/rather/long/name/of/a/socket");
}

static void
end(void)
{
	(void)lane_stop(&sup.looker, TSTAMP_NEVER);
	loop_fini(&sup.loop);
	standing_end();
	(void)unlink(path);
}

/* Turns the loop until the dump is over. Returns the number of turns. */
static unsigned
finish(void)
{
	tstamp limit = loop_now(&sup.loop) + TSPAN_SECONDS(10);
	unsigned turns = 0;

	while (control.dump != NULL && loop_now(&sup.loop) < limit)
		turns += loop_turn(&sup.loop, limit) > 0;
	return turns;
}

/* A file, with a NUL; NULL: there is none. To be freed. */
static char *
content(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	char *text = calloc(1, 4 << 20);
	ssize_t n = 0;

	for (size_t len = 0; fd != -1; len += (size_t)n)
		if ((n = read(fd, text + len, 65536)) <= 0)
			break;
	if (fd == -1) {
		free(text);
		return NULL;
	}
	(void)close(fd);
	return text;
}

/* Files in the folder that begin like the dump. */
static unsigned
leftovers(void)
{
	DIR *d = opendir(check.folder);
	const struct dirent *e;
	unsigned n = 0;

	while ((e = readdir(d)) != NULL)
		n += strncmp(e->d_name, "dump", 4) == 0;
	(void)closedir(d);
	return n;
}

TEST(the_former_dump_stays_until_the_new_one_is_whole)
{
	char *before, *after;
	FILE *f;

	grow();
	f = fopen(path, "w");
	(void)fputs("before", f);
	(void)fclose(f);
	dump_start(&control, now);
	before = content(path);
	CHECK_STR("before", before);
	CHECK(finish() > 1);
	after = content(path);
	CHECK(after != NULL && after[0] == '{');
	CHECK_EQ(1, leftovers());
	free(before);
	free(after);
}

TEST(a_missing_folder_ends_the_dump)
{
	static char nowhere[] = "/nonexistent/dump";

	conf.dump_file = nowhere;
	dump_start(&control, now);
	(void)finish();
	CHECK(control.dump == NULL);
	CHECK_EQ(0, leftovers());
}

/* A limit of the size of files stands in for the disk. */
TEST(a_full_disk_leaves_the_former_dump)
{
	struct rlimit former, small;
	char *text;
	FILE *f;

	grow();
	f = fopen(path, "w");
	(void)fputs("before", f);
	(void)fclose(f);
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)getrlimit(RLIMIT_FSIZE, &former);
	small = former;
	small.rlim_cur = 20000;
	(void)setrlimit(RLIMIT_FSIZE, &small);
	dump_start(&control, now);
	(void)finish();
	(void)setrlimit(RLIMIT_FSIZE, &former);
	CHECK(control.dump == NULL);
	text = content(path);
	CHECK_STR("before", text);
	CHECK_EQ(1, leftovers());
	free(text);
}

TEST(the_end_of_the_daemon_leaves_no_unfinished_file)
{
	grow();
	dump_start(&control, now);
	(void)lane_stop(&sup.looker, TSTAMP_NEVER);
	CHECK(control.dump == NULL);
	CHECK_EQ(0, leftovers());
	(void)lane_start(&sup.looker, &sup.loop, "looker", NULL);
}

TEST(without_dump_file_the_dump_is_in_the_log)
{
	struct log_spec to_file = {
		.dest = LOG_DEST_FILE, .path = log_path, .level = LOG_LEVEL_INFO
	};
	struct log_spec to_stderr = { .dest = LOG_DEST_STDERR,
		.level = LOG_LEVEL_INFO };
	char *text;

	conf.dump_file = NULL;
	(void)log_open(&to_file);
	dump_start(&control, now);
	(void)finish();
	(void)log_open(&to_stderr);
	text = content(log_path);
	CHECK(strstr(text, " info {version: ") != NULL);
	CHECK(strstr(text, " info {name: web, state: ") != NULL);
	free(text);
	(void)unlink(log_path);
}

TESTS(begin, end)
