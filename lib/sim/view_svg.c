/*
 * A simulation as pictures, of each app and of all: panels over the same time,
 * for processes, waits, what waits, and the load.  A picture needs nothing but
 * itself.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/chart.h"
#include "sim/trace.h"
#include "sim/view.h"
#include "sim/words.h"
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

struct curve {
	const char *legend;
	const char *class;
	enum chart_value value;
	bool area;
};

static const struct panel {
	const char *title;
	double top, bottom; /* of its axes */
	unsigned steps; /* at most, on its axis */
	bool times; /* its axis is in nanoseconds, not in numbers */
	struct curve curves[3];
	size_t curves_len;
} panels[] = {
	{ "Processes", 100, 320, 10, false,
	    { { "idle", "idle", CHART_PROCESSES, true },
		{ "busy", "busy", CHART_BUSY, true },
		{ "most", "most", CHART_MOST_PROCESSES, false } },
	    3 },
	{ "Waits", 375, 475, 5, true,
	    { { "the longest", "wait", CHART_LONGEST_WAIT, true } }, 1 },
	{ "Waiting", 530, 630, 5, false,
	    { { "waiting", "waiting", CHART_WAITING, true },
		{ "most", "peak", CHART_MOST_WAITING, false } },
	    2 },
	{ "Load", 685, 755, 4, false,
	    { { "connections per second", "load", CHART_ARRIVED, true } }, 1 },
};

/* --- panels ------------------------------------------------------------- */

static double
x_of(const struct chart *c, double time)
{
	return LEFT + (RIGHT - LEFT) * time / (double)c->length;
}

static double
y_of(const struct panel *p, double n, double top)
{
	return p->bottom - (p->bottom - p->top) * n / top;
}

/* The curve goes in steps, for a column is the mean of its time. */
static void
put_curve(const struct chart *c, const struct panel *p,
    const struct curve *curve, double top, FILE *out)
{
	double width = (double)c->length / c->n, last = -1;

	(void)fprintf(out, "<path class=\"%s\" d=\"M%d,%.1f", curve->class,
	    LEFT, p->bottom);
	for (unsigned i = 0; i < c->n; i++) {
		double y = y_of(p, c->columns[i][curve->value], top);

		/* A value that goes on as it was needs no point. */
		if (i > 0 && y - last < 0.05 && last - y < 0.05)
			continue;
		if (i > 0)
			(void)fprintf(out, "H%.1f", x_of(c, width * i));
		(void)fprintf(out, "V%.1f", y);
		last = y;
	}
	(void)fprintf(out, "H%d", RIGHT);
	if (curve->area)
		(void)fprintf(out, "V%.1fZ", p->bottom);
	(void)fputs("\"/>\n", out);
}

static void
put_count_axis(const struct panel *p, struct chart_axis axis, FILE *out)
{
	for (unsigned i = 0; i <= axis.steps; i++) {
		double n = axis.step * i;
		double y = y_of(p, n, axis.step * axis.steps);

		(void)fprintf(out,
		    "<path class=\"grid\" d=\"M%d,%.1fH%d\"/>\n"
		    "<text class=\"count\" x=\"%d\" y=\"%.1f\">%s</text>\n",
		    LEFT, y, RIGHT, LEFT - 8, y + 4,
		    p->times ? words_span((tspan)n).text
			     : words_count((uint64_t)(n + 0.5)).text);
	}
}

static void
put_time_axis(const struct chart *c, const struct panel *p, FILE *out)
{
	tspan step = chart_time_step(c->length, TIME_STEPS_MAX);

	for (tspan at = 0; at <= c->length; at += step) {
		double x = x_of(c, (double)at);

		(void)fprintf(out,
		    "<path class=\"grid\" d=\"M%.1f,%.1fV%.1f\"/>\n"
		    "<text class=\"time\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
		    x, p->top, p->bottom, x, p->bottom + 17,
		    words_span(at).text);
	}
}

static void
put_legend(const struct panel *p, FILE *out)
{
	double y = p->top - 10;
	int x = LEFT;

	(void)fprintf(out,
	    "<text class=\"name\" x=\"%d\" y=\"%.1f\">%s</text>\n", x, y,
	    p->title);
	for (size_t i = 0; i < p->curves_len; i++) {
		const struct curve *c = &p->curves[i];

		x += 90;
		if (c->area)
			(void)fprintf(out,
			    "<rect class=\"%s\" x=\"%d\" y=\"%.1f\" "
			    "width=\"14\" height=\"10\"/>\n",
			    c->class, x, y - 9);
		else
			(void)fprintf(out,
			    "<path class=\"%s\" d=\"M%d,%.1fh14\"/>\n",
			    c->class, x, y - 4);
		(void)fprintf(out, "<text x=\"%d\" y=\"%.1f\">%s</text>\n",
		    x + 20, y, c->legend);
	}
}

/* The line of max_processes, where the axis reaches so far; and its legend. */
static void
put_limit(const struct panel *p, unsigned limit, double top, FILE *out)
{
	double y = p->top - 10;
	int x = LEFT + 90 * (int)(p->curves_len + 1);

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
put_panel(
    const struct chart *c, const struct panel *p, unsigned limit, FILE *out)
{
	struct chart_axis axis;
	double peak = p->times ? 1e6 : 0;

	for (size_t i = 0; i < p->curves_len; i++) {
		double n = chart_peak(c, p->curves[i].value);

		peak = n > peak ? n : peak;
	}
	/* A limit that is far away would leave no room for the processes. */
	if (limit > peak && limit <= 2 * peak)
		peak = limit;
	axis = chart_axis(peak, p->steps);
	put_count_axis(p, axis, out);
	put_time_axis(c, p, out);
	for (size_t i = 0; i < p->curves_len; i++)
		put_curve(c, p, &p->curves[i], axis.step * axis.steps, out);
	(void)fprintf(out, "<path class=\"axis\" d=\"M%d,%.1fV%.1fH%d\"/>\n",
	    LEFT, p->top, p->bottom, RIGHT);
	put_legend(p, out);
	if (limit > 0)
		put_limit(p, limit, axis.step * axis.steps, out);
}

/* --- text --------------------------------------------------------------- */

/* Names and paths may be anything, and XML is particular. */
static void
put_text(FILE *out, const char *s)
{
	struct text t;

	text_init(&t, 65536);
	text_escaped(&t, s, strlen(s));
	for (size_t i = 0; i < t.len; i++) {
		if (t.data[i] == '&')
			(void)fputs("&amp;", out);
		else if (t.data[i] == '<')
			(void)fputs("&lt;", out);
		else if (t.data[i] == '>')
			(void)fputs("&gt;", out);
		else
			(void)fputc(t.data[i], out);
	}
	text_fini(&t);
}

/* An option as it was typed, or what stands for it. */
static void
put_value(
    const char *option, const char *typed, const char *otherwise, FILE *out)
{
	(void)fprintf(out, " --%s ", option);
	put_text(out, typed != NULL ? typed : otherwise);
}

static void
put_app_title(
    const struct load_spec *load, const struct load_app *app, FILE *out)
{
	put_text(out, app->name);
	(void)fputc(':', out);
	if (load->trace != NULL)
		return;
	if (load->closed)
		put_value("clients", NULL, words_count(app->clients).text, out);
	else
		put_value(
		    "rate", app->typed_rate, words_number(app->rate).text, out);
	if (app->typed_think != NULL)
		put_value("think", app->typed_think, NULL, out);
	put_value("service", app->typed_service,
	    words_service(&app->service).text, out);
}

/* app: NULL: all of them. */
static void
put_title(const struct load_spec *load, const struct load_app *app, FILE *out)
{
	(void)fprintf(out, "<text class=\"title\" x=\"%d\" y=\"28\">", LEFT);
	if (app == NULL)
		(void)fprintf(out, "%zu apps:", load->apps_len);
	else
		put_app_title(load, app, out);
	if (load->trace != NULL)
		put_value("trace", NULL, trace_name(load->trace), out);
	else if (!load->closed)
		put_value(
		    "profile", NULL, words_profile(&load->profile).text, out);
	(void)fputs("</text>\n", out);
}

static void
put_summary(const struct result_app *r, FILE *out)
{
	(void)fprintf(out,
	    "<text x=\"%d\" y=\"50\">%s connections, %s refused; "
	    "waits: p50 %s, p99 %s, p99.9 %s, max %s</text>\n",
	    LEFT, words_count(r->arrived).text,
	    words_count(result_refusals(r)).text,
	    words_span(histogram_share(&r->wait, 0.5)).text,
	    words_span(histogram_share(&r->wait, 0.99)).text,
	    words_span(histogram_share(&r->wait, 0.999)).text,
	    words_span(histogram_share(&r->wait, 1)).text);
	(void)fprintf(out,
	    "<text x=\"%d\" y=\"68\">%.2f processes on average, %u at most; "
	    "%.2f busy; %s spawned</text>\n",
	    LEFT, r->processes, r->most_processes, r->busy,
	    words_count(r->spawned).text);
}

/* --- the whole ---------------------------------------------------------- */

/* An app, or NULL: all of them; and its figures. */
static int
put_picture(const struct simulation *s, const struct load_app *app,
    const struct result_app *r, tspan length, FILE *out)
{
	struct chart *c = chart_new(&r->series, length > 0 ? length : 1,
	    r->series.used < CHART_COLUMNS ? r->series.used : CHART_COLUMNS);

	if (c == NULL)
		return -1;
	(void)fprintf(out,
	    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
	    "height=\"%d\" viewBox=\"0 0 %d %d\">\n"
	    "<title>apppoolctl simulate</title>\n"
	    "<style>\n%s</style>\n"
	    "<rect width=\"%d\" height=\"%d\" style=\"fill: #fff\"/>\n",
	    WIDTH, HEIGHT, WIDTH, HEIGHT, style, WIDTH, HEIGHT);
	put_title(&s->load, app, out);
	put_summary(r, out);
	for (size_t i = 0; i < sizeof(panels) / sizeof(panels[0]); i++)
		put_panel(c, &panels[i], i == 0 ? r->max_processes : 0, out);
	(void)fputs("</svg>\n", out);
	free(c);
	return 0;
}

int
view_svg_put(
    const struct simulation *s, const struct result *r, size_t app, FILE *out)
{
	const struct load_spec *load = &s->load;

	if (app < load->apps_len && load->apps_len > 1)
		return put_picture(
		    s, &load->apps[app], &r->apps[app], r->length, out);
	return put_picture(s, load->apps_len == 1 ? &load->apps[0] : NULL,
	    &r->total, r->length, out);
}

int
view_svg(const struct simulation *s, const struct result *r, size_t app,
    const char *file)
{
	FILE *out = fopen(file, "we");
	int error;

	if (out == NULL)
		return -1;
	if (view_svg_put(s, r, app, out) == -1 || fflush(out) != 0 ||
	    ferror(out)) {
		error = errno;
		(void)fclose(out);
		errno = error;
		return -1;
	}
	return fclose(out);
}
