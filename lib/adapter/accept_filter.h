#ifndef ADAPTER_ACCEPT_FILTER_H
#define ADAPTER_ACCEPT_FILTER_H

/* The filter in front of the program's system calls: seccomp(2). */

#include <stdbool.h>

/*
 * To be called in the process that becomes the program: from now on accept()
 * in it, in its threads and in all it starts is reported to whoever has the
 * descriptor this returns, and waits for the answer.
 *
 * Without the privilege to do so no_new_privs is set first, and said in
 * *restricted_out.  Returns -1 and errno where the kernel, or the sandbox this
 * runs in, does not allow it: ENOSYS, EINVAL, EPERM, or EBUSY, which means
 * that somebody else listens already.
 */
int filter_install(bool *restricted_out);

/* True if accept() can be answered with a descriptor, else false and errno. */
bool filter_works(int notify);

#endif
