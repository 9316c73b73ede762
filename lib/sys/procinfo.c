/* What proc(5) tells, and the clocks of other processes. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sys/procfile.h"
#include "sys/procinfo.h"

static int
stat_read(int folder, const char *path, struct procinfo *out)
{
	char stat[1024];
	const char *fields = procfile_stat(folder, path, stat, sizeof(stat));
	unsigned long long user, system;
	long long pages;
	char state;

	if (fields == NULL)
		return -1;
	/* Fields 3, 14, 15 and 24. */
	if (sscanf(fields,
		" %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu"
		" %*s %*s %*s %*s %*s %*s %*s %*s %lld",
		&state, &user, &system, &pages) != 4) {
		errno = EPROTO;
		return -1;
	}
	out->state = state;
	out->rss = (int64_t)pages * sysconf(_SC_PAGESIZE);
	out->cpu =
	    (tspan)(user + system) * (TSPAN_SECONDS(1) / sysconf(_SC_CLK_TCK));
	return 0;
}

int
procinfo_read(pid_t pid, struct procinfo *out)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	return stat_read(AT_FDCWD, path, out);
}

int
procinfo_read_folder(int folder, struct procinfo *out)
{
	return stat_read(folder, "stat", out);
}

int
procinfo_cpu(pid_t pid, tspan *out)
{
	struct timespec ts;
	clockid_t clock;
	int error = clock_getcpuclockid(pid, &clock);

	if (error == 0 && clock_gettime(clock, &ts) == -1)
		error = errno == EINVAL ? ESRCH : errno;
	if (error != 0) {
		errno = error;
		return -1;
	}
	*out = TSPAN_SECONDS(ts.tv_sec) + ts.tv_nsec;
	return 0;
}

/* The inode number in "socket:[4711]"; false: it is something else. */
static bool
socket_inode(const char *link, size_t len, uint32_t *out)
{
	static const char head[] = "socket:[";
	const size_t n = sizeof(head) - 1;

	if (len <= n || strncmp(link, head, n) != 0)
		return false;
	*out = (uint32_t)strtoul(link + n, NULL, 10);
	return true;
}

int
procinfo_sockets(pid_t pid, void (*found)(void *, uint32_t), void *arg)
{
	char path[64], link[64];
	uint32_t inode;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (dir == NULL) {
		if (errno == ENOENT)
			errno = ESRCH;
		return -1;
	}
	for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
		ssize_t n =
		    readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1);

		if (n <= 0)
			continue;
		link[n] = '\0';
		if (socket_inode(link, (size_t)n, &inode))
			found(arg, inode);
	}
	(void)closedir(dir);
	return 0;
}

int
procinfo_folder(pid_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The parent of the process whose folder it is; 0: it has gone. */
static pid_t
parent_of(int folder)
{
	char stat[1024];
	const char *fields = procfile_stat(folder, "stat", stat, sizeof(stat));
	int parent;

	if (fields == NULL || sscanf(fields, " %*c %d", &parent) != 1)
		return 0;
	return parent;
}

int
procinfo_child_folder(pid_t parent)
{
	char path[64], children[32];
	int child, folder;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
	    (int)parent, (int)parent);
	if (procfile_read(AT_FDCWD, path, children, sizeof(children)) == -1)
		return -1;
	if (sscanf(children, "%d ", &child) != 1) {
		errno = ECHILD;
		return -1;
	}
	folder = procinfo_folder(child);
	/* Its number may be another one's by now. */
	if (folder != -1 && parent_of(folder) != parent) {
		close(folder);
		errno = ECHILD;
		return -1;
	}
	return folder;
}

int
procinfo_memory_open(int folder)
{
	return openat(folder, "statm", O_RDONLY | O_CLOEXEC);
}

int
procinfo_memory(int fd, uint64_t *out)
{
	char statm[128];
	unsigned long long pages;
	ssize_t n = pread(fd, statm, sizeof(statm) - 1, 0);

	if (n == -1)
		return -1;
	statm[n] = '\0';
	/* The second field; they are numbers of pages. */
	if (sscanf(statm, "%*s %llu", &pages) != 1) {
		errno = EPROTO;
		return -1;
	}
	*out = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}
