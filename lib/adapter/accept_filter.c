/* The filter in front of the program's system calls: seccomp(2). */

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "adapter/accept_filter.h"

/* Numbers of system calls mean nothing without this. */
#if defined(__x86_64__) && defined(__LP64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__i386__)
#define ARCH AUDIT_ARCH_I386
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define ARCH AUDIT_ARCH_AARCH64
#elif defined(__arm__) && defined(__ARMEL__)
#define ARCH AUDIT_ARCH_ARM
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define ARCH AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#define ARCH AUDIT_ARCH_S390X
#else
#error "the AUDIT_ARCH of this machine, please"
#endif

/* Some have the newer one alone. */
#ifndef SYS_accept
#define SYS_accept SYS_accept4
#endif

/* The half of a 64-bit argument that an int is in. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define INT_HALF 4
#else
#define INT_HALF 0
#endif

/* The lines of the filter, so that jumps have names. */
enum {
	LOAD_ARCH,
	IS_OURS,
	LOAD_CALL,
	IS_ACCEPT4,
	IS_ACCEPT,
	IS_RING,
	IS_PRCTL,
	LOAD_OPTION,
	IS_DUMPABLE,
	ALLOW,
	NOTIFY,
	REFUSE,
	LINES
};

#define FIELD(name) offsetof(struct seccomp_data, name)
#define LOAD(at, offset) [at] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define IF(at, value, yes, no) \
	[at] = BPF_JUMP( \
	    BPF_JMP | BPF_JEQ | BPF_K, value, (yes) - (at)-1, (no) - (at)-1)
#define RETURN(at, what) [at] = BPF_STMT(BPF_RET | BPF_K, what)

/*
 * A ring of io_uring could accept past us, so there is none: programs that
 * know how to use one know how to do without.  Before a program hides its
 * memory, as prctl(2) can, we want to have seen it.
 */
static struct sock_filter lines[LINES] = {
	LOAD(LOAD_ARCH, FIELD(arch)),
	IF(IS_OURS, ARCH, LOAD_CALL, ALLOW),
	LOAD(LOAD_CALL, FIELD(nr)),
	IF(IS_ACCEPT4, SYS_accept4, NOTIFY, IS_ACCEPT),
	IF(IS_ACCEPT, SYS_accept, NOTIFY, IS_RING),
	IF(IS_RING, SYS_io_uring_setup, REFUSE, IS_PRCTL),
	IF(IS_PRCTL, SYS_prctl, LOAD_OPTION, ALLOW),
	LOAD(LOAD_OPTION, FIELD(args) + INT_HALF),
	IF(IS_DUMPABLE, PR_SET_DUMPABLE, NOTIFY, ALLOW),
	RETURN(ALLOW, SECCOMP_RET_ALLOW),
	RETURN(NOTIFY, SECCOMP_RET_USER_NOTIF),
	RETURN(REFUSE, SECCOMP_RET_ERRNO | (ENOSYS & SECCOMP_RET_DATA)),
};

int
filter_install(bool *restricted_out)
{
	/* A filter is no reason to make the program slower than it was. */
	const unsigned flags =
	    SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
	struct sock_fprog program = { .len = LINES, .filter = lines };
	long fd =
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);

	*restricted_out = false;
	if (fd != -1 || errno != EACCES)
		return (int)fd;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return -1;
	*restricted_out = true;
	return (int)syscall(
	    SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

bool
filter_works(int notify)
{
	struct seccomp_notif_addfd probe = {
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (__u32)notify,
	};

	/* No call has this number; an old kernel stops at the flag already. */
	return ioctl(notify, SECCOMP_IOCTL_NOTIF_ADDFD, &probe) == -1 &&
	    errno == ENOENT;
}
