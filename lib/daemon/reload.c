/*
 * Reload: everything that can fail is done first, and then nothing can. The
 * configuration is read in a lane. A first attempt to prepare the change only
 * finds out which files it needs, sockets and log, which are then opened in a
 * lane. When the change is made, what is left to do for files is awaited.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/counter.h"
#include "daemon/group.h"
#include "daemon/state.h"
#include "daemon/tell.h"
#include "sys/acceptor.h"
#include "sys/log.h"
#include "sys/manager.h"

/* The longest wait for what a change leaves to the lane. */
#define SETTLE_MAX TSPAN_SECONDS(1)

/* Attempts at most, where listeners come and go between them. */
#define ATTEMPTS 8

struct asker {
	TAILQ_ENTRY(asker) next;
	reload_done *done; /* NULL: the asker has left */
	void *arg;
};

TAILQ_HEAD(askers, asker);

struct reload {
	struct lane_job job;
	struct supervisor *sup;
	char *file; /* owned */
	struct conf *conf; /* what was read; NULL: mistakes, or in force */
	struct conf_report report;
	struct openings openings;
	unsigned attempts;
	struct settling *settling; /* NULL: not yet */
	struct timer timer; /* until it is not awaited any more */
	struct logsink *log; /* NULL: not open yet, or in force */
	struct askers askers;
	struct askers later; /* asked while this reload was reading */
	bool again; /* another reload was asked for meanwhile */
	FILE *text; /* the answer */
	char *text_buf;
	size_t text_len;
};

static void start(struct supervisor *s, tstamp now);

/* --- the answer --------------------------------------------------------- */

static void
report(struct reload *r)
{
	for (size_t i = 0; i < r->report.warnings_len; i++)
		log_warnx("%s", r->report.warnings[i]);
	for (size_t i = 0; i < r->report.mistakes_len; i++)
		logging_tell(r->text, false, "%s", r->report.mistakes[i]);
}

/* --- making it true ----------------------------------------------------- */

enum outcome {
	REFUSED, /* the reason is told */
	READY,
	LATER, /* after openings_work() */
};

/* 0, or like prepare() of the control socket. */
static int
prepare_services(struct reload *r, const char **refusal_out)
{
	struct supervisor *s = r->sup;
	int status, counter;

	*refusal_out = "no memory for the tables";
	if (tables_reserve(s, r->conf) == -1)
		return ENOMEM;
	*refusal_out = "the control socket cannot be opened";
	status = s->control->prepare(
	    s->control_arg, r->conf, tables_spare(r->conf), &r->openings);
	if (status != 0 && status != OPENINGS_LATER)
		return status;
	/* Each says at the first attempt what the lane is to open. */
	counter = poolcounter_prepare(s, r->conf, &r->openings);
	if (counter != 0 && status == 0)
		s->control->abort(s->control_arg);
	if (counter == 0 && status != 0)
		poolcounter_abort(s);
	if (counter != 0 && counter != OPENINGS_LATER)
		*refusal_out = "the counter cannot be as it says";
	return counter != 0 ? counter : status;
}

static void
abort_services(struct supervisor *s)
{
	s->control->abort(s->control_arg);
	poolcounter_abort(s);
}

/*
 * Does everything that could fail: listeners, tables and services are there for
 * the new configuration. Gives the listeners.
 */
static enum outcome
prepare(struct reload *r, struct app_listeners **out)
{
	struct supervisor *s = r->sup;
	const char *refusal = "not enough descriptors";
	bool later;
	int status;

	tables_fit_parked(r->conf);
	if (!tables_afford(r->conf)) {
		logging_tell(r->text, false, "%s: %s", r->conf->file, refusal);
		return REFUSED;
	}
	*out = apps_prepare(s, r->conf, &r->openings, r->text);
	later = *out == NULL;
	if (later && errno != EINPROGRESS)
		return REFUSED;
	status = prepare_services(r, &refusal);
	if (status == 0 && !later)
		return READY;
	if (status == 0)
		abort_services(s);
	if (!later)
		apps_abandon(r->conf, *out);
	if (status == 0 || status == OPENINGS_LATER)
		return LATER;
	logging_tell(r->text, false, "%s: %s", r->conf->file, refusal);
	return REFUSED;
}

/* Takes back what prepare() did. */
static void
abandon(struct reload *r, struct app_listeners *prepared)
{
	abort_services(r->sup);
	apps_abandon(r->conf, prepared);
}

/* Puts the configuration into force. */
static void
commit(struct reload *r, struct config *config, struct app_listeners *prepared,
    tstamp now)
{
	struct supervisor *s = r->sup;
	struct config *old = s->config;
	const struct conf *conf = r->conf;

	logging_commit(conf, r->log);
	r->conf = NULL;
	r->log = NULL;
	s->config = config;
	s->generation++;
	pool_resize(&s->pool, conf->max_processes, conf->process_slack, now);
	apps_change(s, prepared, r->text, now);
	s->control->commit(s->control_arg, conf);
	poolcounter_commit(s, conf, now);
	config_unref(old);
}

static enum outcome
apply(struct reload *r, tstamp now)
{
	struct app_listeners *prepared;
	struct config *config;
	enum outcome outcome = prepare(r, &prepared);

	if (outcome != READY)
		return outcome;
	config = config_new(r->conf);
	if (config == NULL) {
		logging_tell(r->text, false, "no memory");
		abandon(r, prepared);
		return REFUSED;
	}
	commit(r, config, prepared, now);
	return READY;
}

/* --- the course of it --------------------------------------------------- */

/* Each asker is told once. */
static void
answer_all(struct askers *all, bool ok, const char *text)
{
	struct asker *a;

	while ((a = TAILQ_FIRST(all)) != NULL) {
		TAILQ_REMOVE(all, a, next);
		if (a->done != NULL)
			a->done(a->arg, ok, text);
		free(a);
	}
}

static void
answer(struct reload *r, bool ok)
{
	const char *text = "";

	if (r->text != NULL && fclose(r->text) == 0)
		text = r->text_buf;
	answer_all(&r->askers, ok, text);
	free(r->text_buf);
}

/* Frees the reload, and starts the next if one was asked for meanwhile. */
static void
end(struct reload *r, bool ok, tstamp now)
{
	struct supervisor *s = r->sup;

	timer_set(&s->loop.timers, &r->timer, TSTAMP_NEVER);
	/* The answer to a reload that was refused ends with the mistakes. */
	if (ok && r->text != NULL)
		(void)fprintf(r->text, "%s: reloaded\n", r->file);
	if (ok)
		tell_daemon(
		    s, LOG_LEVEL_INFO, EVENT_RELOAD, "%s: reloaded", r->file);
	else
		tell_daemon(s, LOG_LEVEL_ERROR, EVENT_RELOAD,
		    "%s: not reloaded, the old configuration stays in force",
		    r->file);
	(void)notify_send("READY=1");
	answer(r, ok);
	s->reload = NULL;
	if (r->again && !s->stopping)
		start(s, now);
	if (s->reload != NULL)
		TAILQ_CONCAT(&s->reload->askers, &r->later, next);
	else
		answer_all(&r->later, false,
		    s->stopping ? "the daemon is stopping\n" : "no memory\n");
	openings_fini(&r->openings, &s->looker);
	log_abandon(r->log);
	if (r->conf != NULL)
		conf_free(r->conf);
	conf_report_fini(&r->report);
	free(r->file);
	free(r);
}

static void
submit(struct reload *r, struct lane *lane, void (*work)(struct lane_job *),
    void (*done)(struct lane_job *, tstamp now))
{
	r->job.work = work;
	r->job.done = done;
	lane_submit(lane, &r->job);
}

/* A job behind all that the change left to the lane. */
struct settling {
	struct lane_job job;
	struct reload *reload; /* NULL: it has ended */
};

static void
do_nothing(struct lane_job *job)
{
	(void)job;
}

static void
settled(struct lane_job *job, tstamp now)
{
	struct settling *w = LOOP_OWNER(job, struct settling, job);

	if (w->reload != NULL)
		end(w->reload, true, now);
	free(w);
}

static void
waited_enough(struct timer *t, tstamp now)
{
	struct reload *r = TIMER_OWNER(t, struct reload, timer);

	r->settling->reload = NULL;
	end(r, true, now);
}

/* Awaits what is left to do for files, or for a while if that is held up. */
static void
settle(struct reload *r, tstamp now)
{
	struct lane *lane = &r->sup->looker;

	openings_fini(&r->openings, lane);
	r->settling = calloc(1, sizeof(*r->settling));
	if (r->settling == NULL) {
		end(r, true, now);
		return;
	}
	r->settling->reload = r;
	r->settling->job.work = do_nothing;
	r->settling->job.done = settled;
	timer_set(&r->sup->loop.timers, &r->timer, now + SETTLE_MAX);
	lane_submit(lane, &r->settling->job);
}

static void
open_files(struct lane_job *job)
{
	struct reload *r = LOOP_OWNER(job, struct reload, job);

	openings_work(&r->openings);
	if (r->log == NULL)
		r->log = logging_prepare(r->conf, r->text);
}

static void
files_opened(struct lane_job *job, tstamp now)
{
	struct reload *r = LOOP_OWNER(job, struct reload, job);
	struct supervisor *s = r->sup;
	enum outcome outcome = REFUSED;

	if (s->stopping)
		logging_tell(r->text, false, "the daemon is stopping");
	else if (r->log != NULL)
		outcome = apply(r, now);
	if (outcome == READY) {
		settle(r, now);
	} else if (outcome == LATER && ++r->attempts < ATTEMPTS) {
		submit(r, &s->looker, open_files, files_opened);
	} else {
		if (outcome == LATER)
			logging_tell(r->text, false,
			    "its listeners come and go: try again");
		end(r, false, now);
	}
}

static void
read_file(struct lane_job *job)
{
	struct reload *r = LOOP_OWNER(job, struct reload, job);

	r->conf = conf_load(r->file, CONF_OUTSIDE_WARN, NULL, &r->report);
}

static void
file_read(struct lane_job *job, tstamp now)
{
	struct reload *r = LOOP_OWNER(job, struct reload, job);
	struct supervisor *s = r->sup;
	enum outcome outcome = REFUSED;
	struct app_listeners *prepared;

	r->text = open_memstream(&r->text_buf, &r->text_len);
	report(r);
	if (s->stopping)
		logging_tell(r->text, false, "the daemon is stopping");
	else if (r->conf != NULL)
		outcome = prepare(r, &prepared);
	if (outcome == REFUSED) {
		end(r, false, now);
		return;
	}
	if (outcome == READY)
		abandon(r, prepared);
	submit(r, &s->looker, open_files, files_opened);
}

static void
start(struct supervisor *s, tstamp now)
{
	struct reload *r = calloc(1, sizeof(*r));

	if (r == NULL || (r->file = strdup(s->config->conf->file)) == NULL) {
		log_warn("cannot reload");
		free(r);
		return;
	}
	r->sup = s;
	openings_init(&r->openings);
	timer_init(&r->timer, waited_enough);
	TAILQ_INIT(&r->askers);
	TAILQ_INIT(&r->later);
	conf_report_init(&r->report);
	s->reload = r;
	(void)notify_send(
	    "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)(now / 1000));
	submit(r, &s->looker, read_file, file_read);
}

void
reload_request(struct supervisor *s, reload_done *done, void *arg, tstamp now)
{
	struct asker *a = calloc(1, sizeof(*a));
	bool joins = s->reload != NULL;

	if (joins)
		s->reload->again = true;
	else
		start(s, now);
	if (a == NULL || s->reload == NULL) {
		free(a);
		if (done != NULL)
			done(arg, false, "no memory\n");
		return;
	}
	a->done = done;
	a->arg = arg;
	/* A request while a file is being read may mean a later version. */
	if (joins)
		TAILQ_INSERT_TAIL(&s->reload->later, a, next);
	else
		TAILQ_INSERT_TAIL(&s->reload->askers, a, next);
}

void
reload_forget(struct supervisor *s, void *arg)
{
	struct asker *a;

	if (s->reload == NULL)
		return;
	TAILQ_FOREACH(a, &s->reload->askers, next)
		if (a->arg == arg)
			a->done = NULL;
	TAILQ_FOREACH(a, &s->reload->later, next)
		if (a->arg == arg)
			a->done = NULL;
}
