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

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/apppool.h"

#include "absent.h"
#include "turns.h"

/* Between two looks, in microseconds. */
#define WHILE 50000

/* Whether the process waits for the page. */
static bool
is_frozen(pid_t pid)
{
	char path[64], place[64] = "";
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%ld/wchan", (long)pid);
	file = fopen(path, "re");
	if (file == NULL)
		err(1, "%s", path);
	if (fgets(place, sizeof(place), file) == NULL)
		place[0] = '\0';
	(void)fclose(file);
	return strcmp(place, "handle_userfault") == 0;
}

static void
become_bad(int file)
{
	int unread = 0;
	bool frozen;
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
	do {
		(void)usleep(WHILE);
		frozen = is_frozen(child);
		(void)ioctl(apppool_fd(), FIONREAD, &unread);
	} while (!frozen || unread == 0);
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
