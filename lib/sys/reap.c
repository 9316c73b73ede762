/* Reaping children: waitid(2), twice. */

#include <sys/wait.h>

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/reap.h"

static bool
peek(idtype_t type, pid_t pid, struct reap_death *out)
{
	siginfo_t info = { 0 };

	while (
	    waitid(type, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == -1) {
		if (errno != EINTR)
			return false;
	}
	if (info.si_pid == 0)
		return false;
	out->pid = info.si_pid;
	out->signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
	out->status = info.si_code == CLD_EXITED ? info.si_status : 0;
	out->dumped = info.si_code == CLD_DUMPED;
	return true;
}

bool
reap_peek(struct reap_death *out)
{
	return peek(P_ALL, 0, out);
}

bool
reap_peek_at(pid_t pid, struct reap_death *out)
{
	return peek(P_PID, pid, out);
}

bool
reap_is_child(pid_t pid)
{
	siginfo_t info;

	return pid > 1 &&
	    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void
reap_take(pid_t pid)
{
	/* 0 would be our own group, and -1 every process. */
	assert(pid > 1);
	if (getpgid(pid) == pid)
		(void)kill(-pid, SIGKILL);
	reap_stranger(pid);
}

void
reap_stranger(pid_t pid)
{
	siginfo_t info;

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
