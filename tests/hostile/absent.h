#ifndef TESTS_HOSTILE_ABSENT_H
#define TESTS_HOSTILE_ABSENT_H

/*
 * A page whose fault never ends, as long as this process lives; where there is
 * no userfaultfd(2), that ends with 77.
 */

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/userfaultfd.h>

#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ABSENT_SIZE 4096

static inline char *
absent_page(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	char *page = mmap(NULL, ABSENT_SIZE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	reg.range.start = (uintptr_t)page;
	reg.range.len = ABSENT_SIZE;
	if (fd == -1 || page == MAP_FAILED ||
	    ioctl(fd, UFFDIO_API, &api) == -1 ||
	    ioctl(fd, UFFDIO_REGISTER, &reg) == -1)
		err(77, "userfaultfd");
	return page;
}

/*
 * Waits until this process waits for such a page, and so holds what the call
 * that needs it has locked; false: it has ended before.
 */
static inline bool
absent_awaited(pid_t pid)
{
	char path[64], place[64];
	siginfo_t end = { 0 };
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%ld/wchan", (long)pid);
	while (end.si_pid == 0 && (file = fopen(path, "re")) != NULL) {
		place[0] = '\0';
		(void)!fgets(place, sizeof(place), file);
		(void)fclose(file);
		if (strcmp(place, "handle_userfault") == 0)
			return true;
		(void)usleep(1000);
		/* It may be no child of ours. */
		(void)waitid(
		    P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT);
	}
	return false;
}

#endif
