/* Other processes: proc(5), and the clocks of their processor time. */

#include <sys/mount.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sys/procinfo.h"

/* Where each path begins: /proc, or a mount of our own. */
static struct {
	int fd;
	const char *prefix;
} proc = { .fd = AT_FDCWD, .prefix = "/proc/" };

/* A mount of proc(5) that has no place in any namespace; -1 and errno. */
static int
mount_proc(void)
{
	int context = fsopen("proc", FSOPEN_CLOEXEC), fd = -1, error;

	if (context == -1)
		return -1;
	if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = fsmount(context, FSMOUNT_CLOEXEC,
		    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	error = errno;
	close(context);
	errno = error;
	return fd;
}

int
procinfo_init(void)
{
	int fd = mount_proc();

	if (fd == -1)
		return -1;
	proc.fd = fd;
	proc.prefix = "";
	return 0;
}

int
procinfo_file(int folder, const char *path, char *buf, size_t size)
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
procinfo_stat(int folder, const char *path, char *buf, size_t size)
{
	const char *end;

	if (procinfo_file(folder, path, buf, size) == -1) {
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

static int
read_stat(int folder, const char *path, struct procinfo *out)
{
	char stat[1024];
	const char *fields = procinfo_stat(folder, path, stat, sizeof(stat));
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

	(void)snprintf(path, sizeof(path), "%s%d/stat", proc.prefix, (int)pid);
	return read_stat(proc.fd, path, out);
}

int
procinfo_read_folder(int folder, struct procinfo *out)
{
	return read_stat(folder, "stat", out);
}

int
procinfo_terminal(pid_t pid, int *out)
{
	char path[64], stat[1024];
	const char *fields;

	(void)snprintf(path, sizeof(path), "%s%d/stat", proc.prefix, (int)pid);
	fields = procinfo_stat(proc.fd, path, stat, sizeof(stat));
	if (fields == NULL)
		return -1;
	/* Field 7. */
	if (sscanf(fields, " %*s %*s %*s %*s %d", out) == 1)
		return 0;
	errno = EPROTO;
	return -1;
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

/* The inode number in "socket:[4711]"; false: no socket. */
static bool
parse_socket(const char *link, size_t len, uint32_t *out)
{
	static const char head[] = "socket:[";
	const size_t n = sizeof(head) - 1;

	if (len <= n || strncmp(link, head, n) != 0)
		return false;
	*out = (uint32_t)strtoul(link + n, NULL, 10);
	return true;
}

/* A folder of proc(5) to read; NULL and errno. */
static DIR *
open_dir(const char *path)
{
	int fd = openat(proc.fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd == -1 ? NULL : fdopendir(fd);

	if (dir == NULL && errno == ENOENT)
		errno = ESRCH;
	if (dir == NULL && fd != -1)
		close(fd);
	return dir;
}

/* The targets of the descriptors of the process. Returns 0, or -1. */
static int
for_each_link(
    pid_t pid, void (*each)(void *, const char *fd, const char *), void *arg)
{
	char path[64], link[64];
	DIR *dir;

	(void)snprintf(path, sizeof(path), "%s%d/fd", proc.prefix, (int)pid);
	dir = open_dir(path);
	if (dir == NULL)
		return -1;
	for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
		ssize_t n =
		    readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1);

		if (n <= 0)
			continue;
		link[n] = '\0';
		each(arg, e->d_name, link);
	}
	(void)closedir(dir);
	return 0;
}

/* Whom to tell of inode numbers of a process. */
struct finder {
	pid_t pid;
	void (*found)(void *, uint32_t);
	void *arg;
};

static void
tell_socket(void *arg, const char *name, const char *link)
{
	const struct finder *f = arg;
	uint32_t inode;

	(void)name;
	if (parse_socket(link, strlen(link), &inode))
		f->found(f->arg, inode);
}

int
procinfo_sockets(pid_t pid, void (*found)(void *, uint32_t), void *arg)
{
	struct finder f = { pid, found, arg };

	return for_each_link(pid, tell_socket, &f);
}

/* Lines "tfd: 5 events: 19 data: 5  pos:0 ino:2f sdev:8". */
static void
tell_watched(void *arg, const char *name, const char *link)
{
	const struct finder *f = arg;
	char path[64], line[256];
	FILE *in;
	int fd;

	if (strcmp(link, "anon_inode:[eventpoll]") != 0)
		return;
	(void)snprintf(path, sizeof(path), "%s%d/fdinfo/%.16s", proc.prefix,
	    (int)f->pid, name);
	fd = openat(proc.fd, path, O_RDONLY | O_CLOEXEC);
	in = fd == -1 ? NULL : fdopen(fd, "r");
	if (in == NULL && fd != -1)
		close(fd);
	while (in != NULL && fgets(line, sizeof(line), in) != NULL) {
		const char *ino = strstr(line, " ino:");

		if (strncmp(line, "tfd:", 4) == 0 && ino != NULL)
			f->found(f->arg, (uint32_t)strtoul(ino + 5, NULL, 16));
	}
	if (in != NULL)
		(void)fclose(in);
}

int
procinfo_watched(pid_t pid, void (*found)(void *, uint32_t), void *arg)
{
	struct finder f = { pid, found, arg };

	return for_each_link(pid, tell_watched, &f);
}

/* Calls in which a program waits for connections, but for those of epoll. */
static bool
is_accepting_call(long call)
{
	static const long calls[] = {
		SYS_accept,
		SYS_accept4,
		SYS_ppoll,
		SYS_pselect6,
		SYS_io_uring_enter,
#ifdef SYS_poll
		SYS_poll,
		SYS_select,
#endif
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i] == call)
			return true;
	return false;
}

bool
procinfo_may_accept(pid_t pid)
{
	char path[64], text[256];
	bool may = false;
	long call;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "%s%d/task", proc.prefix, (int)pid);
	dir = open_dir(path);
	if (dir == NULL)
		return true;
	for (const struct dirent *e; !may && (e = readdir(dir)) != NULL;) {
		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%.16s/syscall", e->d_name);
		/* A process that runs has "running" there. */
		may = procinfo_file(dirfd(dir), path, text, sizeof(text)) == -1
		    ? errno != ENOENT && errno != ESRCH
		    : sscanf(text, "%ld", &call) == 1 &&
			is_accepting_call(call);
	}
	(void)closedir(dir);
	return may;
}

int
procinfo_all(void (*found)(void *, pid_t, pid_t), void *arg)
{
	DIR *dir = open_dir(proc.prefix[0] == '\0' ? "." : proc.prefix);

	if (dir == NULL)
		return -1;
	for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
		char path[64], stat[1024];
		const char *fields;
		int group;

		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		(void)snprintf(path, sizeof(path), "%.16s/stat", e->d_name);
		fields = procinfo_stat(dirfd(dir), path, stat, sizeof(stat));
		/* Field 5. */
		if (fields != NULL &&
		    sscanf(fields, " %*c %*d %d", &group) == 1)
			found(arg, atoi(e->d_name), group);
	}
	(void)closedir(dir);
	return 0;
}

int
procinfo_folder(pid_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s%d", proc.prefix, (int)pid);
	return openat(proc.fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The parent of the process of that folder; 0: the process is gone. */
static pid_t
read_parent(int folder)
{
	char stat[1024];
	const char *fields = procinfo_stat(folder, "stat", stat, sizeof(stat));
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

	(void)snprintf(path, sizeof(path), "%s%d/task/%d/children", proc.prefix,
	    (int)parent, (int)parent);
	if (procinfo_file(proc.fd, path, children, sizeof(children)) == -1)
		return -1;
	if (sscanf(children, "%d ", &child) != 1) {
		errno = ECHILD;
		return -1;
	}
	folder = procinfo_folder(child);
	/* The number may be another process's by now. */
	if (folder != -1 && read_parent(folder) != parent) {
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
	/* The second field, a number of pages. */
	if (sscanf(statm, "%*s %llu", &pages) != 1) {
		errno = EPROTO;
		return -1;
	}
	*out = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

int
procinfo_oom_kills(unsigned long *out)
{
	static const char name[] = "\noom_kill ";
	char buf[16384], path[16];
	size_t len = 0;
	const char *at;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "%svmstat", proc.prefix);
	fd = openat(proc.fd, path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return -1;
	/* The kernel gives a page at a time. */
	do {
		n = read(fd, buf + len, sizeof(buf) - 1 - len);
		if (n > 0)
			len += (size_t)n;
	} while (n > 0);
	(void)close(fd);
	buf[len] = '\0';
	at = strstr(buf, name);
	if (at != NULL && sscanf(at + sizeof(name) - 1, "%lu", out) == 1)
		return 0;
	errno = ENOENT;
	return -1;
}
