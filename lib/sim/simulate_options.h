#ifndef SIM_SIMULATE_OPTIONS_H
#define SIM_SIMULATE_OPTIONS_H

/* The command line of `apppoolctl simulate`, and the load that it asks for. */

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "core/tstamp.h"
#include "sim/load_spec.h"

/* The values of an option that may be given for each app: [NAME=]VALUE. */
struct simulate_values {
	const char **texts; /* as they stand there */
	size_t len;
};

struct simulate_options {
	const char *file;
	const char *trace; /* NULL: none */
	const char *svg; /* NULL: none */
	struct simulate_values rates;
	struct simulate_values services;
	struct simulate_values clients;
	struct simulate_values thoughts;
	struct profile profile;
	bool profile_set;
	tspan start_time;
	tspan length; /* 0: as long as the profile or the trace is */
	uint64_t seed;
	bool json;
	bool help;
	bool version;
};

/* For apppoolctl, too, which finds its command among all options. */
extern const struct option simulate_longs[];

/*
 * 0; or an exit status, and the mistake has been told.  The texts are those of
 * argv; simulate_options_fini() in any case.
 */
int simulate_options_parse(struct simulate_options *o, int argc, char **argv);
void simulate_options_fini(struct simulate_options *o);

/*
 * The load of the apps of a configuration: what the options say, else our
 * defaults.  apps: as many as conf has; *out refers to them.  0, or an exit
 * status, and the mistake has been told.
 */
int simulate_options_load(const struct simulate_options *o,
    const struct conf *conf, struct load_app *apps, struct load_spec *out);

#endif
