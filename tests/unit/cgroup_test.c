/* The files of cgroups. */

#include <sys/stat.h>

#include <fcntl.h>

#include "sys/cgroup.h"

#include "check.h"

/* A file of that text in the folder of a group. */
static void
put(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

static int
open_folder(void)
{
	char folder[] = "/tmp/unit.XXXXXX";

	CHECK(mkdtemp(folder) != NULL && chdir(folder) == 0);
	return open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void
close_folder(int folder)
{
	static const char *const names[] = { "cpu.stat", "memory.current",
		"memory.peak", "memory.events", "pids.current",
		"memory.pressure", "cpu.pressure", "io.pressure",
		"cgroup.procs" };
	char path[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlink(names[i]);
	(void)close(folder);
	CHECK(getcwd(path, sizeof(path)) != NULL && chdir("/") == 0 &&
	    rmdir(path) == 0);
}

TEST(the_path_is_that_of_the_hierarchy_of_version_2)
{
	static const char *const rows[][2] = {
		{ "10:memory:/a\n0::/b/c\n", "/b/c" },
		{ "0::/\n", "/" },
		{ "0::/x 0::/y", "/x 0::/y" },
		{ "10::/a\n1:name=0::/b\n", "" },
		{ "", "" },
	};
	char own[PATH_MAX];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cgroup_own(rows[i][0], "", own);
		CHECK_STR(rows[i][1], own);
	}
	cgroup_own("4:cpu,memory:/a\n0::/b\n", "memory", own);
	CHECK_STR("/a", own);
}

TEST(figures_are_read_from_the_files_of_a_group)
{
	struct cgroup_figures f;
	int folder = open_folder();

	put("cpu.stat", "usage_usec 123456\nuser_usec 100000\n");
	put("memory.current", "4096\n");
	put("memory.peak", "8192\n");
	put("memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 1\n");
	put("pids.current", "7\n");
	put("memory.pressure",
	    "some avg10=1.50 avg60=0.00 avg300=0.00 total=7\n"
	    "full avg10=9.00 avg60=0.00 avg300=0.00 total=7\n");
	put("cpu.pressure", "some avg10=99.01 avg60=0.00 avg300=0.00 total=7");
	put("io.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7");
	cgroup_read(folder, &f);
	CHECK_EQ(CGROUP_HAS_CPU | CGROUP_HAS_MEMORY | CGROUP_HAS_PEAK |
		CGROUP_HAS_TASKS | CGROUP_HAS_PRESSURE,
	    f.has);
	CHECK_EQ(123456, f.cpu);
	CHECK_EQ(4096, f.memory);
	CHECK_EQ(8192, f.memory_peak);
	CHECK_EQ(2, f.oom_kills);
	CHECK_EQ(7, f.tasks);
	CHECK_NEAR(1.5, f.memory_pressure);
	CHECK_NEAR(99.01, f.cpu_pressure);
	CHECK_NEAR(0.0, f.io_pressure);
	close_folder(folder);
}

TEST(figures_without_a_file_or_a_number_are_left_out)
{
	struct cgroup_figures f;
	int folder = open_folder();

	put("cpu.stat", "user_usec 100000\n");
	put("memory.current", "");
	put("pids.current", "max\n");
	put("memory.pressure", "full avg10=9.00\n");
	cgroup_read(folder, &f);
	CHECK_EQ(0, f.has);
	put("cpu.stat", "usage_usec 1\n");
	cgroup_read(folder, &f);
	CHECK_EQ(CGROUP_HAS_CPU, f.has);
	close_folder(folder);
}

TEST(kills_for_want_of_memory_are_read_again_from_the_same_descriptor)
{
	int folder = open_folder(), fd;
	uint64_t kills = 0;

	put("memory.events", "oom 9\noom_kill 5\n");
	fd = open("memory.events", O_RDONLY | O_CLOEXEC);
	CHECK_EQ(0, cgroup_oom_kills(fd, &kills));
	CHECK_EQ(5, kills);
	put("memory.events", "oom 9\noom_kill 6\n");
	CHECK_EQ(0, cgroup_oom_kills(fd, &kills));
	CHECK_EQ(6, kills);
	put("memory.events", "oom_group_kill 6\n");
	CHECK_EQ(-1, cgroup_oom_kills(fd, &kills));
	(void)close(fd);
	close_folder(folder);
}

TEST(without_being_asked_for_there_are_no_groups)
{
	for (int need = CGROUP_ANY; need < CGROUP_NEEDS; need++)
		CHECK(cgroup_lacks(need) != NULL);
}

TESTS(NULL, NULL)
