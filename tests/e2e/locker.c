/*
 * Takes a lock by libapppool and prints the result.
 *
 *     locker FILE KEY WORKERS MAXQUEUE TIMEOUT me|any
 *
 * Prints LOCKED, DONE, QUEUE_FULL, TIMEOUT or the text of errno.  A
 * lock is held while FILE exists, then given back, and RELEASED is printed.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "worker/apppool.h"

int
main(int argc, char **argv)
{
	static const char *const words[] = { [APPPOOL_LOCKED] = "LOCKED",
		[APPPOOL_DONE] = "DONE",
		[APPPOOL_QUEUE_FULL] = "QUEUE_FULL",
		[APPPOOL_TIMEOUT] = "TIMEOUT" };
	const struct timespec nap = { .tv_nsec = 5000000 };
	int how, rc;

	if (argc != 7) {
		(void)fprintf(stderr,
		    "usage: locker file key workers maxqueue timeout "
		    "me|any\n");
		return EX_USAGE;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	how = strcmp(argv[6], "any") == 0 ? APPPOOL_ANY : APPPOOL_ME;
	rc = apppool_lock(
	    argv[2], atoi(argv[3]), atoi(argv[4]), atoi(argv[5]), how);
	(void)printf("%s\n", rc == -1 ? strerror(errno) : words[rc]);
	if (rc != APPPOOL_LOCKED)
		return 0;
	while (access(argv[1], F_OK) == 0)
		(void)nanosleep(&nap, NULL);
	(void)printf("%s\n",
	    apppool_unlock(argv[2]) == -1 ? strerror(errno) : "RELEASED");
	return 0;
}
