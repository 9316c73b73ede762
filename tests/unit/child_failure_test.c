/* How a start fails, and the text that explains it. */

#include <sys/prctl.h>
#include <sys/stat.h>

#include <errno.h>
#include <linux/securebits.h>

#include "check.h"
#include "child_help.h"

/* A folder, and a file in it that a test may make. */
static char folder[] = "/tmp/child_test.XXXXXX";
static char path[64];

static void
begin(void)
{
	(void)strcpy(folder, "/tmp/child_test.XXXXXX");
	CHECK(mkdtemp(folder) != NULL && chmod(folder, 0755) == 0);
	(void)snprintf(path, sizeof(path), "%s/file", folder);
	if (getuid() == 0)
		CHECK_EQ(0, chown(folder, NOBODY, NOBODY));
}

static void
end(void)
{
	(void)unlink(path);
	CHECK_EQ(0, rmdir(folder));
}

static void
make_script(const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	CHECK(f != NULL && fputs(text, f) != EOF && fclose(f) == 0 &&
	    chmod(path, mode) == 0);
}

/* The start fails with this text, in which %s is the path. */
static void
fails(const struct child_spec *spec, const char *wanted)
{
	const char *name = strstr(wanted, "%s");
	int before = name == NULL ? (int)strlen(wanted) : (int)(name - wanted);
	char text[256], said[256];
	struct child_result result;
	struct reap_death died;

	CHECK_EQ(-1, spawn(spec, &result));
	/* The child has its number until it is reaped. */
	CHECK(death(&died));
	CHECK_EQ(result.pid, died.pid);
	reap_take(died.pid, false);
	CHECK(!reap_peek(0, &died));
	CHECK(!child_no_room(&result));
	(void)snprintf(text, sizeof(text), "%.*s%s%s", before, wanted,
	    name == NULL ? "" : path, name == NULL ? "" : name + 2);
	CHECK_STR(text, child_explain(spec, &result, said, sizeof(said)));
}

TEST(what_is_not_there_or_cannot_be_set_is_named)
{
	struct child_limit limits[] = {
		{ RLIMIT_CORE, { 0, 0 } },
		{ RLIMIT_NOFILE, { 20, 10 } },
	};
	struct child_spec spec = shell("");

	spec.path = "/nonexistent/prog";
	fails(&spec,
	    "cannot execute /nonexistent/prog: No such file or directory");
	spec.path = "/proc/self/status";
	fails(&spec, "cannot execute /proc/self/status: Permission denied");
	spec.path = path;
	make_script("#! /nonexistent/sh -e\n", 0755);
	fails(&spec,
	    "cannot execute %s: its interpreter /nonexistent/sh: "
	    "No such file or directory");
	spec = shell("");
	spec.directory = "/nonexistent";
	fails(&spec, "cannot chdir to /nonexistent: No such file or directory");
	spec = shell("");
	spec.limits = limits;
	spec.nlimits = 2;
	fails(&spec, "cannot set RLIMIT_NOFILE: Invalid argument");
}

TEST_ALONE(what_an_ordinary_user_may_not_do_is_named)
{
	struct child_spec spec = shell("exit 0");

	make_script("#!/bin/sh\n", 0644);
	be_ordinary();
	CHECK(getuid() != 0);
	spec.next = path;
	fails(&spec, "cannot execute %s: Permission denied");
	spec = shell("");
	spec.directory = path;
	CHECK_EQ(0, chmod(folder, 0));
	fails(&spec, "cannot chdir to %s: Permission denied");
	CHECK_EQ(0, chmod(folder, 0755));
	spec = shell("");
	spec.set_identity = true;
	spec.uid = 1;
	spec.gid = 2;
	fails(
	    &spec, "cannot become user 1 and group 2: Operation not permitted");
	spec = shell("");
	spec.set_nice = true;
	spec.nice = -20;
	fails(&spec, "cannot set the nice value: Permission denied");
}

TEST_ALONE(an_output_that_may_not_be_written_is_named_with_the_user)
{
	struct child_spec spec = shell("");

	SKIP_IF(getuid() != 0, "only root can take another identity");
	CHECK_EQ(0, chown(folder, 0, 0));
	spec.output = path;
	spec.set_identity = true;
	spec.uid = spec.gid = NOBODY;
	fails(&spec,
	    "cannot open %s as user 65534 and group 65534: Permission denied");
	/* As where the service manager says SecureBits=no-setuid-fixup. */
	CHECK_EQ(0, prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP));
	fails(&spec,
	    "cannot open %s as user 65534 and group 65534: Permission denied");
}

TEST(an_output_that_is_a_link_is_named)
{
	struct child_spec spec = shell("");

	NEED(symlink("/dev/null", path) == 0);
	spec.output = path;
	fails(&spec,
	    "cannot open %s: it is a symbolic link: remove it, or name the "
	    "file it leads to");
}

TEST_ALONE(a_shortage_is_told_apart)
{
	struct child_spec spec = shell("");
	struct child_result result;
	struct rlimit none = { 0, 0 };
	char text[128];

	be_ordinary();
	NEED(setrlimit(RLIMIT_NPROC, &none) == 0);
	CHECK_EQ(-1, spawn(&spec, &result));
	CHECK_EQ(CHILD_CLONE, result.stage);
	CHECK_EQ(0, result.pid);
	CHECK(child_no_room(&result));
	CHECK_STR("cannot create a process: Resource temporarily unavailable",
	    child_explain(&spec, &result, text, sizeof(text)));
}

TESTS(begin, end)
