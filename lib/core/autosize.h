#ifndef CORE_AUTOSIZE_H
#define CORE_AUTOSIZE_H

/*
 * max_processes = auto: how many processes fit into the memory of the box, and
 * are of use to its processors.  The box is what limits us first: a cgroup, or
 * the machine.  An app counts with what its processes have been measured to
 * take; what several share, as the pages of their template, is none of theirs
 * and so counts once, among the others.
 */

#include <stdbool.h>
#include <stdint.h>

struct autosize_box {
	uint64_t memory; /* bytes that may be used; 0: unknown */
	uint64_t used; /* of them, now, by whoever is in it */
	double processors; /* over 0 */
};

/* Of an app, or of all apps together. */
struct autosize {
	struct autosize *next; /* the next app, or NULL */
	bool set; /* auto; else the app may have `bound` processes */
	uint32_t least; /* processes, at least 1 */
	uint32_t bound;
	uint32_t processes; /* that exist */
	bool starves; /* connections wait, and the ceiling is reached */
	uint64_t
	    own; /* bytes that its processes have to themselves, together */
	uint64_t size; /* bytes that one needs; 0: unknown */
	double share; /* of a processor that a busy one uses; 0: unknown */
	/* The ceiling in force, 0 before the first, and how it was found: */
	uint32_t ceiling;
	uint32_t goal; /* what fits: the ceiling is not above it */
	uint64_t left; /* bytes for more processes */
	uint64_t others; /* bytes that are not for its processes */
	uint32_t by_memory;
	uint32_t by_processors; /* 0: unknown */
};

/* Bytes that are left free. */
uint64_t autosize_reserve(const struct autosize_box *box);

/*
 * Computes the ceilings of the apps from `first` on that are `set`, and that
 * over all.  A ceiling falls at once; it rises by an eighth, if a tenth more
 * than was measured would fit, too: so it does not go up and down.
 */
void autosize_step(const struct autosize_box *box, struct autosize *first,
    struct autosize *all);

#endif
