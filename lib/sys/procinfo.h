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

/* Descriptors this process has open, or -1 and errno. */
int procinfo_descriptors(void);

#endif
