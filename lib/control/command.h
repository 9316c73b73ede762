#ifndef CONTROL_COMMAND_H
#define CONTROL_COMMAND_H

/* The commands of the control socket; see apppoolctl(8). */

#include "control/client.h"

/* Words of a line: the command and its arguments. */
#define COMMAND_WORDS_MAX 16

/* A line, taken apart. */
struct command_line {
	/* The line began with these words, which are left out. */
	bool json;
	bool progress;
	/* The words point into the line; behind the last stands NULL. */
	char *words[COMMAND_WORDS_MAX + 1];
	size_t nwords; /* at least 1 */
};

/*
 * Takes a line of len bytes apart; line[len] is there and may be written to.
 * Words stand apart by blanks or tabs. NULL, or what is wrong with it.
 */
const char *command_parse(char *line, size_t len, struct command_line *out);

/* Runs the command of a line: for client_init(). */
void command_run(struct client *cl, char *line, size_t len, tstamp now);

#endif
