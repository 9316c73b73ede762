/* The panels of a picture: what there was over time, with its axes. */

#include <math.h>
#include <stdlib.h>

#include "sim/view_private.h"

/* In the picture; its height is view_svg.c's to know. */
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
		    words_count((uint64_t)(n + 0.5)).text);
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
		    words_span(at).text);
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

int
view_panels(const struct result *r, FILE *out)
{
	const struct series *series = &r->total.series;
	struct picture *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return -1;
	p->out = out;
	p->length = r->length > 0 ? r->length : 1;
	p->n = series->used < COLUMNS_MAX ? series->used : COLUMNS_MAX;
	view_columns(series, p->length, p->columns, p->n);
	for (size_t i = 0; i < sizeof(panels) / sizeof(panels[0]); i++)
		put_panel(p, &panels[i]);
	free(p);
	return 0;
}
