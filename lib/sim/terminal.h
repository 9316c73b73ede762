#ifndef SIM_TERMINAL_H
#define SIM_TERMINAL_H

/* The terminal: what it can show, and how far a run is. */

#include <stdbool.h>
#include <stdio.h>

#include "core/tstamp.h"
#include "sim/load.h"

/* Characters in a line of the terminal, 40 … 200; 80 where there is none. */
unsigned terminal_width(FILE *out);

/* True if block elements can be shown, by the locale of the environment. */
bool terminal_is_utf8(void);

enum terminal_bar_state {
	TERMINAL_BAR_NOT_BEGUN,
	TERMINAL_BAR_UNSEEN, /* standard error is no terminal */
	TERMINAL_BAR_HIDDEN, /* no bar yet */
	TERMINAL_BAR_SHOWN,
};

/*
 * A bar on standard error, where that is a terminal; nothing elsewhere, nor in
 * the first half second.
 */
struct terminal_bar {
	const char *name; /* what runs */
	tspan length; /* 0: it is not known */
	const struct load *load; /* else it is known by what has been read */
	enum terminal_bar_state state;
	double began; /* monotonic clock, in seconds; once begun */
	double shown; /* likewise, the last time; if shown */
};

void terminal_bar(struct terminal_bar *p, tstamp at);
void terminal_bar_end(struct terminal_bar *p);

#endif
