/* Medians of rounds, in columns. */

#include <assert.h>
#include <stdio.h>

#include "figures.h"

void
figures_init(struct figures *f)
{
	int i;

	for (i = 0; i < FIGURES; i++)
		samples_init(&f->of[i]);
}

void
figures_fini(struct figures *f)
{
	int i;

	for (i = 0; i < FIGURES; i++)
		samples_fini(&f->of[i]);
}

void
figures_clear(struct figures *f)
{
	int i;

	for (i = 0; i < FIGURES; i++)
		samples_clear(&f->of[i]);
}

static double
figures_last(const struct figures *f, enum figure figure)
{
	const struct samples *s = &f->of[figure];

	assert(s->count > 0);
	return s->at[s->count - 1];
}

void
figures_compare(
    struct figures *f, const struct figures *shared, const struct figures *pass)
{
	samples_add(&f->of[FIGURE_RATE_RATIO],
	    figures_last(f, FIGURE_RATE) / figures_last(shared, FIGURE_RATE));
	samples_add(&f->of[FIGURE_COST_RATIO],
	    figures_last(f, FIGURE_COST) / figures_last(pass, FIGURE_COST));
	/* The costs are inverted, so that the ratio is one of rates. */
	samples_add(&f->of[FIGURE_TOTAL_RATIO],
	    figures_last(shared, FIGURE_TOTAL) / figures_last(f, FIGURE_TOTAL));
}

void
figures_print_titles(void)
{
	printf(" %8s %7s %8s %6s %8s %7s %5s %8s %8s %8s\n", "conns/s",
	    "/shared", "us/conn", "/pass", "total", "/shared", "busy", "p50",
	    "p99", "p99.9");
}

void
figures_print(struct figures *f)
{
	printf(" %8.0f %7.3f %8.2f %6.2f %8.2f %7.3f %5.0f",
	    samples_median(&f->of[FIGURE_RATE]),
	    samples_median(&f->of[FIGURE_RATE_RATIO]),
	    samples_median(&f->of[FIGURE_COST]),
	    samples_median(&f->of[FIGURE_COST_RATIO]),
	    samples_median(&f->of[FIGURE_TOTAL]),
	    samples_median(&f->of[FIGURE_TOTAL_RATIO]),
	    samples_median(&f->of[FIGURE_BUSY]));
	printf(" %8.0f %8.0f %8.0f\n",
	    samples_quantile(&f->of[FIGURE_TIME], 0.5),
	    samples_quantile(&f->of[FIGURE_TIME], 0.99),
	    samples_quantile(&f->of[FIGURE_TIME], 0.999));
	(void)fflush(stdout);
}
