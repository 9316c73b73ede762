/* Other processes: proc(5), and the clocks of their processor time. */

#include <sys/mount.h>
#include <sys/param.h>
#include <sys/syscall.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/procinfo.h"

/* Where each path begins: /proc, or a mount of our own. */
static struct {
	int fd;
	const char *prefix;
} proc = { .fd = AT_FDCWD, .prefix = "/proc/" };

int
procinfo_init(void)
{
	int context = fsopen("proc", FSOPEN_CLOEXEC), fd = -1;

	if (context == -1)
		return -1;
	/* A mount that has no place in any namespace. */
	if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = fsmount(context, FSMOUNT_CLOEXEC,
		    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	close(context);
	if (fd == -1)
		return -1;
	proc.fd = fd;
	proc.prefix = "";
	return 0;
}

/* The folder of procinfo_open() that stands for /proc itself. */
#define PROC AT_FDCWD

/* The file or folder below one of /proc; -1 and errno. */
static int __attribute__((format(printf, 3, 4)))
procinfo_open(int folder, int flags, const char *fmt, ...)
{
	char path[64] = "";
	size_t len = 0;
	va_list ap;

	if (folder == PROC) {
		folder = proc.fd;
		len = strlcpy(path, proc.prefix, sizeof(path));
	}
	va_start(ap, fmt);
	(void)vsnprintf(path + len, sizeof(path) - len, fmt, ap);
	va_end(ap);
	return openat(folder, path, flags | O_CLOEXEC);
}

int
procinfo_slurp(int fd, char *buf, size_t size)
{
	ssize_t n = fd == -1 ? -1 : read(fd, buf, size - 1);

	buf[n == -1 ? 0 : n] = '\0';
	/* To close a file of the kernel's own cannot fail, and keeps errno. */
	if (fd != -1)
		close(fd);
	return n == -1 ? -1 : 0;
}

/* What follows the name of the program, which may hold spaces and brackets. */
#define STAT_FIELDS \
	" %c %d %*s %*s %d %*s %*s %*s %*s %*s %*s %llu %llu %llu %llu %*s %*s" \
	" %ld %*s %*s %*s %lld"

/* The file stat of a process, which it closes. */
static int
procinfo_parse(int fd, struct procinfo *out)
{
	char stat[1024];
	const char *fields;
	unsigned long long user, system, ended_user, ended_system;
	const tspan tick = TSPAN_SECONDS(1) / sysconf(_SC_CLK_TCK);
	long long pages;

	if (procinfo_slurp(fd, stat, sizeof(stat)) == -1)
		return -1;
	fields = strrchr(stat, ')');
	if (fields == NULL || sscanf(stat, "%d", &out->pid) != 1 ||
	    sscanf(fields + 1, STAT_FIELDS, &out->state, &out->parent,
		&out->terminal, &user, &system, &ended_user, &ended_system,
		&out->threads, &pages) != 9)
		return -1;
	out->rss = (int64_t)pages * sysconf(_SC_PAGESIZE);
	out->cpu = (tspan)(user + system) * tick;
	out->cpu_ended = (tspan)(ended_user + ended_system) * tick;
	return 0;
}

int
procinfo_children(pid_t parent, pid_t *out, int room)
{
	char children[1024], *p, *end;
	int n = 0;

	for (int at = -1; at < n && n < room; at++) {
		int pid = (int)(at == -1 ? parent : out[at]);

		if (procinfo_slurp(procinfo_open(PROC, O_RDONLY,
				       "%d/task/%d/children", pid, pid),
			children, sizeof(children)) == -1 &&
		    at == -1)
			return -1;
		for (p = children; n < room; p = end) {
			out[n] = (pid_t)strtol(p, &end, 10);
			/* The last number may be cut off. */
			if (*end != ' ' || out[n] <= 0)
				break;
			n++;
		}
	}
	return n;
}

int
procinfo_folder(pid_t pid, bool child)
{
	pid_t parent = pid;
	struct procinfo info;
	int folder;

	if (child && procinfo_children(parent, &pid, 1) != 1)
		return -1;
	folder = procinfo_open(PROC, O_PATH | O_DIRECTORY, "%d", (int)pid);
	/* The number may be another process's by now. */
	if (child && folder != -1 &&
	    (procinfo_parse(procinfo_open(folder, O_RDONLY, "stat"), &info) ==
		    -1 ||
		info.parent != parent)) {
		close(folder);
		return -1;
	}
	return folder;
}

int
procinfo_read(pid_t pid, bool child, struct procinfo *out)
{
	int folder, result;

	if (!child)
		return procinfo_parse(
		    procinfo_open(PROC, O_RDONLY, "%d/stat", (int)pid), out);
	folder = procinfo_folder(pid, true);
	if (folder == -1)
		return -1;
	result = procinfo_parse(procinfo_open(folder, O_RDONLY, "stat"), out);
	close(folder);
	return result;
}

/* Takes the descriptor over; NULL: it is -1, or there is no memory. */
static FILE *
procinfo_stream(int fd)
{
	FILE *in = fd == -1 ? NULL : fdopen(fd, "r");

	if (in == NULL && fd != -1)
		(void)close(fd);
	return in;
}

/* The files that an epoll descriptor of the process waits for. */
static void
procinfo_polled(pid_t pid, const char *name,
    void (*found)(void *, uint32_t, int), void *arg)
{
	FILE *in = procinfo_stream(
	    procinfo_open(PROC, O_RDONLY, "%d/fdinfo/%s", (int)pid, name));
	char line[256];
	uint32_t inode;

	while (in != NULL && fgets(line, sizeof(line), in) != NULL) {
		const char *at = strstr(line, " ino:");

		if (at != NULL && sscanf(at, " ino:%" SCNx32, &inode) == 1)
			found(arg, inode, -1);
	}
	if (in != NULL)
		(void)fclose(in);
}

int
procinfo_sockets(
    pid_t pid, bool polled, void (*found)(void *, uint32_t, int), void *arg)
{
	int fd = procinfo_open(PROC, O_RDONLY | O_DIRECTORY, "%d/fd", (int)pid);
	DIR *dir = fd == -1 ? NULL : fdopendir(fd);
	char link[64];
	uint32_t inode;

	if (dir == NULL) {
		if (fd != -1)
			close(fd);
		if (errno == ENOENT)
			errno = ESRCH;
		return -1;
	}
	for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
		ssize_t n = readlinkat(fd, e->d_name, link, sizeof(link) - 1);

		link[n > 0 ? n : 0] = '\0';
		if (sscanf(link, "socket:[%" SCNu32, &inode) == 1)
			found(arg, inode, atoi(e->d_name));
		else if (polled && strcmp(link, "anon_inode:[eventpoll]") == 0)
			procinfo_polled(pid, e->d_name, found, arg);
	}
	(void)closedir(dir);
	return 0;
}

FILE *
procinfo_table(const char *name)
{
	return procinfo_stream(procinfo_open(PROC, O_RDONLY, "%s", name));
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
	if (sscanf(statm, "%*s %llu", &pages) != 1)
		return -1;
	*out = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

const char *
procinfo_behind(const char *text, const char *key)
{
	const size_t len = strlen(key);

	for (; text != NULL; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (strncmp(text, key, len) == 0 &&
		    (text[len] == ':' || text[len] == ' '))
			return text + len + 1;
	}
	return NULL;
}

uint64_t
procinfo_number(const char *text, const char *key)
{
	const char *at = procinfo_behind(text, key);

	return at == NULL ? 0 : strtoull(at, NULL, 10);
}

/* Children of a process, and theirs, that count for its usage. */
#define USAGE_CHILDREN 64

int
procinfo_usage(pid_t pid, struct procinfo_usage *out)
{
	pid_t pids[1 + USAGE_CHILDREN] = { pid };
	int n = 1 + MAX(0, procinfo_children(pid, pids + 1, USAGE_CHILDREN));
	char text[4096];
	uint64_t own, swapped, most;
	unsigned long long ran, waited;

	*out = (struct procinfo_usage){ 0 };
	for (int i = 0; i < n; i++) {
		const int at = (int)pids[i];

		if (procinfo_slurp(
			procinfo_open(PROC, O_RDONLY, "%d/smaps_rollup", at),
			text, sizeof(text)) == -1) {
			if (i == 0)
				return -1;
			continue;
		}
		own = procinfo_number(text, "Private_Dirty");
		swapped = procinfo_number(text, "SwapPss");
		(void)procinfo_slurp(
		    procinfo_open(PROC, O_RDONLY, "%d/status", at), text,
		    sizeof(text));
		own += procinfo_number(text, "VmPTE");
		most = MAX(procinfo_number(text, "VmHWM"),
		    procinfo_number(text, "VmRSS"));
		out->own += 1024 * own;
		out->most += 1024 *
		    (own + swapped + most - procinfo_number(text, "VmRSS"));
		(void)procinfo_slurp(
		    procinfo_open(PROC, O_RDONLY, "%d/schedstat", at), text,
		    sizeof(text));
		if (sscanf(text, "%llu %llu", &ran, &waited) != 2)
			continue;
		out->ran += (tspan)ran;
		out->waited += (tspan)waited;
	}
	return 0;
}

int
procinfo_oom_kills(unsigned long *out)
{
	FILE *in = procinfo_table("vmstat");
	char line[128];
	bool found = false;

	if (in == NULL)
		return -1;
	while (!found && fgets(line, sizeof(line), in) != NULL)
		found = sscanf(line, "oom_kill %lu", out) == 1;
	(void)fclose(in);
	return found ? 0 : -1;
}

/* --- where a process hangs: stat, syscall, wchan, stack --------------- */

/*
 * Names of system calls by number, which only headers know; with " of" where
 * the first argument is a descriptor. Calls that return at once are left out:
 * no process is found in them.
 */
#define CALL(name) [SYS_##name] = #name
#define FILE_CALL(name) [SYS_##name] = (#name " of")

static const char *const hang_calls[] = { FILE_CALL(read), FILE_CALL(write),
	FILE_CALL(readv), FILE_CALL(writev), FILE_CALL(pread64),
	FILE_CALL(pwrite64), FILE_CALL(sendfile), FILE_CALL(connect),
	FILE_CALL(accept), FILE_CALL(accept4), FILE_CALL(recvfrom),
	FILE_CALL(recvmsg), FILE_CALL(recvmmsg), FILE_CALL(sendto),
	FILE_CALL(sendmsg), FILE_CALL(sendmmsg), FILE_CALL(close),
	FILE_CALL(fsync), FILE_CALL(fdatasync), FILE_CALL(ftruncate),
	FILE_CALL(fallocate), FILE_CALL(fstat), FILE_CALL(getdents64),
	FILE_CALL(flock), FILE_CALL(fcntl), FILE_CALL(ioctl),
	FILE_CALL(epoll_pwait), CALL(ppoll), CALL(pselect6), CALL(nanosleep),
	CALL(clock_nanosleep), CALL(restart_syscall), CALL(futex), CALL(wait4),
	CALL(waitid), CALL(rt_sigsuspend), CALL(rt_sigtimedwait), CALL(semop),
	CALL(semtimedop), CALL(msgsnd), CALL(msgrcv), CALL(mq_timedsend),
	CALL(mq_timedreceive), CALL(io_getevents), CALL(splice), CALL(openat),
	CALL(unlinkat), CALL(mkdirat), CALL(faccessat), CALL(readlinkat),
	CALL(statfs), CALL(chdir), CALL(execve), CALL(clone), CALL(exit_group),
	CALL(mmap), CALL(munmap), CALL(mprotect), CALL(madvise), CALL(msync),
	CALL(brk), CALL(sync), CALL(renameat2), CALL(statx),
	FILE_CALL(io_uring_enter), CALL(clone3), CALL(openat2),
	CALL(faccessat2),
/* Calls that some architectures or older headers are without. */
#ifdef SYS_open
	CALL(open), CALL(stat), CALL(lstat), CALL(access), CALL(unlink),
	CALL(rename), CALL(mkdir), CALL(rmdir), CALL(readlink), CALL(poll),
	CALL(select), CALL(pause), CALL(fork), CALL(vfork),
	FILE_CALL(epoll_wait),
#endif
#ifdef SYS_newfstatat
	CALL(newfstatat),
#endif
#ifdef SYS_renameat
	CALL(renameat),
#endif
#ifdef SYS_futex_waitv
	CALL(futex_waitv),
#endif
	FILE_CALL(epoll_pwait2) };

#define NCALLS (sizeof(hang_calls) / sizeof(hang_calls[0]))

/*
 * Writes " in read of pipe:[1]". The file has the call's number and arguments;
 * or "running"; or -1.
 */
static void
hang_read_call(int folder, char state, char *buf, size_t size, int *error)
{
	char text[256], link[32], file[96] = "";
	const char *name = NULL;
	unsigned long number, first = 0;
	size_t len;

	buf[0] = '\0';
	if (procinfo_slurp(procinfo_open(folder, O_RDONLY, "syscall"), text,
		sizeof(text)) == -1)
		*error = errno;
	if (!isdigit((unsigned char)text[0]) ||
	    sscanf(text, "%lu %lx", &number, &first) < 1) {
		if (*error == 0 && state == 'R')
			(void)snprintf(buf, size, ", in no system call");
		return;
	}
	if (number < NCALLS)
		name = hang_calls[number];
	if (name == NULL) {
		(void)snprintf(buf, size, " in system call %lu", number);
		return;
	}
	len = strcspn(name, " ");
	(void)snprintf(link, sizeof(link), "fd/%d", (int)first);
	if (name[len] != '\0' &&
	    readlinkat(folder, link, file, sizeof(file) - 1) > 0)
		(void)snprintf(buf, size, " in %s %s", name, file);
	else
		(void)snprintf(buf, size, " in %.*s", (int)len, name);
	for (char *at = buf; *at != '\0'; at++)
		if (iscntrl((unsigned char)*at))
			*at = '?';
}

/* The file has a line "[<0>] do_sys_poll+0x4d5/0x690" for each function. */
static void
hang_read_stack(int folder, struct hang *out)
{
	char text[4096], *line, *save = NULL;
	size_t used = 0;
	int n;

	if (procinfo_slurp(procinfo_open(folder, O_RDONLY, "stack"), text,
		sizeof(text)) == -1)
		out->stack_error = errno;
	for (line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		char *name = strchr(line, ' ');

		if (name == NULL)
			continue;
		name++;
		name[strcspn(name, "+ ")] = '\0';
		n = snprintf(out->stack + used, sizeof(out->stack) - used,
		    "%s%s", used > 0 ? " < " : "", name);
		if (n < 0 || (size_t)n >= sizeof(out->stack) - used) {
			/* A name that does not fit whole is left out. */
			out->stack[used] = '\0';
			break;
		}
		used += (size_t)n;
	}
}

void
hang_read(int folder, struct hang *out)
{
	static const char *const states[128] = { ['R'] = "running",
		['S'] = "sleeping",
		['D'] = "in uninterruptible sleep",
		['T'] = "stopped",
		['t'] = "stopped by a tracer",
		['Z'] = "dead",
		['X'] = "dead" };
	struct procinfo info;
	const char *state;
	char call[160], where[64], threads[32] = "";

	memset(out, 0, sizeof(*out));
	if (procinfo_parse(procinfo_open(folder, O_RDONLY, "stat"), &info) ==
	    -1)
		return;
	out->pid = info.pid;
	state = states[info.state & 127];
	hang_read_call(
	    folder, info.state, call, sizeof(call), &out->call_error);
	/* The kernel writes 0 if the process runs, or may not be seen. */
	(void)procinfo_slurp(
	    procinfo_open(folder, O_RDONLY, "wchan"), where, sizeof(where));
	if (strcmp(where, "0") == 0)
		where[0] = '\0';
	if (info.threads > 1)
		(void)snprintf(
		    threads, sizeof(threads), ", %ld threads", info.threads);
	(void)snprintf(out->text, sizeof(out->text), "%s%s%s%s%s",
	    state == NULL ? "waiting" : state, call,
	    where[0] == '\0' ? "" : ", at ", where, threads);
	hang_read_stack(folder, out);
}
