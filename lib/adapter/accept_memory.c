/* The memory of the program. */

#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter/accept_memory.h"

void
memory_init(struct memory *m)
{
	m->pid = 0;
	m->fd = -1;
}

/* Whether the thread is one of the process whose memory was kept. */
static bool
is_kept(const struct memory *m, pid_t tid)
{
	char path[64];

	if (m->fd == -1)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d", m->pid, tid);
	return access(path, F_OK) == 0;
}

void
memory_keep(struct memory *m, pid_t pid)
{
	char path[64];
	int fd;

	/* Of its children, which hide themselves, nothing can be kept. */
	if (m->fd != -1 && m->pid != pid && !is_kept(m, pid))
		return;
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd == -1)
		return;
	if (m->fd != -1)
		(void)close(m->fd);
	m->pid = pid;
	m->fd = fd;
}

/* 0 where n is all of len, or an errno. */
static int
outcome(ssize_t n, size_t len)
{
	if (n == -1)
		return errno == ENOSYS ? EPERM : errno;
	return n == (ssize_t)len ? 0 : EFAULT;
}

/* The same of what was kept, which may have been given up meanwhile. */
static int
outcome_kept(ssize_t n, size_t len)
{
	if (n == 0)
		return EPERM;
	return n == -1 && errno == EIO ? EFAULT : outcome(n, len);
}

static int
result(int error)
{
	errno = error;
	return error == 0 ? 0 : -1;
}

int
memory_read(
    const struct memory *m, pid_t tid, uint64_t from, void *to, size_t len)
{
	struct iovec here = { .iov_base = to, .iov_len = len };
	struct iovec there = { .iov_base = (void *)(uintptr_t)from,
		.iov_len = len };
	int error = outcome(process_vm_readv(tid, &here, 1, &there, 1, 0), len);

	if (error == EPERM && is_kept(m, tid))
		error = outcome_kept(pread(m->fd, to, len, (off_t)from), len);
	return result(error);
}

static int
write_kept(const struct memory *m, const struct memory_part *p)
{
	if (p->len == 0)
		return 0;
	return outcome_kept(
	    pwrite(m->fd, p->from, p->len, (off_t)p->to), p->len);
}

int
memory_write(
    const struct memory *m, pid_t tid, const struct memory_part parts[2])
{
	struct iovec here[2], there[2];
	int error;

	for (size_t i = 0; i < 2; i++) {
		here[i].iov_base = (void *)parts[i].from;
		there[i].iov_base = (void *)(uintptr_t)parts[i].to;
		here[i].iov_len = there[i].iov_len = parts[i].len;
	}
	error = outcome(process_vm_writev(tid, here, 2, there, 2, 0),
	    parts[0].len + parts[1].len);
	if (error == EPERM && is_kept(m, tid)) {
		error = write_kept(m, &parts[0]);
		if (error == 0)
			error = write_kept(m, &parts[1]);
	}
	return result(error);
}
