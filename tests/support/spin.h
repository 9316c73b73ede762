#ifndef SUPPORT_SPIN_H
#define SUPPORT_SPIN_H

/*
 * Work for a processor that costs the same whoever asks for it: rounds of
 * xorshift, each depending on the one before, no memory touched.  The driver
 * finds out once how many rounds a microsecond is; the workers are told
 * rounds, never a time, so that a worker that is preempted does no less.
 */

#include <stdint.h>

static inline uint64_t
spin(uint64_t rounds)
{
	volatile uint64_t result;
	uint64_t x = 88172645463325252u;

	while (rounds-- > 0) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	result = x;
	return result;
}

#endif
