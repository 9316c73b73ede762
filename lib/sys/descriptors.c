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
	struct rlimit raised;

	/* Not setrlimit(3), which would make apppool-stdio larger with musl. */
	if (prlimit(0, RLIMIT_NOFILE, NULL, out) == -1)
		return -1;
	raised = *out;
	raised.rlim_cur = raised.rlim_max;
	return prlimit(0, RLIMIT_NOFILE, &raised, NULL);
}
