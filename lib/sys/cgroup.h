#ifndef SYS_CGROUP_H
#define SYS_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Control groups of version 2: one for each app, "app-NAME", within the group
 * that we were started in, if that is delegated to us. Before cgroup_init()
 * there are none. Files of groups can take long: all but cgroup_init(),
 * cgroup_lacks() and cgroup_oom_kills() are for a lane.
 */

/* What a group is needed for. */
enum cgroup_need {
	CGROUP_ANY, /* no controller */
	CGROUP_MEMORY,
	CGROUP_CPU,
	CGROUP_PIDS,
	CGROUP_NEEDS
};

/* Limits of an app; 0: none. */
struct cgroup_options {
	uint64_t memory_max; /* bytes */
	uint64_t memory_high;
	unsigned cpu_weight; /* 1 .. 10000 */
	unsigned cpu_max; /* percent of one processor */
	unsigned tasks_max;
};

/* Which figures there are; others are 0. */
enum cgroup_has {
	CGROUP_HAS_CPU = 1 << 0,
	CGROUP_HAS_MEMORY = 1 << 1,
	CGROUP_HAS_PEAK = 1 << 2, /* from Linux 5.19 on */
	CGROUP_HAS_TASKS = 1 << 3,
	CGROUP_HAS_PRESSURE = 1 << 4,
};

struct cgroup_figures {
	unsigned has;
	uint64_t cpu; /* microseconds that its processes have used */
	uint64_t memory; /* bytes */
	uint64_t memory_peak;
	uint64_t oom_kills; /* with CGROUP_HAS_MEMORY */
	uint64_t tasks;
	/* Percent of the last 10 s in which some process waited for it. */
	double memory_pressure;
	double cpu_pressure;
	double io_pressure;
};

/*
 * Takes over the group that we are in, if it is delegated to us: this process
 * moves to its child "daemon", because a group with controllers for its
 * children may have no process of its own. Not take: finds out what controllers
 * this machine has.
 */
void cgroup_init(bool take);

/*
 * The folder of the group that was taken over; -1: none. Of a program that this
 * one has replaced, unless inherited is -1, which is taken over again.
 */
int cgroup_base(int inherited);

/* Why there is no such group; NULL: there is. */
const char *cgroup_lacks(enum cgroup_need);

/*
 * The folder of the app's group, the caller's; or -1 and errno. make: if need
 * be the group is made, and these limits are set; NULL: it is there.
 */
int cgroup_open(const char *app, const struct cgroup_options *make);

/* Removes groups of apps and kills what is in them: so many processes. */
unsigned cgroup_clean(bool (*keep)(void *arg, const char *app), void *arg);

void cgroup_read(int folder, struct cgroup_figures *out);

/* By a descriptor of its file memory.events. 0, or -1. Does not block. */
int cgroup_oom_kills(int fd, uint64_t *out);

/*
 * The path in the text of /proc/PID/cgroup, of the hierarchy of the controller,
 * "": of version 2. Without one the path is "".
 */
void cgroup_own(const char *text, const char *controller, char path[PATH_MAX]);

/*
 * What this process may use: the machine, or the cgroup (of version 1 or 2)
 * around us that leaves least.
 */
struct machine {
	uint64_t memory; /* bytes: MemTotal, memory.max or memory.high */
	uint64_t used; /* of them, but for what the kernel can have back */
	double processors; /* those that we may run on, or cpu.max */
};

void machine_read(struct machine *out);

#endif
