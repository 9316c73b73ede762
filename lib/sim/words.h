#ifndef SIM_WORDS_H
#define SIM_WORDS_H

/*
 * Numbers, times and loads in words: as they are read from the command line,
 * and as they are shown.
 */

#include <stdint.h>

#include "core/tstamp.h"
#include "sim/load_spec.h"

/* --- reading ------------------------------------------------------------ */

/*
 * A reader gives NULL; or what would be valid, and leaves *out untouched.
 * Durations are those of pool.conf(5), a share is percent.
 *
 *	fixed:TIME
 *	exponential:MEAN
 *	lognormal:MEAN,SIGMA
 *	lognormal:p50=TIME,p99=TIME
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

/* --- showing ------------------------------------------------------------ */

/* Room for any of them. */
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

/* Two places: "12.30". */
struct words words_mean(double n);

/* As they are read: "burst:10,5s,1m", "exponential:50ms". */
struct words words_profile(const struct profile *p);
struct words words_service(const struct service *s);

#endif
