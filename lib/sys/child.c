/*
 * Starting a program. The child is cloned with the memory of the daemon, not
 * with a copy of it, and the calling thread sleeps until it has exec'd: what
 * that costs does not depend on the size of the daemon.
 *
 * Until exec the child is in our memory, so it changes nothing there but its
 * result and its number, and calls the kernel only. Where glibc does more than
 * that, the system call is made directly: its setresuid() would have every
 * thread of the daemon change its identity too, and a sanitizer's sigaction()
 * would note the child's handlers as ours.
 *
 * The kernel makes memory undumpable as soon as a process in it changes its
 * user. That protects ours from processes of that user, which might trace
 * the child otherwise, and so it is never undone: a daemon that has changed
 * identities dumps no core.
 */

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sys/child.h"
#include "sys/executable.h"
#include "sys/number.h"

#define STACK_SIZE (64 * 1024)

/* Signals are 1 to 64, and the kernel's sets of them have this size. */
#define SIGNALS 64
#define SIGSET_BYTES (SIGNALS / 8)

/* Calls that take 16-bit numbers without this suffix on old platforms. */
#ifdef SYS_setresuid32
#define CALL_SETGROUPS SYS_setgroups32
#define CALL_SETRESGID SYS_setresgid32
#define CALL_SETRESUID SYS_setresuid32
#else
#define CALL_SETGROUPS SYS_setgroups
#define CALL_SETRESGID SYS_setresgid
#define CALL_SETRESUID SYS_setresuid
#endif

struct birth {
	const struct child_spec *spec;
	struct child_result *result;
	/* Become 0, 1, 2, ...; -1: /dev/null. The program, if any, is last. */
	int fds[3 + CHILD_FDS_MAX + 1];
	unsigned nfds;
};

/* And what cannot fail. */
static int
begin_session(struct birth *b)
{
	/* All of it zero is SIG_DFL with no flags and no mask, everywhere. */
	static const unsigned long plain[8];

	/* SIGKILL and SIGSTOP refuse, and are what they are. */
	for (int sig = 1; sig <= SIGNALS; sig++)
		(void)syscall(SYS_rt_sigaction, sig, plain, NULL, SIGSET_BYTES);
	if (b->spec->set_umask)
		(void)umask(b->spec->umask);
	return setsid() == -1 ? -1 : 0;
}

static int
open_null(struct birth *b)
{
	int null = -1;

	for (unsigned i = 0; i < b->nfds; i++) {
		if (b->fds[i] != -1)
			continue;
		if (null == -1)
			null = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (null == -1)
			return -1;
		b->fds[i] = null;
	}
	return 0;
}

static int
arrange_descriptors(struct birth *b)
{
	/* First out of the way of each other. */
	for (unsigned i = 0; i < b->nfds; i++) {
		if (b->fds[i] >= (int)b->nfds)
			continue;
		b->fds[i] = fcntl(b->fds[i], F_DUPFD_CLOEXEC, (int)b->nfds);
		if (b->fds[i] == -1)
			return -1;
	}
	for (unsigned i = 0; i < b->nfds; i++) {
		if (dup2(b->fds[i], (int)i) == -1)
			return -1;
	}
	if (close_range(b->nfds, ~0U, 0) == -1)
		return -1;
	return b->spec->program == 0
	    ? 0
	    : fcntl((int)b->nfds - 1, F_SETFD, FD_CLOEXEC);
}

static int
set_limits(struct birth *b)
{
	const struct child_limit *limits = b->spec->limits;

	for (size_t i = 0; i < b->spec->nlimits; i++) {
		b->result->limit = limits[i].resource;
		if (setrlimit(limits[i].resource, &limits[i].value) == -1)
			return -1;
	}
	return 0;
}

static int
set_nice(struct birth *b)
{
	if (!b->spec->set_nice)
		return 0;
	return setpriority(PRIO_PROCESS, 0, b->spec->nice);
}

static int
change_root(struct birth *b)
{
	return b->spec->chroot == NULL ? 0 : chroot(b->spec->chroot);
}

static int
change_directory(struct birth *b)
{
	if (b->spec->directory != NULL)
		return chdir(b->spec->directory);
	/* Or we would stand outside. */
	return b->spec->chroot == NULL ? 0 : chdir("/");
}

static int
set_identity(struct birth *b)
{
	const struct child_spec *s = b->spec;

	if (!s->set_identity)
		return 0;
	if (syscall(CALL_SETGROUPS, s->ngroups, s->groups) == -1)
		return -1;
	if (syscall(CALL_SETRESGID, s->gid, s->gid, s->gid) == -1)
		return -1;
	/* One that is not root's could keep them all through the next step. */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1)
		return -1;
	if (syscall(CALL_SETRESUID, s->uid, s->uid, s->uid) == -1)
		return -1;
	return 0;
}

static int
set_no_new_privs(struct birth *b)
{
	if (!b->spec->no_new_privs)
		return 0;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* LISTEN_PID is known to the child alone before it has begun. */
static void
write_number(char *to)
{
	char digits[NUMBER_DIGITS], *end = digits + sizeof(digits);
	const char *at = number_write(end, (uint64_t)syscall(SYS_getpid));

	while (at < end)
		*to++ = *at++;
	*to = '\0';
}

static int
check_next(struct birth *b)
{
	if (b->spec->next == NULL)
		return 0;
	return executable_check(b->spec->next, b->result->interpreter);
}

/* It has failed: execve() does not say of which file ENOENT and EACCES are. */
static int
look_closer(struct birth *b)
{
	int error = errno;

	if ((error == ENOENT || error == EACCES) &&
	    executable_check(b->spec->path, b->result->interpreter) == -1)
		return -1;
	errno = error;
	return -1;
}

static int
execute(struct birth *b)
{
	static const unsigned long none[2];
	static char *const empty[] = { NULL };
	const struct child_spec *s = b->spec;
	char *const *envp = s->envp != NULL ? s->envp : empty;

	if (s->number != NULL)
		write_number(s->number);
	(void)syscall(
	    SYS_rt_sigprocmask, SIG_SETMASK, none, NULL, SIGSET_BYTES);
	if (s->program != 0)
		return (int)syscall(SYS_execveat, (int)b->nfds - 1, "", s->argv,
		    envp, AT_EMPTY_PATH);
	(void)execve(s->path, s->argv, envp);
	return look_closer(b);
}

static int (*const steps[])(struct birth *) = {
	[CHILD_SESSION] = begin_session,
	[CHILD_NULL] = open_null,
	[CHILD_DESCRIPTORS] = arrange_descriptors,
	[CHILD_LIMITS] = set_limits,
	[CHILD_NICE] = set_nice,
	[CHILD_CHROOT] = change_root,
	[CHILD_DIRECTORY] = change_directory,
	[CHILD_IDENTITY] = set_identity,
	[CHILD_NO_NEW_PRIVS] = set_no_new_privs,
	[CHILD_NEXT] = check_next,
	[CHILD_EXEC] = execute,
};

/* The child. clone() ends it with what is returned. */
static int
be_born(void *arg)
{
	struct birth *b = arg;

	for (int stage = CHILD_SESSION; stage <= CHILD_EXEC; stage++) {
		b->result->stage = (enum child_stage)stage;
		if (steps[stage](b) == -1)
			break;
	}
	b->result->error = errno;
	return 127;
}

void
child_result_init(struct child_result *r)
{
	atomic_init(&r->pid, 0);
	r->stage = CHILD_CLONE;
	r->error = 0;
	r->limit = 0;
	r->interpreter[0] = '\0';
}

/* Returns the child's number or -1; it has then run, or failed and is dead. */
static pid_t
clone_child(struct birth *b)
{
	char *stack;
	pid_t pid;
	int error;

	stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return -1;
	/* It grows downwards. */
	pid = clone(be_born, stack + STACK_SIZE,
	    CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID | SIGCHLD, b,
	    (pid_t *)&b->result->pid, NULL, NULL);
	error = errno;
	(void)munmap(stack, STACK_SIZE);
	errno = error;
	return pid;
}

int
child_spawn(const struct child_spec *spec, struct child_result *result)
{
	struct birth b = { .spec = spec, .result = result };

	assert(spec->nfds <= CHILD_FDS_MAX);
	assert(result->error == 0);

	memcpy(b.fds, spec->stdio, sizeof(spec->stdio));
	for (size_t i = 0; i < spec->nfds; i++)
		b.fds[3 + i] = spec->fds[i];
	b.nfds = 3 + (unsigned)spec->nfds;
	if (spec->program != 0)
		b.fds[b.nfds++] = spec->program;

	if (clone_child(&b) == -1) {
		result->stage = CHILD_CLONE;
		result->error = errno;
	}
	return result->error == 0 ? 0 : -1;
}

int
child_signal(pid_t pid, int sig)
{
	/* 0 and below are groups, and -1 is everybody. */
	assert(pid > 1);
	return kill(pid, sig);
}

int
child_signal_group(pid_t pid, int sig)
{
	assert(pid > 1);
	return kill(-pid, sig);
}
