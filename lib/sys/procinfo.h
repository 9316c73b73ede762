#ifndef SYS_PROCINFO_H
#define SYS_PROCINFO_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdio.h>

#include "core/tstamp.h"

/* Processes as proc(5) tells of them. */

struct procinfo {
	pid_t pid;
	char state; /* R, S, D, T, Z, ... as in ps */
	pid_t parent;
	int terminal; /* number of the controlling one; 0: it has none */
	long threads;
	int64_t rss; /* resident bytes */
	tspan cpu; /* user and system time used */
	tspan cpu_ended; /* by its children that have ended, and theirs */
};

/*
 * Has the functions below read a mount of proc(5) that nobody else can reach,
 * in place of /proc: there a process can keep others for ever from looking a
 * name up in its folder, by getdents(2) into a page that never comes while
 * another one waits in mkdir(2). Takes CAP_SYS_ADMIN: returns 0; or -1, and
 * they read /proc as before. No other thread may be reading.
 */
int procinfo_init(void);

/*
 * The folder in /proc of the process, or of the first of its children: a
 * descriptor, the caller's, which stands for this process and for no later one
 * of that number; or -1. Does not block.
 */
int procinfo_folder(pid_t, bool child);

/* The process, or the first of its children. Returns 0, or -1. */
int procinfo_read(pid_t, bool child, struct procinfo *out);

/*
 * Its children, then theirs, and so on, as many as there is room for: those
 * that a main thread has forked. Returns how many, or -1. Does not block.
 */
int procinfo_children(pid_t parent, pid_t *out, int room);

/*
 * Reads a small file, which it closes, at one go: as much as fits into buf,
 * with a NUL. Returns 0; or -1 with the errno of read(2), or that of before if
 * there is no file, and buf is "".
 */
int procinfo_slurp(int fd, char *buf, size_t size);

/* What follows the key at the beginning of a line; NULL, or 0: no such line. */
const char *procinfo_behind(const char *text, const char *key);
uint64_t procinfo_number(const char *text, const char *key);

/* What a process uses, with its children and theirs. */
struct procinfo_usage {
	uint64_t own; /* bytes of memory that it shares with nobody */
	uint64_t most; /* the same at their most, and what is swapped out */
	tspan ran; /* on a processor, its first thread */
	tspan waited; /* for a processor, likewise */
};

/*
 * Returns 0, or -1. May block for ever on some processes, which have their own
 * memory locked: to be called from a lane.
 */
int procinfo_usage(pid_t, struct procinfo_usage *out);

/*
 * Calls found() with the inode number of each socket the process has open, and,
 * polled, with those it waits for by epoll(7), in place of the descriptor -1;
 * which takes long if there are thousands. Returns 0; or -1, and errno is ESRCH
 * if there is no such process.
 */
int procinfo_sockets(pid_t, bool polled,
    void (*found)(void *arg, uint32_t inode, int fd), void *arg);

/* A table for all processes, as "net/tcp"; NULL and errno. */
FILE *procinfo_table(const char *name);

/*
 * The resident bytes, by a descriptor of the file statm in the folder of the
 * process. Returns 0, or -1. Does not block.
 */
int procinfo_memory(int fd, uint64_t *out);

/*
 * How many processes the kernel has ended for want of memory: of the machine,
 * or of a cgroup. Returns 0, or -1.
 */
int procinfo_oom_kills(unsigned long *out);

/*
 * The system call its first thread is in, and where in the kernel it waits. The
 * process's memory is not read: the lock of that may be what it hangs on.
 */
struct hang {
	pid_t pid; /* 0: the process is gone */
	char text[384]; /* "sleeping in read of socket:[7], at schedule" */
	int call_error; /* errno of reading the call; 0: it was read */
	char stack[512]; /* the kernel's functions, innermost first; or "" */
	int stack_error; /* errno of reading the stack; 0: it was read */
};

/*
 * What can be seen of the process of that folder, see procinfo_folder(). May
 * block on some processes: to be called from a lane.
 */
void hang_read(int folder, struct hang *out);

#endif
