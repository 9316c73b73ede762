/* Where a process is: stat, syscall, wchan and stack of proc(5). */

#include <sys/syscall.h>

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/hang.h"
#include "sys/procinfo.h"

/*
 * Names of system calls, which only headers know. Calls that return at once
 * are left out: no process is found in them.
 */
#define CALL(name) \
	{ \
		SYS_##name, #name, false \
	}
/* A call whose first argument is a descriptor. */
#define FILE_CALL(name) \
	{ \
		SYS_##name, #name, true \
	}

static const struct {
	long number;
	const char *name;
	bool file;
} calls[] = {
	FILE_CALL(read),
	FILE_CALL(write),
	FILE_CALL(readv),
	FILE_CALL(writev),
	FILE_CALL(pread64),
	FILE_CALL(pwrite64),
	FILE_CALL(sendfile),
	FILE_CALL(connect),
	FILE_CALL(accept),
	FILE_CALL(accept4),
	FILE_CALL(recvfrom),
	FILE_CALL(recvmsg),
	FILE_CALL(recvmmsg),
	FILE_CALL(sendto),
	FILE_CALL(sendmsg),
	FILE_CALL(sendmmsg),
	FILE_CALL(close),
	FILE_CALL(fsync),
	FILE_CALL(fdatasync),
	FILE_CALL(ftruncate),
	FILE_CALL(fallocate),
	FILE_CALL(fstat),
	FILE_CALL(getdents64),
	FILE_CALL(flock),
	FILE_CALL(fcntl),
	FILE_CALL(ioctl),
	FILE_CALL(epoll_pwait),
	CALL(ppoll),
	CALL(pselect6),
	CALL(nanosleep),
	CALL(clock_nanosleep),
	CALL(restart_syscall),
	CALL(futex),
	CALL(wait4),
	CALL(waitid),
	CALL(rt_sigsuspend),
	CALL(rt_sigtimedwait),
	CALL(semop),
	CALL(semtimedop),
	CALL(msgsnd),
	CALL(msgrcv),
	CALL(mq_timedsend),
	CALL(mq_timedreceive),
	CALL(io_getevents),
	CALL(splice),
	CALL(openat),
	CALL(unlinkat),
	CALL(mkdirat),
	CALL(faccessat),
	CALL(readlinkat),
	CALL(statfs),
	CALL(chdir),
	CALL(execve),
	CALL(clone),
	CALL(exit_group),
	CALL(mmap),
	CALL(munmap),
	CALL(mprotect),
	CALL(madvise),
	CALL(msync),
	CALL(brk),
	CALL(sync),
	CALL(renameat2),
	CALL(statx),
	FILE_CALL(io_uring_enter),
	CALL(clone3),
	CALL(openat2),
	CALL(faccessat2),
	FILE_CALL(epoll_pwait2),
/* Calls that some architectures or older headers are without. */
#ifdef SYS_open
	CALL(open),
	CALL(stat),
	CALL(lstat),
	CALL(access),
	CALL(unlink),
	CALL(rename),
	CALL(mkdir),
	CALL(rmdir),
	CALL(readlink),
	CALL(poll),
	CALL(select),
	CALL(pause),
	CALL(fork),
	CALL(vfork),
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
};

/*
 * The name of a system call, and whether its first argument is a descriptor;
 * NULL, *file_out untouched: it is not in the table.
 */
static const char *
call_name(long call, bool *file_out)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i].number == call) {
			*file_out = calls[i].file;
			return calls[i].name;
		}
	}
	return NULL;
}

static bool
read_state(int folder, struct hang *out)
{
	char stat[1024];
	const char *fields = procinfo_stat(folder, "stat", stat, sizeof(stat));
	char state;
	int pid;

	if (fields == NULL || sscanf(stat, "%d", &pid) != 1 ||
	    sscanf(fields,
		" %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
		" %*s %*s %*s %ld",
		&state, &out->threads) != 2)
		return false;
	out->pid = pid;
	out->state = state;
	return true;
}

/* The file has the call's number and arguments; or "running"; or -1. */
static void
read_call(int folder, struct hang *out)
{
	char text[256], link[32];
	unsigned long first = 0;
	bool file = false;
	ssize_t n;

	if (procinfo_file(folder, "syscall", text, sizeof(text)) == -1)
		out->call_error = errno;
	if (out->call_error != 0 || !isdigit((unsigned char)text[0]) ||
	    sscanf(text, "%ld %lx", &out->call, &first) < 1)
		return;
	if (call_name(out->call, &file) == NULL || !file)
		return;
	(void)snprintf(link, sizeof(link), "fd/%d", (int)first);
	n = readlinkat(folder, link, out->file, sizeof(out->file) - 1);
	out->file[n > 0 ? n : 0] = '\0';
	for (char *at = out->file; *at != '\0'; at++)
		if (iscntrl((unsigned char)*at))
			*at = '?';
}

/* The file has a line "[<0>] do_sys_poll+0x4d5/0x690" for each function. */
static void
read_stack(int folder, struct hang *out)
{
	char text[4096], *line, *save = NULL;
	size_t used = 0;
	int n;

	if (procinfo_file(folder, "stack", text, sizeof(text)) == -1)
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
	memset(out, 0, sizeof(*out));
	out->call = HANG_NO_CALL;
	if (!read_state(folder, out))
		return;
	read_call(folder, out);
	/* The kernel writes 0 if the process runs, or may not be seen. */
	(void)procinfo_file(folder, "wchan", out->where, sizeof(out->where));
	if (strcmp(out->where, "0") == 0)
		out->where[0] = '\0';
	read_stack(folder, out);
}

static const char *
state_name(char state)
{
	switch (state) {
	case 'R':
		return "running";
	case 'S':
		return "sleeping";
	case 'D':
		return "in uninterruptible sleep";
	case 'T':
		return "stopped";
	case 't':
		return "stopped by a tracer";
	case 'Z':
	case 'X':
		return "dead";
	case '\0':
		return "gone";
	default:
		return "waiting";
	}
}

const char *
hang_describe(const struct hang *h, char *buf, size_t size)
{
	char call[160] = "", number[32], where[80] = "", threads[32] = "";
	bool file;
	const char *name = call_name(h->call, &file);

	(void)snprintf(number, sizeof(number), "system call %ld", h->call);
	if (h->call != HANG_NO_CALL)
		(void)snprintf(call, sizeof(call), " in %s%s%s",
		    name == NULL ? number : name,
		    h->file[0] == '\0' ? "" : " of ", h->file);
	else if (h->call_error == 0 && h->state == 'R')
		(void)snprintf(call, sizeof(call), ", in no system call");
	if (h->where[0] != '\0')
		(void)snprintf(where, sizeof(where), ", at %s", h->where);
	if (h->threads > 1)
		(void)snprintf(
		    threads, sizeof(threads), ", %ld threads", h->threads);
	(void)snprintf(
	    buf, size, "%s%s%s%s", state_name(h->state), call, where, threads);
	return buf;
}
