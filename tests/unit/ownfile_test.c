/* Files that the daemon writes by a name, and folders that others may write. */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>

#include "sys/ownfile.h"

#include "check.h"

#define STRANGER 65534

static char folder[] = "/tmp/apppoold-ownfile-test.XXXXXX";
static char why[OWNFILE_WHY];

/* A path in the folder, in one of a few buffers. */
static const char *
in(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned n;
	char *path = paths[n++ % 4];

	(void)snprintf(path, PATH_MAX, "%s/%s", folder, name);
	return path;
}

static int
open_kind(const char *path, enum ownfile_kind kind)
{
	return ownfile_open(
	    path, kind, O_WRONLY | O_APPEND | O_CREAT, 0640, why);
}

/* Whether the file opens; it is closed again. */
static bool
opens(const char *path, enum ownfile_kind kind)
{
	int checked = ownfile_open(path, kind, OWNFILE_LOOK, 0, why);
	int fd = open_kind(path, kind);

	if (fd == -1)
		return false;
	close(fd);
	CHECK_EQ(0, checked);
	CHECK_STR("", why);
	return true;
}

/* Whether it is refused, both times with this text in the reason. */
static bool
refused(const char *path, enum ownfile_kind kind, const char *text)
{
	bool both = ownfile_open(path, kind, OWNFILE_LOOK, 0, why) == -1 &&
	    errno == EPERM && strstr(why, text) != NULL;
	int fd = open_kind(path, kind);

	both = both && fd == -1 && errno == EPERM && strstr(why, text) != NULL;
	if (fd != -1)
		close(fd);
	if (!both)
		fprintf(stderr, "%s: '%s'\n", path, why);
	return both;
}

static bool
make(const char *name, mode_t mode)
{
	int fd = open(in(name), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	return fd != -1 && fchmod(fd, mode) == 0 && close(fd) == 0;
}

/* A folder with a file in it; the group is one that is not ours. */
static bool
make_folder(const char *name, mode_t mode, uid_t uid, gid_t gid)
{
	char file[64];

	(void)snprintf(file, sizeof(file), "%s/file", name);
	return mkdir(in(name), 0700) == 0 && make(file, 0600) &&
	    chown(in(name), uid, gid) == 0 && chmod(in(name), mode) == 0;
}

static void
begin(void)
{
	(void)strcpy(strrchr(folder, '.'), ".XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
}

static void
end(void)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	CHECK_EQ(0, system(command));
}

TEST(a_file_is_made_with_its_mode_and_opened_again)
{
	struct stat st;

	CHECK(opens(in("new"), OWNFILE_ANY));
	CHECK(opens(in("new"), OWNFILE_REGULAR));
	CHECK(stat(in("new"), &st) == 0 && (st.st_mode & 0777) == 0640);
	CHECK(opens(in(".///./new"), OWNFILE_ANY));
	CHECK_ERRNO(ENOENT, open_kind(in("none/new"), OWNFILE_ANY));
	CHECK_STR("", why);
}

TEST(an_own_link_is_followed_where_nobody_else_may_write)
{
	NEED(mkdir(in("real"), 0755) == 0 && make("real/file", 0600));
	NEED(symlink("real", in("folder")) == 0);
	NEED(symlink(in("folder/file"), in("file")) == 0);
	NEED(symlink("loop", in("loop")) == 0);
	CHECK(opens(in("folder/file"), OWNFILE_REGULAR));
	CHECK(opens(in("file"), OWNFILE_ANY));
	CHECK(refused(in("file"), OWNFILE_REGULAR, "is a symbolic link, "));
	CHECK(!opens(in("loop"), OWNFILE_ANY) && errno == ELOOP);
}

TEST(devices_and_pipes_are_opened)
{
	char path[64];
	int ends[2];

	NEED(pipe(ends) == 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[1]);
	CHECK(opens(path, OWNFILE_ANY));
	CHECK(opens("/dev/null", OWNFILE_ANY));
	CHECK(refused("/dev/null", OWNFILE_REGULAR, "is not a regular file"));
	close(ends[0]);
	close(ends[1]);
}

TEST(a_link_of_another_user_is_refused)
{
	SKIP_IF(geteuid() != 0, "only root can give files away");
	NEED(make("target", 0600) && symlink("target", in("link")) == 0);
	NEED(lchown(in("link"), STRANGER, STRANGER) == 0);
	CHECK(refused(
	    in("link"), OWNFILE_ANY, "is a symbolic link of user 65534"));
	NEED(mkdir(in("real"), 0755) == 0 && symlink("real", in("way")) == 0);
	NEED(lchown(in("way"), STRANGER, STRANGER) == 0);
	CHECK(refused(
	    in("way/new"), OWNFILE_ANY, "/way is a symbolic link of user"));
}

TEST(a_folder_of_another_user_is_refused)
{
	SKIP_IF(geteuid() != 0, "only root can give files away");
	NEED(make_folder("theirs", 0755, STRANGER, 0));
	NEED(mkdir(in("theirs/ours"), 0755) == 0);
	CHECK(refused(in("theirs/file"), OWNFILE_ANY, "belongs to user 65534"));
	CHECK(refused(in("theirs/new"), OWNFILE_ANY, "belongs to user 65534"));
	CHECK(refused(in("theirs/ours/new"), OWNFILE_ANY, "/theirs belongs"));
	CHECK(access(in("theirs/new"), F_OK) == -1);
}

TEST(a_folder_that_everybody_may_write_is_refused)
{
	NEED(make_folder("open", 0777, geteuid(), getegid()));
	CHECK(refused(in("open/file"), OWNFILE_ANY, "written by everybody"));
	CHECK(refused(in("open/new"), OWNFILE_ANY, "written by everybody"));
}

static void
check_shared(const char *name)
{
	char file[64], next[64];

	(void)snprintf(file, sizeof(file), "%s/file", name);
	(void)snprintf(next, sizeof(next), "%s/next", name);
	CHECK(opens(in(file), OWNFILE_ANY));
	NEED(link(in(file), in(next)) == 0);
	CHECK(refused(in(file), OWNFILE_ANY, "is not a regular file with one"));
	NEED(unlink(in(next)) == 0 && symlink("file", in(next)) == 0);
	CHECK(refused(in(next), OWNFILE_ANY, "is a symbolic link, which"));
	NEED(unlink(in(next)) == 0 && mkfifo(in(next), 0600) == 0);
	CHECK(refused(in(next), OWNFILE_ANY, "is not a regular file"));
	NEED(unlink(in(next)) == 0);
	CHECK(opens(in(next), OWNFILE_REGULAR));
	if (geteuid() != 0)
		return;
	NEED(chown(in(file), STRANGER, 0) == 0);
	CHECK(refused(in(file), OWNFILE_ANY, "of user 65534: remove it"));
}

TEST(in_a_sticky_folder_only_own_files_are_opened)
{
	NEED(make_folder("sticky", 01777, geteuid(), getegid()));
	check_shared("sticky");
}

/* As /var/log of some systems. */
TEST(in_the_folder_of_a_group_only_own_files_are_opened)
{
	SKIP_IF(geteuid() != 0, "only root can give files away");
	NEED(make_folder("group", 0775, 0, STRANGER));
	check_shared("group");
}

TEST(a_regular_file_that_everybody_may_write_is_refused)
{
	NEED(make("file", 0666));
	CHECK(opens(in("file"), OWNFILE_ANY));
	CHECK(refused(in("file"), OWNFILE_REGULAR, "written by everybody"));
}

TESTS(begin, end)
