#ifndef TESTS_UNIT_CHECK_H
#define TESTS_UNIT_CHECK_H

/*
 * A unit test is a program of functions, one fact each:
 *
 *	TEST(the_oldest_goes_first)
 *	{
 *		...
 *	}
 *
 *	TESTS(begin, end)
 *
 * The last line is its main(), which runs them in their order, begin() before
 * and end() after each; either may be NULL.  A main() that does more calls
 * check_start(), check_all() and check_finish().
 *
 * It prints "ok NAME", "FAIL NAME" or "skip NAME" for each of them and ends
 * with a line "## passed=P total=T"; what was skipped counts in neither.
 * With a NAME as its argument it runs that function alone.  A failed check
 * says where and what on standard error, and the test goes on; NEED() leaves
 * the function, for where going on makes no sense.
 */

#include <sys/types.h>
#include <sys/wait.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct check_test {
	const char *name;
	void (*function)(void);
	struct check_test *next;
	bool alone;
};

static struct {
	const char *only;
	void (*begin)(void); /* before and after each function; or NULL */
	void (*end)(void);
	struct check_test *first, *last;
	char folder[32]; /* of check_file() */
	unsigned passed;
	unsigned total;
	bool failed;
	bool skipped;
} check;

#define CHECK(condition) \
	check_true(!!(condition), #condition, __FILE__, __LINE__)

/* For all that an intmax_t can hold. */
#define CHECK_EQ(expected, actual) \
	check_eq((expected), (actual), #actual, __FILE__, __LINE__)

/* Either may be NULL. */
#define CHECK_STR(expected, actual) \
	check_str((expected), (actual), #actual, __FILE__, __LINE__)

/* Equal but for the rounding of a few operations. */
#define CHECK_NEAR(expected, actual) \
	check_near((expected), (actual), #actual, __FILE__, __LINE__)

/* The call returns -1 and leaves this errno. */
#define CHECK_ERRNO(expected, call) \
	(errno = 0, check_errno((expected), (call), #call, __FILE__, __LINE__))

/* A check without which the rest of the function means nothing. */
#define NEED(condition) \
	do { \
		if (!CHECK(condition)) \
			return; \
	} while (0)

/* Leaves the function: this cannot be tried here. */
#define SKIP_IF(condition, reason) \
	do { \
		if (condition) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
			    reason); \
			check.skipped = true; \
			return; \
		} \
	} while (0)

#define TEST(function) CHECK_ADD(function, false)

/* In a process of its own, for what keeps its state in the process. */
#define TEST_ALONE(function) CHECK_ADD(function, true)

#define CHECK_ADD(test, is_alone) \
	static void test(void); \
	__attribute__((constructor)) static void test##_is_a_test(void) \
	{ \
		static struct check_test t = { #test, test, NULL, is_alone }; \
\
		check_add(&t); \
	} \
	static void test(void)

#define TESTS(begin_each, end_each) \
	int main(int argc, char **argv) \
	{ \
		check_start(argc, argv); \
		check.begin = begin_each; \
		check.end = end_each; \
		check_all(); \
		return check_finish(); \
	}

/* Runs the function for each row of a table with a name, which is in `now`. */
#define RUN_ROWS(rows, now, name, function) \
	for ((now) = (rows); \
	     (now) < (rows) + sizeof(rows) / sizeof((rows)[0]); (now)++) \
		if ((now)->name != NULL) \
	check_run((now)->name, function, false)

/* Stores the name of a file in a folder that is empty and goes at the end. */
#define CHECK_FILE(path, name) check_file(path, sizeof(path), name)

#define RUN(function) check_run(#function, function, false)
#define RUN_ALONE(function) check_run(#function, function, true)

static inline bool
check_fail(const char *file, int line)
{
	check.failed = true;
	fprintf(stderr, "%s:%d: ", file, line);
	return false;
}

static inline bool
check_true(bool holds, const char *text, const char *file, int line)
{
	if (holds)
		return true;
	check_fail(file, line);
	fprintf(stderr, "%s\n", text);
	return false;
}

static inline bool
check_eq(intmax_t expected, intmax_t actual, const char *text, const char *file,
    int line)
{
	if (expected == actual)
		return true;
	check_fail(file, line);
	fprintf(stderr, "%s is %jd, not %jd\n", text, actual, expected);
	return false;
}

static inline bool
check_errno(
    int expected, intmax_t result, const char *text, const char *file, int line)
{
	int error = errno;

	return check_eq(-1, result, text, file, line) &&
	    check_eq(expected, error, "errno", file, line);
}

static inline bool
check_str(const char *expected, const char *actual, const char *text,
    const char *file, int line)
{
	if (expected == NULL || actual == NULL) {
		if (expected == actual)
			return true;
	} else if (strcmp(expected, actual) == 0) {
		return true;
	}
	check_fail(file, line);
	fprintf(stderr, "%s is \"%s\", not \"%s\"\n", text,
	    actual == NULL ? "(null)" : actual,
	    expected == NULL ? "(null)" : expected);
	return false;
}

static inline bool
check_near(double expected, double actual, const char *text, const char *file,
    int line)
{
	double apart =
	    expected > actual ? expected - actual : actual - expected;
	double scale = expected > 0 ? expected : -expected;

	if (apart <= 1e-9 * (scale > 1 ? scale : 1))
		return true;
	check_fail(file, line);
	fprintf(stderr, "%s is %.17g, not %.17g\n", text, actual, expected);
	return false;
}

static inline void
check_file(char *path, size_t size, const char *name)
{
	if (check.folder[0] == '\0' &&
	    mkdtemp(strcpy(check.folder, "/tmp/unit.XXXXXX")) == NULL)
		abort();
	(void)snprintf(path, size, "%s/%s", check.folder, name);
}

static inline void
check_call(void (*function)(void))
{
	if (check.begin != NULL)
		check.begin();
	function();
	if (check.end != NULL)
		check.end();
}

/* Runs the function in a child; its exit status carries the outcome. */
static inline void
check_fork(void (*function)(void))
{
	enum {
		PASSED,
		FAILED,
		SKIPPED
	};
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		check_call(function);
		fflush(stdout);
		_exit(check.failed ? FAILED : check.skipped ? SKIPPED : PASSED);
	}
	if (pid == -1 || waitpid(pid, &status, 0) != pid ||
	    !WIFEXITED(status)) {
		check.failed = true;
		fprintf(stderr, "the test did not come to its end\n");
		return;
	}
	check.skipped = WEXITSTATUS(status) == SKIPPED;
	check.failed = WEXITSTATUS(status) != PASSED && !check.skipped;
}

static inline void
check_run(const char *name, void (*function)(void), bool alone)
{
	if (check.only != NULL && strcmp(check.only, name) != 0)
		return;

	check.failed = check.skipped = false;
	if (alone)
		check_fork(function);
	else
		check_call(function);

	if (check.skipped && !check.failed) {
		printf("skip %s\n", name);
		return;
	}
	check.total++;
	if (!check.failed)
		check.passed++;
	printf("%s %s\n", check.failed ? "FAIL" : "ok", name);
}

static inline void
check_add(struct check_test *t)
{
	if (check.first == NULL)
		check.first = t;
	else
		check.last->next = t;
	check.last = t;
}

static inline void
check_all(void)
{
	for (struct check_test *t = check.first; t != NULL; t = t->next)
		check_run(t->name, t->function, t->alone);
}

static inline void
check_start(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	check.only = argc > 1 ? argv[1] : NULL;
}

/* The exit status of the program. */
static inline int
check_finish(void)
{
	(void)rmdir(check.folder);
	printf("## passed=%u total=%u\n", check.passed, check.total);
	if (check.only != NULL && check.total == 0)
		return EXIT_FAILURE;
	return check.passed == check.total ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
