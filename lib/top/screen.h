#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

/* The full screen of a terminal. */

#include <stdbool.h>

#include "core/tstamp.h"
#include "top/glance.h"

/* Whether standard output is a terminal that can show one. */
bool screen_possible(void);

/* Shows the daemon anew after each interval, until the user quits. */
void screen_run(struct glance *g, tspan interval);

#endif
