#ifndef SYS_ACCEPTFILTER_H
#define SYS_ACCEPTFILTER_H

/*
 * A filter in front of system calls, seccomp(2), that reports accept() to a
 * descriptor, where it waits for the answer: seccomp_unotify(2).
 */

/*
 * From now on accept() in this thread and in all it starts is reported to the
 * descriptor returned, CLOEXEC and the caller's. So is a request of prctl(2)
 * to hide memory; io_uring, which could accept past the filter, fails with
 * ENOSYS. Async-signal-safe. Returns -1 and errno: EACCES, neither the
 * privilege nor no_new_privs is there; or ENOSYS, EINVAL, EPERM, where the
 * kernel or the sandbox this runs in does not allow it, or EBUSY, another
 * process listens already.
 */
int acceptfilter_install(void);

#endif
