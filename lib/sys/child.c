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

#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/acceptfilter.h"
#include "sys/child.h"
#include "sys/number.h"

#define STACK_SIZE (64 * 1024)

/* Signals are 1 to 64, and the kernel's sets of them have this size. */
#define SIGNALS 64
#define SIGSET_BYTES (SIGNALS / 8)

struct start {
	const struct child_spec *spec;
	struct child_result *result;
	/* Become 0, 1, 2, ...; -1: /dev/null. The program, if any, is last. */
	int fds[3 + CHILD_FDS_MAX + 2];
	unsigned nfds;
	int procs; /* of the cgroup that the child is to enter; or -1 */
	/*
	 * Buffers of the child. On its own stack a sanitizer would mark them,
	 * and exec would leave the marks to the next child.
	 */
	struct stat file;
	char line[CHILD_INTERPRETER_SIZE];
	struct __user_cap_header_struct caps_header;
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
	struct __user_cap_data_struct no_caps[_LINUX_CAPABILITY_U32S_3];
};

/* --- between clone and exec --------------------------------------------- */

/*
 * Opens the file by the user and group that the child is to have, and without
 * capabilities, as one of them opens all files. The other groups stay so from
 * here on: chroot(2) and chdir(2) are called by a privilege that needs none.
 */
static int
open_output(struct start *st)
{
	const int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW |
	    O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
	const struct child_spec *s = st->spec;
	const uid_t uid = (uid_t)setfsuid((uid_t)-1);
	const gid_t gid = (gid_t)setfsgid((gid_t)-1);

	if (s->set_identity) {
		if (syscall(ACCEPTFILTER_CALL(setgroups), s->ngroups,
			s->groups) == -1)
			return -1;
		(void)setfsgid(s->gid);
		(void)setfsuid(s->uid);
		/* Both calls return the former number, and no error. */
		if ((gid_t)setfsgid((gid_t)-1) != s->gid ||
		    (uid_t)setfsuid((uid_t)-1) != s->uid) {
			errno = EPERM;
			return -1;
		}
		st->caps_header.version = _LINUX_CAPABILITY_VERSION_3;
		if (syscall(SYS_capget, &st->caps_header, st->caps) == -1)
			return -1;
		for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
			st->no_caps[i] = st->caps[i];
			st->no_caps[i].effective = 0;
		}
		if (syscall(SYS_capset, &st->caps_header, st->no_caps) == -1)
			return -1;
	}
	st->fds[1] = st->fds[2] = open(s->output, flags, 0640);
	if (st->fds[1] == -1 || fcntl(st->fds[1], F_SETFL, O_APPEND) == -1)
		return -1;
	if (!s->set_identity)
		return 0;
	/* Root's user also gets back what setfsuid(2) took. */
	if (syscall(SYS_capset, &st->caps_header, st->caps) == -1)
		return -1;
	(void)setfsuid(uid);
	(void)setfsgid(gid);
	return 0;
}

static int
arrange_descriptors(struct start *st)
{
	/* Move them out of the way of each other first. */
	for (unsigned i = 0; i < st->nfds; i++) {
		if (st->fds[i] >= (int)st->nfds)
			continue;
		st->fds[i] = fcntl(st->fds[i], F_DUPFD_CLOEXEC, (int)st->nfds);
		if (st->fds[i] == -1)
			return -1;
	}
	for (unsigned i = 0; i < st->nfds; i++)
		if (dup2(st->fds[i], (int)i) == -1)
			return -1;
	if (close_range(st->nfds, ~0U, 0) == -1)
		return -1;
	return st->spec->opened ? fcntl((int)st->nfds - 1, F_SETFD, FD_CLOEXEC)
				: 0;
}

static int
set_identity(struct start *st)
{
	const struct child_spec *s = st->spec;

	if (syscall(ACCEPTFILTER_CALL(setgroups), s->ngroups, s->groups) ==
		-1 ||
	    syscall(ACCEPTFILTER_CALL(setresgid), s->gid, s->gid, s->gid, 0,
		ACCEPTFILTER_FIRST, ACCEPTFILTER_SECOND) == -1)
		return -1;
	/* A process that is not root's would keep these in the next step. */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1)
		return -1;
	if (s->filter_accept && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == -1)
		return -1;
	if (syscall(ACCEPTFILTER_CALL(setresuid), s->uid, s->uid, s->uid, 0,
		ACCEPTFILTER_FIRST, ACCEPTFILTER_SECOND) == -1)
		return -1;
	return s->filter_accept ? acceptfilter_guard() : 0;
}

/* The real user and group, which access(2) goes by, are the effective ones. */
static int
check_file(struct start *st, const char *path)
{
	if (stat(path, &st->file) == -1)
		return -1;
	if (S_ISREG(st->file.st_mode))
		return access(path, X_OK);
	errno = S_ISDIR(st->file.st_mode) ? EISDIR : EACCES;
	return -1;
}

/*
 * Whether a program could be executed: 0, or -1 and errno, EISDIR or what
 * execve(2) would say of the file, or of the interpreter that the first line of
 * a script names. The path of the latter is then in the result, else "". A
 * format that this machine does not know is found by execve(2) alone.
 */
static int
check_executable(struct start *st, const char *path)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	char *line = st->line, *interpreter = st->result->interpreter;
	ssize_t n = 0;
	size_t len;
	int fd;

	interpreter[0] = '\0';
	if (check_file(st, path) == -1)
		return -1;
	fd = open(path, flags);
	if (fd != -1) {
		n = read(fd, line, sizeof(st->line) - 1);
		(void)close(fd);
	}
	if (n < 2 || line[0] != '#' || line[1] != '!')
		return 0;
	line[n] = '\0';
	line += 2 + strspn(line + 2, " \t");
	len = strcspn(line, " \t\n");
	memcpy(interpreter, line, len);
	interpreter[len] = '\0';
	if (len > 0 && check_file(st, interpreter) == -1)
		return -1;
	interpreter[0] = '\0';
	return 0;
}

static int
execute(struct start *st)
{
	static const unsigned long none[2];
	static char *const empty[] = { NULL };
	const struct child_spec *s = st->spec;
	char *const *envp = s->envp != NULL ? s->envp : empty;
	char *end = st->line + sizeof(st->line), *at;
	int error;

	/* Only the child itself can know LISTEN_PID this early. */
	if (s->number != NULL) {
		at = number_write(end, (uint64_t)syscall(SYS_getpid));
		memcpy(s->number, at, (size_t)(end - at));
		s->number[end - at] = '\0';
	}
	(void)syscall(
	    SYS_rt_sigprocmask, SIG_SETMASK, none, NULL, SIGSET_BYTES);
	if (s->opened)
		return (int)syscall(SYS_execveat, (int)st->nfds - 1, "",
		    s->argv, envp, AT_EMPTY_PATH);
	(void)execve(s->path, s->argv, envp);
	/* The file that ENOENT or EACCES is about may be another one. */
	error = errno;
	if ((error == ENOENT || error == EACCES) &&
	    check_executable(st, s->path) == -1)
		return -1;
	errno = error;
	return -1;
}

static int
take_step(struct start *st, enum child_stage stage)
{
	/* All zero: SIG_DFL, no flags and no mask, on each architecture. */
	static const unsigned long plain[8];
	const struct child_spec *s = st->spec;
	int null = -1;

	switch (stage) {
	case CHILD_CGROUP:
		return st->procs == -1 || write(st->procs, "0", 1) == 1 ? 0
									: -1;
	case CHILD_SESSION:
		/* SIGKILL and SIGSTOP refuse: they have no other. */
		for (int sig = 1; sig <= SIGNALS; sig++)
			(void)syscall(
			    SYS_rt_sigaction, sig, plain, NULL, SIGSET_BYTES);
		if (s->set_umask)
			(void)umask(s->umask);
		return setsid() == -1 ? -1 : 0;
	case CHILD_OUTPUT:
		return s->output != NULL ? open_output(st) : 0;
	case CHILD_NULL:
		if (s->filter_accept)
			st->fds[3 + s->nfds] = acceptfilter_install();
		for (unsigned i = 0; i < st->nfds; i++) {
			if (st->fds[i] != -1)
				continue;
			if (null == -1)
				null = open("/dev/null", O_RDWR | O_CLOEXEC);
			if (null == -1)
				return -1;
			st->fds[i] = null;
		}
		return 0;
	case CHILD_DESCRIPTORS:
		return arrange_descriptors(st);
	case CHILD_LIMITS:
		for (size_t i = 0; i < s->nlimits; i++) {
			st->result->limit = s->limits[i].resource;
			if (setrlimit(s->limits[i].resource,
				&s->limits[i].value) == -1)
				return -1;
		}
		return 0;
	case CHILD_NICE:
		return s->set_nice ? setpriority(PRIO_PROCESS, 0, s->nice) : 0;
	case CHILD_CHROOT:
		return s->chroot != NULL ? chroot(s->chroot) : 0;
	case CHILD_DIRECTORY:
		if (s->directory != NULL)
			return chdir(s->directory);
		/* The working directory would stay outside the root. */
		return s->chroot != NULL ? chdir("/") : 0;
	case CHILD_IDENTITY:
		return s->set_identity ? set_identity(st) : 0;
	case CHILD_NO_NEW_PRIVS:
		return s->no_new_privs ? prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
				       : 0;
	case CHILD_NEXT:
		return s->next != NULL ? check_executable(st, s->next) : 0;
	default:
		return execute(st);
	}
}

/* All that the child does; clone(2) ends it with the status returned. */
static int
run_steps(void *arg)
{
	struct start *st = arg;

	for (int stage = CHILD_CGROUP; stage <= CHILD_EXEC; stage++) {
		st->result->stage = (enum child_stage)stage;
		if (take_step(st, st->result->stage) == -1)
			break;
	}
	st->result->error = errno;
	return 127;
}

/* --- the parent --------------------------------------------------------- */

/*
 * Begins the child in its cgroup: that takes clone3(2), for which the C library
 * has no function that gives the child a stack of its own. The other way, a
 * child that writes its number into the group's cgroup.procs, was seen to wait
 * 11 ms for a grace period of the kernel where no other start was just before.
 * Returns the number; or -1 and errno, which is ENOSYS on machines for which it
 * is not written, and where a filter of a container forbids the call.
 */
static pid_t
clone_into(struct start *st, char *stack)
{
#if defined(__x86_64__) && defined(__LP64__)
	struct clone_args args = { .flags = CLONE_VM | CLONE_VFORK |
		    CLONE_PARENT_SETTID | CLONE_INTO_CGROUP,
		.parent_tid = (uintptr_t)&st->result->pid,
		.exit_signal = SIGCHLD,
		.stack = (uintptr_t)stack,
		.stack_size = STACK_SIZE,
		.cgroup = (unsigned)st->spec->cgroup };
	register int (*run)(void *) __asm__("r8") = run_steps;
	register struct start *arg __asm__("r9") = st;
	long pid = SYS_clone3;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%r9, %%rdi\n\t"
			 "call *%%r8\n\t"
			 "mov %%eax, %%edi\n\t"
			 "mov %[exit], %%eax\n\t"
			 "syscall\n"
			 "1:"
			 : "+a"(pid)
			 : "D"(&args), "S"(sizeof(args)), "r"(run),
			 "r"(arg), [exit] "i"(SYS_exit)
			 : "rcx", "r11", "memory");
	if (pid > 0)
		return (pid_t)pid;
	errno = (int)-pid;
#else
	(void)st;
	(void)stack;
	errno = ENOSYS;
#endif
	return -1;
}

int
child_spawn(const struct child_spec *spec, struct child_result *result)
{
	struct start st = { .spec = spec, .result = result, .procs = -1 };
	int program = -1;
	pid_t pid = -1;
	char *stack;

	assert(spec->nfds <= CHILD_FDS_MAX);
	assert(result->error == 0);

	memcpy(st.fds, spec->stdio, sizeof(spec->stdio));
	for (size_t i = 0; i < spec->nfds; i++)
		st.fds[3 + i] = spec->fds[i];
	st.nfds = 3 + (unsigned)spec->nfds;
	if (spec->filter_accept)
		st.fds[st.nfds++] = -1;
	if (spec->opened) {
		program = open(spec->path, O_PATH | O_CLOEXEC);
		if (program == -1) {
			result->stage = CHILD_EXEC;
			result->error = errno;
			return -1;
		}
		st.fds[st.nfds++] = program;
	}
	stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	errno = stack == MAP_FAILED ? errno : ENOSYS;
	if (stack != MAP_FAILED && spec->cgroup != 0) {
		pid = clone_into(&st, stack);
		if (pid == -1 && errno == ENOSYS) {
			st.procs = openat(
			    spec->cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);
			errno = st.procs == -1 ? errno : ENOSYS;
		}
	}
	/* Stacks grow downwards. The child has its program then, or is dead. */
	if (pid == -1 && errno == ENOSYS)
		pid = clone(run_steps, stack + STACK_SIZE,
		    CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID | SIGCHLD, &st,
		    (pid_t *)&result->pid, NULL, NULL);
	if (pid == -1) {
		result->stage = CHILD_CLONE;
		result->error = errno;
	}
	if (stack != MAP_FAILED)
		(void)munmap(stack, STACK_SIZE);
	if (st.procs != -1)
		(void)close(st.procs);
	if (program != -1)
		(void)close(program);
	return result->error == 0 ? 0 : -1;
}

int
child_signal(pid_t pid, int sig, bool group)
{
	/* 0 and below are groups, and -1 every process. */
	assert(pid > 1);
	return kill(group && getpgid(pid) == pid ? -pid : pid, sig);
}

/* --- failures in words -------------------------------------------------- */

bool
child_no_room(const struct child_result *r)
{
	return r->error == EAGAIN || r->error == ENOMEM || r->error == EMFILE ||
	    r->error == ENFILE;
}

const char *
child_explain(const struct child_spec *spec, const struct child_result *r,
    char *buf, size_t size)
{
	static const char *const limits[] = {
		[RLIMIT_AS] = "RLIMIT_AS",
		[RLIMIT_CORE] = "RLIMIT_CORE",
		[RLIMIT_CPU] = "RLIMIT_CPU",
		[RLIMIT_NOFILE] = "RLIMIT_NOFILE",
		[RLIMIT_NPROC] = "RLIMIT_NPROC",
	};
	const size_t nlimits = sizeof(limits) / sizeof(limits[0]);
	const char *limit =
	    (size_t)r->limit < nlimits ? limits[r->limit] : NULL;
	/* The failure of a step, with the file or limit it was about. */
	const struct {
		const char *failed, *what;
	} steps_failed[] = {
		[CHILD_CLONE] = { "cannot create a process", NULL },
		[CHILD_CGROUP] = { "cannot enter its cgroup", NULL },
		[CHILD_SESSION] = { "cannot begin a session", NULL },
		[CHILD_OUTPUT] = { "cannot open", spec->output },
		[CHILD_NULL] = { "cannot open /dev/null", NULL },
		[CHILD_DESCRIPTORS] = { "cannot arrange descriptors", NULL },
		[CHILD_LIMITS] = { "cannot set",
		    limit != NULL ? limit : "a resource limit" },
		[CHILD_NICE] = { "cannot set the nice value", NULL },
		[CHILD_CHROOT] = { "cannot chroot to", spec->chroot },
		[CHILD_DIRECTORY] = { "cannot chdir to",
		    spec->directory != NULL ? spec->directory : "/" },
		[CHILD_IDENTITY] = { "cannot become", NULL },
		[CHILD_NO_NEW_PRIVS] = { "cannot set no_new_privs", NULL },
		[CHILD_NEXT] = { "cannot execute", spec->next },
		[CHILD_EXEC] = { "cannot execute", spec->path },
	};
	const char *failed = steps_failed[r->stage].failed;
	const char *what = steps_failed[r->stage].what;
	const char *error = strerror(r->error);

	/* The child has opened it, and not the caller before. */
	if (r->stage == CHILD_OUTPUT && r->pid != 0 && r->error == ELOOP)
		error = "it is a symbolic link: remove it, or name the file it "
			"leads to";
	if (r->stage == CHILD_OUTPUT && r->pid != 0 && spec->set_identity)
		(void)snprintf(buf, size, "%s %s as user %u and group %u: %s",
		    failed, what, (unsigned)spec->uid, (unsigned)spec->gid,
		    error);
	else if (r->stage == CHILD_IDENTITY)
		(void)snprintf(buf, size, "%s user %u and group %u: %s", failed,
		    (unsigned)spec->uid, (unsigned)spec->gid, error);
	else if (r->interpreter[0] != '\0')
		(void)snprintf(buf, size, "%s %s: its interpreter %s: %s",
		    failed, what, r->interpreter, error);
	else if (what != NULL)
		(void)snprintf(buf, size, "%s %s: %s", failed, what, error);
	else
		(void)snprintf(buf, size, "%s: %s", failed, error);
	return buf;
}

/* --- reaping: waitid(2), twice ---------------------------------------- */

bool
reap_peek(pid_t pid, struct reap_death *out)
{
	siginfo_t info = { 0 };

	while (waitid(pid == 0 ? P_ALL : P_PID, (id_t)pid, &info,
		   WEXITED | WNOHANG | WNOWAIT) == -1)
		if (errno != EINTR)
			return false;
	if (info.si_pid == 0)
		return false;
	out->pid = info.si_pid;
	out->signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
	out->status = info.si_code == CLD_EXITED ? info.si_status : 0;
	out->dumped = info.si_code == CLD_DUMPED;
	return true;
}

bool
reap_is_child(pid_t pid)
{
	siginfo_t info;

	return pid > 1 &&
	    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void
reap_take(pid_t pid, bool group)
{
	siginfo_t info;

	/* 0 would be our own group, and -1 every process. */
	assert(pid > 1);
	if (group && getpgid(pid) == pid)
		(void)kill(-pid, SIGKILL);
	/* WNOHANG: should the child not be dead, we do not wait for it. */
	(void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG);
}

const char *
reap_explain(const struct reap_death *d, char *buf, size_t size)
{
	const char *name = sigabbrev_np(d->signal);

	if (d->signal == 0)
		(void)snprintf(buf, size, "exited with status %d", d->status);
	else
		(void)snprintf(buf, size, "killed by signal %d (%s%s%s)",
		    d->signal, name == NULL ? "real-time" : "SIG",
		    name == NULL ? "" : name, d->dumped ? ", core dumped" : "");
	return buf;
}
