#ifndef SYS_MANAGER_H
#define SYS_MANAGER_H

/* The service manager: its sockets for us, and our messages to it. */

#include <stdbool.h>
#include <stddef.h>

#include "core/tstamp.h"

/*
 * Takes what the variables of the environment say, and removes them, so that no
 * worker speaks for us: NOTIFY_SOCKET and WATCHDOG_* of sd_notify(3), LISTEN_*
 * of sd_listen_fds(3), whose descriptors get CLOEXEC. To be called once, before
 * any fork, thread or open. Returns how many descriptors there are; 0 also
 * where they are meant for another process; -1 with errno (EINVAL: the
 * variables make no sense, EBADF: a descriptor is not open, ENOMEM), and then
 * there are none. Tells, too, unless the pointer is NULL, whether the process
 * of guardian_start() has executed this program.
 */
int manager_open(bool *by_guardian_out);

/*
 * Writes up to max descriptors of that name ("unknown": none was given) to
 * out, in the order in which they were given, and warns of more. Returns how
 * many were written. The descriptors stay ours.
 */
size_t activation_find(const char *name, size_t max, int *out);

/*
 * For a program that replaces this one: whether they stay open when it is
 * executed; and their names, allocated, from which it knows them again. -1: no
 * memory.
 */
void activation_keep(bool keep);
char *activation_list(void);
int activation_inherit(const char *list);

/*
 * Sockets that outlive us: under a name that begins so, the manager keeps a
 * copy of one that it was sent, and gives it to the daemon that it starts after
 * one that was killed.
 */
#define STORE_PREFIX "apppoold-"

/* A descriptor of that name, which is the caller's from now on; -1: none. */
int activation_take(const char *name);

/* Closes the sockets of an earlier daemon that nobody has taken. */
void activation_drop(void);

/* A socket under such a name. */
struct kept_socket {
	int fd;
	const char *name;
};

/*
 * Forks a process that does for these sockets, and for those we were given,
 * what a manager would. It reads from the pipe: a byte ends it; when all other
 * ends are closed it executes the program with the sockets. -1 and errno.
 */
int guardian_start(int pipe, int exe, char *const *argv, char *const *envp,
    const struct kept_socket *kept, size_t nkept);

/*
 * Has the manager, if there is one, keep a copy of the socket, or keep it no
 * longer; for any thread. False: it has no room for the message.
 */
bool notify_store(int fd, const char *name);
void notify_unstore(const char *name);

/*
 * Within which the manager wants WATCHDOG=1, again and again; 0: not at all;
 * -1: there is no manager to be told.
 */
tspan notify_watchdog(void);

/*
 * Sends lines of KEY=VALUE, separated by newlines, at most 4095 bytes.
 * Never waits. Returns 0 when they were sent or there is no service manager; -1
 * only where trying again later may help (EAGAIN, ENOBUFS, ...): READY=1 must
 * not be lost.
 */
int notify_send(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
