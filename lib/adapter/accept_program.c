/* The program: started as our child, ended as it wants. */

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "adapter/accept_filter.h"
#include "adapter/accept_program.h"
#include "adapter/accept_view.h"
#include "sys/fdpass.h"
#include "sys/wire.h"

/* Where LISTEN_FDS=1 says that it is. */
#define LISTEN_FDS_START 3

/* Out of the way of those the program gets. */
#define HIGH 10

/* As shells have it. */
#define EXIT_NOT_EXECUTED 127

/* What the child reports: that the filter is there, or what went wrong. */
struct report {
	enum program_stage stage; /* PROGRAM_RUNS: nothing did */
	int error;
	bool restricted;
};

/* --- the child ----------------------------------------------------------- */

static _Noreturn void
give_up(int parent, enum program_stage stage)
{
	struct report r = { .stage = stage, .error = errno };

	(void)fdpass_send(parent, &r, sizeof(r), -1);
	_exit(EXIT_NOT_EXECUTED);
}

/* sd_listen_fds(3), and what workers without a socket are told. */
static bool
prepare_environment(void)
{
	char pid[sizeof("2147483647")];

	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	return unsetenv(WIRE_ENV_PROTOCOL) == 0 && unsetenv(WIRE_ENV_FD) == 0 &&
	    unsetenv(WIRE_ENV_FAMILY) == 0 && unsetenv("LISTEN_FDNAMES") == 0 &&
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
	/* What the kernel does not know execvp(3) would have a shell read. */
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

	/* Without us it could only wait for ever. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1)
		give_up(parent, PROGRAM_PREPARE);
	if (getppid() != parent_pid)
		_exit(EXIT_NOT_EXECUTED);
	if (!prepare_environment() || !prepare_descriptors(spec->listener) ||
	    sigprocmask(SIG_SETMASK, &spec->signals, NULL) == -1)
		give_up(parent, PROGRAM_PREPARE);
	notify = filter_install(&r.restricted);
	if (notify == -1 || !filter_works(notify))
		give_up(parent, PROGRAM_FILTER);
	if (fdpass_send(parent, &r, sizeof(r), notify) == -1)
		give_up(parent, PROGRAM_PREPARE);
	/* This and the parent's socket are close-on-exec. */
	execute(spec->argv);
	give_up(parent, PROGRAM_EXECUTE);
}

/* --- its start ----------------------------------------------------------- */

/* One report; false: the end of file, because the program runs. */
static bool
hear(int child, struct report *r, int *fd_out)
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
	return false;
}

/* Waits for it to run. */
static bool
watch_start(struct program *p, int child)
{
	struct report r;
	int none = -1;

	if (!hear(child, &r, &p->notify))
		return failed(p, PROGRAM_PREPARE, ECHILD);
	if (r.stage != PROGRAM_RUNS)
		return failed(p, r.stage, r.error);
	if (p->notify == -1)
		return failed(p, PROGRAM_PREPARE, EMFILE);
	p->restricted = r.restricted;
	p->pidfd = view_open(p->pid);
	if (hear(child, &r, &none))
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
			    : watch_start(p, ends[0]);
	(void)close(ends[0]);
	return runs;
}

/* --- its life and end ---------------------------------------------------- */

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
program_ended(const struct program *p, int *status_out)
{
	int status;

	if (waitpid(p->pid, &status, WNOHANG) != p->pid)
		return false;
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
		exit(WEXITSTATUS(status));
	sig = WTERMSIG(status);
	/* The core that tells something has been written by then. */
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)signal(sig, SIG_DFL);
	(void)raise(sig);
	sigemptyset(&set);
	sigaddset(&set, sig);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	/* A shell's way to say it. */
	exit(128 + sig);
}
