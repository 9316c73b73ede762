#ifndef TESTS_SIM_SIM_HELP_H
#define TESTS_SIM_SIM_HELP_H

/* Loads from the text of a trace, and runs of a manager under them. */

#include "sim/simulate.h"

#include "../unit/conf_help.h"

#define MS(n) TSPAN_MSECONDS(n)

static const struct load_app help_apps[] = {
	{ .name = "a" },
	{ .name = "b" },
	{ .name = "c" },
	{ .name = "d" },
};

/* The next arrival of a load without clients. */
static inline enum load_got
help_next(struct load_source *l, struct arrival *out)
{
	tstamp at;
	enum load_got got = load_look(l, &at);

	if (got == LOAD_ARRIVAL)
		*out = load_take(l);
	return got;
}

/* As engine_run() with this trace, of the first so many of help_apps. */
static inline bool
help_run_trace(struct manager *m, const char *text, size_t apps_len,
    tspan length, tspan start_time, struct result *out)
{
	struct load_spec spec = {
		.apps = help_apps, .apps_len = apps_len, .length = length
	};

	conf_write("trace.csv", text);
	spec.trace = in_folder("trace.csv");
	return engine_run(&spec, start_time, m, out);
}

/* Every connection is counted once, whatever becomes of it. */
static inline void
help_check_balance(const struct result_app *r)
{
	CHECK_EQ(r->arrived,
	    r->completed + r->refused + r->timed_out + r->lost + r->unfinished);
}

#endif
