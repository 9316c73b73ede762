#ifndef ADAPTER_ACCEPT_VIEW_H
#define ADAPTER_ACCEPT_VIEW_H

/*
 * What can be seen of the program's descriptors, and of its threads, from
 * outside: as much as the kernel lets a debugger see.
 */

#include <sys/types.h>

#include <stdbool.h>

enum view {
	VIEW_NO,
	VIEW_YES,
	VIEW_DENIED, /* we may not look, or there is no /proc */
};

/* To be called once, before the others. */
void view_init(void);

/* Whether its descriptor is the open file behind ours. */
enum view view_is_ours(pid_t tid, int its_fd, int our_fd);

/*
 * Whether its descriptor is still the socket of that inode; our_fd is any open
 * one of ours.
 */
enum view view_has_socket(pid_t tid, int its_fd, ino_t inode, int our_fd);

/* Whether the thread lives. */
bool view_lives(pid_t tid);

/* Whether a signal for the thread, or for any of its process, is not seen yet.
 */
bool view_has_signals(pid_t tid);

/*
 * For view_is_killed(): a descriptor of that process, CLOEXEC and the
 * caller's; -1: it is gone, it is but a thread of one, or the kernel is old.
 */
int view_open(pid_t pid);

/*
 * Whether the process has been killed, if only just now: until it is scheduled
 * to die, all else looks as if it were waiting.
 */
bool view_is_killed(int pidfd);

#endif
