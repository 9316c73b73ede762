/* The states of an app as tables; and what is told of it. */

#include <assert.h>

#include "core/app.h"

/* What happens in each state.  HOLE: cannot be. */
enum {
	HOLE = 255,
	FREE = APP_FREE,
	RUNNING = APP_RUNNING,
	CLOSING = APP_CLOSING,
	DRAINED = APP_DRAINED,
	STOPPING = APP_STOPPING,
	STUCK = APP_STUCK,
	OVER = APP_OVER
};

/* clang-format off */
static const unsigned char phases[APP_PHASES][APP_EVENTS] = {
/*	            ADDED    CLOSED    EMPTIED   SERVED    RETURNED ENDED     LEFT  L_STUCK UNSTUCK   FREED */
[APP_FREE] =     { RUNNING, HOLE,     HOLE,     HOLE,     HOLE,    HOLE,     HOLE, HOLE,  HOLE,     HOLE },
[APP_RUNNING] =  { HOLE,    CLOSING,  HOLE,     HOLE,     HOLE,    STOPPING, HOLE, HOLE,  HOLE,     HOLE },
[APP_CLOSING] =  { HOLE,    CLOSING,  DRAINED,  HOLE,     HOLE,    STOPPING, HOLE, HOLE,  HOLE,     HOLE },
[APP_DRAINED] =  { HOLE,    DRAINED,  DRAINED,  STOPPING, HOLE,    STOPPING, HOLE, HOLE,  HOLE,     HOLE },
[APP_STOPPING] = { HOLE,    STOPPING, STOPPING, HOLE,     DRAINED, STOPPING, OVER, STUCK, HOLE,     HOLE },
[APP_STUCK] =    { HOLE,    STUCK,    STUCK,    HOLE,     HOLE,    STUCK,    HOLE, HOLE,  STOPPING, HOLE },
[APP_OVER] =     { HOLE,    OVER,     OVER,     HOLE,     HOLE,    OVER,     HOLE, HOLE,  HOLE,     FREE },
};
/* clang-format on */

enum app_phase
app_phase_next(enum app_phase s, enum app_event e)
{
	unsigned next = phases[s][e];

	assert(next != HOLE);
	return (enum app_phase)next;
}

enum app_health
app_health_next(enum app_health s, enum app_verdict v)
{
	/* clang-format off */
	static const unsigned char table[HEALTH_STATES][VERDICTS] = {
	/*	                     READY          FAILED                  RECOVERED        RESTARTED */
	[HEALTH_STARTING] =        { HEALTH_READY,  HEALTH_FAILED_STARTING, HOLE,            HEALTH_STARTING },
	[HEALTH_READY] =           { HOLE,          HEALTH_FAILED,          HOLE,            HEALTH_STARTING },
	[HEALTH_FAILED_STARTING] = { HEALTH_FAILED, HOLE,                   HEALTH_STARTING, HEALTH_FAILED_STARTING },
	[HEALTH_FAILED] =          { HOLE,          HOLE,                   HEALTH_READY,    HEALTH_FAILED_STARTING },
	};
	/* clang-format on */

	assert(table[s][v] != HOLE);
	return (enum app_health)table[s][v];
}

enum app_accepting
app_accepting_next(enum app_accepting s, enum app_accept_event e)
{
	/* clang-format off */
	static const unsigned char table[ACCEPTING_STATES][ACCEPT_EVENTS] = {
	/*	                 PAUSED             CALLED              RESUMED */
	[ACCEPTING_OPEN] =     { ACCEPTING_PENDING, HOLE,               ACCEPTING_OPEN },
	[ACCEPTING_PENDING] =  { ACCEPTING_PENDING, ACCEPTING_RESUMING, ACCEPTING_OPEN },
	[ACCEPTING_RESUMING] = { ACCEPTING_PENDING, HOLE,               ACCEPTING_OPEN },
	};
	/* clang-format on */

	assert(table[s][e] != HOLE);
	return (enum app_accepting)table[s][e];
}

const char *
app_state_name(const struct app *a)
{
	if (a->phase != APP_RUNNING)
		return "stopping";
	if (app_has_failed(a))
		return "failed";
	return app_is_announced(a) || app_rolling(a) ? "running" : "starting";
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
