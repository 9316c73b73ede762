/*
 * A worker that leaves connections behind which nobody can receive:
 *
 *	freeze-channel FOLDER TIMES PROGRAM [ARGUMENT...]
 *
 * runs the program, but the first so many processes have each a child in
 * another session, whose number is in FOLDER/1, FOLDER/2 and so on, and die.
 * The child receives the first connection into a page whose fault never ends.
 * It holds the lock of the worker's end of the channel, in which another
 * connection lies, until it is killed.
 */

#include <sys/ioctl.h>
#include <sys/socket.h>

#include <stdio.h>
#include <stdlib.h>

#include "worker/apppool.h"

#include "absent.h"
#include "turns.h"

/* Between two looks, in microseconds. */
#define WHILE 1000

static void
become_bad(int file)
{
	int unread = 0;
	pid_t child;

	if (apppool_open() == -1 || apppool_ready() == -1)
		err(1, "apppool");
	child = fork();
	if (child == 0) {
		(void)setsid();
		(void)dprintf(file, "%ld\n", (long)getpid());
		(void)recv(apppool_fd(), absent_page(), ABSENT_SIZE, 0);
		_exit(0);
	}
	/* A packet unread before that is what the child is about to receive. */
	while (absent_awaited(child) &&
	    ioctl(apppool_fd(), FIONREAD, &unread) == 0 && unread == 0)
		(void)usleep(WHILE);
	_exit(1);
}

int
main(int argc, char **argv)
{
	int file;

	if (argc < 4)
		errx(64,
		    "usage: freeze-channel FOLDER TIMES PROGRAM [ARGUMENT...]");
	file = turns_next(argv[1], atoi(argv[2]));
	if (file != -1)
		become_bad(file);
	execv(argv[3], argv + 3);
	err(1, "%s", argv[3]);
}
