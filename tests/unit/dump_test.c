/* The dump of the state: piece by piece, through a lane, into a file. */

#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "check.h"
#include "control/room.h"
#include "core/pool.h"
#include "daemon/group.h"
#include "daemon/worker.h"
#include "sys/log.h"

#define LISTENERS 2000

static struct supervisor sup;
static struct conf conf;
static struct conf_app app;
static struct group group;
static struct keepers keepers;
static struct keeper_app keeper;
static struct group *groups[1];
static struct worker *workers[1];
static struct app_listener *listeners;
static struct dump *dump;
static char dir[] = "/tmp/dump_test.XXXXXX";
static char path[64];
static char log_path[64];
static char app_name[] = "web";
static char conf_name[] = "/etc/pool.conf";
static const tstamp now = TSPAN_SECONDS(1000);

static void
begin(void)
{
	static const struct pool_limits limits = { 1, 1, 1, 1 };
	static const struct app_options options = {
		.max_processes = 1,
		.concurrency = 1,
		.update_interval = TSPAN_SECONDS(10),
		.gain = 0.5,
		.grow_threshold = 90,
		.multi_threshold = 50,
		.kill_interval = TSPAN_SECONDS(60),
		.start_limit = 1,
		.sessions = true,
	};

	memset(&sup, 0, sizeof(sup));
	memset(&group, 0, sizeof(group));
	conf = (struct conf){ .file = conf_name, .dump_file = path };
	app = (struct conf_app){ .name = app_name };
	NEED(poolcounter_init(&sup) == 0);
	sup.config = &conf;
	sup.groups = groups;
	sup.workers = workers;
	sup.pool_memory = calloc(1, pool_memory(&limits));
	pool_init(&sup.pool, &limits, sup.pool_memory, 1, 1, now);
	group.sup = &sup;
	group.conf = &app;
	TAILQ_INIT(&group.listeners);
	TAILQ_INIT(&keepers.stalled);
	sup.keepers = &keepers;
	group.keeper = &keeper;
	group.app = pool_app_add(&sup.pool, &options, now);
	groups[0] = &group;
	CHECK_EQ(0, loop_init(&sup.loop, NULL));
	(void)lane_start(&sup.looker, &sup.loop, "looker", NULL);
}

/* Makes the status longer than one piece. */
static void
grow(void)
{
	listeners = calloc(LISTENERS, sizeof(*listeners));
	for (unsigned i = 0; i < LISTENERS; i++) {
		listeners[i].acceptor.listener.fd = -1;
		(void)snprintf(listeners[i].address,
		    sizeof(listeners[i].address),
		    "unix:/run/a/rather/long/name/of/a/socket/%u", i);
		TAILQ_INSERT_TAIL(&group.listeners, &listeners[i], next);
	}
}

static void
end(void)
{
	(void)lane_stop(&sup.looker, TSTAMP_NEVER);
	loop_fini(&sup.loop);
	poolcounter_fini(&sup);
	free(sup.pool_memory);
	free(listeners);
	listeners = NULL;
	(void)unlink(path);
}

/* Turns the loop until the dump is over. Returns the number of turns. */
static unsigned
finish(void)
{
	tstamp limit = loop_now(&sup.loop) + TSPAN_SECONDS(10);
	unsigned turns = 0;

	while (dump != NULL && loop_now(&sup.loop) < limit)
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
	DIR *d = opendir(dir);
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
	dump_start(&sup, &dump, now);
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
	dump_start(&sup, &dump, now);
	(void)finish();
	CHECK(dump == NULL);
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
	dump_start(&sup, &dump, now);
	(void)finish();
	(void)setrlimit(RLIMIT_FSIZE, &former);
	CHECK(dump == NULL);
	text = content(path);
	CHECK_STR("before", text);
	CHECK_EQ(1, leftovers());
	free(text);
}

TEST(the_end_of_the_daemon_leaves_no_unfinished_file)
{
	grow();
	dump_start(&sup, &dump, now);
	(void)lane_stop(&sup.looker, TSTAMP_NEVER);
	CHECK(dump == NULL);
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
	dump_start(&sup, &dump, now);
	(void)finish();
	(void)log_open(&to_stderr);
	text = content(log_path);
	CHECK(strstr(text, " info {version: ") != NULL);
	CHECK(strstr(text, " info {name: web, state: ") != NULL);
	free(text);
	(void)unlink(log_path);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	check.begin = begin;
	check.end = end;
	if (mkdtemp(dir) == NULL)
		return 1;
	(void)snprintf(path, sizeof(path), "%s/dump", dir);
	(void)snprintf(log_path, sizeof(log_path), "%s/log", dir);
	check_all();
	(void)rmdir(dir);
	return check_finish();
}
