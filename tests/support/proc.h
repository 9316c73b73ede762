#ifndef SUPPORT_PROC_H
#define SUPPORT_PROC_H

/* Figures of another process, from the kernel. */

#include <sys/types.h>

#include "core/tstamp.h"

/*
 * Processor time of all threads of a process so far, to the nanosecond (the
 * clock of clock_getcpuclockid(3)); 0 if it is gone.
 */
tspan proc_cpu(pid_t pid);

/* Processor time of a process and of its living children. */
tspan proc_cpu_all(pid_t pid);

/* Calls back for each child, of all threads of a process. */
void proc_each_child(
    pid_t pid, void (*call)(void *arg, pid_t child), void *arg);

/* The number of children. */
int proc_children(pid_t pid);

/* Memory in bytes; -1 if unknown.  `pss` counts shared pages by share. */
void proc_memory(pid_t pid, long *rss_out, long *pss_out);

/* Open descriptors; -1 if unknown. */
int proc_descriptors(pid_t pid);

#endif
