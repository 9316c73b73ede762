#ifndef SIM_LOAD_NAMES_H
#define SIM_LOAD_NAMES_H

/* The apps of a load by their names. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/load.h"

struct names {
	const struct load_app *apps; /* not owned */
	size_t len;
	uint32_t *sorted; /* their numbers, in the order of the names */
	uint32_t last; /* found last: mostly the next one's too */
};

/* -1 and errno: no memory. */
int names_init(struct names *n, const struct load_app *apps, size_t len);
void names_fini(struct names *n);

/* len bytes, without a NUL behind them. False: there is no such app. */
bool names_find(struct names *n, const char *name, size_t len, uint32_t *out);

#endif
