/* A child that begins in a cgroup. */

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#include "check.h"
#include "child_help.h"

/* A group of the test's own; false: there can be none. */
static char group[64];

static bool
make_group(void)
{
	static const char *const roots[] = { "/sys/fs/cgroup",
		"/sys/fs/cgroup/unified" };

	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(
		    group, sizeof(group), "%s/cgroup.controllers", roots[i]);
		if (access(group, F_OK) == -1)
			continue;
		(void)snprintf(group, sizeof(group), "%s/apppool-unit.%d",
		    roots[i], (int)getpid());
		return mkdir(group, 0755) == 0;
	}
	return false;
}

static void
starts_in_its_group(void)
{
	struct child_result result;
	struct child_spec spec;
	struct reap_death dead;
	char script[128];

	(void)snprintf(script, sizeof(script),
	    "exec grep -q '^0:.*%s$' /proc/self/cgroup", strrchr(group, '/'));
	spec = shell(script);
	spec.cgroup = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK_EQ(0, spawn(&spec, &result));
	NEED(death(&dead));
	CHECK_EQ(result.pid, dead.pid);
	CHECK_EQ(0, dead.status);
	reap_take(dead.pid, true);
	(void)close(spec.cgroup);
	CHECK_EQ(0, rmdir(group));
}

TEST(a_child_begins_in_its_cgroup)
{
	SKIP_IF(!make_group(), "no cgroup v2 that we may change");
	starts_in_its_group();
}

/* From here on the kernel does not know clone3(). */
static bool
forget_clone3(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_ALONE(a_child_enters_its_cgroup_where_clone3_is_forbidden)
{
	SKIP_IF(!make_group(), "no cgroup v2 that we may change");
	SKIP_IF(!forget_clone3(), "no seccomp here");
	starts_in_its_group();
}

TEST(a_folder_that_is_no_cgroup_fails_the_start)
{
	static char *const argv[] = { (char *)"/bin/true", NULL };
	struct child_spec spec = spec_of(argv);
	struct child_result result;

	spec.cgroup = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK_EQ(-1, spawn(&spec, &result));
	CHECK_EQ(CHILD_CLONE, result.stage);
	CHECK_EQ(0, result.pid);
	CHECK_EQ(EBADF, result.error);
	(void)close(spec.cgroup);
}

TESTS(NULL, NULL)
