/* How a start fails, and the text that explains it. */

#include <sys/prctl.h>
#include <sys/stat.h>

#include <errno.h>
#include <linux/securebits.h>

#include "check.h"
#include "child_help.h"

static const char *
failure(const struct child_spec *spec)
{
	static char text[256];
	struct child_result result;
	struct reap_death died;

	CHECK_EQ(-1, spawn(spec, &result));
	/* The child has its number until it is reaped. */
	CHECK(death(&died));
	CHECK_EQ(result.pid, died.pid);
	reap_take(died.pid, false);
	CHECK(!reap_peek(0, &died));
	CHECK(!child_no_room(&result));
	return child_explain(spec, &result, text, sizeof(text));
}

/* Whether a start fails with this text, in which %s is the path. */
static void
fails(const struct child_spec *spec, const char *wanted, const char *path)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "%.*s%s%s",
	    (int)(strstr(wanted, "%s") - wanted), wanted, path,
	    strstr(wanted, "%s") + 2);

	CHECK(n > 0 && (size_t)n < sizeof(text));
	CHECK_STR(text, failure(spec));
}

static void
what_is_not_there_or_cannot_be_set_is_named(void)
{
	struct child_limit limits[] = {
		{ RLIMIT_CORE, { 0, 0 } },
		{ RLIMIT_NOFILE, { 20, 10 } },
	};
	struct child_spec spec = shell("");

	spec.path = "/nonexistent/prog";
	CHECK_STR("cannot execute /nonexistent/prog: "
		  "No such file or directory",
	    failure(&spec));
	spec.path = "/proc/self/status";
	CHECK_STR("cannot execute /proc/self/status: Permission denied",
	    failure(&spec));
	spec = shell("");
	spec.directory = "/nonexistent";
	CHECK_STR("cannot chdir to /nonexistent: No such file or directory",
	    failure(&spec));
	spec = shell("");
	spec.limits = limits;
	spec.nlimits = 2;
	CHECK_STR("cannot set RLIMIT_NOFILE: Invalid argument", failure(&spec));
}

/* Makes an executable file with this text; the caller removes it. */
static char *
script(const char *text)
{
	static char path[64];
	int fd;

	(void)strcpy(path, "/tmp/child_test.XXXXXX");
	fd = mkstemp(path);
	CHECK(fd != -1);
	CHECK_EQ(strlen(text), write(fd, text, strlen(text)));
	CHECK_EQ(0, fchmod(fd, 0755));
	close(fd);
	return path;
}

static void
an_interpreter_that_is_not_there_is_named(void)
{
	struct child_spec spec = shell("");

	spec.path = script("#! /nonexistent/sh -e\n");
	fails(&spec,
	    "cannot execute %s: its interpreter /nonexistent/sh: "
	    "No such file or directory",
	    spec.path);
	(void)unlink(spec.path);
}

static void
a_next_program_that_the_user_may_not_run_is_named(void)
{
	struct child_spec spec = shell("exit 0");

	be_ordinary();
	spec.next = script("#!/bin/sh\n");
	NEED(chmod(spec.next, 0644) == 0);
	fails(&spec, "cannot execute %s: Permission denied", spec.next);
	(void)unlink(spec.next);
}

static void
a_directory_that_may_not_be_entered_is_named(void)
{
	char dir[] = "/tmp/child_test.XXXXXX";
	struct child_spec spec = shell("");

	be_ordinary();
	CHECK(getuid() != 0);
	NEED(mkdtemp(dir) != NULL);
	(void)chmod(dir, 0);
	spec.directory = dir;
	fails(&spec, "cannot chdir to %s: Permission denied", dir);
	(void)rmdir(dir);
}

static void
an_output_that_may_not_be_written_is_named_with_the_user(void)
{
	char dir[] = "/tmp/child_test.XXXXXX";
	struct child_spec spec = shell("");
	char path[64];

	if (getuid() != 0)
		SKIP("only root can take another identity");
	NEED(mkdtemp(dir) != NULL && chmod(dir, 0755) == 0);
	(void)snprintf(path, sizeof(path), "%s/out", dir);
	spec.output = path;
	spec.set_identity = true;
	spec.uid = spec.gid = NOBODY;
	fails(&spec,
	    "cannot open %s as user 65534 and group 65534: Permission denied",
	    path);
	(void)rmdir(dir);
}

/* As where the service manager says SecureBits=no-setuid-fixup. */
static void
no_capability_opens_the_output(void)
{
	if (getuid() != 0)
		SKIP("only root can take another identity");
	CHECK_EQ(0, prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP));
	an_output_that_may_not_be_written_is_named_with_the_user();
}

static void
an_output_that_is_a_link_is_named(void)
{
	char dir[] = "/tmp/child_test.XXXXXX";
	struct child_spec spec = shell("");
	char path[64];

	NEED(mkdtemp(dir) != NULL);
	(void)snprintf(path, sizeof(path), "%s/out", dir);
	NEED(symlink("/dev/null", path) == 0);
	spec.output = path;
	fails(&spec,
	    "cannot open %s: it is a symbolic link: remove it, or name the "
	    "file it leads to",
	    path);
	(void)unlink(path);
	(void)rmdir(dir);
}

static void
what_an_ordinary_user_may_not_do_is_named(void)
{
	struct child_spec spec = shell("");

	be_ordinary();
	spec.set_identity = true;
	spec.uid = 1;
	spec.gid = 2;
	CHECK_STR("cannot become user 1 and group 2: Operation not permitted",
	    failure(&spec));
	spec = shell("");
	spec.set_nice = true;
	spec.nice = -20;
	CHECK_STR(
	    "cannot set the nice value: Permission denied", failure(&spec));
}

static void
a_shortage_is_told_apart(void)
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

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(what_is_not_there_or_cannot_be_set_is_named);
	RUN(an_interpreter_that_is_not_there_is_named);
	RUN_ALONE(a_next_program_that_the_user_may_not_run_is_named);
	RUN_ALONE(a_directory_that_may_not_be_entered_is_named);
	RUN(an_output_that_may_not_be_written_is_named_with_the_user);
	RUN_ALONE(no_capability_opens_the_output);
	RUN(an_output_that_is_a_link_is_named);
	RUN_ALONE(what_an_ordinary_user_may_not_do_is_named);
	RUN_ALONE(a_shortage_is_told_apart);
	return check_finish();
}
