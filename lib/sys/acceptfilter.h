#ifndef SYS_ACCEPTFILTER_H
#define SYS_ACCEPTFILTER_H

/*
 * A filter in front of system calls, seccomp(2), that reports accept() to a
 * descriptor, where it waits for the answer: seccomp_unotify(2).
 */

#include <stdbool.h>

/*
 * The last two of the six arguments of a call that goes past the filter; the
 * calls it reports do not use them. A program that knew the words would only
 * keep connections from itself, as none but the doorbell comes to its socket.
 */
#define ACCEPTFILTER_FIRST 0x61707070U
#define ACCEPTFILTER_SECOND 0x6f6f6c64U

/* Calls that take 16-bit numbers without this suffix on old platforms. */
#ifdef SYS_setresuid32
#define ACCEPTFILTER_CALL(name) SYS_##name##32
#else
#define ACCEPTFILTER_CALL(name) SYS_##name
#endif

/*
 * Whether this process may install the filter, and guard the process that
 * answers, without giving up that programs gain rights by being set-user-ID.
 */
bool acceptfilter_privileged(void);

/*
 * From now on accept() in this thread and in all it starts is reported to the
 * descriptor returned, CLOEXEC and the caller's. So is a request of prctl(2)
 * to hide memory, and of setuid(2) and its like, which hide it, too; io_uring,
 * which could accept past the filter, fails with ENOSYS. Async-signal-safe.
 * Returns -1 and errno: EACCES, neither the privilege nor no_new_privs is
 * there; or ENOSYS, EINVAL, EPERM, where the kernel or the sandbox this runs in
 * does not allow it, or EBUSY, another process listens already.
 */
int acceptfilter_install(void);

/*
 * A set-user-ID program behind the filter believes the answers, so no other
 * process of the user may take over the one that answers. The guard is set
 * between the change to that user, with PR_SET_KEEPCAPS, and exec: it keeps
 * CAP_NET_BROADCAST alone, which allows nothing, yet processes that lack it may
 * not trace one that has it. The program executed hides its memory and
 * descriptors, and drops the guard, by acceptfilter_hide(). Async-signal-safe;
 * 0, or -1 and errno.
 */
int acceptfilter_guard(void);
int acceptfilter_hide(void);

#endif
