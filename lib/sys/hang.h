#ifndef SYS_HANG_H
#define SYS_HANG_H

/*
 * Where a process hangs, seen from outside: the system call its first thread
 * is in, and where in the kernel it waits. The process's memory is not read:
 * its lock may be what the process hangs on, and the reader would join it.
 */

#include <sys/types.h>

#include <stddef.h>

/* The process is in no call, or call_error says why that is not known. */
#define HANG_NO_CALL (-1L)

struct hang {
	pid_t pid;
	char state; /* R, S, D, T, ... as in ps; 0: the process is gone */
	long threads;
	long call; /* number of the system call, or HANG_NO_CALL */
	int call_error; /* errno of reading the call; 0: it was read */
	char file[96]; /* the file of the call's first argument; or "" */
	char where[64]; /* the kernel's function it waits in; or "" */
	char stack[512]; /* the kernel's functions, innermost first; or "" */
	int stack_error; /* errno of reading the stack; 0: it was read */
};

/*
 * Fills *out with what can be seen of the process of that folder, see
 * procinfo_folder(). May block on some processes: to be called from a lane.
 */
void hang_read(int folder, struct hang *out);

/*
 * Writes all but the stack, cut to size: "sleeping in read of socket:[1234],
 * at unix_stream_read_generic, 3 threads". Returns buf.
 */
const char *hang_describe(const struct hang *h, char *buf, size_t size);

#endif
