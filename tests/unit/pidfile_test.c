/* The pid file. */

#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <signal.h>

#include "sys/background.h"

#include "check.h"

static char path[64], target[64];
static char why[OWNFILE_WHY], number[32];
static struct pidfile p = { .fd = -1 };
static pid_t other;

static const char *
text_of(const char *file)
{
	static char text[64];
	FILE *f = fopen(file, "r");

	text[f == NULL ? 0 : fread(text, 1, sizeof(text) - 1, f)] = '\0';
	if (f != NULL)
		fclose(f);
	return text;
}

static bool
write_text(const char *file, const char *text)
{
	FILE *f = fopen(file, "w");

	return f != NULL && fputs(text, f) != EOF && fclose(f) == 0;
}

TEST(the_file_has_our_number_until_it_is_removed)
{
	/* A longer one that a killed daemon left. */
	NEED(write_text(path, "1234567890"));
	NEED(pidfile_lock(&p, path, why, &other) == 0);
	CHECK_STR("", text_of(path));
	CHECK_EQ(0, pidfile_fill(&p, NULL, 0));
	CHECK_STR(number, text_of(path));
	pidfile_fini(&p);
	CHECK(access(path, F_OK) == -1);
	pidfile_fini(&p);
}

TEST(another_daemon_finds_it_locked_and_the_number)
{
	struct pidfile second = { .fd = -1 };

	NEED(pidfile_lock(&p, path, why, &other) == 0);
	CHECK_EQ(0, pidfile_fill(&p, NULL, 0));
	CHECK_ERRNO(EEXIST, pidfile_lock(&second, path, why, &other));
	CHECK_EQ(getpid(), other);
	CHECK_STR("", why);
	pidfile_fini(&second);
	pidfile_fini(&p);
	CHECK_EQ(0, pidfile_lock(&second, path, why, &other));
	pidfile_fini(&second);
}

TEST(a_number_that_does_not_fit_on_the_disk_leaves_the_file_empty)
{
	struct rlimit former, small;

	NEED(pidfile_lock(&p, path, why, &other) == 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)getrlimit(RLIMIT_FSIZE, &former);
	small = former;
	for (rlim_t room = 0; room < strlen(number); room++) {
		small.rlim_cur = room;
		(void)setrlimit(RLIMIT_FSIZE, &small);
		CHECK_EQ(-1, pidfile_fill(&p, NULL, 0));
		CHECK(errno == (room == 0 ? EFBIG : ENOSPC));
		CHECK_STR("", text_of(path));
	}
	(void)setrlimit(RLIMIT_FSIZE, &former);
	CHECK_EQ(0, pidfile_fill(&p, NULL, 0));
	CHECK_STR(number, text_of(path));
	pidfile_fini(&p);
}

TEST(a_link_is_refused_and_its_target_kept)
{
	NEED(write_text(target, "precious") && symlink(target, path) == 0);
	CHECK_ERRNO(EPERM, pidfile_lock(&p, path, why, &other));
	CHECK(strstr(why, "is a symbolic link, which is not followed") != NULL);
	CHECK_STR("precious", text_of(target));
	unlink(path);
	unlink(target);
}

TEST(the_file_of_a_successor_is_not_removed)
{
	NEED(pidfile_lock(&p, path, why, &other) == 0);
	NEED(unlink(path) == 0 && write_text(path, "1"));
	pidfile_fini(&p);
	CHECK_STR("1", text_of(path));
	unlink(path);
}

static void
begin(void)
{
	CHECK_FILE(path, "pid");
	CHECK_FILE(target, "target");
	(void)snprintf(number, sizeof(number), "%ld", (long)getpid());
}

TESTS(begin, NULL)
