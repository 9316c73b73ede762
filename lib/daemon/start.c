/*
 * The start of a process: which worker is next, everything a program is started
 * with (command, variables, identity, limits, descriptors), and work in a lane.
 */

#include <sys/socket.h>

#include <argz.h>
#include <envz.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/action.h"
#include "daemon/counter.h"
#include "daemon/worker.h"
#include "sys/ownfile.h"
#include "sys/wire.h"

/* Starts under way at a time, of all apps. */
#define START_MAX 16

/*
 * How long a start is put off in an app whose processes end with their
 * session, while no connection waits and other processes are ready: so it is
 * not made while the program of that session starts.
 */
#define START_REST TSPAN_MSECONDS(3)

extern char **environ;

/* Strings one behind the other, as argz_add(3) has them; owned. */
struct strings {
	char *z;
	size_t len;
	bool no_memory; /* for one of them */
};

struct start {
	struct lane_job job;
	struct worker *w;
	struct conf *config; /* a reference: the spec points into it */
	const char *app; /* its name */
	struct child_spec spec;
	struct child_limit limits[5];
	/*
	 * For an app that accepts itself, in the order of the configuration.
	 * Copies: if a listener closes meanwhile, another descriptor has its
	 * number.
	 */
	int sockets[CHILD_FDS_MAX];
	size_t nsockets;
	struct strings names; /* of the sockets */
	struct strings args;
	struct strings variables;
	char **argv; /* both owned; of the words */
	char **envp;
	const char *output_file; /* to be opened in the lane, or by the child */
	struct child_result result;
};

/* --- variables --------------------------------------------------------- */

/* Takes text over, which is NULL where there was no memory for it. */
static void
strings_add(struct strings *w, char *text)
{
	w->no_memory |= text == NULL || argz_add(&w->z, &w->len, text) != 0;
	free(text);
}

/* Ends with NULL; to be freed. NULL and errno. */
static char **
strings_list(const struct strings *w)
{
	char **list = NULL;

	if (w->no_memory)
		errno = ENOMEM;
	else
		list = calloc(argz_count(w->z, w->len) + 1, sizeof(*list));
	if (list != NULL)
		argz_extract(w->z, w->len, list);
	return list;
}

/* In place of earlier variables of that name. */
static void __attribute__((format(printf, 2, 3)))
start_put(struct start *t, const char *fmt, ...)
{
	struct strings *w = &t->variables;
	char *text;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) == -1)
		text = NULL;
	va_end(ap);
	while (text != NULL && envz_entry(w->z, w->len, text) != NULL)
		envz_remove(&w->z, &w->len, text);
	strings_add(w, text);
}

/* The worker's variables; see apppool-worker(7). */
static void
start_put_ours(struct start *t)
{
	const struct worker *w = t->w;
	const struct conf_app *conf = w->group->conf;
	const struct app_listener *l;
	int family = AF_UNIX;
	socklen_t len = sizeof(family);

	start_put(t, WIRE_ENV_APP "=%s", conf->name);
	start_put(t, WIRE_ENV_ID "=%s", w->id);
	if (w->template != NULL)
		start_put(t, WIRE_ENV_TEMPLATE "=1");
	else
		start_put(t, WIRE_ENV_SLOT "=%u", (unsigned)w->slot);
	if (w->child_end != -1) {
		/* Listeners take turns: the first may be anywhere. */
		TAILQ_FOREACH(l, &w->group->listeners, next)
			if (strcmp(l->where.text, conf->listen.list[0].text) ==
			    0)
				(void)getsockopt(l->acceptor.listener.fd,
				    SOL_SOCKET, SO_DOMAIN, &family, &len);
		start_put(t, WIRE_ENV_PROTOCOL "=" WIRE_VERSION);
		start_put(t, WIRE_ENV_FD "=3");
		start_put(t, WIRE_ENV_FAMILY "=%s",
		    family == AF_INET        ? "inet"
			: family == AF_INET6 ? "inet6"
					     : "unix");
		if (w->keeps)
			start_put(t, WIRE_ENV_UNREAD "=kept");
		if (conf->parking.keep_alive)
			start_put(t, WIRE_ENV_KEEP_ALIVE "=1");
		if (w->slow_signal != 0)
			start_put(t, WIRE_ENV_SLOW_SIGNAL "=%s",
			    sigabbrev_np(w->slow_signal));
		/* The descriptor after the channel. */
		if (t->spec.filter_accept)
			start_put(t, WIRE_ENV_CALLS "=4");
		if (conf->handoff == CONF_HANDOFF_ACCEPT)
			start_put(t, WIRE_ENV_STOP_SIGNAL "=%d",
			    conf_signal(conf->stop_signal + 1));
		if (group_has_library(w->group))
			start_put(
			    t, WIRE_ENV_LIBRARY "=%s", conf->program.library);
	}
	/* As the service manager does it; the child adds its own number. */
	if (t->nsockets > 0) {
		argz_stringify(t->names.z, t->names.len, ':');
		start_put(t, "LISTEN_FDS=%zu", t->nsockets);
		start_put(t, "LISTEN_FDNAMES=%s", t->names.z);
		start_put(t, "LISTEN_PID=%*s", CHILD_NUMBER_SIZE, "");
		t->spec.number =
		    envz_get(t->variables.z, t->variables.len, "LISTEN_PID");
	}
}

static bool
start_variables(struct start *t)
{
	const struct worker *w = t->w;
	const struct conf_app *conf = w->group->conf;
	const struct conf_identity *id = &conf->program.identity;
	const struct counter_address *counter = poolcounter_address(w->sup, 0);
	struct strings *v = &t->variables;

	if (conf->program.clear_environment)
		start_put(t, "PATH=/usr/local/bin:/usr/bin:/bin");
	else if (argz_create(environ, &v->z, &v->len) != 0)
		v->no_memory = true;
	envz_strip(&v->z, &v->len);
	if (id->change) {
		start_put(t, "HOME=%s", id->home);
		start_put(t, "USER=%s", id->user);
		start_put(t, "LOGNAME=%s", id->user);
		start_put(t, "SHELL=%s", id->shell);
	}
	if (counter != NULL)
		start_put(t, WIRE_ENV_COUNTER "=%s", counter->reach);
	for (char **p = conf->program.environment; *p != NULL; p++) {
		char *text = placeholder_fill(*p, conf->name, w->slot);

		v->no_memory |= text == NULL;
		if (text != NULL)
			start_put(t, "%s", text);
		free(text);
	}
	start_put_ours(t);
	t->spec.envp = t->envp = strings_list(v);
	return t->envp != NULL;
}

/* --- the rest ---------------------------------------------------------- */

/*
 * Copies of the sockets that it is to accept from. Each has the service
 * manager's name if it came from there, else that of the app, as the service
 * manager names sockets of a unit. Last come those that leave while the app
 * goes on and clients wait there: former processes may be gone before these are
 * served.
 */
static bool
start_sockets(struct start *t)
{
	const struct group *g = t->w->group;
	const struct conf_listeners *listen = &g->conf->listen;
	const struct app_listener *l;
	int fd;

	for (size_t i = 0; i <= listen->len; i++) {
		TAILQ_FOREACH(l, &g->listeners, next) {
			bool last = l->leaving && !g->closing;

			if (!listeners_serves(l) || last != (i == listen->len))
				continue;
			if (last ? t->nsockets == CHILD_FDS_MAX ||
				    listener_is_empty(&l->acceptor.listener)
				 : strcmp(l->where.text,
				       listen->list[i].text) != 0)
				continue;
			if (t->nsockets == CHILD_FDS_MAX) {
				errno = E2BIG;
				return false;
			}
			fd = fcntl(l->acceptor.listener.fd, F_DUPFD_CLOEXEC,
			    STDERR_FILENO + 1);
			if (fd == -1)
				return false;
			t->sockets[t->nsockets++] = fd;
			strings_add(&t->names,
			    strdup(l->where.kind == CONF_LISTEN_FD
				    ? conf_listen_name(&l->where)
				    : g->conf->name));
		}
	}
	errno = t->names.no_memory ? ENOMEM : EAGAIN;
	return t->nsockets > 0 && !t->names.no_memory;
}

/* All but the variables and the command. */
static bool
start_spec(struct start *t)
{
	struct worker *w = t->w;
	const struct conf_app *conf = w->group->conf;
	const struct conf_identity *id = &conf->program.identity;
	const struct {
		int resource;
		const struct conf_rlimit *limit;
	} limits[] = {
		{ RLIMIT_NOFILE, &conf->program.limit_nofile },
		{ RLIMIT_CORE, &conf->program.limit_core },
		{ RLIMIT_AS, &conf->program.limit_as },
		{ RLIMIT_NPROC, &conf->program.limit_nproc },
		{ RLIMIT_CPU, &conf->program.limit_cpu },
	};

	t->spec = (struct child_spec){ .stdio = { -1, -1, -1 },
		.limits = t->limits,
		.chroot = conf->program.chroot,
		.directory = conf->program.directory,
		.set_nice = conf->program.nice_set,
		.nice = conf->program.nice,
		.set_umask = conf->program.umask != -1,
		.umask = (mode_t)conf->program.umask,
		.no_new_privs = conf->program.no_new_privileges,
		.set_identity = id->change,
		.uid = id->uid,
		.gid = id->gid,
		.groups = id->groups,
		.ngroups = id->groups_len };
	/* We raised our own soft limit; they get what we were given. */
	t->limits[0] = (struct child_limit){ RLIMIT_NOFILE, w->sup->nofile };
	t->spec.nlimits = conf->program.limit_nofile.set ? 0 : 1;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (limits[i].limit->set)
			t->limits[t->spec.nlimits++] = (struct child_limit){
				limits[i].resource,
				{ limits[i].limit->max, limits[i].limit->max }
			};
	/*
	 * The filter before accept() is there before the adapter, which never
	 * has the rights that we have. An adapter with our identity, or one
	 * whose app can gain no rights anyhow, installs it by itself.
	 */
	t->spec.no_new_privs |= w->adapted && conf->program.restricted;
	t->spec.filter_accept =
	    w->adapted && id->change && id->uid != 0 && !t->spec.no_new_privs;
	t->spec.fds = &w->child_end;
	t->spec.nfds = w->child_end == -1 ? 0 : 1;
	if (group_accepts_itself(w->group)) {
		if (!start_sockets(t))
			return false;
		t->spec.stdio[0] = t->sockets[0];
		t->spec.fds = t->sockets;
		t->spec.nfds = t->nsockets;
	}
	switch (conf->program.output) {
	case CONF_OUTPUT_INHERIT:
		t->spec.stdio[1] = STDOUT_FILENO;
		t->spec.stdio[2] = STDERR_FILENO;
		return true;
	case CONF_OUTPUT_NULL:
		return true;
	case CONF_OUTPUT_FILE:
		t->output_file = conf->program.output_file;
		return true;
	default:
		w->output =
		    keeper_hold(w->group, w->id, w->process, t->spec.stdio + 1);
		return w->output != NULL;
	}
}

/* An adapter has the command as its own, behind the words of ps(1). */
static bool
start_command(struct start *t)
{
	const struct conf_app *conf = t->w->group->conf;
	char *const *command = conf->program.command;
	char *title;

	t->spec.path = command[0];
	if (conf->program.adapter != NULL) {
		/* The app's user, in the app's root, may not find it. */
		t->spec.path = conf->program.adapter;
		t->spec.opened = true;
		/* The adapter would fail with it too late, each time anew. */
		t->spec.next = command[0];
		if (asprintf(&title, "apppoold: %s adapter of %s",
			conf_handoff_names[conf->handoff], conf->name) == -1)
			title = NULL;
		strings_add(&t->args, title);
	}
	strings_add(&t->args, strdup(command[0]));
	while (*++command != NULL)
		strings_add(&t->args,
		    placeholder_fill(*command, conf->name, t->w->slot));
	t->spec.argv = t->argv = strings_list(&t->args);
	return t->argv != NULL;
}

static void
start_free(struct start *t)
{
	for (size_t i = 0; i < t->nsockets; i++)
		(void)close(t->sockets[i]);
	free(t->names.z);
	free(t->args.z);
	free(t->variables.z);
	free(t->argv);
	free(t->envp);
	conf_free(t->config);
	free(t);
}

/* --- in the lane ------------------------------------------------------- */

/*
 * Opens the output file here, as a disk may be slow, and starts the program. A
 * FIFO without a reader is an error, and not waited for. What others may
 * replace by a link is opened by the child, with the rights of the app.
 */
static void
start_work(struct lane_job *job)
{
	const int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK;
	struct start *t = LOOP_OWNER(job, struct start, job);
	int output = -1, cgroup = -1;
	char why[OWNFILE_WHY] = "";

	if (t->output_file != NULL) {
		output =
		    ownfile_open(t->output_file, OWNFILE_ANY, flags, 0640, why);
		if (output != -1 && fcntl(output, F_SETFL, O_APPEND) != -1) {
			t->spec.stdio[1] = t->spec.stdio[2] = output;
		} else {
			t->spec.output = t->output_file;
			t->result.stage = CHILD_OUTPUT;
			t->result.error =
			    output == -1 && why[0] != '\0' ? 0 : errno;
		}
	}
	if (cgroup_lacks(CGROUP_ANY) == NULL)
		cgroup = cgroup_open(t->app, NULL);
	/* Where it could not be made, which was told, the daemon's will do. */
	t->spec.cgroup = cgroup == -1 ? 0 : cgroup;
	if (t->result.error == 0)
		(void)child_spawn(&t->spec, &t->result);
	if (cgroup != -1)
		(void)close(cgroup);
	/* Closing a file may write it to the disk. */
	if (output != -1)
		(void)close(output);
}

/* --- in the loop ------------------------------------------------------- */

/* The worker, if it was made, is freed. */
static void
start_failed(struct supervisor *s, uint32_t process, bool no_room,
    const char *why, tstamp now)
{
	const struct app *app = &s->pool.apps[s->pool.processes[process].app];
	struct group *g = s->groups[s->pool.processes[process].app];
	bool tell = false, had_failed = app->failed;

	if (no_room) {
		log_limited(&g->no_room_rate, now, LOG_LEVEL_WARN,
		    "%s: no room for another process, trying again: %s",
		    g->conf->name, why);
	} else if (!s->pool.processes[process].asked) {
		group_failed(g, "%s", why);
		tell = true;
	}
	if (s->workers[process] != NULL)
		worker_free(s->workers[process]);
	pool_spawn_failed(&s->pool, process, no_room, now);
	/* If the app has failed by this, NEWS_FAILED gives the same reason. */
	if (tell && (had_failed || !app->failed))
		tell_app(g, LOG_LEVEL_WARN, EVENT_FAILURE,
		    process_end_names[END_SPAWN], "%s", why);
}

static void
start_done(struct lane_job *job, tstamp now)
{
	struct start *t = LOOP_OWNER(job, struct start, job);
	struct worker *w = t->w;
	struct supervisor *s = w->sup;
	bool failed = t->result.error != 0, no_room = child_no_room(&t->result);
	pid_t pid = t->result.pid;
	char why[256] = "";

	if (failed)
		(void)child_explain(&t->spec, &t->result, why, sizeof(why));
	keeper_ends_given(w->output);
	TAILQ_REMOVE(&s->starting.list, w, start.next);
	w->start.result = NULL;
	start_free(t);
	/* Deaths are looked at that may be of processes being started. */
	if (s->reaping.waits)
		timer_set(&s->loop.timers, &s->reaping.timer, now);
	s->reaping.waits = false;
	if (w->template == NULL) {
		s->starting.n--;
		w->group->starts.n--;
	}
	if (!failed)
		worker_started(w, pid, now);
	if (w->template != NULL)
		template_tried(w->template, failed ? why : NULL, now);
	else if (failed)
		start_failed(s, w->process, no_room, why, now);
}

int
start_program(struct worker *w)
{
	struct group *g = w->group;
	struct supervisor *s = g->sup;
	struct start *t;
	int error;

	if (w->channel.fd != -1 &&
	    loop_set(&s->loop, &w->channel, EPOLLET) == -1)
		return -1;
	if (keeper_is_needed(g->conf))
		(void)keeper_get(s->keepers, loop_now(&s->loop));
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return -1;
	t->w = w;
	t->job.work = start_work;
	t->job.done = start_done;
	t->config = conf_ref(g->config);
	t->app = g->conf->name;
	if (!start_spec(t) || !start_variables(t) || !start_command(t)) {
		error = errno;
		start_free(t);
		errno = error;
		return -1;
	}
	w->start.result = &t->result;
	TAILQ_INSERT_TAIL(&s->starting.list, w, start.next);
	lane_submit(&s->spawner, &t->job);
	return 0;
}

/* Has a template fork it; else, or (alone) anyway, starts its program. */
static void
start_begin(struct worker *w, bool alone, tstamp now)
{
	struct group *g = w->group;
	struct supervisor *s = w->sup;
	const char *fault = g->conf->broken;

	pool_start_queued(&s->pool, w->process, false, now);
	if (fault == NULL && keeper_is_needed(g->conf)) {
		if (g->keeper->stalls >= KEEPER_STALLS)
			fault = "it has stalled the keeper again and again";
		else if (s->keepers->unstarted)
			fault = "apppool-keeper does not start";
	}
	if (fault != NULL) {
		start_failed(s, w->process, false, fault, now);
		return;
	}
	if (!alone && g->templating != NULL && channel_open(w) == 0 &&
	    template_fork(w))
		return;
	worker_disown(w);
	w->adapted =
	    g->conf->handoff == CONF_HANDOFF_ACCEPT && !group_has_library(g);
	/* An adapter gives connections before it takes them off the channel. */
	w->keeps = w->adapted &&
	    (g->conf->pool.prefetch == 0 || g->conf->pool.prefetch_auto);
	if (channel_open(w) == -1 || start_program(w) == -1) {
		start_failed(s, w->process, true, strerror(errno), now);
		return;
	}
	s->starting.n++;
	g->starts.n++;
}

void
start_unforked(struct worker *w, tstamp now)
{
	if (w->sup->pool.processes[w->process].asked)
		start_call_off(w, now);
	else
		start_begin(w, true, now);
}

/* --- the queue --------------------------------------------------------- */

/* Whether the queued workers of the group are not needed now. */
static bool
start_may_rest(const struct group *g)
{
	const struct app *a = &g->sup->pool.apps[g->app];

	return a->options.exit_ends && app_demand(a) == 0 &&
	    a->in_state[PROCESS_IDLE] > 0;
}

/* Takes the worker out; its group goes to the end of the queue. */
static void
start_remove(struct worker *w)
{
	struct supervisor *s = w->sup;
	struct group *g = w->group;

	w->start.queued = false;
	TAILQ_REMOVE(&g->starts.queued, w, start.next);
	TAILQ_REMOVE(&s->start_queue, g, start_next);
	if (!TAILQ_EMPTY(&g->starts.queued))
		TAILQ_INSERT_TAIL(&s->start_queue, g, start_next);
	else
		timer_set(&s->loop.timers, &g->starts.rest, TSTAMP_NEVER);
}

void
start_call_off(struct worker *w, tstamp now)
{
	struct pool *p = &w->sup->pool;
	uint32_t process = w->process;

	if (w->start.queued)
		start_remove(w);
	worker_free(w);
	pool_spawn_failed(p, process, true, now);
}

/* The group whose turn it is; NULL: all have as many starts as they may. */
static struct group *
start_next_group(struct supervisor *s)
{
	struct group *g, *first = NULL;
	const struct templating *of;

	/* A start in the lane is not carried over by an upgrade. */
	if (s->starting.n >= START_MAX || upgrade_waits(s))
		return NULL;
	TAILQ_FOREACH(g, &s->start_queue, start_next) {
		if (g->starts.rest.at != TSTAMP_NEVER && !start_may_rest(g))
			timer_set(
			    &s->loop.timers, &g->starts.rest, TSTAMP_NEVER);
		/* Processes wait for the first template, unless that fails. */
		of = g->templating;
		if (g->starts.n >= START_MAX_EACH ||
		    g->starts.rest.at != TSTAMP_NEVER ||
		    (of != NULL && of->coming != NULL && of->current == NULL &&
			!of->failed))
			continue;
		if (app_demand(&s->pool.apps[g->app]) > 0)
			return g;
		if (first == NULL)
			first = g;
	}
	return first;
}

bool
start_queued(struct supervisor *s, tstamp now)
{
	struct group *g;
	struct worker *w;
	bool any = false;

	for (; (g = start_next_group(s)) != NULL; any = true) {
		w = TAILQ_FIRST(&g->starts.queued);
		start_remove(w);
		start_begin(w, false, now);
	}
	return any;
}

void
start_queue(struct worker *w, tstamp now)
{
	struct group *g = w->group;
	struct supervisor *s = g->sup;

	if (TAILQ_EMPTY(&g->starts.queued)) {
		TAILQ_INSERT_TAIL(&s->start_queue, g, start_next);
		if (start_may_rest(g))
			timer_set(
			    &s->loop.timers, &g->starts.rest, now + START_REST);
	}
	TAILQ_INSERT_TAIL(&g->starts.queued, w, start.next);
	w->start.queued = true;
}

void
start_process(struct supervisor *s, const struct action *a, tstamp now)
{
	struct group *g = s->groups[a->app];
	struct worker *w;

	template_update(g, now);
	w = worker_new(g, a->process);
	if (w == NULL) {
		start_failed(s, a->process, true, strerror(errno), now);
		return;
	}
	start_queue(w, now);
	pool_start_queued(&s->pool, w->process, true, now);
	/* The new process takes one off the demand of the backlog. */
	if (group_accepts_itself(g))
		backlog_look(g, now);
}
