#ifndef CTL_CELL_H
#define CTL_CELL_H

/* A cell of the table of apps: its text, and what it is sorted by. */

#include "sys/json_tree.h"
#include "sys/text.h"

/* The columns, from left to right. */
enum cell_column {
	CELL_APP,
	CELL_STATE,
	CELL_PROCESSES,
	CELL_ACTIVE,
	CELL_WAITING,
	CELL_OLDEST,
	CELL_RATE,
	CELL_P99,
	CELL_REFUSED,
	CELL_FAILURE,
	CELL_COLUMNS
};

/* Makes the text of an app in a column; app NULL: of the headings. */
void cell_make(
    struct text *cell, const struct json_value *app, enum cell_column column);

/* The figure of an app in a column; NaN: there is none. */
double cell_figure(const struct json_value *app, enum cell_column column);

/* A text of the daemon, escaped; NULL: nothing. */
void cell_put_string(struct text *cell, const char *s);

/* A time in seconds; NaN: "-". */
void cell_put_span(struct text *cell, double seconds);

#endif
