/* Standard input, output and error. */

#include <fcntl.h>
#include <unistd.h>

#include "sys/stdfd.h"

int
stdfd_fix(void)
{
	int fd;

	/* The lowest number that is free is the one that is opened. */
	do {
		fd = open("/dev/null", O_RDWR);
		if (fd == -1)
			return -1;
	} while (fd <= STDERR_FILENO);
	return close(fd);
}
