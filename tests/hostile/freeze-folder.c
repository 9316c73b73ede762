/*
 * freeze-folder FOLDER: reads the folder into a page whose fault never ends,
 * and so holds its lock: nobody else can make, remove or rename a file there.
 */

#include <sys/syscall.h>

#include <stdio.h>

#include "absent.h"

#define SECONDS 20 /* until nothing of it is left, whatever happens */

int
main(int argc, char **argv)
{
	char *page = absent_page();
	pid_t watch;
	int fd;

	if (argc != 2)
		errx(64, "usage: freeze-folder FOLDER");
	fd = open(argv[1], O_RDONLY | O_DIRECTORY);
	if (fd == -1)
		err(1, "%s", argv[1]);
	watch = fork();
	(void)alarm(SECONDS);
	if (watch == 0) {
		if (absent_awaited(getppid()))
			(void)puts("frozen");
		return 0;
	}
	(void)syscall(SYS_getdents64, fd, page, ABSENT_SIZE);
	return 1;
}
