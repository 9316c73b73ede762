/*
 * clinger: a worker that looks at the first connection it is given, without
 * receiving it, and exits.  A child of its in another session has the
 * connection then and holds its lock: it reads from it into a page whose fault
 * never ends.
 */

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <linux/userfaultfd.h>

#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "sys/fdpass.h"
#include "worker/apppool.h"

#define SECONDS 20 /* until nothing of it is left, whatever happens */

static char *
absent_page(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fault = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	area.range.start = (uintptr_t)page;
	area.range.len = 4096;
	if (fault == -1 || page == MAP_FAILED ||
	    ioctl(fault, UFFDIO_API, &api) == -1 ||
	    ioctl(fault, UFFDIO_REGISTER, &area) == -1)
		err(1, "userfaultfd");
	return page;
}

int
main(void)
{
	char message[64], *page;
	struct fdpass_got got;

	if (apppool_open() == -1 || apppool_ready() == -1 ||
	    fdpass_recv(
		apppool_fd(), message, sizeof(message), MSG_PEEK, &got) <= 0 ||
	    got.nfds != 1)
		err(1, "apppool");
	if (fork() == 0) {
		(void)setsid();
		page = absent_page();
		printf("holding: %d\n", (int)getpid());
		(void)fflush(stdout);
		(void)alarm(SECONDS);
		(void)!recv(got.fds[0], page, 4096, 0);
		_exit(0);
	}
	/* Until it sleeps there. */
	(void)poll(NULL, 0, 200);
	return 1;
}
