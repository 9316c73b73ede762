#ifndef CTL_CTL_PRIVATE_H
#define CTL_CTL_PRIVATE_H

/* What the files of apppoolctl share. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "control/control_line.h"

/* The question refused by the daemon, or a check that is not passed. */
#define CTL_EX_REFUSED 1

struct ctl {
	const char *file; /* -c; NULL: not given, as the next ones */
	const char *socket; /* -s */
	const char *path; /* of ping */
	const char *timeout; /* likewise */
	bool json;
	char line[CONTROL_LINE_MAX + 2]; /* with its newline */
	size_t len;
};

/*
 * Says the words to the daemon, and its answer goes to `to`, while it comes.
 * An exit status; what is wrong has been said.
 */
int ctl_say(struct ctl *ctl, char *const *words, FILE *to);

#endif
