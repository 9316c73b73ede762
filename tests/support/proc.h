#ifndef SUPPORT_PROC_H
#define SUPPORT_PROC_H

/* What the kernel tells of another process. */

#include <sys/types.h>

#include "core/tstamp.h"

/*
 * Processor time of all its threads so far, to the nanosecond (the clock of
 * clock_getcpuclockid(3)); 0 if it is gone.
 */
tspan proc_cpu(pid_t pid);

/* The same, with that of its living children. */
tspan proc_cpu_all(pid_t pid);

/* How many children it has: of all its threads. */
int proc_children(pid_t pid);

/* In bytes; -1 if unknown.  `pss` counts shared pages by share. */
void proc_memory(pid_t pid, long *rss_out, long *pss_out);

/* Open descriptors; -1 if unknown. */
int proc_descriptors(pid_t pid);

/* Whether a debugger (strace) is at it. */
int proc_traced(pid_t pid);

#endif
