/* Packets of keepers, and whom they concern. */

#include <unistd.h>

#include "daemon/closing.h"
#include "daemon/keeping.h"
#include "daemon/kept.h"
#include "daemon/retake.h"

/* A descriptor nobody wants. */
static void
give_up(struct keeper *k, int fd)
{
	if (k->group != NULL)
		closing_give(k->group, fd);
	else
		(void)close(fd);
}

static int
heard(struct keeper *k, const char *packet, size_t len, int fd, tstamp now)
{
	bool taken = false;
	int lines = 0;

	switch (packet[0]) {
	case KEEPER_OUTPUT:
	case KEEPER_ERRORS:
	case KEEPER_LEFT_OUT:
	case KEEPER_WORDS:
		lines = kept_heard(k, packet, len, now);
		break;
	case KEEPER_TAKEN:
	case KEEPER_EMPTY:
		taken = retake_heard(k, packet, len, fd, now);
		break;
	default:
		break;
	}
	/* A packet that comes too late. */
	if (!taken && fd != -1)
		give_up(k, fd);
	return lines;
}

static void
answered(struct keeper *k)
{
	kept_say(k);
	closing_say(k);
}

static void
silent(struct keeper *k, tstamp now)
{
	kept_unheard(k, now);
	retake_unheard(k, now);
}

const struct keeper_ops keeping_ops = {
	.heard = heard,
	.answered = answered,
	.silent = silent,
};
