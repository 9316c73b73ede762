/*
 * reblock: a program for handoff = listen that will not leave its listener
 * alone.  Asked to end, it leaves a child in a session of its own, which has
 * the listener block again and again, as long as the daemon runs.
 */

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* The listener is what descriptor 0 is. */
static void
block(void)
{
	int flags = fcntl(STDIN_FILENO, F_GETFL);

	if (flags & O_NONBLOCK)
		(void)fcntl(STDIN_FILENO, F_SETFL, flags & ~O_NONBLOCK);
}

int
main(void)
{
	pid_t daemon = getppid();

	signal(SIGTERM, SIG_DFL);
	if (fork() != 0) {
		pause();
		return 0;
	}
	(void)setsid();
	/* The daemon gets what its processes leave behind. */
	while (getppid() != daemon)
		(void)usleep(1000);
	while (getppid() == daemon)
		block();
	return 0;
}
