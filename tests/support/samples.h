#ifndef SUPPORT_SAMPLES_H
#define SUPPORT_SAMPLES_H

/* Numbers, kept one by one, and their quantiles; zeroes are none. */

#include <stddef.h>

struct samples {
	double *at;
	size_t count, room;
};

void samples_fini(struct samples *s);
void samples_clear(struct samples *s);

/* Ends the program when there is no memory. */
void samples_add(struct samples *s, double value);

/* The value that a share of 0.0 ... 1.0 of the numbers does not exceed; NAN
 * without numbers.  Sorts them. */
double samples_quantile(struct samples *s, double share);

double samples_median(struct samples *s);

#endif
