/* Rounds over all workers, in pieces. */

#include "daemon/round.h"
#include "daemon/supervisor.h"

/* So many are visited in one turn, and so many looked at for that. */
#define ROUND_TURN 64
#define ROUND_SCAN 4096

bool
round_go_on(struct supervisor *s, uint32_t *next,
    bool (*is_due)(const struct worker *, tstamp now),
    void (*visit)(struct worker *, tstamp now), tstamp now)
{
	uint32_t visited = 0, end = *next + ROUND_SCAN;

	while (
	    *next < s->pool.nprocesses && *next < end && visited < ROUND_TURN) {
		struct worker *w = s->workers[(*next)++];

		if (w == NULL || !is_due(w, now))
			continue;
		visit(w, now);
		visited++;
	}
	if (*next < s->pool.nprocesses)
		return false;
	*next = 0;
	return true;
}
