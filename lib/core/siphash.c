/* SipHash-1-3. */

#include <endian.h>
#include <string.h>

#include "core/siphash.h"

struct sipstate {
	uint64_t v0, v1, v2, v3;
};

static uint64_t
siphash_rotate(uint64_t x, unsigned n)
{
	return x << n | x >> (64 - n);
}

static void
siphash_round(struct sipstate *s)
{
	s->v0 += s->v1;
	s->v1 = siphash_rotate(s->v1, 13) ^ s->v0;
	s->v0 = siphash_rotate(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = siphash_rotate(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = siphash_rotate(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = siphash_rotate(s->v1, 17) ^ s->v2;
	s->v2 = siphash_rotate(s->v2, 32);
}

/* The next up to eight bytes, the first of them lowest on every machine. */
static uint64_t
siphash_word(const unsigned char *p, size_t len)
{
	uint64_t word = 0;

	memcpy(&word, p, len);
	return le64toh(word);
}

static void
siphash_absorb(struct sipstate *s, uint64_t word)
{
	s->v3 ^= word;
	siphash_round(s);
	s->v0 ^= word;
}

uint64_t
siphash(const struct siphash_seed *seed, const void *data, size_t len)
{
	struct sipstate s = {
		.v0 = seed->k0 ^ 0x736f6d6570736575,
		.v1 = seed->k1 ^ 0x646f72616e646f6d,
		.v2 = seed->k0 ^ 0x6c7967656e657261,
		.v3 = seed->k1 ^ 0x7465646279746573,
	};
	const unsigned char *p = data;
	size_t left = len;

	for (; left >= 8; left -= 8, p += 8)
		siphash_absorb(&s, siphash_word(p, 8));
	siphash_absorb(&s, siphash_word(p, left) | (uint64_t)len << 56);
	s.v2 ^= 0xff;
	for (unsigned i = 0; i < 3; i++)
		siphash_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
