/* What is told of an app: the word for its state, and its load. */

#include "core/app.h"

const char *
app_state_name(const struct app *a)
{
	if (a->phase != APP_RUNNING)
		return "stopping";
	if (a->failed)
		return "failed";
	return a->announced || app_rolling(a) ? "running" : "starting";
}

double
app_work(const struct app *a, tstamp now)
{
	return load_work(
	    &a->load, a->options.gain, a->options.update_interval, now);
}

double
app_load(const struct app *a, tstamp now)
{
	uint32_t running = app_ready(a);

	return running == 0 ? 0 : 100 * app_work(a, now) / running;
}
