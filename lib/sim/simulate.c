/* apppoolctl simulate: any mistake in options and files ends the program. */

#include <sys/param.h>

#include <errno.h>
#include <math.h>

#include "sim/simulate.h"
#include "sys/number.h"

/* Trials with twice as many each, before more processes are no answer. */
#define DOUBLINGS 5

#define DEFAULT_START_TIME TSPAN_MSECONDS(200)
#define DEFAULT_SERVICE "exponential:50ms"
#define DEFAULT_LENGTH TSPAN_SECONDS(600)

/* Share of all processes that are busy at the highest rate. */
#define DEFAULT_BUSY 0.7

/* Bursts of a run for which no length is given. */
#define DEFAULT_BURSTS 10

#define CLIENTS_MAX 1000000

#define PARTS_MAX 3

/* A hundredth of the normal distribution is above this. */
#define NORMAL_P99 2.3263478740408408

#define START_TIME_MAX TSPAN_SECONDS(600)

#define WRITE_SIZE "write 65536, 64K, 16M or 2G"
#define WRITE_SPAN "write 250ms, 10s, 5m, 2h or 1d"

struct options {
	const struct given *given;
	struct simulation s; /* its load without apps yet; no memory: 0 */
};

/* --- words of the command line ------------------------------------------ */

/* Digits, perhaps with a point, and then `end`; nothing else is a number. */
static bool
words_to_number(const char *text, const char *end, double *out)
{
	static const char digits[] = "0123456789";
	size_t whole = strspn(text, digits);
	size_t part = text[whole] == '.' ? strspn(text + whole + 1, digits) : 0;
	size_t len = whole + part + (text[whole] == '.');

	if (whole + part == 0 || len > 30 || strcmp(text + len, end) != 0)
		return false;
	*out = strtod(text, NULL);
	return true;
}

/* A duration that is over 0. */
static bool
words_to_time(const char *text, tspan *out)
{
	return conf_parse_span(text, out) && *out > 0;
}

const char *
words_read_rate(const char *text, double *out)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {
		{ "", 1 },
		{ "/s", 1 },
		{ "/m", 60 },
		{ "/h", 3600 },
		{ "/d", 86400 },
	};
	double number;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!words_to_number(text, units[i].name, &number))
			continue;
		if (number / units[i].seconds > 1e8)
			break;
		*out = number / units[i].seconds;
		return NULL;
	}
	return "write connections per second, as 12.5, or 90/m, 500/h, "
	       "100000/d; at most 100000000";
}

/* "NAME:A,B,C", cut up in a copy. */
struct call {
	char text[200];
	const char *parts[PARTS_MAX];
	unsigned count; /* of the parts */
};

/* Gives the place of the name among the names; len: it is none of them. */
static size_t
call_cut(struct call *c, const char *text, const char *const *names, size_t len)
{
	char *at = c->text, *part;
	size_t found = 0;

	if (strlcpy(at, text, sizeof(c->text)) >= sizeof(c->text))
		return len;
	(void)strsep(&at, ":");
	while (found < len && strcmp(c->text, names[found]) != 0)
		found++;
	while ((part = strsep(&at, ",")) != NULL) {
		if (c->count == PARTS_MAX)
			return len;
		c->parts[c->count++] = part;
	}
	return found;
}

/* Fills what goes with the kind. False: that has other parts. */
static bool
call_to_service(const struct call *c, struct service *out)
{
	const char *const *parts = c->parts;
	double percent;
	tspan p50, p99;

	switch (out->kind) {
	case SERVICE_FIXED:
	case SERVICE_EXPONENTIAL:
		return c->count == 1 && words_to_time(parts[0], &out->mean);
	case SERVICE_LOGNORMAL:
		if (c->count != 2)
			return false;
		if (strncmp(parts[0], "p50=", 4) != 0)
			return words_to_time(parts[0], &out->mean) &&
			    words_to_number(parts[1], "", &out->sigma) &&
			    out->sigma > 0 && out->sigma <= 5;
		/* Two points of the distribution are in the logs, no sigma. */
		if (strncmp(parts[1], "p99=", 4) != 0 ||
		    !words_to_time(parts[0] + 4, &p50) ||
		    !words_to_time(parts[1] + 4, &p99) || p99 <= p50)
			return false;
		out->sigma = log((double)p99 / (double)p50) / NORMAL_P99;
		out->mean =
		    (tspan)((double)p50 * exp(out->sigma * out->sigma / 2) +
			0.5);
		return out->sigma <= 5;
	case SERVICE_UNIFORM:
		return c->count == 2 && words_to_time(parts[0], &out->mean) &&
		    words_to_time(parts[1], &out->other) &&
		    out->mean <= out->other;
	case SERVICE_BIMODAL:
		if (c->count != 3 || !words_to_time(parts[0], &out->mean) ||
		    !words_to_time(parts[1], &out->other) ||
		    (!words_to_number(parts[2], "", &percent) &&
			!words_to_number(parts[2], "%", &percent)))
			return false;
		out->share = percent / 100;
		return percent <= 100;
	}
	return false;
}

const char *
words_read_service(const char *text, struct service *out)
{
	static const char *const valid[] = {
		"write fixed:TIME, as fixed:20ms",
		"write exponential:MEAN, as exponential:50ms",
		"write lognormal:MEAN,SIGMA, as lognormal:50ms,1.5 (SIGMA over "
		"0, at most 5), or lognormal:p50=TIME,p99=TIME, as "
		"lognormal:p50=20ms,p99=300ms (p99 over p50)",
		"write uniform:SHORTEST,LONGEST, as uniform:1s,20s",
		"write bimodal:TIME,RARE,SHARE, as bimodal:5ms,500ms,1%",
		"write fixed:TIME, exponential:MEAN, lognormal:MEAN,SIGMA, "
		"lognormal:p50=TIME,p99=TIME, uniform:SHORTEST,LONGEST or "
		"bimodal:TIME,RARE,SHARE, as exponential:50ms",
	};
	struct service got = { 0 };
	struct call c = { 0 };
	size_t kind;

	if (!words_to_time(text, &got.mean)) {
		kind = call_cut(&c, text, service_names, SERVICE_BIMODAL + 1);
		got.kind = (enum service_kind)kind;
		if (kind > SERVICE_BIMODAL || !call_to_service(&c, &got))
			return valid[kind];
	}
	*out = got;
	return NULL;
}

const char *
words_read_profile(const char *text, struct profile *out)
{
	static const char *const valid[] = {
		"steady has no parameters",
		("write burst:FACTOR,LENGTH,PERIOD, as burst:10,5s,1m (FACTOR "
		 "at least 1, LENGTH under PERIOD)"),
		"write day, or day:PERIOD, as day:24h",
		"ramp has no parameters",
		"write steady, burst, day or ramp",
	};
	struct profile got = { 0 };
	struct call c = { 0 };
	size_t kind = call_cut(&c, text, profile_names, PROFILE_RAMP + 1);
	bool good = kind <= PROFILE_RAMP && c.count == 0;

	got.kind = (enum profile_kind)kind;
	if (kind == PROFILE_BURST) {
		got.factor = 10;
		got.burst = TSPAN_SECONDS(5);
		got.period = TSPAN_SECONDS(60);
		good = (c.count < 1 ||
			   words_to_number(c.parts[0], "", &got.factor)) &&
		    (c.count < 2 || words_to_time(c.parts[1], &got.burst)) &&
		    (c.count < 3 || words_to_time(c.parts[2], &got.period)) &&
		    got.factor >= 1 && got.factor <= 1e6 &&
		    got.burst < got.period;
	} else if (kind == PROFILE_DAY && c.count == 1) {
		good = words_to_time(c.parts[0], &got.period);
	}
	if (!good)
		return valid[kind];
	*out = got;
	return NULL;
}

static const char *
words_read_balancer(const char *text, struct balancer_spec *out)
{
	struct call c = { 0 };
	size_t kind =
	    call_cut(&c, text, balancer_names, BALANCER_ROUNDROBIN + 1);

	if (kind > BALANCER_ROUNDROBIN || c.count > 1 ||
	    (c.count == 1 && strcmp(c.parts[0], "blind") != 0))
		return "write leastconn, random2 or roundrobin, and :blind "
		       "behind it for one without agent checks";
	out->kind = (enum balancer_kind)kind;
	out->blind = c.count == 1;
	return NULL;
}

/* --- the options -------------------------------------------------------- */

_Noreturn static void
options_misuse(const struct given *g, const char *value, const char *why)
{
	errx(EX_USAGE, "simulate: %s %s: %s", g->name, value, why);
}

/*
 * The value of an option: if it can be given for an app, that of [NAME=]VALUE.
 * Another "=" may be behind a ":", which no name has: "lognormal:p50=5ms,...".
 */
static const char *
options_value(const struct given *g)
{
	size_t name = strcspn(g->value, "=:");

	return g->id <= SIMULATE_THINK && g->value[name] == '='
	    ? g->value + name + 1
	    : g->value;
}

/* The last option of the app's name, else of no name; app NULL: of any. */
static const struct given *
options_find(const struct options *o, int option, const char *app)
{
	const struct given *named = NULL, *plain = NULL;

	for (const struct given *g = o->given; g->name != NULL; g++) {
		size_t n = (size_t)(options_value(g) - g->value);

		if (g->id != option)
			continue;
		if (n == 0 || app == NULL)
			plain = g;
		else if (strncmp(g->value, app, n - 1) == 0 &&
		    app[n - 1] == '\0')
			named = g;
	}
	return named != NULL ? named : plain;
}

/* What is given. A mistake ends the program. */
static void
options_parse(struct options *o, const struct given *given)
{
	struct balancer_spec *balancer = &o->s.balancer;
	struct load_spec *load = &o->s.load;
	const char *why = NULL;
	bool rate, profile;
	uint64_t n;

	*o = (struct options){ .given = given };
	o->s.start_time = DEFAULT_START_TIME;
	load->seed = 1;
	for (const struct given *g = given; g->name != NULL; g++) {
		const char *text = g->value, *valid = NULL;

		switch (g->id) {
		case SIMULATE_BALANCER:
			valid = words_read_balancer(text, balancer);
			break;
		case SIMULATE_HOSTS:
			if (!number_parse(text, strlen(text), &n) || n == 0 ||
			    n > BALANCER_HOSTS_MAX)
				valid = "write a number from 1 to 10000";
			else
				balancer->hosts = (uint32_t)n;
			break;
		case SIMULATE_FOR:
			if (!conf_parse_span(text, &load->length))
				valid = WRITE_SPAN;
			else if (load->length == 0)
				valid = "it must be over 0";
			break;
		case SIMULATE_MEMORY:
			if (!conf_parse_size(text, &o->s.memory) ||
			    o->s.memory == 0)
				valid = WRITE_SIZE;
			break;
		case SIMULATE_PROFILE:
			valid = words_read_profile(text, &load->profile);
			break;
		case SIMULATE_SEED:
			if (!number_parse(text, strlen(text), &load->seed))
				valid = "write a number from 0 to 2^64 - 1";
			break;
		case SIMULATE_START_TIME:
			if (!conf_parse_span(text, &o->s.start_time))
				valid = WRITE_SPAN;
			else if (o->s.start_time > START_TIME_MAX)
				valid = "it may be 10m at most";
			break;
		case SIMULATE_TRACE:
			load->trace = text;
			break;
		}
		if (valid != NULL)
			options_misuse(g, text, valid);
	}
	load->closed = options_find(o, SIMULATE_CLIENTS, NULL) != NULL;
	rate = options_find(o, SIMULATE_RATE, NULL) != NULL;
	profile = options_find(o, SIMULATE_PROFILE, NULL) != NULL;
	if (load->trace != NULL && rate)
		why = "a trace has a rate of its own: no --rate";
	else if (load->trace != NULL &&
	    options_find(o, SIMULATE_SERVICE, NULL) != NULL)
		why = "a trace has service times of its own: no --service";
	else if (load->trace != NULL && profile)
		why = "a trace has a profile of its own: no --profile";
	else if (load->closed && load->trace != NULL)
		why = "a trace has connections of its own: no --clients";
	else if (load->closed && rate)
		why = "clients come when they have been served: no --rate";
	else if (load->closed && profile)
		why = "clients come when they have been served: no --profile";
	else if (!load->closed && options_find(o, SIMULATE_THINK, NULL) != NULL)
		why = "it is clients who think: --think goes with --clients";
	else if (balancer->hosts == 0 &&
	    options_find(o, SIMULATE_BALANCER, NULL) != NULL)
		why = "a balancer has hosts: --balancer goes with --hosts";
	if (why != NULL)
		errx(EX_USAGE, "simulate: %s", why);
}

/* --- the load ----------------------------------------------------------- */

double
simulate_peak(const struct profile *p)
{
	if (p->kind == PROFILE_BURST)
		return p->factor /
		    (1 +
			(p->factor - 1) * (double)p->burst / (double)p->period);
	return p->kind == PROFILE_DAY ? 1.8 : p->kind == PROFILE_RAMP ? 2 : 1;
}

/* Gives max_processes = auto the daemon's numbers, by --pss, or ends here. */
static void
options_autosize(struct options *o, struct conf *conf, struct autosize *fits)
{
	const struct autosize_box box = { .memory = o->s.memory };
	const struct given *pss = options_find(o, SIMULATE_PSS, NULL);
	struct autosize all = { .set = conf->max_auto,
		.bound = conf->max_processes };
	bool any = conf->max_auto;

	for (size_t i = 0; i < conf->apps_len; i++) {
		const struct conf_app *app = &conf->apps[i];
		const struct given *own =
		    options_find(o, SIMULATE_PSS, app->name);
		struct autosize *fit = &fits[i];

		fit->next = i + 1 < conf->apps_len ? fit + 1 : NULL;
		fit->set = app->max_auto;
		fit->least = MAX(app->pool.min_processes, 1);
		fit->bound = MIN(app->pool.max_processes, conf->max_processes);
		any = any || fit->set;
		if (own != NULL &&
		    (!conf_parse_size(options_value(own), &fit->size) ||
			fit->size == 0))
			options_misuse(own, own->value, WRITE_SIZE);
		if ((fit->set || conf->max_auto) &&
		    (fit->size == 0 || box.memory == 0))
			errx(EX_USAGE,
			    "simulate: max_processes = auto: give --memory, "
			    "and --pss for %s",
			    app->name);
		all.least += app->pool.min_processes;
	}
	all.least = MAX(all.least, 1);
	if (!any && (pss != NULL || box.memory != 0))
		errx(EX_USAGE,
		    "simulate: no max_processes is auto: no --memory, --pss");
	if (!any)
		return;
	autosize_step(&box, fits, &all);
	for (size_t i = 0; i < conf->apps_len; i++)
		if (fits[i].set)
			conf->apps[i].pool.max_processes = fits[i].goal;
	if (all.set)
		conf->max_processes = all.goal;
	o->s.fits = fits;
}

/* The load of one app: what the options say of it, else our defaults. */
static void
options_load_app(const struct options *o, const struct conf *conf,
    const struct conf_app *app, struct load_app *out)
{
	static const struct given usual = { SIMULATE_SERVICE, "--service",
		DEFAULT_SERVICE };
	const struct given *clients =
	    options_find(o, SIMULATE_CLIENTS, app->name);
	const struct given *think = options_find(o, SIMULATE_THINK, app->name);
	const struct given *rate = options_find(o, SIMULATE_RATE, app->name);
	const struct given *service =
	    options_find(o, SIMULATE_SERVICE, app->name);
	double share = DEFAULT_BUSY / simulate_peak(&o->s.load.profile),
	       places = 0;
	const char *valid, *value;
	tspan span;
	uint64_t n;

	*out = (struct load_app){
		.name = app->name,
		.typed_rate = rate == NULL ? NULL : options_value(rate),
		.typed_service =
		    service == NULL ? NULL : options_value(service),
		.typed_think = think == NULL ? NULL : options_value(think),
	};
	service = service != NULL ? service : &usual;
	valid = words_read_service(options_value(service), &out->service);
	if (valid != NULL)
		options_misuse(service, options_value(service), valid);
	if (rate != NULL) {
		valid = words_read_rate(out->typed_rate, &out->rate);
		if (valid != NULL)
			options_misuse(rate, out->typed_rate, valid);
	} else if (!o->s.load.closed &&
	    options_find(o, SIMULATE_RATE, NULL) == NULL) {
		/* At most a good part is busy: that is seen, none refused. */
		for (size_t i = 0; i < conf->apps_len; i++)
			places += conf->apps[i].pool.max_processes;
		if (places > conf->max_processes)
			share *= conf->max_processes / places;
		out->rate = share * MAX(o->s.balancer.hosts, 1) *
		    app->pool.max_processes * app->pool.concurrency * 1e9 /
		    (double)load_service_mean(&out->service);
	}
	if (!app->pool.sessions)
		out->rate = 0;
	if (clients == NULL || !app->pool.sessions)
		return;
	value = options_value(clients);
	if (!number_parse(value, strlen(value), &n) || n > CLIENTS_MAX)
		options_misuse(
		    clients, value, "write a number from 0 to 1000000");
	out->clients = (uint32_t)n;
	if (think == NULL ||
	    (conf_parse_span(out->typed_think, &span) && span == 0))
		return;
	valid = words_read_service(out->typed_think, &out->think);
	if (valid != NULL)
		options_misuse(think, out->typed_think, valid);
}

/* The load of all apps, as many as in conf. A mistake ends the program. */
static void
options_load(struct options *o, const struct conf *conf, struct load_app *apps)
{
	struct load_spec *load = &o->s.load;
	const struct profile *p = &load->profile;

	/* Names must be of apps whose connections the pool hands out. */
	for (const struct given *g = o->given; g->name != NULL; g++) {
		size_t n = (size_t)(options_value(g) - g->value);
		const struct conf_app *app;
		char *name;

		if (n == 0)
			continue;
		name = strndup(g->value, n - 1);
		if (name == NULL)
			err(EX_OSERR, "simulate");
		app = conf_find_app(conf, name);
		free(name);
		if (app == NULL || !app->pool.sessions)
			options_misuse(g, g->value,
			    app == NULL ? "there is no such app"
					: "no connections are handed to it "
					  "(handoff)");
	}
	load->apps = apps;
	load->apps_len = conf->apps_len;
	if (load->length == 0 && load->trace == NULL)
		load->length = p->kind == PROFILE_BURST
		    ? DEFAULT_BURSTS * p->period
		    : p->kind != PROFILE_DAY ? DEFAULT_LENGTH
		    : p->period != 0         ? p->period
					     : TSPAN_SECONDS(86400);
	for (size_t i = 0; i < conf->apps_len; i++)
		options_load_app(o, conf, &conf->apps[i], &apps[i]);
}

/* Plays the load to the core; the program ends where engine_run() fails. */
static void
simulate_play(
    const struct conf *conf, const struct simulation *s, struct result *out)
{
	if (!engine_run(&s->load, s->start_time,
		driver_new(&s->balancer, conf, s->load.seed), out))
		exit(EX_DATAERR);
}

/* --- the verdicts ------------------------------------------------------- */

static bool
verdict_fits(const struct result_app *r)
{
	return result_refusals(r) == 0 && r->unfinished == 0 &&
	    histogram_share(&r->wait, 0.99) <= VERDICT_WAIT;
}

/* Without trying other numbers. */
static void
verdict_judge(const struct conf *conf, const struct simulation *s,
    const struct result *r, size_t app, struct verdict *out)
{
	const struct load_app *l = &s->load.apps[app];
	const struct result_app *a = &r->apps[app];
	double busy = r->length > 0 ? a->work / (double)r->length : 0;
	unsigned max = conf->apps[app].pool.max_processes;
	double service, think;

	/* Clients who wait bring less than they would if nobody waited. */
	if (l->clients > 0) {
		service = (double)load_service_mean(&l->service);
		think = (double)load_service_mean(&l->think);
		busy = l->clients * service / (service + think);
	}
	*out = (struct verdict){
		.needed = busy / conf->apps[app].pool.concurrency /
		    MAX(s->balancer.hosts, 1),
		.allowed = MIN(max, conf->max_processes),
	};
	if (a->arrived == 0)
		out->kind = VERDICT_IDLE;
	else if (verdict_fits(a))
		out->kind = VERDICT_FITS;
	else if (out->needed >= out->allowed)
		out->kind = VERDICT_OVERLOADED;
	else
		out->kind = VERDICT_SHORT;
}

struct search {
	const struct simulation *simulation;
	struct conf *conf; /* as before when a trial is over */
	size_t app;
	uint32_t allowed; /* too few */
	bool ready; /* all processes are there from the start */
};

/* Processes over all apps, so that the others keep theirs. */
static uint32_t
search_ceiling(const struct search *s, uint32_t n)
{
	const struct conf *conf = s->conf;
	uint32_t most = n, least = s->ready ? n : 0;
	uint32_t more = conf->max_processes + n - s->allowed;

	for (size_t i = 0; i < conf->apps_len; i++) {
		if (i == s->app)
			continue;
		most += conf->apps[i].pool.max_processes;
		least += conf->apps[i].pool.min_processes;
	}
	return MAX(MAX(MIN(most, more), least), conf->max_processes);
}

static bool
search_try(const struct search *s, uint32_t n)
{
	struct conf *conf = s->conf;
	struct app_options *app = &conf->apps[s->app].pool, before = *app;
	unsigned ceiling = conf->max_processes;
	struct result r;
	bool fits;

	conf->max_processes = search_ceiling(s, n);
	app->max_processes = MAX(app->max_processes, n);
	if (s->ready)
		app->min_processes = n;
	simulate_play(conf, s->simulation, &r);
	conf->max_processes = ceiling;
	*app = before;
	fits = verdict_fits(&r.apps[s->app]);
	result_fini(&r);
	return fits;
}

/* The smallest number over `low` that suffices; 0: none of those tried does. */
static uint32_t
search_smallest(const struct search *s, uint32_t low, uint32_t high)
{
	bool good = high > low && search_try(s, high);

	for (unsigned i = 1; i < DOUBLINGS && !good && high > low; i++) {
		low = high;
		high = MIN(2 * high, CONF_PROCESSES_MAX);
		good = high > low && search_try(s, high);
	}
	while (good && high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		*(search_try(s, middle) ? &high : &low) = middle;
	}
	return good ? high : 0;
}

/*
 * A verdict on each app. Where the processes do not suffice, the smallest
 * max_processes that would, by playing the load again; and if none does, with
 * so many min_processes, too. Also sets what the configuration says of each.
 */
static void
simulate_judge(struct conf *conf, const struct simulation *of, struct result *r,
    struct verdict *out)
{
	/* Standard input cannot be played again. */
	bool once = of->load.trace != NULL && strcmp(of->load.trace, "-") == 0;
	const uint32_t hosts = MAX(of->balancer.hosts, 1);
	uint32_t sum = 0;

	for (size_t app = 0; app < conf->apps_len; app++) {
		struct verdict *v = &out[app];
		struct search s;
		uint32_t high, n;

		verdict_judge(conf, of, r, app, v);
		r->apps[app].max_processes = v->allowed * hosts;
		r->apps[app].target_wait = conf->apps[app].pool.target_wait;
		sum += v->allowed;
		if (v->kind <= VERDICT_FITS || once)
			continue;
		s = (struct search){ of, conf, app, v->allowed, false };
		high = (uint32_t)fmin(
		    fmax(ceil(v->needed), v->allowed) + 1, CONF_PROCESSES_MAX);
		v->tried = true;
		n = search_smallest(&s, v->allowed, high);
		if (n == 0) {
			s.ready = true;
			n = search_smallest(&s, 0, high);
			v->min_processes = n;
		}
		if (n == 0)
			continue;
		if (n > conf->apps[app].pool.max_processes)
			v->max_processes = n;
		v->ceiling = search_ceiling(&s, n);
		if (v->ceiling == conf->max_processes)
			v->ceiling = 0;
	}
	r->total.max_processes = MIN(sum, conf->max_processes) * hosts;
	if (r->apps_len == 1)
		r->total.target_wait = r->apps[0].target_wait;
}

/* --- the command -------------------------------------------------------- */

/*
 * A picture of all apps, and if there are several, one of each beside it:
 * "day-web.svg" of the app "web" beside "day.svg".
 */
static void
simulate_draw(
    const char *file, const struct simulation *s, const struct result *r)
{
	const char *dot = strrchr(file, '.');
	size_t len = dot == NULL || strchr(dot, '/') != NULL
	    ? strlen(file)
	    : (size_t)(dot - file);
	size_t pictures = r->apps_len > 1 ? 1 + r->apps_len : 1;

	for (size_t i = 0; i < pictures; i++) {
		size_t app = i == 0 ? r->apps_len : i - 1;
		char *name;
		FILE *out;

		if (asprintf(&name, "%.*s%s%s%s", (int)len, file,
			i == 0 ? "" : "-", i == 0 ? "" : r->apps[app].name,
			file + len) == -1)
			err(EX_OSERR, "simulate");
		out = fopen(name, "we");
		if (out == NULL || picture_put(s, r, app, out) == -1 ||
		    fclose(out) != 0)
			err(EX_CANTCREAT, "simulate: %s", name);
		free(name);
	}
}

int
simulate_run(const char *file, bool json, const struct given *options)
{
	struct conf_report report;
	struct verdict *verdicts;
	struct autosize *fits;
	struct load_app *apps;
	const struct given *svg;
	struct options o;
	struct simulation *s = &o.s;
	struct conf *conf;
	struct result r;

	options_parse(&o, options);
	conf = conf_load(file, CONF_INSIDE, NULL, &report);
	for (size_t i = 0; i < report.mistakes_len; i++)
		(void)fprintf(stderr, "%s\n", report.mistakes[i]);
	conf_report_fini(&report);
	if (conf != NULL && conf->apps_len == 0)
		(void)fprintf(
		    stderr, "%s: there is no app in it to simulate\n", file);
	if (conf == NULL || conf->apps_len == 0)
		exit(EX_CONFIG);
	s->config = conf->file;
	apps = result_alloc(conf->apps_len, sizeof(*apps));
	fits = result_alloc(conf->apps_len, sizeof(*fits));
	options_autosize(&o, conf, fits);
	options_load(&o, conf, apps);
	s->verdicts = verdicts =
	    result_alloc(conf->apps_len, sizeof(*verdicts));
	simulate_play(conf, s, &r);
	simulate_judge(conf, s, &r, verdicts);
	if (json)
		view_json(s, &r, stdout);
	else
		view_text(s, &r, stdout);
	svg = options_find(&o, SIMULATE_SVG, NULL);
	if (svg != NULL)
		simulate_draw(svg->value, s, &r);
	result_fini(&r);
	free(verdicts);
	free(fits);
	free(apps);
	conf_free(conf);
	/* The reason of an earlier failed write is not known any more. */
	errno = EIO;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return EX_OK;
	warn("standard output");
	return EX_IOERR;
}
