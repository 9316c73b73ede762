#ifndef SIM_COMPARE_H
#define SIM_COMPARE_H

/* --compare: the same load through the rules of the peers. */

#include "sim/simulate.h"

/*
 * Runs them all, ours included, and prints one table (or JSON).  Gives an exit
 * status; what went wrong has been said.
 */
int compare_main(const struct simulation *s);

#endif
