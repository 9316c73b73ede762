/*
 * The state in which a program starts. The program is this one again, as
 * "child_test --report", which prints its own state.
 */

#include <sys/stat.h>
#include <sys/syscall.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include "check.h"
#include "child_help.h"
#include "descriptors.h"
#include "sys/acceptfilter.h"

static char self[4096];
static char *const report_argv[] = { self, (char[]){ "--report" }, NULL };
static char output[16384];

static int
report(void)
{
	char cwd[256] = "", line[256];
	struct rlimit limit;
	FILE *f;
	mode_t mask = umask(0);

	printf("begin\nfds");
	for (int fd = 0; fd < 1000; fd++) {
		if (fcntl(fd, F_GETFD) != -1)
			printf(" %d%s", fd,
			    fcntl(fd, F_GETFD) & FD_CLOEXEC ? "c" : "");
	}
	printf("\n");
	for (int fd = 0; fd < 5; fd++) {
		char c;

		if (fd != 1 && fd != 2 && pread(fd, &c, 1, 0) == 1)
			printf("content %d %c\n", fd, c);
	}
	printf("leader %d %d\n", getsid(0) == getpid(), getpgrp() == getpid());
	printf("umask %03o\n", (unsigned)mask);
	printf("nice %d\n", getpriority(PRIO_PROCESS, 0));
	printf("cwd %s\n", getcwd(cwd, sizeof(cwd)) != NULL ? cwd : "?");
	getrlimit(RLIMIT_CORE, &limit);
	printf("core %lu\n", (unsigned long)limit.rlim_cur);
	for (char **e = environ; *e != NULL; e++)
		printf("env %s\n", *e);
	f = fopen("/proc/self/status", "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		printf("%s", line);
	return 0;
}

static pid_t last; /* the number of the latest child */

/* Runs the child to its end, with its standard output in output. */
static void
run(struct child_spec *spec)
{
	struct child_result result;
	struct reap_death died;
	struct pollfd pfd = { .events = POLLIN };
	size_t len = 0;
	ssize_t n = 1;
	int p[2];

	NEED(pipe2(p, O_CLOEXEC) == 0);
	spec->stdio[1] = p[1];
	CHECK_EQ(0, spawn(spec, &result));
	close(p[1]);
	/* Until the end of file, for at most ten seconds. */
	pfd.fd = p[0];
	while (n > 0 && CHECK_EQ(1, poll(&pfd, 1, 10000))) {
		n = read(p[0], output + len, sizeof(output) - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	output[len] = '\0';
	close(p[0]);
	if (!CHECK(death(&died)))
		return;
	CHECK_EQ(result.pid, died.pid);
	last = died.pid;
	reap_take(died.pid, true);
	spec->stdio[1] = -1;
}

static struct child_spec
reporter(void)
{
	return spec_of(report_argv);
}

/* Whether the report has this line. */
static bool
reported(const char *line)
{
	char wanted[256];

	(void)snprintf(wanted, sizeof(wanted), "\n%s\n", line);
	if (strstr(output, wanted) != NULL)
		return true;
	fprintf(stderr, "no \"%s\" in: %s\n", line, output);
	return false;
}

static int
open_temporary(const char *content)
{
	int fd = (int)syscall(SYS_memfd_create, "test", 0);

	CHECK_EQ((ssize_t)strlen(content), write(fd, content, strlen(content)));
	return fd;
}

TEST(a_child_has_its_descriptors_and_no_other)
{
	struct child_spec spec = reporter();
	int leak = open("/dev/null", O_RDONLY);
	int channel = open("/dev/null", O_RDONLY | O_CLOEXEC);

	spec.fds = &channel;
	spec.nfds = 1;
	run(&spec);
	CHECK(reported("fds 0 1 2 3"));
	close(leak);
	close(channel);
}

TEST_ALONE(descriptors_may_be_given_crosswise)
{
	struct child_spec spec = reporter();
	int fds[2] = { 0, 3 };
	int a = open_temporary("a"), b = open_temporary("b"),
	    c = open_temporary("c");

	NEED(dup2(a, 10) == 10 && dup2(b, 11) == 11 && dup2(c, 12) == 12);
	/* a is at 3, b at 0, c at 4: 4 becomes 0, 0 becomes 3, 3 becomes 4. */
	NEED(dup2(10, 3) == 3 && dup2(11, 0) == 0 && dup2(12, 4) == 4);
	spec.stdio[0] = 4;
	spec.fds = fds;
	spec.nfds = 2;
	run(&spec);
	CHECK(reported("fds 0 1 2 3 4"));
	CHECK(reported("content 0 c"));
	CHECK(reported("content 3 b"));
	CHECK(reported("content 4 a"));
}

TEST_ALONE(signals_are_at_their_default_and_not_blocked)
{
	struct child_spec spec = reporter();
	sigset_t all;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGRTMAX, SIG_IGN);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	run(&spec);
	CHECK(reported("SigBlk:\t0000000000000000"));
	CHECK(reported("SigIgn:\t0000000000000000"));
}

TEST(a_child_leads_a_session_in_which_all_that_was_asked_is_set)
{
	struct child_spec spec = reporter();
	struct child_limit limit = { RLIMIT_CORE, { 0, 0 } };

	spec.set_umask = true;
	spec.umask = 027;
	/* Every user may set it, whatever the nice value of the test. */
	spec.set_nice = true;
	spec.nice = 19;
	spec.limits = &limit;
	spec.nlimits = 1;
	spec.directory = "/proc";
	run(&spec);
	CHECK(reported("leader 1 1"));
	CHECK(reported("umask 027"));
	CHECK(reported("nice 19"));
	CHECK(reported("core 0"));
	CHECK(reported("cwd /proc"));
}

TEST(a_child_finds_its_own_number_in_the_environment)
{
	struct child_spec spec = reporter();
	char number[sizeof("APPPOOL_PID=") + CHILD_NUMBER_SIZE] =
	    "APPPOOL_PID=";
	char *envp[] = { number, NULL };
	char line[64];

	spec.envp = envp;
	spec.number = number + strlen(number);
	run(&spec);
	(void)snprintf(line, sizeof(line), "env %s", number);
	CHECK(reported(line));
	CHECK_EQ(last, atoi(number + strlen("APPPOOL_PID=")));
}

/* Whether other users can run this program: its folder may be closed. */
static bool
others_may_run_us(void)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0) {
		be_ordinary();
		_exit(access(self, X_OK) == -1);
	}
	CHECK_EQ(pid, waitpid(pid, &status, 0));
	return status == 0;
}

TEST(an_identity_is_taken_wholly)
{
	struct child_spec spec = reporter();
	gid_t groups[] = { 4242, 4243 };

	SKIP_IF(getuid() != 0, "only root can give identities");
	SKIP_IF(!others_may_run_us(), "this folder is closed to others");
	spec.set_identity = true;
	spec.uid = 4240;
	spec.gid = 4241;
	spec.groups = groups;
	spec.ngroups = 2;
	run(&spec);
	CHECK(reported("Uid:\t4240\t4240\t4240\t4240"));
	CHECK(reported("Gid:\t4241\t4241\t4241\t4241"));
	CHECK(reported("Groups:\t4242 4243 "));
	CHECK(reported("CapPrm:\t0000000000000000"));
	CHECK(reported("CapAmb:\t0000000000000000"));
	/* Our own identity is unchanged. */
	CHECK_EQ(0, getuid());
	CHECK_EQ(0, geteuid());
}

/* Whether nobody may see into the memory of a child of nobody's. */
static bool
nobody_may_look_into(struct child_spec *spec)
{
	struct child_result result;
	struct reap_death died;
	char path[64];
	pid_t looks;
	int status = -1;

	if (!CHECK_EQ(0, spawn(spec, &result)))
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%ld/mem", (long)result.pid);
	looks = fork();
	if (looks == 0)
		_exit(setresgid(NOBODY, NOBODY, NOBODY) == -1 ||
			    setresuid(NOBODY, NOBODY, NOBODY) == -1
			? 2
			: open(path, O_RDWR) == -1);
	CHECK_EQ(looks, waitpid(looks, &status, 0));
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	CHECK_EQ(0, child_signal(result.pid, SIGKILL, false));
	if (CHECK(death(&died)))
		reap_take(died.pid, true);
	return status == 0;
}

TEST(a_program_that_answers_accept_is_guarded_from_its_user)
{
	struct child_spec spec = reporter(), waits = shell("sleep 100");

	SKIP_IF(getuid() != 0 || !acceptfilter_privileged(),
	    "only root can give identities");
	SKIP_IF(!others_may_run_us(), "this folder is closed to others");
	spec.set_identity = waits.set_identity = true;
	spec.uid = spec.gid = waits.uid = waits.gid = NOBODY;
	CHECK(nobody_may_look_into(&waits));
	spec.filter_accept = waits.filter_accept = true;
	CHECK(!nobody_may_look_into(&waits));
	run(&spec);
	CHECK(reported("fds 0 1 2 3"));
	CHECK(reported("Uid:\t65534\t65534\t65534\t65534"));
	CHECK(reported("CapPrm:\t0000000000000800"));
}

static void *
tell_identity(void *arg)
{
	int *p = arg;
	char c;
	uid_t uid;

	(void)!read(p[0], &c, 1);
	uid = (uid_t)syscall(SYS_geteuid);
	return (void *)(uintptr_t)uid;
}

TEST(no_thread_of_ours_changes_its_identity)
{
	struct child_spec spec = shell("exit 0");
	pthread_t thread;
	void *uid = (void *)1;
	int p[2];

	SKIP_IF(getuid() != 0, "only root can give identities");
	NEED(pipe2(p, O_CLOEXEC) == 0);
	NEED(pthread_create(&thread, NULL, tell_identity, p) == 0);
	spec.set_identity = true;
	spec.uid = NOBODY;
	spec.gid = NOBODY;
	run(&spec);
	close(p[1]);
	CHECK_EQ(0, pthread_join(thread, &uid));
	CHECK_EQ(0, (intmax_t)(uintptr_t)uid);
	close(p[0]);
}

TEST(output_is_appended_to_with_the_rights_of_the_user)
{
	struct child_spec spec = shell("echo to stdout; echo to stderr >&2");
	char dir[] = "/tmp/child_test.XXXXXX";
	char path[64], text[64] = "";
	gid_t group = 4242;
	struct stat st;
	FILE *f;

	SKIP_IF(getuid() != 0, "only root can give identities");
	/* Only members of the group may write to the folder. */
	NEED(mkdtemp(dir) != NULL && chown(dir, 0, group) == 0 &&
	    chmod(dir, 0770) == 0);
	(void)snprintf(path, sizeof(path), "%s/out", dir);
	spec.output = path;
	spec.set_identity = true;
	spec.uid = spec.gid = NOBODY;
	spec.groups = &group;
	spec.ngroups = 1;
	spec.set_umask = true;
	spec.umask = 027;
	run(&spec);
	CHECK_STR("", output);
	run(&spec);
	NEED((f = fopen(path, "re")) != NULL);
	CHECK_EQ(40, fread(text, 1, sizeof(text), f));
	CHECK_STR("to stdout\nto stderr\nto stdout\nto stderr\n", text);
	CHECK_EQ(0, fstat(fileno(f), &st));
	CHECK_EQ(NOBODY, st.st_uid);
	CHECK_EQ(S_IFREG | 0640, st.st_mode);
	fclose(f);
	unlink(path);
	rmdir(dir);
}

int
main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--report") == 0)
		return report();
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) == -1)
		return EXIT_FAILURE;

	check_start(argc, argv);
	check_all();
	return check_finish();
}
