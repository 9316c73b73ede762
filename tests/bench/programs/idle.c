/*
 * idle: the smallest process that is a worker.
 *
 * Says READY and waits until it is told to stop, or the daemon is gone.  It is
 * linked statically, so that thousands of them fit into a machine.
 */

#include <sys/socket.h>

#include <stdlib.h>
#include <unistd.h>

int
main(void)
{
	const char *number = getenv("APPPOOL_FD");
	int channel = number == NULL ? -1 : atoi(number);
	char message[16];

	if (send(channel, "READY", 5, MSG_NOSIGNAL) != 5)
		return 1;
	/* No connection is made to this pool: any message is the end. */
	(void)recv(channel, message, sizeof(message), 0);
	return 0;
}
