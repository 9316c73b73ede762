/* The last hour, of samples as the daemon writes them: one in a line. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "web/web.h"

/* Names that are longer are cut; the page shows no chart for them. */
#define NAME_SIZE 256

enum series {
	SERIES_PROCESSES,
	SERIES_BUSY,
	SERIES_WAITING, /* the most in a step */
	SERIES_OLDEST, /* likewise, seconds */
	/* Connections in a step, by what their total has grown by: */
	SERIES_SERVED,
	SERIES_REFUSED,
	SERIES_TIMED_OUT,
	SERIES_LOST,
	SERIES
};

static const struct {
	const char *name; /* as the page knows it */
	const char *outcome; /* of the connections; NULL: no total */
} kinds[SERIES] = {
	[SERIES_PROCESSES] = { "processes", NULL },
	[SERIES_BUSY] = { "busy", NULL },
	[SERIES_WAITING] = { "waiting", NULL },
	[SERIES_OLDEST] = { "oldest_wait", NULL },
	[SERIES_SERVED] = { "served", "completed" },
	[SERIES_REFUSED] = { "refused", "refused" },
	[SERIES_TIMED_OUT] = { "timed_out", "timed_out" },
	[SERIES_LOST] = { "lost", "lost" },
};

struct history_app {
	TAILQ_ENTRY(history_app) next;
	char name[NAME_SIZE];
	bool seen; /* in these metrics */
	float values[SERIES][HISTORY_STEPS]; /* NAN: not known */
	/* Totals, in these metrics and in the ones before; NAN: not known. */
	double totals[SERIES];
	double before[SERIES];
	double processes; /* in these metrics */
};

/* A sample; nothing of it ends with a NUL. */
struct sample {
	const char *name; /* of name_len bytes, without "apppool_" */
	size_t name_len;
	const char *labels; /* of labels_len bytes, without the braces */
	size_t labels_len;
	double value;
};

static void
forget_app(struct history *h, struct history_app *a)
{
	TAILQ_REMOVE(&h->apps, a, next);
	free(a);
}

void
history_fini(struct history *h)
{
	while (!TAILQ_EMPTY(&h->apps))
		forget_app(h, TAILQ_FIRST(&h->apps));
}

/* --- samples ------------------------------------------------------------ */

/*
 * Takes the next sample from the text, and moves that on; what is no sample is
 * passed over. False: there is none.
 */
static bool
next_sample(const char **text, struct sample *out)
{
	static const char prefix[] = "apppool_";
	const char *line, *rest;
	char *end;

	while (**text != '\0') {
		line = *text;
		*text += strcspn(line, "\n");
		*text += **text == '\n';
		if (strncmp(line, prefix, sizeof(prefix) - 1) != 0)
			continue;
		*out = (struct sample){ .name = line + sizeof(prefix) - 1 };
		out->name_len = strcspn(out->name, "{ \n");
		rest = out->name + out->name_len;
		if (*rest == '{') {
			/* No value of ours has a brace. */
			out->labels = rest + 1;
			out->labels_len = strcspn(out->labels, "}\n");
			rest = out->labels + out->labels_len;
			if (*rest++ != '}')
				continue;
		}
		if (*rest != ' ')
			continue;
		out->value = strtod(rest + 1, &end);
		if (end != rest + 1 && *end == '\n')
			return true;
	}
	return false;
}

static bool
has_name(const struct sample *m, const char *name)
{
	return m->name_len == strlen(name) &&
	    memcmp(m->name, name, m->name_len) == 0;
}

/* Copies the value of a label, cut to size; false: it has no such label. */
static bool
copy_label(const struct sample *m, const char *label, char *buf, size_t size)
{
	const char *at = m->labels, *end = at + m->labels_len;
	const size_t len = strlen(label);

	while (at != NULL && at < end) {
		const char *value = memchr(at, '"', (size_t)(end - at));
		const char *close = value == NULL
		    ? NULL
		    : memchr(value + 1, '"', (size_t)(end - value - 1));

		if (close == NULL)
			return false;
		if ((size_t)(value - at) == len + 1 &&
		    memcmp(at, label, len) == 0) {
			(void)snprintf(buf, size, "%.*s",
			    (int)(close - value - 1), value + 1);
			return true;
		}
		at = close + 2; /* and a comma */
	}
	return false;
}

/* Writes why the app is not ready, by its state. */
static void
write_unready(const char *metrics, const char *name, FILE *to)
{
	char app[NAME_SIZE], state[16] = "running";
	struct sample m;

	while (next_sample(&metrics, &m))
		if (has_name(&m, "state") &&
		    copy_label(&m, "app", app, sizeof(app)) &&
		    strcmp(app, name) == 0)
			(void)copy_label(&m, "state", state, sizeof(state));
	if (strcmp(state, "running") == 0)
		(void)fprintf(to, "%s has no ready process\n", name);
	else if (strcmp(state, "failed") == 0)
		(void)fprintf(to, "%s has failed\n", name);
	else
		(void)fprintf(to, "%s is %s\n", name, state);
}

enum health
history_write_health(const char *metrics, const char *of, bool ready, FILE *to)
{
	const char *rest = metrics, *comma = "failed: ";
	char app[NAME_SIZE], state[16];
	enum health health = HEALTH_UNKNOWN;
	struct sample m;

	while (next_sample(&rest, &m)) {
		if (!has_name(&m, ready ? "ready" : "state") ||
		    !copy_label(&m, "app", app, sizeof(app)) ||
		    (of != NULL && strcmp(app, of) != 0))
			continue;
		if (health == HEALTH_UNKNOWN)
			health = HEALTH_GOOD;
		if (ready && m.value == 0) {
			write_unready(metrics, app, to);
			return HEALTH_BAD;
		}
		if (ready || m.value == 0 ||
		    !copy_label(&m, "state", state, sizeof(state)) ||
		    strcmp(state, "failed") != 0)
			continue;
		(void)fprintf(to, "%s%s", comma, app);
		comma = ", ";
		health = HEALTH_BAD;
	}
	if (health != HEALTH_UNKNOWN)
		(void)fputs(health == HEALTH_GOOD ? "ok\n" : "\n", to);
	else
		(void)fprintf(
		    to, "%s\n", of == NULL ? "no app runs" : "no such app");
	return health;
}

/* --- steps -------------------------------------------------------------- */

/* The app of this name, which has begun in these metrics; NULL: no memory. */
static struct history_app *
see_app(struct history *h, const char *name)
{
	struct history_app *a;

	TAILQ_FOREACH(a, &h->apps, next)
		if (strcmp(a->name, name) == 0)
			break;
	if (a == NULL) {
		a = calloc(1, sizeof(*a));
		if (a == NULL)
			return NULL;
		(void)strlcpy(a->name, name, sizeof(a->name));
		for (int i = 0; i < SERIES; i++) {
			a->totals[i] = a->before[i] = NAN;
			for (int k = 0; k < HISTORY_STEPS; k++)
				a->values[i][k] = NAN;
		}
		TAILQ_INSERT_TAIL(&h->apps, a, next);
	}
	a->seen = true;
	return a;
}

static void
add_sample(struct history *h, const struct sample *m)
{
	const int64_t slot = h->step % HISTORY_STEPS;
	const float value = (float)m->value;
	struct history_app *a;
	char name[NAME_SIZE], word[16];

	if (!copy_label(m, "app", name, sizeof(name)) ||
	    (a = see_app(h, name)) == NULL)
		return;
	if (has_name(m, "busy_processes")) {
		a->values[SERIES_BUSY][slot] = value;
	} else if (has_name(m, "waiting_connections")) {
		/* What is not known yet is NAN, and never the larger one. */
		a->values[SERIES_WAITING][slot] =
		    fmaxf(a->values[SERIES_WAITING][slot], value);
	} else if (has_name(m, "oldest_wait_seconds")) {
		a->values[SERIES_OLDEST][slot] =
		    fmaxf(a->values[SERIES_OLDEST][slot], value);
	} else if (has_name(m, "connections_ended_total") &&
	    copy_label(m, "outcome", word, sizeof(word))) {
		for (int i = SERIES_SERVED; i < SERIES; i++)
			if (strcmp(word, kinds[i].outcome) == 0)
				a->totals[i] = m->value;
	} else if (has_name(m, "processes") &&
	    copy_label(m, "state", word, sizeof(word)) &&
	    (strcmp(word, "starting") == 0 || strcmp(word, "idle") == 0 ||
		strcmp(word, "active") == 0)) {
		a->processes += m->value;
	}
}

void
history_add(struct history *h, const char *metrics, int64_t now)
{
	/* Number 0 means none. */
	const int64_t step = now / 1000 / HISTORY_STEP + 1;
	const int64_t slot = step % HISTORY_STEPS;
	int64_t first = h->step + 1;
	struct history_app *a, *next;
	struct sample m;

	/* Values between the steps stay unknown. */
	if (step - first >= HISTORY_STEPS)
		first = step - HISTORY_STEPS + 1;
	for (int64_t i = first; i <= step; i++)
		TAILQ_FOREACH(a, &h->apps, next)
			for (int k = 0; k < SERIES; k++)
				a->values[k][i % HISTORY_STEPS] = NAN;
	h->step = step;
	h->at = now;
	while (next_sample(&metrics, &m))
		add_sample(h, &m);
	TAILQ_FOREACH_SAFE(a, &h->apps, next, next) {
		if (!a->seen) {
			forget_app(h, a);
			continue;
		}
		a->values[SERIES_PROCESSES][slot] = (float)a->processes;
		for (int i = SERIES_SERVED; i < SERIES; i++) {
			float *grown = &a->values[i][slot];
			double total = a->totals[i], before = a->before[i];

			if (isnan(total))
				continue;
			/* A daemon that began anew has a new total. */
			if (!isnan(before))
				*grown = fmaxf(*grown, 0) +
				    (float)fmax(total - before, 0);
			a->before[i] = total;
			a->totals[i] = NAN;
		}
		a->processes = 0;
		a->seen = false;
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
	const struct history_app *a;

	/* Names of apps have no character that would need an escape. */
	(void)fprintf(to,
	    "{\"step\":%d,\"steps\":%d,\"elapsed\":%.1f,\"apps\":{",
	    HISTORY_STEP, HISTORY_STEPS,
	    (double)(h->at % (HISTORY_STEP * 1000)) / 1000);
	TAILQ_FOREACH(a, &h->apps, next) {
		(void)fprintf(to, "%s\n\"%s\":{",
		    a == TAILQ_FIRST(&h->apps) ? "" : ",", a->name);
		for (int i = 0; i < SERIES; i++) {
			(void)fprintf(
			    to, "%s\"%s\":", i == 0 ? "" : ",", kinds[i].name);
			write_series(h, a->values[i], to);
		}
		(void)fputs("}", to);
	}
	(void)fputs("}}\n", to);
}
