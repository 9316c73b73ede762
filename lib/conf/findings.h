#ifndef CONF_FINDINGS_H
#define CONF_FINDINGS_H

/*
 * Findings are what a load reports: mistakes and warnings, collected in any
 * order while the load goes on, and sorted by file and line at its end.
 */

#include <stdbool.h>
#include <stddef.h>

#include "conf/arena.h"
#include "conf/source.h"

/* A place in a file. */
struct where {
	const struct source *source;
	int line;
};

struct finding {
	struct where where;
	size_t seq; /* findings of one line stay in the order they came */
	bool mistake;
	const char *text;
};

struct findings {
	struct arena *arena;
	unsigned flags; /* CONF_OUTSIDE_*, CONF_INSIDE of this load */
	struct finding *list;
	size_t len;
	size_t mistakes;
};

void findings_mistake(struct findings *f, struct where where, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));

/*
 * Adds what is wrong outside of the file: by flags a mistake, a warning or
 * nothing.
 */
void findings_outside(struct findings *f, struct where where, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));

/* Adds a doubt about what is outside; never a mistake. */
void findings_warning(struct findings *f, struct where where, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));

/* Sorts all by file and line. */
void findings_sort(struct findings *f);

/*
 * Returns the mistakes, or else the warnings, as lines "FILE:LINE: text" in
 * memory of out, ended by NULL, each of them once.
 */
char **findings_lines(const struct findings *f, bool mistakes,
    struct arena *out, size_t *len_out);

#endif
