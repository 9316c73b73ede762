#ifndef WEB_METRIC_H
#define WEB_METRIC_H

/* The samples of OpenMetrics, as the daemon writes them: one in a line. */

#include <stdbool.h>
#include <stddef.h>

struct metric {
	const char *name; /* of name_len bytes, without "apppool_" */
	size_t name_len;
	const char *labels; /* of labels_len bytes, without the braces */
	size_t labels_len;
	double value;
};

/*
 * Takes the next sample from the text, which ends with a NUL, and moves it
 * on; what is no sample is passed over. False: there is none.
 */
bool metric_next(const char **text, struct metric *out);

bool metric_is(const struct metric *m, const char *name);

/* Whether it has the label with this value. */
bool metric_has(const struct metric *m, const char *label, const char *value);

/* The name of its app, cut to size; false: it is not of an app. */
bool metric_app(const struct metric *m, char *buf, size_t size);

#endif
