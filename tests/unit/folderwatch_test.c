/* Changes in folders, as the kernel tells them. */

#include <sys/stat.h>

#include <fcntl.h>

#include "conf_help.h"
#include "sys/folderwatch.h"

static struct loop loop;
static struct folderwatch folders;
static char heard[1000];

static void
told(struct folderwatch *w, int folder, const char *name,
    enum folderwatch_what what, tstamp now)
{
	static const char *const words[] = { "there", "changed", "gone",
		"lost" };
	size_t len = strlen(heard);

	CHECK(w == &folders && folder != -1 && now == 7);
	(void)snprintf(heard + len, sizeof(heard) - len, "%s%s %s",
	    len == 0 ? "" : ", ", words[what], name);
}

/* Events since the last call. */
static const char *
news(void)
{
	heard[0] = '\0';
	folderwatch_read(&folders, 7);
	return heard;
}

static int
begin(const char *name)
{
	CHECK_EQ(0, loop_init(&loop, NULL));
	CHECK_EQ(0, folderwatch_init(&folders, &loop, told));
	CHECK_EQ(0, mkdir(in_folder(name), 0755));
	return folderwatch_add(&folders, in_folder(name));
}

static void
end(void)
{
	folderwatch_fini(&folders);
	loop_fini(&loop);
}

static void
make(const char *name)
{
	int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	CHECK(fd != -1);
	close(fd);
}

static void
files_that_come_change_and_go_are_told(void)
{
	CHECK(begin("one") >= 0);
	CHECK_STR("", news());
	make("one/a");
	CHECK_STR("there a, changed a", news());
	CHECK_EQ(0, utimensat(AT_FDCWD, in_folder("one/a"), NULL, 0));
	CHECK_STR("changed a", news());
	CHECK_EQ(0, rename(in_folder("one/a"), in_folder("one/b")));
	CHECK_STR("gone a, there b", news());
	CHECK_EQ(0, unlink(in_folder("one/b")));
	CHECK_STR("gone b", news());
	end();
}

static void
the_end_of_a_folder_is_told(void)
{
	CHECK(begin("two") >= 0);
	CHECK_EQ(0, rmdir(in_folder("two")));
	CHECK(strncmp(news(), "lost ", 5) == 0);
	end();
}

static void
a_folder_that_is_dropped_tells_nothing_more(void)
{
	int folder = begin("three");

	folderwatch_drop(&folders, folder);
	(void)news();
	make("three/a");
	CHECK_STR("", news());
	end();
}

static void
only_a_folder_can_be_watched(void)
{
	CHECK(begin("four") >= 0);
	make("four/a");
	CHECK_EQ(-1, folderwatch_add(&folders, in_folder("four/a")));
	CHECK_EQ(-1, folderwatch_add(&folders, in_folder("none")));
	end();
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	conf_folder_make();
	RUN(files_that_come_change_and_go_are_told);
	RUN(the_end_of_a_folder_is_told);
	RUN(a_folder_that_is_dropped_tells_nothing_more);
	RUN(only_a_folder_can_be_watched);
	return check_finish();
}
