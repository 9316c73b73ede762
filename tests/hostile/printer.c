/*
 * A worker that, once it has been asked, prints empty lines as fast as it can.
 * It keeps the session, so that the next client asks another process.
 */

#include <err.h>
#include <string.h>
#include <unistd.h>

#include "worker/apppool.h"

int
main(void)
{
	char lines[4096];
	int fd;

	memset(lines, '\n', sizeof(lines));
	if (apppool_open() == -1 || apppool_ready() == -1 ||
	    (fd = apppool_accept()) == -1 || write(fd, "now\n", 4) == -1)
		err(1, "apppool");
	(void)close(fd);
	while (write(STDOUT_FILENO, lines, sizeof(lines)) != -1)
		continue;
	return 1;
}
