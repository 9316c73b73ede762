#ifndef TESTS_UNIT_CHILD_HELP_H
#define TESTS_UNIT_CHILD_HELP_H

/* The common part of tests of children. */

#include <grp.h>
#include <time.h>

#include "sys/child.h"

#include "check.h"

#define NOBODY 65534

/* A spec of nothing but a program and its arguments. */
static inline struct child_spec
spec_of(char *const *argv)
{
	return (struct child_spec){
		.path = argv[0],
		.argv = argv,
		.stdio = { -1, -1, -1 },
	};
}

static inline struct child_spec
shell(const char *script)
{
	static char *argv[4];

	argv[0] = (char *)"/bin/sh";
	argv[1] = (char *)"-c";
	argv[2] = (char *)script;
	return spec_of(argv);
}

static inline int
spawn(const struct child_spec *spec, struct child_result *result)
{
	*result = (struct child_result){ 0 };
	return child_spawn(spec, result);
}

/* Waits for a death, ten seconds at most. */
static inline bool
death(struct reap_death *out)
{
	for (int i = 0; i < 10000; i++) {
		if (reap_peek(0, out))
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return false;
}

/* Gives up root's rights, which would let a test pass for a wrong reason. */
static inline void
be_ordinary(void)
{
	if (getuid() == 0)
		CHECK(setgroups(0, NULL) == 0 &&
		    setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
		    setresuid(NOBODY, NOBODY, NOBODY) == 0);
}

#endif
