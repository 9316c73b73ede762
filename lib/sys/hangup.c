/*
 * The end of the terminal. The kernel sends SIGHUP to the shell, which sends it
 * on to its jobs, and to the foreground job once the shell has ended.
 */

#include <signal.h>
#include <unistd.h>

#include "sys/hangup.h"
#include "sys/procinfo.h"

static bool had_terminal;
static pid_t shell, parent;

/* To open /dev/tty would tell as well, but takes a lock of the terminal. */
static bool
has_terminal(void)
{
	int terminal;

	return procinfo_terminal(getpid(), &terminal) == 0 && terminal != 0;
}

void
hangup_init(void)
{
	had_terminal = has_terminal();
	shell = getsid(0);
	parent = getppid();
}

enum hangup
hangup_look(const struct signalfd_siginfo *info)
{
	pid_t sender = (pid_t)info->ssi_pid;

	if (!had_terminal)
		return HANGUP_NO;
	if (info->ssi_code == SI_KERNEL)
		return HANGUP_YES;
	if (sender != shell && sender != parent)
		return HANGUP_NO;
	return has_terminal() ? HANGUP_UNSURE : HANGUP_YES;
}

bool
hangup_is_over(void)
{
	return !has_terminal();
}
