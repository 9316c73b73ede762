#ifndef SYS_DESCRIPTORS_H
#define SYS_DESCRIPTORS_H

/*
 * The descriptors of this process: the standard ones, and how many there may
 * be. The daemon uses all it may have, but its children get the limit it was
 * given, because programs that use select(2) rely on it.
 */

#include <sys/resource.h>

/*
 * Opens /dev/null wherever 0, 1 or 2 is closed, so that no other file becomes
 * some program's standard error. To be called before any other file is opened.
 * Returns 0, or -1 and the errno of open(2).
 */
int descriptors_fix(void);

/*
 * Raises the soft limit of descriptors to the hard one; *out is the limit
 * before. Returns 0, or -1 and the errno of setrlimit(2).
 */
int descriptors_raise_limit(struct rlimit *out);

#endif
