/*
 * A simulation as a picture: three panels over the same time, one for
 * processes, one for what waits, one for the load.  The picture needs nothing
 * but itself.
 */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/view.h"
#include "sim/view_private.h"
#include "sys/utf8.h"

#define WIDTH 960
#define HEIGHT 640
#define LEFT 70
#define RIGHT 940
#define COLUMNS_MAX 480

#define TIME_STEPS_MAX 10

/* What a panel shows of a column. */
typedef double column_value(const struct view_column *c);

struct curve_style {
	const char *legend;
	const char *class;
	column_value *value;
	bool area;
};

struct panel {
	const char *title;
	double top, bottom; /* of its axes */
	unsigned steps; /* at most, on its axis */
	const struct curve_style *curves;
	size_t curves_len;
};

struct picture {
	FILE *out;
	tspan length;
	size_t n;
	struct view_column columns[COLUMNS_MAX];
};

static double
processes_of(const struct view_column *c)
{
	return c->processes;
}

static double
most_of(const struct view_column *c)
{
	return c->most_processes;
}

static double
busy_of(const struct view_column *c)
{
	return c->busy;
}

static double
waiting_of(const struct view_column *c)
{
	return c->waiting;
}

static double
most_waiting_of(const struct view_column *c)
{
	return c->most_waiting;
}

static double
arrived_of(const struct view_column *c)
{
	return c->arrived;
}

static const struct curve_style process_curves[] = {
	{ "idle", "idle", processes_of, true },
	{ "busy", "busy", busy_of, true },
	{ "most", "most", most_of, false },
};

static const struct curve_style waiting_curves[] = {
	{ "waiting", "waiting", waiting_of, true },
	{ "most", "peak", most_waiting_of, false },
};

static const struct curve_style load_curves[] = {
	{ "connections per second", "load", arrived_of, true },
};

static const struct panel panels[] = {
	{ "Processes", 100, 320, 10, process_curves, 3 },
	{ "Waiting", 375, 475, 5, waiting_curves, 2 },
	{ "Load", 530, 600, 4, load_curves, 1 },
};

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
			    ".waiting { fill: #fdae6b }\n"
			    ".peak { stroke: #d94801 }\n"
			    ".load { fill: #a1d99b }\n";

/* --- text --------------------------------------------------------------- */

/* Names and paths may be anything, and XML is particular. */
static void
put_text(FILE *out, const char *s)
{
	size_t len = strlen(s);

	for (size_t at = 0, n; at < len; at += n) {
		unsigned char c = (unsigned char)s[at];

		n = utf8_length(s + at, len - at);
		if (c == '&')
			(void)fputs("&amp;", out);
		else if (c == '<')
			(void)fputs("&lt;", out);
		else if (c == '>')
			(void)fputs("&gt;", out);
		else if (n == 0 || c < ' ' || c == 0x7f)
			(void)fputc('?', out);
		else
			(void)fwrite(s + at, 1, n, out);
		if (n == 0)
			n = 1;
	}
}

static void
put_title(const struct simulation *s, FILE *out)
{
	const struct load_spec *spec = &s->load;

	(void)fprintf(out, "<text class=\"title\" x=\"%d\" y=\"28\">", LEFT);
	if (spec->trace != NULL) {
		put_text(out,
		    strcmp(spec->trace, "-") == 0 ? "standard input"
						  : spec->trace);
	} else if (spec->apps_len == 1) {
		put_text(out, spec->apps[0].name);
		(void)fprintf(out, ", %s/s, %s, %s",
		    view_number(spec->apps[0].rate).text,
		    view_service(&spec->apps[0].service).text,
		    view_profile(&spec->profile).text);
	} else {
		(void)fprintf(out, "%zu apps, %s", spec->apps_len,
		    view_profile(&spec->profile).text);
	}
	(void)fputs("</text>\n", out);
}

static void
put_summary(const struct result_app *r, FILE *out)
{
	(void)fprintf(out,
	    "<text x=\"%d\" y=\"50\">%s connections, %s refused; "
	    "waits: p50 %s, p99 %s, p99.9 %s, max %s</text>\n",
	    LEFT, view_count(r->arrived).text,
	    view_count(view_refusals(r)).text,
	    view_span(histogram_share(&r->wait, 0.5)).text,
	    view_span(histogram_share(&r->wait, 0.99)).text,
	    view_span(histogram_share(&r->wait, 0.999)).text,
	    view_span(histogram_share(&r->wait, 1)).text);
	(void)fprintf(out,
	    "<text x=\"%d\" y=\"68\">%.2f processes on average, %u at most; "
	    "%.2f busy; %s spawned</text>\n",
	    LEFT, r->processes, r->most_processes, r->busy,
	    view_count(r->spawned).text);
}

/* --- panels ------------------------------------------------------------- */

static double
x_of(const struct picture *p, double time)
{
	return LEFT + (RIGHT - LEFT) * time / (double)p->length;
}

static double
y_of(const struct panel *panel, double n, double top)
{
	return panel->bottom - (panel->bottom - panel->top) * n / top;
}

/* The upper end of the axis: the first step above all there is. */
static double
top_of(const struct picture *p, const struct panel *panel, double *step_out)
{
	double top = 1;

	for (size_t c = 0; c < panel->curves_len; c++) {
		for (size_t i = 0; i < p->n; i++) {
			double n = panel->curves[c].value(&p->columns[i]);

			if (n > top)
				top = n;
		}
	}
	*step_out = view_step(top, panel->steps);
	/* A mean may come out a little over what there ever was. */
	return *step_out * ceil(top / *step_out - 1e-6);
}

/* Steps, for each column is the mean of its time. */
static void
put_curve(const struct picture *p, const struct panel *panel,
    const struct curve_style *curve, double top)
{
	double width = (double)p->length / (double)p->n, last = -1;

	(void)fprintf(p->out, "<path class=\"%s\" d=\"M%d,%.1f", curve->class,
	    LEFT, panel->bottom);
	for (size_t i = 0; i < p->n; i++) {
		double y = y_of(panel, curve->value(&p->columns[i]), top);

		/* What goes on as it was needs no point. */
		if (i > 0 && y - last < 0.05 && last - y < 0.05)
			continue;
		if (i > 0)
			(void)fprintf(
			    p->out, "H%.1f", x_of(p, width * (double)i));
		(void)fprintf(p->out, "V%.1f", y);
		last = y;
	}
	(void)fprintf(p->out, "H%d", RIGHT);
	if (curve->area)
		(void)fprintf(p->out, "V%.1fZ", panel->bottom);
	(void)fputs("\"/>\n", p->out);
}

static void
put_count_axis(
    const struct picture *p, const struct panel *panel, double top, double step)
{
	unsigned steps = (unsigned)(top / step + 0.5);

	for (unsigned i = 0; i <= steps; i++) {
		double n = step * i, y = y_of(panel, n, top);

		(void)fprintf(p->out,
		    "<path class=\"grid\" d=\"M%d,%.1fH%d\"/>\n"
		    "<text class=\"count\" x=\"%d\" y=\"%.1f\">%s</text>\n",
		    LEFT, y, RIGHT, LEFT - 8, y + 4,
		    view_count((uint64_t)(n + 0.5)).text);
	}
}

static void
put_time_axis(const struct picture *p, const struct panel *panel, tspan step)
{
	for (tspan at = 0; at <= p->length; at += step) {
		double x = x_of(p, (double)at);

		(void)fprintf(p->out,
		    "<path class=\"grid\" d=\"M%.1f,%.1fV%.1f\"/>\n"
		    "<text class=\"time\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
		    x, panel->top, panel->bottom, x, panel->bottom + 17,
		    view_span(at).text);
	}
}

static void
put_legend(const struct picture *p, const struct panel *panel)
{
	double y = panel->top - 10;
	int x = LEFT + 90;

	(void)fprintf(p->out,
	    "<text class=\"name\" x=\"%d\" y=\"%.1f\">%s</text>\n", LEFT, y,
	    panel->title);
	for (size_t i = 0; i < panel->curves_len; i++) {
		const struct curve_style *c = &panel->curves[i];

		if (c->area)
			(void)fprintf(p->out,
			    "<rect class=\"%s\" x=\"%d\" y=\"%.1f\" "
			    "width=\"14\" height=\"10\"/>\n",
			    c->class, x, y - 9);
		else
			(void)fprintf(p->out,
			    "<path class=\"%s\" d=\"M%d,%.1fh14\"/>\n",
			    c->class, x, y - 4);
		(void)fprintf(p->out, "<text x=\"%d\" y=\"%.1f\">%s</text>\n",
		    x + 20, y, c->legend);
		x += 90;
	}
}

static void
put_panel(const struct picture *p, const struct panel *panel)
{
	double step, top = top_of(p, panel, &step);

	put_count_axis(p, panel, top, step);
	put_time_axis(p, panel, view_time_step(p->length, TIME_STEPS_MAX));
	for (size_t i = 0; i < panel->curves_len; i++)
		put_curve(p, panel, &panel->curves[i], top);
	(void)fprintf(p->out, "<path class=\"axis\" d=\"M%d,%.1fV%.1fH%d\"/>\n",
	    LEFT, panel->top, panel->bottom, RIGHT);
	put_legend(p, panel);
}

/* --- the whole ---------------------------------------------------------- */

int
view_picture(const struct simulation *s, const struct result *r, FILE *out)
{
	const struct series *series = &r->total.series;
	struct picture *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return -1;
	p->out = out;
	p->length = r->length > 0 ? r->length : 1;
	p->n = series->used < COLUMNS_MAX ? series->used : COLUMNS_MAX;
	view_columns(series, p->length, p->columns, p->n);
	(void)fprintf(out,
	    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
	    "height=\"%d\" viewBox=\"0 0 %d %d\">\n"
	    "<title>apppoolctl simulate</title>\n"
	    "<style>\n%s</style>\n"
	    "<rect width=\"%d\" height=\"%d\" style=\"fill: #fff\"/>\n",
	    WIDTH, HEIGHT, WIDTH, HEIGHT, style, WIDTH, HEIGHT);
	put_title(s, out);
	put_summary(&r->total, out);
	for (size_t i = 0; i < sizeof(panels) / sizeof(panels[0]); i++)
		put_panel(p, &panels[i]);
	(void)fputs("</svg>\n", out);
	free(p);
	return 0;
}

int
view_svg(const struct simulation *s, const struct result *r, const char *file)
{
	FILE *out = fopen(file, "we");
	int error;

	if (out == NULL)
		return -1;
	if (view_picture(s, r, out) == -1 || fflush(out) != 0 || ferror(out)) {
		error = errno;
		(void)fclose(out);
		errno = error;
		return -1;
	}
	return fclose(out);
}
