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

/* Runs the manager and undoes it. *out: result_fini() is the caller's. */
static inline bool
help_run_load(struct manager *m, const struct load_spec *spec,
    const struct engine_options *o, struct result *out)
{
	struct load_source *load = load_open(spec);
	int rc;

	if (load == NULL) {
		perror("load");
		exit(1);
	}
	result_init(out, spec->apps_len);
	rc = engine_run(o, load, m, out);
	load_close(load);
	m->ops->fini(m);
	return rc == 0;
}

/* The same with this trace, of the first so many of help_apps. */
static inline bool
help_run_trace(struct manager *m, const char *text, size_t apps_len,
    tspan length, const struct engine_options *o, struct result *out)
{
	struct load_spec spec = {
		.apps = help_apps, .apps_len = apps_len, .length = length
	};

	conf_write("trace.csv", text);
	spec.trace = in_folder("trace.csv");
	return help_run_load(m, &spec, o, out);
}

/* Every connection is counted once, whatever becomes of it. */
static inline void
help_check_balance(const struct result_app *r)
{
	CHECK_EQ(r->arrived,
	    r->completed + r->refused + r->timed_out + r->lost + r->unfinished);
}

#endif
