/*
 * orphans FILE COUNT: once there is that file, leaves so many living orphans,
 * which end when this process does, and then as many dead ones, all at once.
 */

#include <err.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <unistd.h>

/* Lives until the other end of the pipe is closed. */
static noreturn void
live(int end)
{
	char nothing;

	(void)!read(end, &nothing, 1);
	_exit(0);
}

static noreturn void
leave(long count, const int ends[2])
{
	(void)setsid();
	(void)close(ends[1]);
	for (long n = 0; n < 2 * count; n++) {
		switch (fork()) {
		case -1:
			err(71, "fork");
		case 0:
			if (n < count)
				live(ends[0]);
			_exit(0);
		default:
			break;
		}
	}
	_exit(0);
}

int
main(int argc, char **argv)
{
	int ends[2];

	if (argc != 3)
		errx(64, "usage: orphans FILE COUNT");
	while (access(argv[1], F_OK) == -1)
		(void)usleep(1000);
	if (pipe(ends) == -1)
		err(71, "pipe");
	switch (fork()) {
	case -1:
		err(71, "fork");
	case 0:
		leave(atol(argv[2]), ends);
	default:
		(void)close(ends[0]);
		(void)pause();
	}
	return 0;
}
