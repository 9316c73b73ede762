/*
 * The program as seen from outside: descriptors, threads, signals, and the
 * memory in which accept() is to leave an address.
 */

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <linux/kcmp.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter/accept.h"

/* Headers may be older than the kernel; the number is that of all machines. */
#ifndef SYS_process_mrelease
#define SYS_process_mrelease 448
#endif

/* Long enough for /proc/PID/fd/NUMBER. */
#define PROC_PATH 64

enum view
view_has(pid_t tid, int its_fd, int our_fd, ino_t inode)
{
	static pid_t self;
	char path[PROC_PATH];
	struct stat st;
	long order;

	if (self == 0)
		self = getpid();
	/* Mostly it is closed, which kcmp(2) tells in less time than a path. */
	order = syscall(SYS_kcmp, self, tid, KCMP_FILE, our_fd, its_fd);
	if (order == -1 && errno == EBADF)
		return VIEW_NO;
	if (inode == 0) {
		if (order != -1)
			return order == 0 ? VIEW_YES : VIEW_NO;
		/* Sandboxes and kernels may lack kcmp(2). */
		if (fstat(our_fd, &st) == -1)
			return VIEW_DENIED;
		inode = st.st_ino;
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", tid, its_fd);
	if (stat(path, &st) == 0)
		return S_ISSOCK(st.st_mode) && st.st_ino == inode ? VIEW_YES
								  : VIEW_NO;
	/* A chroot without /proc shows nothing. */
	return errno == ENOENT && access("/proc/self/fd", F_OK) == 0
	    ? VIEW_NO
	    : VIEW_DENIED;
}

/* Reads /proc/TID/NAME, as much as fits into text. Returns false: none. */
static bool
read_proc(pid_t tid, const char *name, char *text, size_t size)
{
	char path[PROC_PATH];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	n = read(fd, text, size - 1);
	(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	return true;
}

bool
view_lives(pid_t tid)
{
	char line[512];
	const char *state;

	if (syscall(SYS_tkill, tid, 0) == -1)
		return errno != ESRCH;
	/* A zombie still has its number. */
	if (!read_proc(tid, "stat", line, sizeof(line)))
		return true;
	/* The state follows the name, which stands in parentheses. */
	state = strrchr(line, ')');
	return state == NULL || (state[1] != '\0' && state[2] != 'Z');
}

bool
view_has_signals(pid_t tid)
{
	static const char *const names[] = {
		"\nSigPnd:", "\nShdPnd:", "\nSigBlk:"
	};
	unsigned long long sets[3];
	char text[4096];

	if (!read_proc(tid, "status", text, sizeof(text)))
		return false;
	for (int i = 0; i < 3; i++) {
		const char *line = strstr(text, names[i]);

		sets[i] = line == NULL
		    ? 0
		    : strtoull(line + strlen(names[i]), NULL, 16);
	}
	return ((sets[0] | sets[1]) & ~sets[2]) != 0;
}

bool
view_is_killed(int pidfd)
{
	if (pidfd == -1)
		return false;
	/* Only a process that dies gives up its memory at this request. */
	return syscall(SYS_process_mrelease, pidfd, 0) == 0 || errno == ESRCH;
}

/* Whether the thread is one of the process whose memory was kept. */
static bool
is_kept(const struct view_memory *m, pid_t tid)
{
	char path[PROC_PATH];

	if (m->fd == -1)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d", m->pid, tid);
	return access(path, F_OK) == 0;
}

void
view_keep_memory(struct view_memory *m, pid_t pid)
{
	char path[PROC_PATH];
	int fd;

	/* The program's memory is kept, and not that of its children. */
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

/*
 * Returns 0 if n is all of len, or an errno. Kept memory its process may have
 * given up meanwhile.
 */
static int
memory_error(ssize_t n, size_t len, bool kept)
{
	if (n == (ssize_t)len)
		return 0;
	if (kept && n == 0)
		return EPERM;
	if (n != -1 || (kept && errno == EIO))
		return EFAULT;
	return errno == ENOSYS ? EPERM : errno;
}

int
view_copy_memory(const struct view_memory *m, pid_t tid, bool write,
    const struct view_part *parts, size_t n)
{
	struct iovec here[VIEW_PARTS], there[VIEW_PARTS];
	size_t len = 0;
	int error;

	for (size_t i = 0; i < n; i++) {
		here[i].iov_base = parts[i].here;
		there[i].iov_base = (void *)(uintptr_t)parts[i].there;
		here[i].iov_len = there[i].iov_len = parts[i].len;
		len += parts[i].len;
	}
	error =
	    memory_error(write ? process_vm_writev(tid, here, n, there, n, 0)
			       : process_vm_readv(tid, here, n, there, n, 0),
		len, false);
	if (error == EPERM && is_kept(m, tid)) {
		error = 0;
		for (const struct view_part *p = parts;
		     p < parts + n && error == 0; p++)
			if (p->len > 0)
				error = memory_error(write
					? pwrite(m->fd, p->here, p->len,
					      (off_t)p->there)
					: pread(m->fd, p->here, p->len,
					      (off_t)p->there),
				    p->len, true);
	}
	errno = error;
	return error == 0 ? 0 : -1;
}
