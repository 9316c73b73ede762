#ifndef SYS_LIMITS_H
#define SYS_LIMITS_H

/*
 * Our limit of open descriptors: we use all we may have, but children get
 * what we were given, because programs that use select() rely on it.
 */

#include <sys/resource.h>

/*
 * Raises the soft limit of descriptors to the hard one. out is what it was
 * before, for the children. 0, or -1 and errno.
 */
int limits_raise_descriptors(struct rlimit *out);

/* How many descriptors we may have open now, at most INT_MAX; -1: errno. */
int limits_descriptors(void);

#endif
