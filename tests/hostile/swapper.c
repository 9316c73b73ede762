/*
 * usage: swapper FILE TARGET
 *
 * A worker that puts a symbolic link to TARGET in place of FILE, prints a line
 * and ends: what is started next prints where the link leads.
 */

#include <err.h>
#include <stdio.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	if (argc != 3)
		errx(64, "usage: swapper FILE TARGET");
	(void)unlink(argv[1]);
	if (symlink(argv[2], argv[1]) == -1)
		err(1, "%s", argv[1]);
	(void)puts("a line of the swapper");
	return 1;
}
