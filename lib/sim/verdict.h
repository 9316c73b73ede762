#ifndef SIM_VERDICT_H
#define SIM_VERDICT_H

/*
 * The verdict on an app: whether its processes suffice for the load, and if
 * not, how many would.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "conf/conf.h"
#include "sim/load_spec.h"
#include "sim/result.h"

/* 99 of 100 connections shall not wait longer, and none be turned away. */
#define VERDICT_WAIT TSPAN_MSECONDS(100)

enum verdict_kind {
	VERDICT_IDLE, /* no connection came */
	VERDICT_FITS,
	VERDICT_OVERLOADED, /* more work comes than all processes can do */
	VERDICT_SHORT, /* now and then they do not suffice */
};

struct verdict {
	enum verdict_kind kind;
	double needed; /* processes that are busy if nobody waits; a mean */
	uint32_t allowed; /* by the app and by the ceiling over all */

	/* Bounds that would do; 0: as it is.  All 0: none that was tried would.
	 */
	bool tried;
	uint32_t min_processes; /* where starts take too long */
	uint32_t max_processes; /* of the app */
	uint32_t ceiling; /* over all apps */
};

/* So many processes the app may have, by the ceiling over all apps, too. */
uint32_t verdict_allowed(const struct conf *conf, size_t app);

/* Without trying others. app: its number. */
void verdict_judge(const struct conf *conf, const struct load_spec *load,
    const struct result *r, size_t app, struct verdict *out);

/*
 * Finds the smallest max_processes that would do, where those there are do
 * not, by playing the load again; and if none does, with so many min_processes,
 * too.  play() gives 0 or an exit status, which verdict_try() returns.  The
 * configuration is as before afterwards.
 */
struct verdict_trial {
	struct conf *conf;
	int (*play)(void *arg, uint32_t max_processes, struct result *out);
	void *arg;
};

int verdict_try(const struct verdict_trial *t, size_t app, struct verdict *v);

/* "short of processes: 1.64 …", without an end of line. */
void verdict_put(
    const struct verdict *v, const struct result_app *r, FILE *out);

#endif
