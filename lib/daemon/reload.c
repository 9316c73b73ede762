/*
 * Reload. A lane reads the file and opens the log; then all that can fail is
 * prepared, a lane opens the sockets that it needs, and everything is put into
 * force at once: from there on nothing can fail, and nothing is undone. At the
 * end what is left to do for files is awaited.
 */

#include <sys/param.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/carry.h"
#include "daemon/counter.h"
#include "daemon/worker.h"
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
	logging_tell(all->answer, LOG_LEVEL_ERROR, "%s", why);
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

/* --- tables, and descriptors ---------------------------------------------- */

/* Descriptors of the daemon itself: loop, lanes, log, control and others. */
#define TABLES_OWN 64

static void *
tables_part(
    char *memory, size_t *used, size_t size, const void *old, size_t bytes)
{
	void *part = layout_carve(memory, used, size);

	if (bytes > 0)
		memcpy(part, old, bytes);
	return part;
}

/*
 * Tables large enough for the configuration and for what runs now: by calloc()
 * and not realloc(), because untouched pages take no memory. 0, or -1 and
 * errno, and then nothing has changed.
 */
static int
tables_reserve(struct supervisor *s, const struct conf *conf)
{
	struct pool *p = &s->pool;
	struct pool_limits have = p->limits, want = have;
	size_t pool, groups, workers, accepted, used = 0;
	char *memory;

	want.apps = MAX(p->napps + (uint32_t)conf->apps_len + 1, have.apps);
	conf_pool_limits(conf, &want);
	if (s->pool_memory != NULL && have.apps >= want.apps &&
	    have.processes >= want.processes && have.conns >= want.conns &&
	    have.sessions >= want.sessions)
		return 0;
	pool = pool_memory(&want);
	groups = want.apps * sizeof(*s->groups);
	workers = want.processes * sizeof(*s->workers);
	accepted = want.conns * sizeof(*s->accepted);
	memory = calloc(1, pool + groups + workers + accepted + 64);
	if (memory == NULL)
		return -1;
	(void)layout_carve(memory, &used, pool);
	s->groups = tables_part(
	    memory, &used, groups, s->groups, p->napps * sizeof(*s->groups));
	s->workers = tables_part(memory, &used, workers, s->workers,
	    p->nprocesses * sizeof(*s->workers));
	s->accepted = tables_part(memory, &used, accepted, s->accepted,
	    p->nconns * sizeof(*s->accepted));
	if (s->pool_memory == NULL)
		pool_init(p, &want, memory, conf->max_processes,
		    (uint64_t)arc4random() << 32 | arc4random(),
		    loop_now(&s->loop));
	else
		pool_move(p, &want, memory);
	free(s->pool_memory);
	s->pool_memory = memory;
	return 0;
}

/* Descriptors that may be open at a time. */
struct need {
	unsigned long long each; /* for a process */
	unsigned long long queues;
	unsigned long long listeners;
	unsigned long long locks;
	unsigned long long copies; /* of connections that processes have */
	unsigned long long parked; /* at most; one for each app is in others */
	unsigned long long others;
	unsigned long long all; /* but for parked */
};

static void
tables_sum_up(const struct conf *conf, struct need *out)
{
	bool answers = false, measures = false, kept = false, needs = false;

	*out = (struct need){ .others = TABLES_OWN };
	for (size_t i = 0; i < conf->apps_len; i++) {
		const struct conf_app *app = &conf->apps[i];
		const struct app_options *o = &app->pool;
		uint32_t n = MIN(o->max_processes, conf->max_processes);

		/* Its cgroup's memory.events. */
		out->others++;
		needs = needs || keeper_is_needed(app);
		kept = kept || app->program.output == CONF_OUTPUT_LOG;
		measures = measures || o->max_memory > 0;
		answers = answers || refusal_answers(app);
		out->queues += o->max_queue;
		out->listeners += app->listen.len;
		out->locks += limiter_descriptors(app);
		if (app->parking.keep_alive)
			out->copies +=
			    n * (uint64_t)(o->concurrency + o->prefetch);
		if (group_may_park(app)) {
			out->parked += app->parking.max_parked;
			out->others++;
		}
		/* Channels of its template, of another, and a worker's. */
		if (app->template)
			out->others += 8;
		/* Copies, while processes are started with them. */
		if (app->handoff == CONF_HANDOFF_LISTEN)
			out->others += START_MAX_EACH * app->listen.len;
	}
	/* Both ends of the channel, its size, and copies of the keeper's. */
	out->each = 2u + measures + (kept ? KEEPER_HOLD_FDS : 0);
	/* The keeper, and a copy of its end. */
	out->others += (needs ? 2 : 0) + (answers ? REFUSAL_MAX : 0);
	out->listeners += conf->counter_len;
	out->all = out->queues + out->listeners + out->locks + out->copies +
	    out->others;
	if (conf->apps_len > 0)
		out->all += out->each * conf->max_processes;
}

/*
 * Whether there are descriptors for all that `conf` may need, and how many are
 * left, 1 at least; logs what is missing. May lower max_parked of all apps: the
 * only change of a configuration after conf_load().
 */
static bool
tables_fit(struct conf *conf, uint32_t *spare_out)
{
	struct need need;
	int have = getdtablesize();
	unsigned long long room;

	tables_sum_up(conf, &need);
	*spare_out = UINT32_MAX;
	if (need.all > (unsigned long long)have) {
		log_errorx(
		    "%s: up to %llu descriptors are needed (%llu for each of "
		    "max_processes %u, %llu for max_queue of all apps, %llu "
		    "listeners, %llu for limits, %llu for keep_alive, %llu "
		    "others) but only %d may be open: lower max_processes or "
		    "max_queue, or raise the limit (LimitNOFILE, ulimit -n)",
		    conf->file, need.all, need.each, conf->max_processes,
		    need.queues, need.listeners, need.locks, need.copies,
		    need.others, have);
		return false;
	}
	room = (unsigned long long)have - need.all;
	*spare_out = 1;
	if (need.parked <= room) {
		*spare_out += (uint32_t)(room - need.parked);
		return true;
	}
	log_warnx("%s: max_parked of all apps is %llu, more than there are "
		  "descriptors for: it is lowered to %llu in all",
	    conf->file, need.parked, room);
	for (size_t i = 0; i < conf->apps_len; i++) {
		struct conf_app *app = &conf->apps[i];
		unsigned long long n =
		    app->parking.max_parked * room / need.parked;

		if (group_may_park(app))
			app->parking.max_parked = n == 0 ? 1 : (unsigned)n;
	}
	return true;
}

/* --- a reload ------------------------------------------------------------- */

struct reload {
	struct supervisor *sup;
	char *file; /* owned */
	struct conf *conf; /* what was read; NULL: mistakes, or in force */
	struct conf_report report;
	struct logsink *log; /* NULL: it cannot be opened, or is in force */
	struct openings openings; /* its job reads the file, too */
	bool prepared; /* that control and counter are, and live */
	struct app_listeners listeners; /* prepared */
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
		logging_tell(
		    r->text, LOG_LEVEL_ERROR, "the daemon is stopping");
	if (r->prepared) {
		poolcounter_abort(s);
		s->control->abort(s->control_arg);
	}
	listeners_close_all(&r->listeners);
	reload_end(r, false, now);
}

static void
reload_settled(struct lane_job *job, tstamp now)
{
	reload_end(LOOP_OWNER(job, struct reload, openings.job), true, now);
}

static void
reload_enforce(struct supervisor *s, struct app_listeners *listeners,
    FILE *answer, tstamp now)
{
	const struct conf *conf = s->config;

	autosize_configure(s, now);
	apps_change(s, listeners, answer, now);
	s->control->commit(s->control_arg, conf);
	poolcounter_commit(s, conf, now);
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
	struct conf *old = s->config;
	bool open = openings_end(&r->openings);

	if (open && !s->stopping)
		apps_prepare(s, r->conf, &r->openings, &r->listeners);
	if (s->stopping || r->openings.error != 0) {
		reload_fail(r, now);
	} else if (!STAILQ_EMPTY(&r->openings.list)) {
		openings_submit(&r->openings, &s->looker, reload_opened);
	} else if (tables_reserve(s, r->conf) == -1) {
		logging_tell(
		    r->text, LOG_LEVEL_ERROR, "%s: no memory", r->conf->file);
		reload_fail(r, now);
	} else {
		log_commit(r->log);
		s->config = r->conf;
		r->conf = NULL;
		r->log = NULL;
		s->generation++;
		reload_enforce(s, &r->listeners, r->text, now);
		conf_free(old);
		/*
		 * The lane's part of the change is awaited, sockets that are
		 * removed or get another mode: whoever asked may look at them
		 * next.
		 */
		openings_submit(&r->openings, &s->looker, reload_settled);
	}
}

static void
reload_read(struct lane_job *job)
{
	struct reload *r = LOOP_OWNER(job, struct reload, openings.job);

	r->conf = conf_load(r->file, CONF_OUTSIDE_WARN, NULL, &r->report);
	if (r->conf != NULL)
		r->log = logging_prepare(r->conf, r->text);
}

static void
reload_read_done(struct lane_job *job, tstamp now)
{
	struct reload *r = LOOP_OWNER(job, struct reload, openings.job);
	struct supervisor *s = r->sup;
	uint32_t spare;

	for (size_t i = 0; i < r->report.warnings_len; i++)
		logging_tell(
		    r->text, LOG_LEVEL_WARN, "%s", r->report.warnings[i]);
	for (size_t i = 0; i < r->report.mistakes_len; i++)
		logging_tell(
		    r->text, LOG_LEVEL_ERROR, "%s", r->report.mistakes[i]);
	if (s->stopping || r->log == NULL) {
		reload_fail(r, now);
	} else if (!tables_fit(r->conf, &spare)) {
		logging_tell(r->text, LOG_LEVEL_ERROR,
		    "%s: not enough descriptors", r->conf->file);
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
	struct reload *r = NULL;

	answer->began = now;
	if (s->config->choice != NULL) {
		answer->text = strdup(
		    "there is no file to read again: the configuration is that "
		    "of the command line\n");
		log_warnx("nothing to reload: the configuration is that of the "
			  "command line");
	} else if ((r = calloc(1, sizeof(*r))) == NULL ||
	    (r->file = strdup(s->config->file)) == NULL) {
		log_warn("cannot reload");
	}
	if (r == NULL || r->file == NULL) {
		free(r);
		answer->over = true;
		reload_forget(answer);
		return;
	}
	r->sup = s;
	r->answer = answer;
	r->text = open_memstream(&answer->text, &r->text_len);
	openings_init(&r->openings, r->text);
	TAILQ_INIT(&r->listeners);
	s->reload = r;
	(void)notify_send(
	    "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)(now / 1000));
	r->openings.job =
	    (struct lane_job){ .work = reload_read, .done = reload_read_done };
	lane_submit(&s->looker, &r->openings.job);
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

static bool
reload_has_app(void *conf, const char *app)
{
	return conf_find_app(conf, app) != NULL;
}

int
reload_first(struct supervisor *s)
{
	struct conf *conf = s->config;
	struct app_listeners listeners = TAILQ_HEAD_INITIALIZER(listeners);
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
		listeners_close_all(&listeners);
		return opening_status(openings.error);
	}
	/* Apps of a former daemon; of the others it goes on with the cgroup. */
	(void)cgroup_clean(reload_has_app, conf);
	reload_enforce(s, &listeners, NULL, s->started);
	activation_drop();
	return EX_OK;
}

/* --- carried over --------------------------------------------------------- */

/* More connections than a process can have descriptors. */
#define INHERIT_CONNS (1u << 22)

/* Tables for what another daemon had under this configuration. */
static bool
tables_restore(struct carry *c, struct group *g, void *record)
{
	const struct pool *row = record;
	struct supervisor *s = c->sup;
	struct conf *conf = s->config;
	uint32_t spare;

	(void)g;
	if (s->pool_memory != NULL || row->napps > 4 * CONF_APPS_MAX ||
	    row->nprocesses > 4 * CONF_PROCESSES_MAX ||
	    row->nconns > INHERIT_CONNS || !tables_fit(conf, &spare))
		return false;
	/* At least as large as the numbers that are used. */
	s->pool.limits = (struct pool_limits){ .apps = row->napps,
		.processes = row->nprocesses,
		.conns = row->nconns };
	if (tables_reserve(s, conf) == -1)
		return false;
	s->pool.process_slack = conf->process_slack;
	s->control->prepare(s->control_arg, conf, spare, NULL);
	return true;
}

CARRY_ROW(carry_pool, "pool", CARRY_POOL, .restore = tables_restore);
