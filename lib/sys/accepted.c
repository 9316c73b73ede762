/* Our copies of accepted connections. */

#include <sys/socket.h>

#include <errno.h>
#include <unistd.h>

#include "sys/accepted.h"

void
accepted_close(int fd, bool tcp)
{
	const struct linger off = { 0 };
	int saved_errno = errno;

	if (tcp)
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &off, sizeof(off));
	(void)close(fd);
	errno = saved_errno;
}
