/* Words for the state of an app. */

#include "core/app.h"

const char *
app_state_name(const struct app *a)
{
	if (a->phase != APP_RUNNING)
		return "stopping";
	if (a->failed)
		return "failed";
	return a->greeted ? "running" : "starting";
}
