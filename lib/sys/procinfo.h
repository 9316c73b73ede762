#ifndef SYS_PROCINFO_H
#define SYS_PROCINFO_H

/* What /proc tells about a process; for the status, and for max_memory. */

#include <sys/types.h>

#include <stdint.h>

#include "core/tstamp.h"

struct procinfo {
	char state; /* R, S, D, T, Z, ... as in ps */
	int64_t rss; /* resident bytes */
	tspan cpu; /* user and system time it has used */
};

/* 0, or -1 and errno: ESRCH if there is no such process. */
int procinfo_read(pid_t, struct procinfo *out);

/*
 * The processor time that it and its threads have used, ended ones included;
 * not that of its children. Exact to the nanosecond. 0, or -1 and errno: ESRCH
 * if there is no such process.
 */
int procinfo_cpu(pid_t, tspan *out);

/*
 * Calls back for the inode number of each socket it has open; which takes
 * long if it has thousands. 0; or -1 and errno: ESRCH, or EACCES if its
 * descriptors are not for our eyes.
 */
int procinfo_sockets(
    pid_t, void (*found)(void *arg, uint32_t inode), void *arg);

/*
 * The folder in /proc of a process, or of the first of its children: a
 * descriptor, which stands for this process and for no later one of that
 * number, or -1 and errno. Neither blocks.
 */
int procinfo_folder(pid_t);
int procinfo_child_folder(pid_t parent);

/* As procinfo_read(), of the process whose folder it is. */
int procinfo_read_folder(int folder, struct procinfo *out);

/*
 * The resident bytes of one process, asked for again and again: a descriptor
 * for procinfo_memory(), or -1 and errno.
 */
int procinfo_memory_open(int folder);

/* 0, or -1 and errno: ESRCH once it is reaped. Does not block. */
int procinfo_memory(int fd, uint64_t *out);

#endif
