#ifndef SIM_SIMULATE_H
#define SIM_SIMULATE_H

/* The command `apppoolctl simulate`, grouped by the file that has it. */

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "conf/conf.h"
#include "core/tstamp.h"
#include "sim/load.h"
#include "sim/result.h"

/* --- options.c ------------------------------------------------------------ */

/* For apppoolctl, too, which finds its command among all options. */
extern const struct option simulate_longs[];

/* An option that may be given for each app: [NAME=]VALUE, as it stands there.
 */
struct simulate_typed {
	int option; /* .val of simulate_longs */
	const char *text;
};

struct simulate_options {
	const char *file;
	const char *trace; /* NULL: none */
	const char *svg; /* NULL: none */
	struct simulate_typed *typed; /* free() is the caller's */
	size_t typed_len;
	struct profile profile;
	bool profile_set;
	tspan start_time;
	tspan length; /* 0: as long as the profile or the trace is */
	uint64_t seed;
	bool json;
	bool help;
	bool version;
};

/* The texts are those of argv.  A mistake ends the program. */
void options_parse(struct simulate_options *o, int argc, char **argv);

/*
 * The load of the apps of a configuration: what the options say, else our
 * defaults.  apps: as many as conf has; *out refers to them.  A mistake ends
 * the program.
 */
void options_load(const struct simulate_options *o, const struct conf *conf,
    struct load_app *apps, struct load_spec *out);

/* --- words.c -------------------------------------------------------------- */

/*
 * A reader gives NULL; or what would be valid, and leaves *out untouched.
 * Durations are those of pool.conf(5), a share is percent.
 *
 *	fixed:TIME
 *	exponential:MEAN
 *	lognormal:MEAN,SIGMA
 *	lognormal:p50=TIME,p99=TIME
 *	uniform:SHORTEST,LONGEST
 *	bimodal:TIME,RARE,SHARE
 *
 *	steady
 *	burst[:FACTOR[,LENGTH[,PERIOD]]]
 *	day[:PERIOD]
 *	ramp
 *
 * A bare duration is a fixed service time.
 */
const char *words_read_service(const char *text, struct service *out);
const char *words_read_profile(const char *text, struct profile *out);

/* Connections per second: "12.5", "1000/s", "90/m", "500/h". */
const char *words_read_rate(const char *text, double *out);

const char *words_read_span(const char *text, tspan *out);

/* Room for whatever is shown. */
#define WORDS_SIZE 96

struct words {
	char text[WORDS_SIZE];
};

/* Three places at most: "0", "12.3us", "250ms", "1.5s", "2m30s", "1h". */
struct words words_span(tspan span);

/* "1,234,567" */
struct words words_count(uint64_t n);

/* Three places at most, and no exponent: "0.25", "12.3", "4711". */
struct words words_number(double n);

/* How long that share of its connections waited at most. */
struct words words_wait(const struct result_app *r, double share);

/* As they are read: "burst:10,5s,1m", "exponential:50ms". */
struct words words_profile(const struct profile *p);
struct words words_service(const struct service *s);

/* --- view.c and picture.c ------------------------------------------------- */

/* 99 of 100 connections shall not wait longer, and none be turned away. */
#define VERDICT_WAIT TSPAN_MSECONDS(100)

enum verdict_kind {
	VERDICT_IDLE, /* no connection came */
	VERDICT_FITS,
	VERDICT_OVERLOADED, /* more work comes than all processes can do */
	VERDICT_SHORT, /* now and then they do not suffice */
};

/* Whether the processes of an app suffice, and if not, how many would. */
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

/* The question that a result answers. */
struct simulation {
	const char *config; /* a file */
	struct load_spec load;
	tspan start_time;
	const struct verdict *verdicts; /* of the apps; NULL: there are none */
};

/* The figures, for people.  A failed write shows in ferror(out). */
void view_text(const struct simulation *s, const struct result *r, FILE *out);

/* The whole result as one JSON object. */
void view_json(const struct simulation *s, const struct result *r, FILE *out);

/*
 * A picture of the app of this number; of all together if there is no such app.
 * -1 and errno: a write failed.
 */
int picture_put(
    const struct simulation *s, const struct result *r, size_t app, FILE *out);

/* --- simulate.c ----------------------------------------------------------- */

/*
 * apppoolctl simulate: the whole command, with the arguments of the program,
 * of which "simulate" is the only word that is no option's.  Gives the exit
 * status.
 */
int simulate_main(int argc, char **argv);

#endif
