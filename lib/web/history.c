/* The last hour. */

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "web/history.h"
#include "web/metric.h"

/* Names that are longer are cut; the page shows no chart for them. */
#define NAME_SIZE 256

struct history_app {
	TAILQ_ENTRY(history_app) next;
	char name[NAME_SIZE];
	bool seen; /* in these metrics */
	float values[HISTORY_SERIES][HISTORY_STEPS]; /* NAN: not known */
	/* Totals, in these metrics and in the ones before; NAN: not known. */
	double refused;
	double served;
	double refused_before;
	double served_before;
	double processes; /* in these metrics */
};

void
history_init(struct history *h)
{
	h->step = 0;
	TAILQ_INIT(&h->apps);
}

static void
forget(struct history *h, struct history_app *a)
{
	TAILQ_REMOVE(&h->apps, a, next);
	free(a);
}

void
history_fini(struct history *h)
{
	while (!TAILQ_EMPTY(&h->apps))
		forget(h, TAILQ_FIRST(&h->apps));
}

/* --- steps -------------------------------------------------------------- */

static void
clear_step(struct history_app *a, int64_t step)
{
	for (int i = 0; i < HISTORY_SERIES; i++)
		a->values[i][step % HISTORY_STEPS] = NAN;
}

/* Goes on to the step of now; what lies between stays unknown. */
static void
move_to(struct history *h, int64_t step)
{
	struct history_app *a;
	int64_t first = h->step + 1;

	if (step - first >= HISTORY_STEPS)
		first = step - HISTORY_STEPS + 1;
	for (int64_t i = first; i <= step; i++)
		TAILQ_FOREACH(a, &h->apps, next)
			clear_step(a, i);
	h->step = step;
}

static void
keep_most(float *slot, double value)
{
	if (isnan(*slot) || value > (double)*slot)
		*slot = (float)value;
}

/* Adds what a total has grown by; a daemon that began anew has a new one. */
static void
add_growth(float *slot, double total, double *before)
{
	double growth = total >= *before ? total - *before : 0;

	if (isnan(total))
		return;
	if (!isnan(*before))
		*slot = (float)growth + (isnan(*slot) ? 0 : *slot);
	*before = total;
}

/* --- metrics ------------------------------------------------------------ */

/* Without memory an app has no charts. */
static struct history_app *
find_app(struct history *h, const char *name)
{
	struct history_app *a;

	TAILQ_FOREACH(a, &h->apps, next)
		if (strcmp(a->name, name) == 0)
			return a;
	a = calloc(1, sizeof(*a));
	if (a == NULL)
		return NULL;
	(void)strlcpy(a->name, name, sizeof(a->name));
	a->refused_before = a->served_before = NAN;
	for (int64_t i = 0; i < HISTORY_STEPS; i++)
		clear_step(a, i);
	TAILQ_INSERT_TAIL(&h->apps, a, next);
	return a;
}

static void
begin_app(struct history_app *a)
{
	if (a->seen)
		return;
	a->seen = true;
	a->processes = 0;
	a->refused = a->served = NAN;
}

static void
add_to(double *total, double value)
{
	*total = isnan(*total) ? value : *total + value;
}

static void
add_ended(struct history_app *a, const struct metric *m)
{
	if (metric_has(m, "outcome", "completed"))
		add_to(&a->served, m->value);
	else if (metric_has(m, "outcome", "refused") ||
	    metric_has(m, "outcome", "timed_out"))
		add_to(&a->refused, m->value);
}

static void
add_metric(struct history *h, const struct metric *m)
{
	const int64_t slot = h->step % HISTORY_STEPS;
	struct history_app *a;
	char name[NAME_SIZE];

	if (!metric_app(m, name, sizeof(name)))
		return;
	a = find_app(h, name);
	if (a == NULL)
		return;
	begin_app(a);
	if (metric_is(m, "busy_processes"))
		a->values[HISTORY_BUSY][slot] = (float)m->value;
	else if (metric_is(m, "waiting_connections"))
		keep_most(&a->values[HISTORY_WAITING][slot], m->value);
	else if (metric_is(m, "oldest_wait_seconds"))
		keep_most(&a->values[HISTORY_OLDEST][slot], m->value);
	else if (metric_is(m, "connections_ended_total"))
		add_ended(a, m);
	else if (metric_is(m, "processes") &&
	    (metric_has(m, "state", "starting") ||
		metric_has(m, "state", "idle") ||
		metric_has(m, "state", "active")))
		a->processes += m->value;
}

static void
end_app(struct history_app *a, int64_t slot)
{
	a->values[HISTORY_PROCESSES][slot] = (float)a->processes;
	add_growth(
	    &a->values[HISTORY_REFUSED][slot], a->refused, &a->refused_before);
	add_growth(
	    &a->values[HISTORY_SERVED][slot], a->served, &a->served_before);
	a->seen = false;
}

void
history_add(struct history *h, const char *metrics, int64_t now)
{
	struct history_app *a, *next;
	struct metric m;

	/* Number 0 means none. */
	move_to(h, now / HISTORY_STEP + 1);
	while (metric_next(&metrics, &m))
		add_metric(h, &m);
	TAILQ_FOREACH_SAFE(a, &h->apps, next, next) {
		if (a->seen)
			end_app(a, h->step % HISTORY_STEPS);
		else
			forget(h, a);
	}
}

/* --- JSON --------------------------------------------------------------- */

static void
write_series(const struct history *h, const float *values, FILE *to)
{
	int64_t first = h->step - HISTORY_STEPS + 1;
	const char *comma = "";

	/* Before the first one that is known there is nothing to show. */
	while (first < h->step &&
	    (first < 0 || isnan(values[first % HISTORY_STEPS])))
		first++;
	(void)fputs("[", to);
	for (int64_t i = first; i <= h->step; i++) {
		double value = (double)values[i % HISTORY_STEPS];

		if (isnan(value))
			(void)fprintf(to, "%snull", comma);
		else
			(void)fprintf(to, "%s%.4g", comma, value);
		comma = ",";
	}
	(void)fputs("]", to);
}

void
history_write(const struct history *h, FILE *to)
{
	static const char *const names[HISTORY_SERIES] = {
		[HISTORY_PROCESSES] = "processes",
		[HISTORY_BUSY] = "busy",
		[HISTORY_WAITING] = "waiting",
		[HISTORY_OLDEST] = "oldest_wait",
		[HISTORY_REFUSED] = "refused",
		[HISTORY_SERVED] = "served",
	};
	const struct history_app *a;

	/* Names of apps have no character that would need an escape. */
	(void)fprintf(to, "{\"step\":%d,\"steps\":%d,\"apps\":{", HISTORY_STEP,
	    HISTORY_STEPS);
	TAILQ_FOREACH(a, &h->apps, next) {
		(void)fprintf(to, "%s\n\"%s\":{",
		    a == TAILQ_FIRST(&h->apps) ? "" : ",", a->name);
		for (int i = 0; i < HISTORY_SERIES; i++) {
			(void)fprintf(
			    to, "%s\"%s\":", i == 0 ? "" : ",", names[i]);
			write_series(h, a->values[i], to);
		}
		(void)fputs("}", to);
	}
	(void)fputs("}}\n", to);
}
