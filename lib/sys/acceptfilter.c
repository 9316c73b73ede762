/* The filter in front of accept(). */

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "sys/acceptfilter.h"

/* Numbers of system calls differ between architectures. */
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

/* Architectures without accept(2) have accept4(2) alone. */
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
	IS_RING,
	IS_CALL, /* the first of the calls that are reported */
	IS_PRCTL = IS_CALL + 8,
	LOAD_OPTION,
	IS_DUMPABLE,
	LOAD_FIRST,
	IS_FIRST,
	LOAD_SECOND,
	IS_SECOND,
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
/* The call of this number, and that call alone, is reported. */
#define REPORT(n, call) IF(IS_CALL + (n), call, LOAD_FIRST, IS_CALL + (n) + 1)
#define RETURN(at, what) [at] = BPF_STMT(BPF_RET | BPF_K, what)

/*
 * io_uring could accept past us, so it is refused: programs that use it can do
 * without. Before a program hides its memory, as prctl(2) can, or becomes
 * another user or group, which hides it, too, the process that answers opens
 * it.
 */
static const struct sock_filter lines[LINES] = {
	LOAD(LOAD_ARCH, FIELD(arch)),
	IF(IS_OURS, ARCH, LOAD_CALL, ALLOW),
	LOAD(LOAD_CALL, FIELD(nr)),
	IF(IS_RING, SYS_io_uring_setup, REFUSE, IS_CALL),
	REPORT(0, SYS_accept4),
	REPORT(1, SYS_accept),
	REPORT(2, ACCEPTFILTER_CALL(setuid)),
	REPORT(3, ACCEPTFILTER_CALL(setgid)),
	REPORT(4, ACCEPTFILTER_CALL(setreuid)),
	REPORT(5, ACCEPTFILTER_CALL(setregid)),
	REPORT(6, ACCEPTFILTER_CALL(setresuid)),
	REPORT(7, ACCEPTFILTER_CALL(setresgid)),
	IF(IS_PRCTL, SYS_prctl, LOAD_OPTION, ALLOW),
	LOAD(LOAD_OPTION, FIELD(args) + INT_HALF),
	IF(IS_DUMPABLE, PR_SET_DUMPABLE, LOAD_FIRST, ALLOW),
	LOAD(LOAD_FIRST, FIELD(args[4]) + INT_HALF),
	IF(IS_FIRST, ACCEPTFILTER_FIRST, LOAD_SECOND, NOTIFY),
	LOAD(LOAD_SECOND, FIELD(args[5]) + INT_HALF),
	IF(IS_SECOND, ACCEPTFILTER_SECOND, ALLOW, NOTIFY),
	RETURN(ALLOW, SECCOMP_RET_ALLOW),
	RETURN(NOTIFY, SECCOMP_RET_USER_NOTIF),
	RETURN(REFUSE, SECCOMP_RET_ERRNO | (ENOSYS & SECCOMP_RET_DATA)),
};

/* For capget(2) and capset(2). */
#define THIS_THREAD \
	(&(struct __user_cap_header_struct){ \
	    .version = _LINUX_CAPABILITY_VERSION_3 })

bool
acceptfilter_privileged(void)
{
	static const unsigned wanted[] = { CAP_SYS_ADMIN, CAP_NET_BROADCAST };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
	bool all = syscall(SYS_capget, THIS_THREAD, caps) == 0;

	for (unsigned i = 0; all && i < 2; i++)
		all = (caps[CAP_TO_INDEX(wanted[i])].effective &
			  CAP_TO_MASK(wanted[i])) != 0;
	return all;
}

int
acceptfilter_guard(void)
{
	const struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {
		[CAP_TO_INDEX(CAP_NET_BROADCAST)] = {
			.permitted = CAP_TO_MASK(CAP_NET_BROADCAST),
			.inheritable = CAP_TO_MASK(CAP_NET_BROADCAST),
		},
	};

	if (syscall(SYS_capset, THIS_THREAD, caps) == -1)
		return -1;
	return prctl(
	    PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_BROADCAST, 0, 0);
}

int
acceptfilter_hide(void)
{
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {
		0
	};

	if (syscall(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, ACCEPTFILTER_FIRST,
		ACCEPTFILTER_SECOND) == -1)
		return -1;
	/* The ambient set goes along. */
	return (int)syscall(SYS_capset, THIS_THREAD, none);
}

int
acceptfilter_install(void)
{
	/* A filter is no reason to make the program slower than it was. */
	const unsigned flags =
	    SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
	const struct sock_fprog program = {
		.len = LINES,
		.filter = (struct sock_filter *)lines,
	};

	return (int)syscall(
	    SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}
