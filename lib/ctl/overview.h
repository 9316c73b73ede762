#ifndef CTL_OVERVIEW_H
#define CTL_OVERVIEW_H

/* All apps of a daemon, a line each, from what it answers to `json apps`. */

#include <stdbool.h>
#include <stddef.h>

#include "ctl/cell.h"

struct overview_row;

struct overview {
	const struct json_value *status; /* the answer, which is the caller's */
	struct overview_row *rows;
	size_t nrows;
	size_t widths[CELL_COLUMNS]; /* of the widest text, in characters */
	struct text cell; /* being made */
};

/* False and errno: there is no memory, or status is no such answer. */
bool overview_init(struct overview *o, const struct json_value *status);
void overview_fini(struct overview *o);

/*
 * Sorts by a column: by name upwards, by figures downwards, by state and
 * failure those first that need a look.
 */
void overview_sort(struct overview *o, enum cell_column by);

/* The name of the app in a row. */
const char *overview_app(const struct overview *o, size_t row);

/*
 * Puts a line without its newline, cut to so many columns (0: not cut): of the
 * daemon, of the headings, of a row.
 */
void overview_daemon(struct overview *o, size_t width, struct text *out);
void overview_headings(struct overview *o, size_t width, struct text *out);
void overview_row(
    struct overview *o, size_t row, size_t width, struct text *out);

/* Puts all of these, a line each. */
void overview_table(struct overview *o, size_t width, struct text *out);

#endif
