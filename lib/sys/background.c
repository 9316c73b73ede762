/* Going to the background, and telling whether it worked. */

#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <sysexits.h>
#include <unistd.h>

#include "sys/background.h"
#include "sys/descriptors.h"
#include "sys/log.h"

/* How long a terminal that does not take its lines is waited for. */
#define FLUSH_LIMIT TSPAN_SECONDS(1)

/* The socket to the process that waits for our report; -1: none. */
static int report_fd = -1;

/* In the first process: waits for a byte, the report, or the child's end. */
static _Noreturn void
wait_for_report(int fd, pid_t child)
{
	unsigned char status;
	int how;
	ssize_t n;

	do {
		n = recv(fd, &status, 1, 0);
	} while (n == -1 && errno == EINTR);
	if (n == 1)
		_exit(status);

	while (waitpid(child, &how, 0) == -1) {
		if (errno != EINTR)
			_exit(EX_UNAVAILABLE);
	}
	if (WIFEXITED(how) && WEXITSTATUS(how) != 0)
		_exit(WEXITSTATUS(how));
	_exit(EX_UNAVAILABLE);
}

int
background_start(void)
{
	int ends[2];
	pid_t pid;

	/* A socket, and no pipe, for MSG_NOSIGNAL. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == -1)
		return -1;
	pid = fork();
	if (pid == -1) {
		int saved_errno = errno;

		(void)close(ends[0]);
		(void)close(ends[1]);
		errno = saved_errno;
		return -1;
	}
	if (pid != 0) {
		(void)close(ends[1]);
		wait_for_report(ends[0], pid);
	}

	(void)close(ends[0]);
	report_fd = ends[1];
	/* setsid(2) cannot fail: a fresh process leads no group. */
	(void)setsid();
	return 0;
}

void
background_report(int status)
{
	const unsigned char byte = (unsigned char)status;

	if (report_fd == -1)
		return;
	/* Lines logged so far are still for the terminal. */
	(void)log_flush(FLUSH_LIMIT);
	log_echo(false);
	if (status == 0)
		descriptors_detach();
	(void)send(report_fd, &byte, 1, MSG_NOSIGNAL);
	(void)close(report_fd);
	report_fd = -1;
}
