/* A simulation as a picture: panels of processes, waits and load over time. */

#include <sys/param.h>

#include <math.h>

#include "sim/simulate.h"
#include "sys/text.h"

#define WIDTH 960
#define HEIGHT 790

/* The edges of the panels. */
#define LEFT 70
#define RIGHT 940

#define TIME_STEPS_MAX 10

static const char style[] = "text { font: 12px sans-serif; fill: #333 }\n"
			    ".title { font-size: 16px; font-weight: bold }\n"
			    ".name { font-weight: bold }\n"
			    ".count { text-anchor: end }\n"
			    ".time { text-anchor: middle }\n"
			    ".grid { stroke: #ddd }\n"
			    ".axis { stroke: #333 }\n"
			    "path { stroke-width: 1 }\n"
			    "rect, path { fill: none }\n"
			    ".idle { fill: #c6dbef }\n"
			    ".busy { fill: #3182bd }\n"
			    ".most { stroke: #08519c }\n"
			    ".limit { stroke: #cb181d; "
			    "stroke-dasharray: 6 4 }\n"
			    ".wait { fill: #fcae91 }\n"
			    ".waiting { fill: #fdae6b }\n"
			    ".peak { stroke: #d94801 }\n"
			    ".load { fill: #a1d99b }\n";

#define LINE(kind_, field_) \
	FIGURE_##kind_, offsetof(struct series_bucket, field_)

struct panel {
	const char *title;
	double top, bottom; /* of its axes */
	unsigned steps; /* at most, on its axis */
	bool times; /* its axis is in nanoseconds, not in numbers */
	struct line {
		const char *legend; /* NULL: the panel has no more */
		const char *class;
		enum {
			FIGURE_MEAN, /* double, over the time of a bucket */
			FIGURE_RATE, /* uint64_t, per second */
			FIGURE_MOST, /* uint32_t */
			FIGURE_SPAN,
		} kind;
		size_t at; /* in struct series_bucket */
		bool area;
	} lines[4];
};

/* 1, 2 or 5 times a power of ten, so that there are at most so many. */
static double
axis_step(double top, unsigned most)
{
	double power = 1;

	while (power * 10 * most < top)
		power *= 10;
	if (power * most >= top)
		return power;
	if (power * 2 * most >= top)
		return power * 2;
	return power * 5 * most >= top ? power * 5 : power * 10;
}

/* --- panels ------------------------------------------------------------- */

/* A figure of the bucket of this number, whose last one ends with the load. */
static double
panel_figure(
    const struct line *l, const struct series *s, uint32_t i, tspan length)
{
	const void *p = (const char *)&s->buckets[i] + l->at;
	double time = (double)MIN(length - s->width * (tspan)i, s->width);

	if (l->kind == FIGURE_MEAN)
		return *(const double *)p / time;
	if (l->kind == FIGURE_RATE)
		return (double)*(const uint64_t *)p / time * 1e9;
	if (l->kind == FIGURE_MOST)
		return *(const uint32_t *)p;
	return (double)*(const tspan *)p;
}

static double
x_of(double time, tspan length)
{
	return LEFT + (RIGHT - LEFT) * time / (double)length;
}

static double
y_of(const struct panel *p, double n, double top)
{
	return p->bottom - (p->bottom - p->top) * n / top;
}

/* The line goes in steps, for a bucket has the mean of its time. */
static void
panel_line(const struct panel *p, const struct line *line,
    const struct series *s, tspan length, double top, FILE *out)
{
	double last = -1;

	(void)fprintf(out, "<path class=\"%s\" d=\"M%d,%.1f", line->class, LEFT,
	    p->bottom);
	for (uint32_t i = 0; i < s->used && s->width * (tspan)i < length; i++) {
		double y = y_of(p, panel_figure(line, s, i, length), top);

		/* A value that goes on as it was needs no point. */
		if (i > 0 && y - last < 0.05 && last - y < 0.05)
			continue;
		if (i > 0)
			(void)fprintf(
			    out, "H%.1f", x_of((double)s->width * i, length));
		(void)fprintf(out, "V%.1f", y);
		last = y;
	}
	(void)fprintf(out, "H%d", RIGHT);
	if (line->area)
		(void)fprintf(out, "V%.1fZ", p->bottom);
	(void)fputs("\"/>\n", out);
}

static void
panel_axes(
    const struct panel *p, tspan length, double step, unsigned steps, FILE *out)
{
	static const int clock[] = { 1, 2, 5, 10, 15, 30, 60, 120, 300, 600,
		900, 1800, 3600, 7200, 10800, 21600, 43200 };
	const size_t most = sizeof(clock) / sizeof(clock[0]);
	const tspan day = TSPAN_SECONDS(86400), second = TSPAN_SECONDS(1);
	tspan time_step;
	double days;
	size_t k = 0;

	/* Steps of clocks; under some seconds, and over some days, by tens. */
	while (k < most && second * clock[k] * TIME_STEPS_MAX < length)
		k++;
	days = axis_step((double)length / (double)day, TIME_STEPS_MAX);
	if (length < second * TIME_STEPS_MAX)
		time_step = (tspan)axis_step((double)length, TIME_STEPS_MAX);
	else if (k < most)
		time_step = second * clock[k];
	else
		time_step = days > 1e5 ? length : (tspan)days * day;

	for (unsigned i = 0; i <= steps; i++) {
		double n = step * i, y = y_of(p, n, step * steps);

		(void)fprintf(out,
		    "<path class=\"grid\" d=\"M%d,%.1fH%d\"/>\n"
		    "<text class=\"count\" x=\"%d\" y=\"%.1f\">%s</text>\n",
		    LEFT, y, RIGHT, LEFT - 8, y + 4,
		    p->times ? words_span((tspan)n).text
			     : words_count((uint64_t)(n + 0.5)).text);
	}
	for (tspan at = 0; at <= length; at += time_step) {
		double x = x_of((double)at, length);

		(void)fprintf(out,
		    "<path class=\"grid\" d=\"M%.1f,%.1fV%.1f\"/>\n"
		    "<text class=\"time\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
		    x, p->top, p->bottom, x, p->bottom + 17,
		    words_span(at).text);
	}
	(void)fprintf(out, "<path class=\"axis\" d=\"M%d,%.1fV%.1fH%d\"/>\n",
	    LEFT, p->top, p->bottom, RIGHT);
}

/* The line of max_processes stands where the axis reaches so far. */
static void
panel_legend(const struct panel *p, unsigned limit, double top, FILE *out)
{
	double y = p->top - 10;
	int x = LEFT;

	(void)fprintf(out,
	    "<text class=\"name\" x=\"%d\" y=\"%.1f\">%s</text>\n", x, y,
	    p->title);
	for (const struct line *l = p->lines; l->legend != NULL; l++) {
		x += 90;
		if (l->area)
			(void)fprintf(out,
			    "<rect class=\"%s\" x=\"%d\" y=\"%.1f\" "
			    "width=\"14\" height=\"10\"/>\n",
			    l->class, x, y - 9);
		else
			(void)fprintf(out,
			    "<path class=\"%s\" d=\"M%d,%.1fh14\"/>\n",
			    l->class, x, y - 4);
		(void)fprintf(out, "<text x=\"%d\" y=\"%.1f\">%s</text>\n",
		    x + 20, y, l->legend);
	}
	if (limit == 0)
		return;
	x += 90;
	if (limit <= top)
		(void)fprintf(out,
		    "<path class=\"limit\" d=\"M%d,%.1fH%d\"/>\n", LEFT,
		    y_of(p, limit, top), RIGHT);
	(void)fprintf(out,
	    "<path class=\"limit\" d=\"M%d,%.1fh14\"/>\n"
	    "<text x=\"%d\" y=\"%.1f\">max_processes = %u</text>\n",
	    x, y - 4, x + 20, y, limit);
}

/* limit: of processes; 0: there is none, or it is not known. */
static void
panel_put(const struct panel *p, const struct series *s, tspan length,
    unsigned limit, FILE *out)
{
	double peak = p->times ? 1e6 : 1, step;
	unsigned steps;

	for (const struct line *l = p->lines; l->legend != NULL; l++)
		for (uint32_t i = 0;
		     i < s->used && s->width * (tspan)i < length; i++)
			peak = fmax(peak, panel_figure(l, s, i, length));
	/* A limit that is far away would leave no room for the processes. */
	if (limit > peak && limit <= 2 * peak)
		peak = limit;
	step = axis_step(peak, p->steps);
	/* A mean may come out a little over what there ever was. */
	steps = (unsigned)ceil(peak / step - 1e-6);
	panel_axes(p, length, step, steps, out);
	for (const struct line *l = p->lines; l->legend != NULL; l++)
		panel_line(p, l, s, length, step * steps, out);
	panel_legend(p, limit, step * steps, out);
}

/* --- titles ------------------------------------------------------------- */

/* Names and paths may be anything, and XML is particular. */
static void
title_put(const char *before, const char *s, FILE *out)
{
	struct text t;

	(void)fputs(before, out);
	text_init(&t, 65536);
	text_escaped(&t, s, strlen(s));
	for (size_t i = 0; i < t.len; i++)
		if (t.data[i] == '&')
			(void)fputs("&amp;", out);
		else if (t.data[i] == '<')
			(void)fputs("&lt;", out);
		else if (t.data[i] == '>')
			(void)fputs("&gt;", out);
		else
			(void)fputc(t.data[i], out);
	text_fini(&t);
}

/* The options, as they were typed or what stands for them; app NULL: of all. */
static void
title_load(const struct load_spec *load, const struct load_app *app, FILE *out)
{
	(void)fprintf(out, "<text class=\"title\" x=\"%d\" y=\"28\">", LEFT);
	if (app == NULL)
		(void)fprintf(out, "%zu apps", load->apps_len);
	else
		title_put("", app->name, out);
	(void)fputc(':', out);
	if (app != NULL && load->trace == NULL) {
		if (load->closed)
			title_put(
			    " --clients ", words_count(app->clients).text, out);
		else
			title_put(" --rate ",
			    app->typed_rate != NULL
				? app->typed_rate
				: words_number(app->rate).text,
			    out);
		if (app->typed_think != NULL)
			title_put(" --think ", app->typed_think, out);
		title_put(" --service ",
		    app->typed_service != NULL
			? app->typed_service
			: words_service(&app->service).text,
		    out);
	}
	if (load->trace != NULL)
		title_put(" --trace ", load_trace_name(load->trace), out);
	else if (!load->closed)
		title_put(
		    " --profile ", words_profile(&load->profile).text, out);
	(void)fputs("</text>\n", out);
}

int
picture_put(
    const struct simulation *s, const struct result *r, size_t app, FILE *out)
{
	static const struct panel panels[] = {
		{ "Processes", 100, 320, 10, false,
		    { { "idle", "idle", LINE(MEAN, processes), true },
			{ "busy", "busy", LINE(MEAN, busy), true },
			{ "most", "most", LINE(MOST, most_processes),
			    false } } },
		{ "Waits", 375, 475, 5, true,
		    { { "the longest", "wait", LINE(SPAN, longest_wait),
			true } } },
		{ "Waiting", 530, 630, 5, false,
		    { { "waiting", "waiting", LINE(MEAN, waiting), true },
			{ "most", "peak", LINE(MOST, most_waiting), false } } },
		{ "Load", 685, 755, 4, false,
		    { { "connections per second", "load",
			LINE(RATE, counts[SERIES_ARRIVED]), true } } },
	};
	const struct load_spec *load = &s->load;
	const bool single = load->apps_len == 1, one = app < load->apps_len;
	const struct load_app *of = single ? load->apps
	    : one                          ? &load->apps[app]
					   : NULL;
	const struct result_app *a = one && !single ? &r->apps[app] : &r->total;

	(void)fprintf(out,
	    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
	    "height=\"%d\" viewBox=\"0 0 %d %d\">\n"
	    "<title>apppoolctl simulate</title>\n"
	    "<style>\n%s</style>\n"
	    "<rect width=\"%d\" height=\"%d\" style=\"fill: #fff\"/>\n",
	    WIDTH, HEIGHT, WIDTH, HEIGHT, style, WIDTH, HEIGHT);
	title_load(load, of, out);
	(void)fprintf(out,
	    "<text x=\"%d\" y=\"50\">%s connections, %s refused; "
	    "waits: p50 %s, p99 %s, p99.9 %s, max %s</text>\n",
	    LEFT, words_count(a->arrived).text,
	    words_count(result_refusals(a)).text, words_wait(a, 0.5).text,
	    words_wait(a, 0.99).text, words_wait(a, 0.999).text,
	    words_wait(a, 1).text);
	(void)fprintf(out,
	    "<text x=\"%d\" y=\"68\">%.2f processes on average, %u at most; "
	    "%.2f busy; %s spawned</text>\n",
	    LEFT, a->processes, a->most_processes, a->busy,
	    words_count(a->spawned).text);
	for (size_t i = 0; i < sizeof(panels) / sizeof(panels[0]); i++)
		panel_put(&panels[i], &a->series, r->length > 0 ? r->length : 1,
		    i == 0 ? a->max_processes : 0, out);
	(void)fputs("</svg>\n", out);
	return fflush(out) != 0 || ferror(out) ? -1 : 0;
}
