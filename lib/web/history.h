#ifndef WEB_HISTORY_H
#define WEB_HISTORY_H

/*
 * The metrics of each app over the last hour, in steps of ten seconds. The
 * daemon remembers a minute; the charts of the page show more.
 */

#include <sys/queue.h>

#include <stdint.h>
#include <stdio.h>

#define HISTORY_STEP 10 /* seconds */
#define HISTORY_STEPS 360

/* As the page knows them; see the names in history.c. */
enum history_series {
	HISTORY_PROCESSES,
	HISTORY_BUSY,
	HISTORY_WAITING, /* the most in a step */
	HISTORY_OLDEST, /* likewise, seconds */
	HISTORY_REFUSED, /* connections in a step, timed out ones too */
	HISTORY_SERVED, /* connections in a step */
	HISTORY_SERIES
};

struct history_app;

struct history {
	int64_t step; /* the latest; 0: none yet */
	TAILQ_HEAD(history_apps, history_app) apps;
};

void history_init(struct history *h);
void history_fini(struct history *h);

/*
 * Adds what the metrics, a text with a NUL, say now, in seconds of a clock
 * that never runs backwards. Apps that they do not have are forgotten.
 */
void history_add(struct history *h, const char *metrics, int64_t now);

/* Writes all of it as JSON. */
void history_write(const struct history *h, FILE *to);

#endif
