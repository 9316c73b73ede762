#ifndef SUPPORT_OPTIONS_H
#define SUPPORT_OPTIONS_H

/* Long options of a test program, as a table of where each value goes. */

#include <stdbool.h>
#include <stdint.h>

/* `name` is without the dashes; one of the four places is not NULL. */
struct option_place {
	const char *name;
	bool *flag; /* takes no value */
	const char **text;
	int64_t *number; /* min ... max */
	int64_t min, max;
	void (*call)(void *arg, const char *text); /* may come repeatedly */
	void *arg;
};

/*
 * Stores the values of the command line.  The table ends with a NULL name.  On
 * a mistake, or words beyond the options, `usage` is printed and the program
 * ends with 64.
 */
void options_parse(
    const struct option_place *table, int argc, char **argv, const char *usage);

/* `text` as a number of min ... max, or the end of the program with 64. */
int64_t options_number(
    const char *name, const char *text, int64_t min, int64_t max);

#endif
