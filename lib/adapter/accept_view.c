/* What can be seen of the program's descriptors and threads from outside. */

#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/kcmp.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter/accept_view.h"

/* Headers may be older than the kernel; the number is that of all machines. */
#ifndef SYS_process_mrelease
#define SYS_process_mrelease 448
#endif

/* Long enough for /proc/PID/fd/NUMBER. */
#define PROC_PATH 64

static struct {
	pid_t self;
	bool proc; /* else we are in a chroot without it, and see nobody */
} viewer;

void
view_init(void)
{
	viewer.self = getpid();
	viewer.proc = access("/proc/self/fd", F_OK) == 0;
}

/* By the inode of what is behind the descriptor. */
static enum view
has_inode(pid_t tid, int its_fd, ino_t inode)
{
	char path[PROC_PATH];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", tid, its_fd);
	if (stat(path, &st) == 0)
		return S_ISSOCK(st.st_mode) && st.st_ino == inode ? VIEW_YES
								  : VIEW_NO;
	return viewer.proc && errno == ENOENT ? VIEW_NO : VIEW_DENIED;
}

/* 0: both are the same; -1 and EBADF: the thread has none of that number. */
static long
compare(int our_fd, pid_t tid, int its_fd)
{
	return syscall(SYS_kcmp, viewer.self, tid, KCMP_FILE, our_fd, its_fd);
}

enum view
view_is_ours(pid_t tid, int its_fd, int our_fd)
{
	struct stat st;
	long order = compare(our_fd, tid, its_fd);

	if (order != -1)
		return order == 0 ? VIEW_YES : VIEW_NO;
	if (errno == EBADF)
		return VIEW_NO;
	/* Some sandboxes and kernels are without that call. */
	if (fstat(our_fd, &st) == -1)
		return VIEW_DENIED;
	return has_inode(tid, its_fd, st.st_ino);
}

enum view
view_has_socket(pid_t tid, int its_fd, ino_t inode, int our_fd)
{
	/* Mostly it is closed, which is seen so in a fraction of the time. */
	if (compare(our_fd, tid, its_fd) == -1 && errno == EBADF)
		return VIEW_NO;
	return has_inode(tid, its_fd, inode);
}

bool
view_lives(pid_t tid)
{
	char path[PROC_PATH], line[512];
	const char *state;
	ssize_t n;
	int fd;

	if (syscall(SYS_tkill, tid, 0) == -1)
		return errno != ESRCH;
	/* One that nobody has waited for has still its number. */
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return true;
	n = read(fd, line, sizeof(line) - 1);
	(void)close(fd);
	line[n > 0 ? n : 0] = '\0';
	/* It follows the name, which stands in parentheses. */
	state = strrchr(line, ')');
	return state == NULL || (state[1] != '\0' && state[2] != 'Z');
}

/* A set of signals, from the text of /proc/PID/status. */
static unsigned long long
signals_read(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	return line == NULL ? 0 : strtoull(line + strlen(name), NULL, 16);
}

bool
view_has_signals(pid_t tid)
{
	char path[PROC_PATH], text[4096];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	return ((signals_read(text, "\nSigPnd:") |
		    signals_read(text, "\nShdPnd:")) &
		   ~signals_read(text, "\nSigBlk:")) != 0;
}

int
view_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

bool
view_is_killed(int pidfd)
{
	if (pidfd == -1)
		return false;
	/* It is asked to give up its memory, as only one that dies does. */
	return syscall(SYS_process_mrelease, pidfd, 0) == 0 || errno == ESRCH;
}
