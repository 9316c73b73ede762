/*
 * clinger: a worker that looks at the first connection it is given, without
 * receiving it, and exits.  A child of its in another session has the
 * connection then and holds its lock: it reads from it into a page whose fault
 * never ends.
 */

#include <sys/socket.h>

#include <stdio.h>

#include "absent.h"
#include "sys/fdpass.h"
#include "worker/apppool.h"

#define SECONDS 20 /* until nothing of it is left, whatever happens */

int
main(void)
{
	char message[64], *page;
	struct fdpass_got got;
	pid_t child;

	if (apppool_open() == -1 || apppool_ready() == -1 ||
	    fdpass_recv(
		apppool_fd(), message, sizeof(message), MSG_PEEK, &got) <= 0 ||
	    got.nfds != 1)
		err(1, "apppool");
	child = fork();
	if (child == 0) {
		(void)setsid();
		page = absent_page();
		printf("holding: %d\n", (int)getpid());
		(void)fflush(stdout);
		(void)alarm(SECONDS);
		(void)!recv(got.fds[0], page, ABSENT_SIZE, 0);
		_exit(0);
	}
	(void)absent_awaited(child);
	return 1;
}
