/* Whether the processes of an app suffice, in a sentence. */

#include <math.h>

#include "sim/load.h"
#include "sim/verdict.h"
#include "sim/words.h"

/* Trials with twice as many each, before more processes are no answer. */
#define DOUBLINGS 5

static bool
fits(const struct result_app *r)
{
	return result_refusals(r) == 0 && r->unfinished == 0 &&
	    histogram_share(&r->wait, 0.99) <= VERDICT_WAIT;
}

/* Processes that the work of all connections keeps busy on average. */
static double
needed(const struct load_app *load, const struct result *r,
    const struct result_app *app)
{
	double service, think;

	if (load->clients == 0)
		return r->length > 0 ? app->work / (double)r->length : 0;
	/* Clients who wait bring less. */
	service = (double)load_service_mean(&load->service);
	think = (double)load_service_mean(&load->think);
	return load->clients * service / (service + think);
}

uint32_t
verdict_allowed(const struct conf *conf, size_t app)
{
	unsigned max = conf->apps[app].pool.max_processes;

	return max < conf->max_processes ? max : conf->max_processes;
}

void
verdict_judge(const struct conf *conf, const struct load_spec *load,
    const struct result *r, size_t app, struct verdict *out)
{
	const struct conf_app *c = &conf->apps[app];
	const struct result_app *a = &r->apps[app];

	*out = (struct verdict){
		.needed = needed(&load->apps[app], r, a) / c->pool.concurrency,
		.allowed = verdict_allowed(conf, app),
	};
	if (a->arrived == 0)
		out->kind = VERDICT_IDLE;
	else if (fits(a))
		out->kind = VERDICT_FITS;
	else if (out->needed >= out->allowed)
		out->kind = VERDICT_OVERLOADED;
	else
		out->kind = VERDICT_SHORT;
}

/* --- other numbers of processes ----------------------------------------- */

struct search {
	const struct verdict_trial *trial;
	size_t app;
	uint32_t allowed; /* too few */
	bool ready; /* all processes are there from the start */
};

static uint32_t
larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Processes over all apps, so that the others keep theirs. */
static uint32_t
ceiling_for(const struct search *s, uint32_t n)
{
	const struct conf *conf = s->trial->conf;
	uint32_t most = n, least = s->ready ? n : 0;
	uint32_t more = conf->max_processes + n - s->allowed;

	for (size_t i = 0; i < conf->apps_len; i++) {
		if (i == s->app)
			continue;
		most += conf->apps[i].pool.max_processes;
		least += conf->apps[i].pool.min_processes;
	}
	return larger(
	    conf->max_processes, larger(least, most < more ? most : more));
}

/* 0, or an exit status. */
static int
try(const struct search *s, uint32_t n, bool *out)
{
	struct conf *conf = s->trial->conf;
	struct conf_app *app = &conf->apps[s->app];
	unsigned ceiling = conf->max_processes;
	unsigned min = app->pool.min_processes, max = app->pool.max_processes;
	struct result r = { 0 };
	int status;

	conf->max_processes = ceiling_for(s, n);
	if (n > max)
		app->pool.max_processes = n;
	if (s->ready)
		app->pool.min_processes = n;
	status = s->trial->play(s->trial->arg, n, &r);
	conf->max_processes = ceiling;
	app->pool.min_processes = min;
	app->pool.max_processes = max;
	if (status == 0)
		*out = fits(&r.apps[s->app]);
	result_fini(&r);
	return status;
}

static uint32_t
at_most(double n)
{
	return n < CONF_PROCESSES_MAX ? (uint32_t)n : CONF_PROCESSES_MAX;
}

/*
 * Between a number that is too small and one that is not, the smallest; 0 if
 * none of those tried is enough.
 */
static int
search(const struct search *s, uint32_t low, uint32_t high, uint32_t *out)
{
	bool good = false;
	int status = 0;

	*out = 0;
	for (unsigned i = 0; i < DOUBLINGS && !good; i++) {
		if (i > 0) {
			low = high;
			high = at_most(2.0 * high);
		}
		if (high <= low)
			return 0;
		status = try(s, high, &good);
		if (status != 0)
			return status;
	}
	while (good && high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		bool enough;

		status = try(s, middle, &enough);
		if (status != 0)
			return status;
		*(enough ? &high : &low) = middle;
	}
	if (good)
		*out = high;
	return 0;
}

int
verdict_try(const struct verdict_trial *t, size_t app, struct verdict *v)
{
	struct search s = { .trial = t, .app = app, .allowed = v->allowed };
	uint32_t high = at_most(ceil(v->needed) + 1), n;
	int status;

	if (high <= v->allowed)
		high = at_most(v->allowed + 1.0);
	v->tried = true;
	status = search(&s, v->allowed, high, &n);
	if (status == 0 && n == 0) {
		s.ready = true;
		status = search(&s, 0, high, &n);
	}
	if (status != 0 || n == 0)
		return status;
	if (s.ready)
		v->min_processes = n;
	if (n > t->conf->apps[app].pool.max_processes)
		v->max_processes = n;
	v->ceiling = ceiling_for(&s, n);
	if (v->ceiling == t->conf->max_processes)
		v->ceiling = 0;
	return 0;
}

/* --- the sentence ------------------------------------------------------- */

static void
put_ends(const struct result_app *r, FILE *out)
{
	uint64_t refused = result_refusals(r);

	(void)fprintf(out, "; p99 waits %s",
	    words_span(histogram_share(&r->wait, 0.99)).text);
	if (refused > 0)
		(void)fprintf(out, ", %s of %s turned away",
		    words_count(refused).text, words_count(r->arrived).text);
}

static void
put_remedy(const struct verdict *v, FILE *out)
{
	bool own = v->min_processes != 0 || v->max_processes != 0;

	(void)fputs("; ", out);
	if (v->min_processes != 0)
		(void)fputs("min_processes = ", out);
	if (v->max_processes != 0)
		(void)fprintf(out, "max_processes = %u", v->max_processes);
	else if (v->min_processes != 0)
		(void)fprintf(out, "%u", v->min_processes);
	if (v->ceiling != 0)
		(void)fprintf(out, "%s%u over all apps%s",
		    own ? ", with " : "max_processes = ", v->ceiling,
		    own ? "," : "");
	else if (!own)
		(void)fputs("no number of processes", out);
	(void)fprintf(
	    out, " would keep p99 under %s", words_span(VERDICT_WAIT).text);
}

void
verdict_put(const struct verdict *v, const struct result_app *r, FILE *out)
{
	static const char *const words[] = {
		[VERDICT_IDLE] = "idle: no connection came",
		[VERDICT_FITS] = "fits",
		[VERDICT_OVERLOADED] = "overloaded",
		[VERDICT_SHORT] = "short of processes",
	};

	(void)fputs(words[v->kind], out);
	if (v->kind == VERDICT_IDLE)
		return;
	(void)fprintf(out, ": %s busy processes needed%s, %u allowed",
	    words_number(v->needed).text,
	    v->kind == VERDICT_OVERLOADED ? "" : " on average", v->allowed);
	if (v->kind != VERDICT_OVERLOADED)
		put_ends(r, out);
	if (v->tried)
		put_remedy(v, out);
}
