#ifndef CONF_PARSE_H
#define CONF_PARSE_H

/* Parses a file, and what it includes, into statements with their values. */

#include <stdbool.h>

#include "conf/findings.h"
#include "conf/prescan.h"

struct parse {
	struct source *sources; /* in the order they were read */
	struct stmts stmts; /* options and sections, in their order */
	bool stopped; /* libconfuse stopped: the rest is not there */
	int error; /* errno of reading the file itself, or 0 */
};

/*
 * Parses file and all it includes, in memory of findings. With only, leaves out
 * all statements but those of that global option and the includes. For one
 * thread at a time: libconfuse has one scanner for the whole process.
 */
void parse_file(struct parse *out, const char *file, const struct option *only,
    struct findings *findings);

#endif
