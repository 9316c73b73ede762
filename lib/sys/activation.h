#ifndef SYS_ACTIVATION_H
#define SYS_ACTIVATION_H

/*
 * Sockets given to us by the service manager, as sd_listen_fds(3) describes:
 * LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES.
 */

#include <stddef.h>

/*
 * Takes the descriptors given: sets CLOEXEC on them and removes the variables
 * from the environment. To be called once, before any fork, thread or open.
 * Returns how many there are; 0 also where the variables are meant for another
 * process; -1 with errno (EINVAL: the variables make no sense, EBADF: a
 * descriptor is not open, ENOMEM), and then there are none.
 */
int activation_take(void);

/*
 * Writes up to max descriptors of that name ("unknown": none was given) to
 * out, in the order in which they were given, and warns of more. Returns how
 * many were written. The descriptors stay ours.
 */
size_t activation_find(const char *name, size_t max, int *out);

#endif
