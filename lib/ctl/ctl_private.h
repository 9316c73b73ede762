#ifndef CTL_CTL_PRIVATE_H
#define CTL_CTL_PRIVATE_H

/* What the files of apppoolctl share. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The question refused by the daemon, or a check that is not passed. */
#define CTL_EX_REFUSED 1

/* Longest line that the daemon takes, without its newline. */
#define CTL_LINE_MAX 4096

struct ctl {
	const char *file; /* -c; NULL: not given, as the next ones */
	const char *socket; /* -s */
	const char *path; /* of ping */
	const char *timeout; /* likewise */
	bool json;
	char line[CTL_LINE_MAX + 2]; /* with its newline */
	size_t len;
};

/*
 * Says the words to the daemon, and its answer goes to `to`, while it comes.
 * An exit status; what is wrong has been said.
 */
int ctl_say(struct ctl *ctl, char *const *words, FILE *to);

#endif
