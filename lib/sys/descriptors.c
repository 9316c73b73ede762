/* The descriptors of this process. */

#include <fcntl.h>
#include <unistd.h>

#include "sys/descriptors.h"

int
descriptors_fix(void)
{
	int fd;

	/* open(2) returns the lowest number that is free. */
	do {
		fd = open("/dev/null", O_RDWR);
		if (fd == -1)
			return -1;
	} while (fd <= STDERR_FILENO);
	return close(fd);
}

int
descriptors_raise_limit(struct rlimit *out)
{
	struct rlimit before, raised;

	if (getrlimit(RLIMIT_NOFILE, &before) == -1)
		return -1;
	raised = before;
	raised.rlim_cur = raised.rlim_max;
	/* Not setrlimit(3), which would make apppool-stdio larger with musl. */
	if (prlimit(0, RLIMIT_NOFILE, &raised, NULL) == -1)
		return -1;
	*out = before;
	return 0;
}
