#ifndef SIM_SIMULATE_H
#define SIM_SIMULATE_H

/* apppoolctl simulate: the command, and what its parts share. */

#include <stdbool.h>
#include <stdio.h>

#include "conf/conf.h"
#include "core/tstamp.h"
#include "sim/engine.h"
#include "sim/load.h"
#include "sim/manager.h"
#include "sim/result.h"

/* What is to be simulated, read and checked. */
struct simulation {
	const struct conf *conf; /* its apps have the numbers of the load's */
	const char *const *names; /* of its apps */
	struct load_spec load;
	tspan start_time;
	bool json;
	const char *svg; /* a file, or NULL */
};

/*
 * One run: opens the load, lets the manager serve it, and shows how far it is
 * if standard error is a terminal.  *out is made here, result_fini() is the
 * caller's.  0, or an exit status; then it has been said why, and nothing is
 * to be undone.
 */
int simulate_run(
    const struct simulation *s, struct manager *m, struct result *out);

/* Says so, and gives the exit status for it. */
int simulate_no_memory(void);

/*
 * The whole command, with the arguments of the program: "simulate" is the
 * only word among them that is no option's.  Gives the exit status.
 */
int simulate_main(int argc, char **argv);

#endif
