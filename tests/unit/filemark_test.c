/* When a file counts as changed. */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>

#include "sys/filemark.h"

#include "check.h"

static char folder[] = "/tmp/filemark_test.XXXXXX";
static char file[64], other[64];

static void
make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	CHECK(fd != -1);
	close(fd);
}

/* Sets the time of the file. */
static void
date(const char *path, time_t seconds, long nanoseconds)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
		{ .tv_sec = seconds, .tv_nsec = nanoseconds } };

	CHECK_EQ(0, utimensat(AT_FDCWD, path, times, 0));
}

/* Looks again; returns whether the file has changed. */
static bool
news(struct filemark *known, const char *path)
{
	struct filemark seen;

	filemark_look(path, &seen);
	return filemark_update(known, &seen);
}

static void
a_file_seen_for_the_first_time_is_no_change(void)
{
	struct filemark known = { 0 };

	make(file);
	CHECK(!news(&known, file));
	CHECK_EQ(FILEMARK_THERE, known.state);
	CHECK(!news(&known, file));
	unlink(file);
}

static void
a_file_that_appears_is_a_change(void)
{
	struct filemark known = { 0 };

	CHECK(!news(&known, file));
	CHECK_EQ(FILEMARK_ABSENT, known.state);
	make(file);
	CHECK(news(&known, file));
	CHECK(!news(&known, file));
	unlink(file);
}

static void
a_file_that_goes_is_no_change_until_it_is_back(void)
{
	struct filemark known = { 0 };

	make(file);
	date(file, 1000, 0);
	CHECK(!news(&known, file));
	CHECK_EQ(0, rename(file, other));
	CHECK(!news(&known, file));
	CHECK_EQ(0, rename(other, file));
	CHECK(news(&known, file));
	unlink(file);
}

static void
a_nanosecond_is_a_change(void)
{
	struct filemark known = { 0 };

	make(file);
	date(file, 1000, 1);
	CHECK(!news(&known, file));
	date(file, 1000, 2);
	CHECK(news(&known, file));
	date(file, 1001, 2);
	CHECK(news(&known, file));
	unlink(file);
}

/* Backups and packages bring their own times. */
static void
an_older_time_is_a_change_too(void)
{
	struct filemark known = { 0 };

	make(file);
	date(file, 1000, 0);
	CHECK(!news(&known, file));
	date(file, 999, 0);
	CHECK(news(&known, file));
	unlink(file);
}

static void
another_file_of_the_same_time_is_a_change(void)
{
	struct filemark known = { 0 };

	make(file);
	make(other);
	date(file, 1000, 0);
	date(other, 1000, 0);
	CHECK(!news(&known, file));
	CHECK_EQ(0, rename(other, file));
	CHECK(news(&known, file));
	unlink(file);
}

static void
a_link_that_leads_elsewhere_is_a_change(void)
{
	struct filemark known = { 0 };
	char link[64], next[64];

	(void)snprintf(link, sizeof(link), "%s/link", folder);
	(void)snprintf(next, sizeof(next), "%s/next", folder);
	make(file);
	make(other);
	date(file, 1000, 0);
	date(other, 1000, 0);
	CHECK_EQ(0, symlink("file", link));
	CHECK(!news(&known, link));
	CHECK_EQ(0, symlink("other", next));
	CHECK_EQ(0, rename(next, link));
	CHECK(news(&known, link));
	unlink(link);
	unlink(file);
	unlink(other);
}

static void
reading_and_modes_are_no_change(void)
{
	struct filemark known = { 0 };

	make(file);
	CHECK(!news(&known, file));
	CHECK_EQ(0, chmod(file, 0644));
	CHECK(!news(&known, file));
	unlink(file);
}

static void
a_missing_folder_is_an_absent_file(void)
{
	struct filemark known = { 0 };

	CHECK(!news(&known, "/nonexistent/tmp/restart.txt"));
	CHECK_EQ(FILEMARK_ABSENT, known.state);
	make(file);
	(void)snprintf(other, sizeof(other), "%s/file/below", folder);
	CHECK(!news(&known, other));
	CHECK_EQ(FILEMARK_ABSENT, known.state);
	CHECK_EQ(0, known.error);
	(void)snprintf(other, sizeof(other), "%s/other", folder);
	unlink(file);
}

/* A link to itself is neither there nor absent. */
static void
a_file_that_cannot_be_seen_changes_nothing(void)
{
	struct filemark known = { 0 };

	CHECK_EQ(0, symlink("file", file));
	CHECK(!news(&known, file));
	CHECK_EQ(FILEMARK_UNKNOWN, known.state);
	CHECK_EQ(ELOOP, known.error);
	unlink(file);

	/* This is the first time the file is seen. */
	make(file);
	date(file, 1000, 0);
	CHECK(!news(&known, file));
	CHECK_EQ(0, known.error);
	CHECK_EQ(0, rename(file, other));

	/* The file cannot be seen for a while. */
	CHECK_EQ(0, symlink("file", file));
	CHECK(!news(&known, file));
	CHECK_EQ(ELOOP, known.error);
	CHECK_EQ(FILEMARK_THERE, known.state);
	CHECK_EQ(0, rename(other, file));
	CHECK(!news(&known, file));
	CHECK_EQ(0, known.error);
	unlink(file);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	if (mkdtemp(folder) == NULL)
		return EXIT_FAILURE;
	(void)snprintf(file, sizeof(file), "%s/file", folder);
	(void)snprintf(other, sizeof(other), "%s/other", folder);
	RUN(a_file_seen_for_the_first_time_is_no_change);
	RUN(a_file_that_appears_is_a_change);
	RUN(a_file_that_goes_is_no_change_until_it_is_back);
	RUN(a_nanosecond_is_a_change);
	RUN(an_older_time_is_a_change_too);
	RUN(another_file_of_the_same_time_is_a_change);
	RUN(a_link_that_leads_elsewhere_is_a_change);
	RUN(reading_and_modes_are_no_change);
	RUN(a_missing_folder_is_an_absent_file);
	RUN(a_file_that_cannot_be_seen_changes_nothing);
	rmdir(folder);
	return check_finish();
}
