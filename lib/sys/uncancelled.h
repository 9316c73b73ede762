#ifndef SYS_UNCANCELLED_H
#define SYS_UNCANCELLED_H

/*
 * The calls of each hand-over, without libc's cancellation points: in a process
 * that has threads those are two atomic operations around each call. No thread
 * of ours is ever cancelled. As the functions of these names otherwise.
 */

#include <sys/socket.h>
#include <sys/syscall.h>

#include <unistd.h>

static inline int
uncancelled_accept4(int fd, int flags)
{
	return (int)syscall(SYS_accept4, fd, NULL, NULL, flags);
}

static inline ssize_t
uncancelled_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return syscall(SYS_sendmsg, fd, msg, flags);
}

static inline ssize_t
uncancelled_recvmsg(int fd, struct msghdr *msg, int flags)
{
	return syscall(SYS_recvmsg, fd, msg, flags);
}

static inline int
uncancelled_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

#endif
