#ifndef CORE_SIPHASH_H
#define CORE_SIPHASH_H

/*
 * SipHash-1-3: a hash that cannot be made to collide on purpose without
 * knowing the seed (Aumasson, Bernstein: "SipHash: a fast short-input
 * PRF", 2012; the variant with one and three rounds).
 */

#include <stddef.h>
#include <stdint.h>

struct siphash_seed {
	uint64_t k0;
	uint64_t k1;
};

uint64_t siphash(const struct siphash_seed *seed, const void *data, size_t len);

#endif
