#ifndef BENCH_TURNS_H
#define BENCH_TURNS_H

/* How long turns of a loop take: a file of $TURNS that both sides map. */

#include <stdatomic.h>
#include <stdint.h>

#define TURNS_MAX (1u << 22)

/* From a return of epoll_pwait2(2) to its next call, nanoseconds. */
struct turn_time {
	uint32_t wall;
	uint32_t cpu; /* processor time of the thread */
};

struct turn_times {
	_Atomic uint32_t count; /* those that are written, up to TURNS_MAX */
	struct turn_time of[TURNS_MAX];
};

#endif
