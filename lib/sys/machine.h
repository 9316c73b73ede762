#ifndef SYS_MACHINE_H
#define SYS_MACHINE_H

#include <stdint.h>

/*
 * What this process may use: the machine, or the cgroup (of version 1 or 2)
 * around us that leaves least.
 */
struct machine {
	uint64_t memory; /* bytes: MemTotal, memory.max or memory.high */
	uint64_t used; /* of them, but for what the kernel can have back */
	double processors; /* those that we may run on, or cpu.max */
};

/* Reads files that others can lock: to be called from a lane. */
void machine_read(struct machine *out);

#endif
