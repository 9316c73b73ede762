/* Reload: everything that can fail is done first, and then nothing can. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/apps.h"
#include "daemon/logging.h"
#include "daemon/reload.h"
#include "daemon/tables.h"
#include "sys/log.h"
#include "sys/notify.h"

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
	struct conf *conf; /* what was read; NULL: there are mistakes */
	struct conf_report report;
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

/*
 * Whether everything that could fail has been done: listeners, tables,
 * services and log are there for the new configuration. Gives the listeners.
 */
static bool
prepare(struct reload *r, struct app_listeners **out)
{
	struct supervisor *s = r->sup;
	const char *refusal = "not enough descriptors";

	if (!tables_afford(s, r->conf)) {
		logging_tell(r->text, false, "%s: %s", r->conf->file, refusal);
		return false;
	}
	*out = apps_prepare(s, r->conf, r->text);
	if (*out == NULL)
		return false;
	if (tables_reserve(s, r->conf) == -1) {
		logging_tell(r->text, false, "no memory for the tables");
		goto fail;
	}
	if (services_prepare(&s->services, r->conf, tables_spare(s, r->conf),
		&refusal) != 0) {
		logging_tell(r->text, false, "%s: %s", r->conf->file, refusal);
		goto fail;
	}
	if (logging_open(r->conf, r->text) == 0)
		return true;
	services_abort(&s->services);
fail:
	apps_abandon(r->conf, *out);
	return false;
}

/* Puts the configuration into force, or leaves everything as it is. */
static bool
apply(struct reload *r, tstamp now)
{
	struct supervisor *s = r->sup;
	struct config *old = s->config, *config = config_new(r->conf);
	struct app_listeners *prepared;

	if (config == NULL) {
		conf_free(r->conf);
		return false;
	}
	if (!prepare(r, &prepared)) {
		config_unref(config);
		return false;
	}
	s->config = config;
	s->generation++;
	pool_resize(
	    &s->pool, r->conf->max_processes, r->conf->process_slack, now);
	apps_change(s, prepared, r->text, now);
	services_commit(&s->services, r->conf, now);
	config_unref(old);
	return true;
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

static void
read_file(struct lane_job *job)
{
	struct reload *r = LOOP_OWNER(job, struct reload, job);

	r->conf = conf_load(r->file, CONF_OUTSIDE_WARN, NULL, &r->report);
}

static void
finished(struct lane_job *job, tstamp now)
{
	struct reload *r = LOOP_OWNER(job, struct reload, job);
	struct supervisor *s = r->sup;
	bool ok = false;

	r->text = open_memstream(&r->text_buf, &r->text_len);
	report(r);
	if (s->stopping) {
		logging_tell(r->text, false, "the daemon is stopping");
		conf_free(r->conf);
	} else if (r->conf != NULL) {
		ok = apply(r, now);
	}
	if (ok)
		logging_tell(r->text, true, "%s: reloaded", r->file);
	else
		/* Only for the log: the answer ends with the mistakes. */
		log_errorx(
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
	conf_report_fini(&r->report);
	free(r->file);
	free(r);
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
	r->job.work = read_file;
	r->job.done = finished;
	TAILQ_INIT(&r->askers);
	TAILQ_INIT(&r->later);
	conf_report_init(&r->report);
	s->reload = r;
	(void)notify_send(
	    "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)(now / 1000));
	lane_submit(&s->closer, &r->job);
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
