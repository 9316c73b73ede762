#ifndef SYS_HANG_H
#define SYS_HANG_H

/*
 * Where a process is, seen from outside: in which system call, and where in
 * the kernel it waits there. Of its first thread, and without a look at its
 * memory, for which whoever reads would have to wait as it does.
 */

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

/* It runs, or is stopped; or nobody would tell: see call_error. */
#define HANG_NO_CALL (-1L)

struct hang {
	pid_t pid;
	char state; /* R, S, D, T, ... as in ps; 0: it is gone */
	long threads;
	long call; /* number of the system call, or HANG_NO_CALL */
	int call_error; /* errno of why it is not known; 0: it is */
	char file[96]; /* what the call's first argument stands for; or "" */
	char where[64]; /* the kernel's function it waits in; or "" */
	char stack[512]; /* all of them, innermost first; or "" */
	int stack_error; /* likewise */
};

/*
 * Looks at the process of that folder (procinfo_folder()); what cannot be seen
 * is left out. May block on strange processes: for a lane.
 */
void hang_read(int folder, struct hang *out);

/*
 * All but the stack: "sleeping in read of socket:[1234], at unix_stream_…,
 * 1 thread". Returns buf.
 */
const char *hang_describe(const struct hang *h, char *buf, size_t size);

/*
 * The name of a system call, and whether its first argument is a descriptor.
 * NULL: not one that waits for anything, or younger than this list.
 */
const char *hang_call_name(long call, bool *file_out);

#endif
