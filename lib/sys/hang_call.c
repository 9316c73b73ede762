/*
 * The names of system calls, which only headers know. Those that come back at
 * once are left out: nobody is found in them.
 */

#include <sys/syscall.h>

#include <stddef.h>

#include "sys/hang.h"

#define CALL(name) \
	{ \
		SYS_##name, #name, false \
	}
/* The first argument is a descriptor. */
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
/* What follows is not on every architecture, or younger than some headers. */
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

const char *
hang_call_name(long call, bool *file_out)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i].number == call) {
			*file_out = calls[i].file;
			return calls[i].name;
		}
	}
	return NULL;
}
