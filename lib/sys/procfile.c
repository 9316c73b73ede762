/* Small files of proc(5). */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sys/procfile.h"

int
procfile_read(int folder, const char *path, char *buf, size_t size)
{
	int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	int error;
	ssize_t n;

	buf[0] = '\0';
	if (fd == -1)
		return -1;
	n = read(fd, buf, size - 1);
	error = errno;
	close(fd);
	errno = error;
	if (n == -1)
		return -1;
	buf[n] = '\0';
	return 0;
}

const char *
procfile_stat(int folder, const char *path, char *buf, size_t size)
{
	const char *end;

	if (procfile_read(folder, path, buf, size) == -1) {
		if (errno == ENOENT)
			errno = ESRCH;
		return NULL;
	}
	end = strrchr(buf, ')');
	if (end == NULL) {
		errno = EPROTO;
		return NULL;
	}
	return end + 1;
}
