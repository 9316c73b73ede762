/*
 * The program: started as our child behind a seccomp filter, sent the signals
 * that come to us; we end as it does.
 */

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/seccomp.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "adapter/accept.h"
#include "sys/acceptfilter.h"
#include "sys/fdpass.h"
#include "sys/wire.h"

/* The descriptor that LISTEN_FDS=1 stands for. */
#define LISTEN_FDS_START 3

/* Above the descriptors the program gets. */
#define HIGH 10

/* The exit status of shells for that. */
#define EXIT_NOT_EXECUTED 127

/* The child's report: that the filter is installed, or what failed. */
struct report {
	enum program_stage stage; /* PROGRAM_RUNS: nothing did */
	int error;
	bool restricted;
};

/* --- the filter in front of its system calls ---------------------------- */

/*
 * Without the privilege to install the filter no_new_privs is set first, and
 * *restricted_out. Returns the descriptor, or -1 and errno.
 */
static int
install_filter(bool *restricted_out)
{
	int fd = acceptfilter_install();

	*restricted_out = false;
	if (fd != -1 || errno != EACCES)
		return fd;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return -1;
	*restricted_out = true;
	return acceptfilter_install();
}

/* Whether accept() can be answered with a descriptor; else errno. */
static bool
filter_works(int notify)
{
	struct seccomp_notif_addfd probe = {
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (__u32)notify,
	};

	/* No call has this number; an old kernel stops at the flag already. */
	return ioctl(notify, SECCOMP_IOCTL_NOTIF_ADDFD, &probe) == -1 &&
	    errno == ENOENT;
}

/* --- the child ---------------------------------------------------------- */

static _Noreturn void
give_up(int parent, enum program_stage stage)
{
	struct report r = { .stage = stage, .error = errno };

	(void)fdpass_send(parent, &r, sizeof(r), -1);
	_exit(EXIT_NOT_EXECUTED);
}

/* Sets what sd_listen_fds(3) reads, and hides the socket to the daemon. */
static bool
prepare_environment(void)
{
	char pid[sizeof("2147483647")];

	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	return unsetenv(WIRE_ENV_PROTOCOL) == 0 && unsetenv(WIRE_ENV_FD) == 0 &&
	    unsetenv(WIRE_ENV_FAMILY) == 0 && unsetenv(WIRE_ENV_UNREAD) == 0 &&
	    unsetenv(WIRE_ENV_CALLS) == 0 && unsetenv("LISTEN_FDNAMES") == 0 &&
	    setenv("LISTEN_FDS", "1", 1) == 0 &&
	    setenv("LISTEN_PID", pid, 1) == 0;
}

static bool
prepare_descriptors(int listener)
{
	return dup2(listener, STDIN_FILENO) != -1 &&
	    dup2(listener, LISTEN_FDS_START) != -1;
}

/* Returns if it fails. */
static void
execute(char **argv)
{
	/* execvp(3) would give a file of unknown format to a shell. */
	if (strchr(argv[0], '/') != NULL)
		(void)execv(argv[0], argv);
	else
		(void)execvp(argv[0], argv);
}

static _Noreturn void
become(const struct program_spec *spec, int parent, pid_t parent_pid)
{
	struct report r = { .stage = PROGRAM_RUNS };
	int notify;

	/* Without us the program could only wait for ever. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1)
		give_up(parent, PROGRAM_PREPARE);
	if (getppid() != parent_pid)
		_exit(EXIT_NOT_EXECUTED);
	if (!prepare_environment() || !prepare_descriptors(spec->listener) ||
	    sigprocmask(SIG_SETMASK, &spec->signals, NULL) == -1)
		give_up(parent, PROGRAM_PREPARE);
	notify =
	    spec->notify != -1 ? spec->notify : install_filter(&r.restricted);
	if (notify == -1 || !filter_works(notify))
		give_up(parent, PROGRAM_FILTER);
	if (fdpass_send(parent, &r, sizeof(r), notify) == -1)
		give_up(parent, PROGRAM_PREPARE);
	/* This and the parent's socket are close-on-exec. */
	execute(spec->argv);
	give_up(parent, PROGRAM_EXECUTE);
}

/* --- its start ---------------------------------------------------------- */

/* Reads a report. Returns false: end of file, the program runs. */
static bool
read_report(int child, struct report *r, int *fd_out)
{
	ssize_t n;

	do {
		n = fdpass_recv_one(child, r, sizeof(*r), 0, fd_out);
	} while (n == -1 && errno == EINTR);
	return n == sizeof(*r);
}

static bool
failed(struct program *p, enum program_stage stage, int error)
{
	p->stage = stage;
	p->error = error;
	if (p->notify != -1)
		(void)close(p->notify);
	if (p->pid > 0)
		while (waitpid(p->pid, NULL, 0) == -1 && errno == EINTR)
			continue;
	p->pid = 0;
	return false;
}

/* Waits until the program runs. */
static bool
wait_for_start(struct program *p, int child)
{
	struct report r;
	int none = -1;

	if (!read_report(child, &r, &p->notify))
		return failed(p, PROGRAM_PREPARE, ECHILD);
	if (r.stage != PROGRAM_RUNS)
		return failed(p, r.stage, r.error);
	if (p->notify == -1)
		return failed(p, PROGRAM_PREPARE, EMFILE);
	p->restricted = r.restricted;
	p->pidfd = view_open(p->pid);
	if (read_report(child, &r, &none))
		return failed(p, r.stage, r.error);
	p->stage = PROGRAM_RUNS;
	return true;
}

bool
program_start(struct program *p, const struct program_spec *spec)
{
	pid_t self = getpid();
	int ends[2], high;
	bool runs;

	*p = (struct program){ .pidfd = -1, .notify = -1 };
	if (fdpass_pair(ends) == -1)
		return failed(p, PROGRAM_FORK, errno);
	p->pid = fork();
	if (p->pid == 0) {
		high = fcntl(ends[1], F_DUPFD_CLOEXEC, HIGH);
		(void)close(ends[1]);
		become(spec, high, self);
	}
	(void)close(ends[1]);
	runs = p->pid == -1 ? failed(p, PROGRAM_FORK, errno)
			    : wait_for_start(p, ends[0]);
	(void)close(ends[0]);
	return runs;
}

/* --- its life and end --------------------------------------------------- */

void
program_signal(const struct program *p, const struct signalfd_siginfo *s)
{
	const union sigval value = { .sival_ptr =
					 (void *)(uintptr_t)s->ssi_ptr };

	assert(p->pid > 1);
	if (s->ssi_code == SI_QUEUE)
		(void)sigqueue(p->pid, (int)s->ssi_signo, value);
	else
		(void)kill(p->pid, (int)s->ssi_signo);
}

bool
program_ended(struct program *p, int *status_out)
{
	int status;

	if (waitpid(p->pid, &status, WNOHANG) != p->pid)
		return false;
	p->pid = 0;
	*status_out = status;
	return true;
}

_Noreturn void
program_end_likewise(int status)
{
	const struct rlimit none = { 0 };
	sigset_t set;
	int sig;

	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	sig = WTERMSIG(status);
	/* The program itself has dumped the core that is of use. */
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)signal(sig, SIG_DFL);
	(void)raise(sig);
	sigemptyset(&set);
	sigaddset(&set, sig);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	/* As shells report a signal. */
	_exit(128 + sig);
}
