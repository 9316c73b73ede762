#ifndef TESTS_HOSTILE_ABSENT_H
#define TESTS_HOSTILE_ABSENT_H

/*
 * A page whose fault never ends, as long as this process lives; where there is
 * no userfaultfd(2), that ends with 77.
 */

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <linux/userfaultfd.h>

#include <err.h>
#include <fcntl.h>
#include <stdint.h>
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

#endif
