/*
 * Reload. A lane reads the file and opens the log; then all that can fail is
 * prepared, a lane opens the sockets that it needs, and everything is put into
 * force at once: from there on nothing can fail, and nothing is undone. At the
 * end what is left to do for files is awaited.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/counter.h"
#include "daemon/group.h"
#include "daemon/state.h"
#include "daemon/worker.h"
#include "sys/log.h"
#include "sys/manager.h"

/* --- what a change opens -------------------------------------------------- */

struct opening {
	STAILQ_ENTRY(opening) next;
	struct listener *into;
	struct listener listener;
	struct listener_spec spec;
	struct listener_file unless; /* of spec */
	char what[256];
	const char *why;
	int error; /* of opening it; 0: none */
};

void
openings_init(struct openings *all, FILE *answer)
{
	STAILQ_INIT(&all->list);
	all->answer = answer;
	all->error = all->expects = 0;
}

void
openings_fail(struct openings *all, int error, const char *fmt, ...)
{
	char why[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	logging_tell(all->answer, false, "%s", why);
	all->error = error;
}

void
openings_add(struct openings *all, struct listener *l,
    const struct listener_spec *spec, const char *fmt, ...)
{
	struct opening *o = calloc(1, sizeof(*o));
	va_list ap;

	if (o == NULL) {
		openings_fail(all, ENOMEM, "%s: no memory", spec->name);
		return;
	}
	va_start(ap, fmt);
	(void)vsnprintf(o->what, sizeof(o->what), fmt, ap);
	va_end(ap);
	o->into = l;
	o->listener.fd = -1;
	o->spec = *spec;
	if (spec->unless != NULL) {
		o->unless = *spec->unless;
		o->spec.unless = &o->unless;
	}
	STAILQ_INSERT_TAIL(&all->list, o, next);
}

static void
openings_work(struct lane_job *job)
{
	struct openings *all = LOOP_OWNER(job, struct openings, job);
	struct opening *o;

	STAILQ_FOREACH(o, &all->list, next)
		if (listener_open(&o->listener, &o->spec, &o->why) == -1)
			o->error = errno;
}

void
openings_submit(struct openings *all, struct lane *lane,
    void (*done)(struct lane_job *, tstamp now))
{
	all->job = (struct lane_job){ .work = openings_work, .done = done };
	all->lane = lane;
	lane_submit(lane, &all->job);
}

void
openings_forget(struct openings *all)
{
	struct opening *o;

	STAILQ_FOREACH(o, &all->list, next)
		o->into = NULL;
}

bool
openings_end(struct openings *all)
{
	struct opening *o;
	char text[128];

	while ((o = STAILQ_FIRST(&all->list)) != NULL) {
		STAILQ_REMOVE_HEAD(&all->list, next);
		if (o->into != NULL)
			*o->into = o->listener;
		else
			acceptor_discard(all->lane, &o->listener);
		errno = o->error;
		if (errno != 0 && errno != all->expects &&
		    (errno != EEXIST || o->spec.unless == NULL))
			openings_fail(all, o->error, "%s: %s: %s", o->what,
			    o->why,
			    listener_explain(&o->spec, text, sizeof(text)));
		free(o);
	}
	return all->error == 0;
}

bool
openings_now(struct openings *all)
{
	openings_work(&all->job);
	return openings_end(all);
}

size_t
openings_inherited(struct openings *all, const struct conf_listen *where,
    const char *of, int fds[INHERITED_MAX])
{
	size_t n = 1;

	fds[0] = -1;
	if (where->kind == CONF_LISTEN_FD)
		n = activation_find(
		    conf_listen_name(where), INHERITED_MAX, fds);
	if (n == 0)
		openings_fail(all, ENOENT,
		    "%s: %s: the service manager gave no socket of that name "
		    "(LISTEN_FDNAMES)",
		    of, where->text);
	return n;
}

/* --- a reload ------------------------------------------------------------- */

struct reload {
	struct lane_job job;
	struct supervisor *sup;
	char *file; /* owned */
	struct conf *conf; /* what was read; NULL: mistakes, or in force */
	struct conf_report report;
	struct logsink *log; /* NULL: it cannot be opened, or is in force */
	struct openings openings;
	bool prepared; /* that control and counter are, and live */
	struct app_listeners *listeners; /* prepared, by app; NULL: none */
	struct reload_answer *answer;
	struct reload_answer *later; /* of the next one; NULL: none is to be */
	FILE *text; /* of the answer; NULL: no memory */
	size_t text_len;
};

static void reload_start(
    struct supervisor *s, struct reload_answer *answer, tstamp now);

/* --- its end -------------------------------------------------------------- */

void
reload_forget(struct reload_answer *a)
{
	if (a == NULL || --a->refs > 0)
		return;
	free(a->text);
	free(a);
}

/* Frees the reload, and starts the next if one was asked for meanwhile. */
static void
reload_end(struct reload *r, bool ok, tstamp now)
{
	struct supervisor *s = r->sup;

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
	if (r->text != NULL)
		(void)fclose(r->text);
	r->answer->ok = ok;
	r->answer->over = true;
	reload_forget(r->answer);
	s->reload = NULL;
	if (r->later != NULL)
		reload_start(s, r->later, now);
	log_abandon(r->log);
	if (r->conf != NULL)
		conf_free(r->conf);
	conf_report_fini(&r->report);
	free(r->file);
	free(r);
}

/* --- the change ----------------------------------------------------------- */

/* The old configuration stays in force, with nothing left of the new one. */
static void
reload_fail(struct reload *r, tstamp now)
{
	struct supervisor *s = r->sup;

	(void)openings_end(&r->openings);
	if (s->stopping)
		logging_tell(r->text, false, "the daemon is stopping");
	if (r->prepared) {
		poolcounter_abort(s);
		s->control->abort(s->control_arg);
	}
	if (r->conf != NULL)
		apps_abandon(r->conf, r->listeners);
	reload_end(r, false, now);
}

static void
reload_settled(struct lane_job *job, tstamp now)
{
	reload_end(LOOP_OWNER(job, struct reload, openings.job), true, now);
}

/* Puts s->config into force. */
static void
reload_enforce(struct supervisor *s, struct app_listeners *listeners,
    FILE *answer, tstamp now)
{
	const struct conf *conf = s->config;

	pool_resize(&s->pool, conf->max_processes, conf->process_slack, now);
	apps_change(s, listeners, answer, now);
	s->control->commit(s->control_arg, conf);
	poolcounter_commit(s, conf, now);
}

static void
reload_commit(struct reload *r, tstamp now)
{
	struct supervisor *s = r->sup;
	struct conf *old = s->config;

	log_commit(r->log);
	s->config = r->conf;
	r->conf = NULL;
	r->log = NULL;
	s->generation++;
	reload_enforce(s, r->listeners, r->text, now);
	conf_free(old);
	/*
	 * The lane's part of the change is awaited, sockets that are removed
	 * or get another mode: whoever asked may look at them next.
	 */
	openings_submit(&r->openings, &s->looker, reload_settled);
}

/*
 * Everything that can fail is done before anything is changed. What an app
 * lacks is looked at again when a lane has opened the rest: a listener that it
 * was to have from another app may have been closed meanwhile.
 */
static void
reload_opened(struct lane_job *job, tstamp now)
{
	struct reload *r = LOOP_OWNER(job, struct reload, openings.job);
	struct supervisor *s = r->sup;
	bool open = openings_end(&r->openings);

	if (open && !s->stopping)
		apps_prepare(s, r->conf, &r->openings, &r->listeners);
	if (s->stopping || r->openings.error != 0) {
		reload_fail(r, now);
	} else if (!STAILQ_EMPTY(&r->openings.list)) {
		openings_submit(&r->openings, &s->looker, reload_opened);
	} else if (tables_reserve(s, r->conf) == -1) {
		logging_tell(r->text, false, "%s: no memory", r->conf->file);
		reload_fail(r, now);
	} else {
		reload_commit(r, now);
	}
}

static void
reload_read(struct lane_job *job)
{
	struct reload *r = LOOP_OWNER(job, struct reload, job);

	r->conf = conf_load(r->file, CONF_OUTSIDE_WARN, NULL, &r->report);
	if (r->conf != NULL)
		r->log = logging_prepare(r->conf, r->text);
}

static void
reload_read_done(struct lane_job *job, tstamp now)
{
	struct reload *r = LOOP_OWNER(job, struct reload, job);
	struct supervisor *s = r->sup;
	uint32_t spare;

	for (size_t i = 0; i < r->report.warnings_len; i++)
		log_warnx("%s", r->report.warnings[i]);
	for (size_t i = 0; i < r->report.mistakes_len; i++)
		logging_tell(r->text, false, "%s", r->report.mistakes[i]);
	if (s->stopping || r->log == NULL) {
		reload_fail(r, now);
	} else if (!tables_fit(r->conf, &spare)) {
		logging_tell(r->text, false, "%s: not enough descriptors",
		    r->conf->file);
		reload_fail(r, now);
	} else {
		r->prepared = true;
		s->control->prepare(
		    s->control_arg, r->conf, spare, &r->openings);
		poolcounter_prepare(s, r->conf, &r->openings);
		apps_prepare(s, r->conf, &r->openings, &r->listeners);
		openings_submit(&r->openings, &s->looker, reload_opened);
	}
}

void
reload_stop(struct supervisor *s)
{
	if (s->reload == NULL)
		return;
	openings_forget(&s->reload->openings);
	s->reload->prepared = false;
}

/* Takes the answer over. */
static void
reload_start(struct supervisor *s, struct reload_answer *answer, tstamp now)
{
	struct reload *r = calloc(1, sizeof(*r));

	if (r == NULL || (r->file = strdup(s->config->file)) == NULL) {
		log_warn("cannot reload");
		free(r);
		answer->over = true;
		reload_forget(answer);
		return;
	}
	r->sup = s;
	r->answer = answer;
	r->text = open_memstream(&answer->text, &r->text_len);
	openings_init(&r->openings, r->text);
	s->reload = r;
	(void)notify_send(
	    "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)(now / 1000));
	r->job.work = reload_read;
	r->job.done = reload_read_done;
	lane_submit(&s->looker, &r->job);
}

struct reload_answer *
reload_request(struct supervisor *s, tstamp now)
{
	/* While a file is being read there may be a later version of it. */
	bool joins = s->reload != NULL && s->reload->later != NULL;
	struct reload_answer *a =
	    joins ? s->reload->later : calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	/* One for the caller, and one for the reload. */
	a->refs += joins ? 1 : 2;
	if (s->reload == NULL)
		reload_start(s, a, now);
	else
		s->reload->later = a;
	return a;
}

/* --- the first configuration ---------------------------------------------- */

int
reload_first(struct supervisor *s)
{
	struct conf *conf = s->config;
	struct app_listeners *listeners = NULL;
	struct openings openings;
	uint32_t spare;

	if (!tables_fit(conf, &spare))
		return EX_OSERR;
	if (tables_reserve(s, conf) == -1) {
		log_error("cannot start");
		return EX_OSERR;
	}
	openings_init(&openings, NULL);
	s->control->prepare(s->control_arg, conf, spare, &openings);
	/* Of a daemon that runs already nothing else is told. */
	if (openings_now(&openings)) {
		poolcounter_prepare(s, conf, &openings);
		apps_prepare(s, conf, &openings, &listeners);
		(void)openings_now(&openings);
	}
	if (openings.error != 0) {
		apps_abandon(conf, listeners);
		return opening_status(openings.error);
	}
	reload_enforce(s, listeners, NULL, s->started);
	return EX_OK;
}
