#ifndef ADAPTER_ACCEPT_MEMORY_H
#define ADAPTER_ACCEPT_MEMORY_H

/* The memory of the program, in which accept() is to leave an address. */

#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>

/* What was opened while that was allowed; fd -1: nothing. */
struct memory {
	pid_t pid;
	int fd;
};

void memory_init(struct memory *m);

/*
 * The process is about to hide its memory, or might: from now on this one can
 * be reached all the same, until it runs another program.
 */
void memory_keep(struct memory *m, pid_t pid);

/* What is to be written at one place. */
struct memory_part {
	uint64_t to;
	const void *from;
	size_t len;
};

/*
 * Copy between here and there.  0, or -1: EFAULT, there is no such memory, or
 * not all of it; EPERM, we may not; ESRCH, the thread is gone.  It must have
 * been seen to wait just before, or another could have its number.
 */
int memory_read(
    const struct memory *m, pid_t tid, uint64_t from, void *to, size_t len);
int memory_write(
    const struct memory *m, pid_t tid, const struct memory_part parts[2]);

#endif
