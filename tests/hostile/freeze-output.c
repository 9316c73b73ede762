/*
 * A worker that freezes the pipe it prints to:
 *
 *	freeze-output FOLDER TIMES PROGRAM [ARGUMENT...]
 *
 * runs the program. The first so many processes have each a child in another
 * session, whose number is in FOLDER/1, FOLDER/2 and so on. When there is a
 * FOLDER/go, the child fills the pipe, so that it is read, and writes on from a
 * page whose fault never ends; it holds the lock of the pipe from then on,
 * until it is killed.
 */

#include <sys/uio.h>

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "absent.h"
#include "turns.h"

/* As large as it may be: the lock is held long before it is empty. */
#define PIPE_SIZE (1024 * 1024)
#define LINE 128

static void
freeze(const char *folder, int file)
{
	static char full[PIPE_SIZE];
	char *page = absent_page();
	struct iovec out[] = { { full, sizeof(full) }, { page, ABSENT_SIZE } };
	char go[4096];

	(void)setsid();
	memset(full, 'x', sizeof(full));
	for (size_t at = LINE - 1; at < sizeof(full); at += LINE)
		full[at] = '\n';
	if (fcntl(STDOUT_FILENO, F_SETPIPE_SZ, PIPE_SIZE) == -1)
		err(1, "F_SETPIPE_SZ");
	(void)dprintf(file, "%ld\n", (long)getpid());
	(void)snprintf(go, sizeof(go), "%s/go", folder);
	while (access(go, F_OK) == -1)
		(void)usleep(10000);
	(void)!writev(STDOUT_FILENO, out, 2);
	_exit(0);
}

int
main(int argc, char **argv)
{
	int file;

	if (argc < 4)
		errx(64,
		    "usage: freeze-output FOLDER TIMES PROGRAM [ARGUMENT...]");
	file = turns_next(argv[1], atoi(argv[2]));
	if (file != -1 && fork() == 0)
		freeze(argv[1], file);
	execv(argv[3], argv + 3);
	err(1, "%s", argv[3]);
}
