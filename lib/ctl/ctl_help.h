#ifndef CTL_CTL_HELP_H
#define CTL_CTL_HELP_H

/* The commands of apppoolctl, and what is said about them to people. */

#include <stdbool.h>
#include <stdio.h>

/* Options that only some commands take, a bit each. */
enum ctl_option {
	CTL_PATH = 1 << 0, /* --path */
	CTL_TIMEOUT = 1 << 1, /* --timeout */
	CTL_VERBOSE = 1 << 2, /* -v */
	CTL_FOLLOW = 1 << 3, /* -f */
	CTL_NUMBER = 1 << 4, /* -n */
	CTL_YES = 1 << 5, /* -y */
};

/* How apppoolctl is called; or with this command, if there is such a one. */
void ctl_help_usage(FILE *to, const char *command);

/*
 * The options, and a line for each command; or all about this one. An exit
 * status.
 */
int ctl_help(const char *command);

/*
 * Whether the command takes all these options. False: the user was told which
 * one it does not take. A command that is not known is not judged.
 */
bool ctl_help_takes(const char *command, unsigned options);

#endif
