/*
 * A worker in whose folder in /proc nobody can look a name up:
 *
 *	freeze-proc PROGRAM [ARGUMENT...]
 *
 * runs the program. Before that a child of it reads the folder into a page
 * whose fault never ends, and so holds the folder's lock; another one waits for
 * that lock, to make a folder there, and all who come later wait behind it.
 */

#include <sys/stat.h>
#include <sys/syscall.h>

#include <stdio.h>

#include "absent.h"

#define SECONDS 20 /* until nothing of it is left, whatever happens */

static void
hold(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY);

	(void)setsid();
	(void)alarm(SECONDS);
	printf("holding: %d\n", (int)getpid());
	(void)fflush(stdout);
	(void)syscall(SYS_getdents64, fd, absent_page(), ABSENT_SIZE);
	_exit(1);
}

static void
wait_for_it(const char *folder)
{
	char name[64];

	(void)setsid();
	(void)snprintf(name, sizeof(name), "%s/name", folder);
	(void)mkdir(name, 0755);
	_exit(1);
}

int
main(int argc, char **argv)
{
	char folder[32];
	pid_t holder;

	if (argc < 2)
		errx(64, "usage: freeze-proc PROGRAM [ARGUMENT...]");
	(void)snprintf(folder, sizeof(folder), "/proc/%d", (int)getpid());
	holder = fork();
	if (holder == 0)
		hold(folder);
	(void)absent_awaited(holder);
	if (fork() == 0)
		wait_for_it(folder);
	(void)usleep(100000);
	execv(argv[1], argv + 1);
	err(1, "%s", argv[1]);
}
