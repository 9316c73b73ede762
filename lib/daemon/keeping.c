/* What keepers say, and to whom. */

#include "daemon/keeping.h"
#include "daemon/kept.h"

static int
heard(struct keeper *k, const char *packet, size_t len)
{
	switch (packet[0]) {
	case KEEPER_OUTPUT:
	case KEEPER_LEFT_OUT:
		return kept_heard(k, packet, len);
	default:
		return 0;
	}
}

const struct keeper_ops keeping_ops = {
	.heard = heard,
	.answered = kept_say,
	.silent = kept_unheard,
};
