#ifndef TESTS_SUPPORT_NODIAG_H
#define TESTS_SUPPORT_NODIAG_H

/*
 * From now on this process and all it starts have no monitor of sockets,
 * sock_diag(7), as where a container or a hardened host loads no module for it.
 * Returns false where that cannot be done.
 */

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

static inline bool
nodiag_begin(void)
{
#define NODIAG_LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
	    (unsigned)offsetof(struct seccomp_data, field))
#define NODIAG_UNLESS(value, skip) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
	struct sock_filter lines[] = {
		NODIAG_LOAD(nr),
		NODIAG_UNLESS(SYS_socket, 5),
		NODIAG_LOAD(args[0]),
		NODIAG_UNLESS(AF_NETLINK, 3),
		NODIAG_LOAD(args[2]),
		NODIAG_UNLESS(NETLINK_SOCK_DIAG, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(lines) / sizeof(lines[0]),
		.filter = lines };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) ==
	    0 ||
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) ==
		    0);
}

#endif
