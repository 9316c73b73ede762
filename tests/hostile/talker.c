/*
 * talker MESSAGE [COUNT]: a worker that says this to the daemon in its first
 * session, again and again, and never ends the session; or COUNT times in each
 * session.
 */

#include <sys/socket.h>

#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker/apppool.h"

int
main(int argc, char **argv)
{
	long count = argc > 2 ? atol(argv[2]) : -1;
	int fd;

	if (argc < 2)
		errx(64, "usage: talker MESSAGE [COUNT]");
	if (apppool_open() == -1 || apppool_ready() == -1)
		err(1, "apppool");
	while ((fd = apppool_accept()) != -1 && write(fd, "now\n", 4) != -1) {
		(void)shutdown(fd, SHUT_WR);
		for (long left = count; left != 0; left--)
			if (send(apppool_fd(), argv[1], strlen(argv[1]), 0) ==
			    -1)
				err(1, "send");
		(void)apppool_done(fd);
	}
	return 0;
}
