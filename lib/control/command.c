/* The commands of the control socket; see apppoolctl(8). */

#include <sys/param.h>
#include <sys/socket.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/room.h"
#include "sys/number.h"
#include "sys/sockets.h"

/* Bytes of a command that are told; who has given it stands behind them. */
#define COMMAND_TOLD 512

/* --- status ------------------------------------------------------------- */

/* If need be one that is leaving. NULL: the client was told there is none. */
static struct group *
target_group(struct client *cl, const char *name)
{
	struct group *g = target_lookup(cl->all->sup, name);

	if (g == NULL)
		target_none(cl, "app", name);
	return g;
}

/* Sets the app of the client; NULL: all. False: it was told there is none. */
static bool
set_app(struct client *cl, const char *name)
{
	cl->app = name;
	return name == NULL || target_group(cl, name) != NULL;
}

static void
run_status(struct client *cl)
{
	cl->wants = set_app(cl, cl->said.words[1]);
	cl->format = cl->said.json ? STATUS_JSON : STATUS_TEXT;
}

/* The names alone; as JSON all of the status but the workers. */
static void
run_apps(struct client *cl)
{
	const struct group *g = NULL;

	cl->wants = cl->said.json;
	cl->format = STATUS_JSON_APPS;
	while (!cl->wants && (g = group_next(cl->all->sup, g)) != NULL)
		text_printf(&cl->out, "%s\n", g->conf->name);
}

static void
run_metrics(struct client *cl)
{
	cl->format =
	    cl->said.words[1] == NULL ? STATUS_METRICS : STATUS_OPENMETRICS;
	if (cl->said.json)
		client_error(
		    cl, "metrics has no JSON; status -j has the same figures");
	else if (cl->said.words[1] != NULL &&
	    strcmp(cl->said.words[1], "openmetrics") != 0)
		client_error(cl, "usage: metrics [openmetrics]");
	else
		cl->wants = true;
}

/* Whether the output of the app goes elsewhere; then tells where. */
static bool
output_is_elsewhere(struct client *cl, const struct group *g,
    void (*tell)(struct client *, const char *fmt, ...))
{
	static const char *const where[][2] = {
		[CONF_OUTPUT_INHERIT] = { "inherit",
		    "it goes where that of the daemon goes" },
		[CONF_OUTPUT_NULL] = { "null", "nobody keeps it" },
		[CONF_OUTPUT_FILE] = { "", "look there" },
	};
	const struct conf_program *p = &g->conf->program;

	if (p->output == CONF_OUTPUT_LOG)
		return false;
	tell(cl, "%s: output = %s: %s", g->conf->name,
	    p->output_file == NULL ? where[p->output][0] : p->output_file,
	    where[p->output][1]);
	return true;
}

/*
 * Events, or lines of output; of an app or worker that is gone there may be
 * some, too.
 */
static void
run_events(struct client *cl)
{
	const struct command *c = &commands[cl->id];
	const bool output = cl->id == COMMAND_LOGS;
	struct supervisor *s = cl->all->sup;
	const char *wrong;
	struct follow *f = follow_new(
	    &s->events, output, cl->said.words + 1, cl->said.json, &wrong);
	char *const of[] = { f == NULL ? NULL : f->of, NULL };
	const struct group *g = target_subject(s, of), *all = NULL;
	const bool none = f != NULL && f->found == 0;

	if (cl->again && f != NULL) {
		cl->waits = WAIT_EVENTS;
		cl->follow = f;
		return;
	}
	if (f == NULL)
		client_error(cl, "usage: %s%s%s; %s", c->name, c->arguments,
		    c->further, wrong);
	else if (none && f->of != NULL && g == NULL)
		target_none(cl, "app or worker", f->of);
	else if ((!none || !output || g == NULL ||
		     !output_is_elsewhere(cl, g, client_error)) &&
	    (!f->on || client_may_wait(cl))) {
		if (!none && output && g != NULL && !f->json)
			(void)output_is_elsewhere(cl, g, client_tell);
		while (none && output && g == NULL && !f->json &&
		    (all = group_next(s, all)) != NULL)
			(void)output_is_elsewhere(cl, all, client_tell);
		cl->waits = f->on ? WAIT_EVENTS : WAIT_NOTHING;
		cl->follow = f;
		f = NULL;
	}
	follow_free(f);
}

/* --- health ------------------------------------------------------------- */

/* A reason of a failure, and what stands before it. */
#define UNWELL_MAX (GROUP_FAILURE_MAX + EVENTS_APP_MAX + 64)

/*
 * Why the app is not ready, or, if only that is asked, why it is not alive:
 * that it has failed; "" if nothing is wrong.
 */
static const char *
app_unwell(const struct group *g, bool alive, char buf[UNWELL_MAX])
{
	const struct app *a = &g->sup->pool.apps[g->app];
	const char *name = g->conf->name, *wrong = backlog_wrong_port(g);
	bool runs = a->phase == APP_RUNNING;
	char why[GROUP_FAILURE_MAX];

	(void)group_failure(g, why);
	buf[0] = '\0';
	if (!alive && (!runs || a->leaving.soon != 0))
		(void)snprintf(
		    buf, UNWELL_MAX, "%s is %s", name, app_state_name(a));
	else if (!alive && wrong[0] != '\0')
		(void)snprintf(buf, UNWELL_MAX, "%s: %s", name, wrong);
	else if (runs && a->failed)
		(void)snprintf(buf, UNWELL_MAX, "%s has failed: %s", name, why);
	else if (!alive && app_ready(a) == 0 && !app_is_ready(a))
		(void)snprintf(buf, UNWELL_MAX, "%s has no ready process%s%s",
		    name, why[0] == '\0' ? "" : ": ", why);
	else if (!alive && !app_is_open(a))
		(void)snprintf(buf, UNWELL_MAX,
		    "%s is starting: %" PRIu32 " of %" PRIu32
		    " processes are ready",
		    name, app_ready(a), a->options.min_processes);
	return buf;
}

/* The answer is one line, of the first app that is not well. */
static void
run_health(struct client *cl)
{
	const struct supervisor *s = cl->all->sup;
	const char *name = cl->said.words[1];
	const bool alive = name != NULL && cl->said.words[2] != NULL;
	const struct group *g = NULL;
	const char *why = "";
	char buf[UNWELL_MAX];

	if (alive && strcmp(cl->said.words[2], "alive") != 0) {
		client_error(cl, "usage: health [APP] or health APP|* alive");
		return;
	}
	if (!set_app(cl, alive && strcmp(name, "*") == 0 ? NULL : name))
		return;
	if (s->stopping && !alive)
		why = "the daemon is stopping";
	while (why[0] == '\0' && (g = group_next(s, g)) != NULL)
		if (cl->app == NULL ? !g->closing
				    : g == target_lookup(s, cl->app))
			why = app_unwell(g, alive, buf);
	if (why[0] != '\0')
		client_error(cl, "%s", why);
	else
		client_tell(cl, "well");
}

/* --- agent -------------------------------------------------------------- */

#define BALANCERS_MAX 1000

/*
 * Puts what HAProxy is to know of the app, for one balancer of so many (0: not
 * how many connections), and gives its rank: the lowest is the worst.
 */
static unsigned
agent_put(const struct group *g, uint64_t balancers, char buf[UNWELL_MAX])
{
	const struct pool *p = &g->sup->pool;
	const struct app *a = &p->apps[g->app];
	const struct app_options *o = &a->options;
	const char *wrong = backlog_wrong_port(g);
	const uint64_t have =
	    MAX(pool_may_have(p, g->app, loop_now(&g->sup->loop)), 1);
	unsigned percent = (unsigned)(100 * have / o->max_processes);
	char why[GROUP_FAILURE_MAX];
	int len;

	if (a->phase == APP_RUNNING && (a->failed || wrong[0] != '\0')) {
		(void)snprintf(buf, UNWELL_MAX, "fail # %s: %s", g->conf->name,
		    wrong[0] != '\0' ? wrong : group_failure(g, why));
		return 0;
	}
	if (strcmp(app_state_name(a), "stopped") == 0) {
		(void)snprintf(buf, UNWELL_MAX, "stopped # by operator");
		return 1;
	}
	if (!group_is_ready(g)) {
		(void)snprintf(buf, UNWELL_MAX, "up 0%%");
		return 2;
	}
	percent = percent == 0 ? 1 : MIN(percent, 100);
	len = snprintf(buf, UNWELL_MAX, "up %u%%", percent);
	if (balancers > 0 && o->sessions)
		(void)snprintf(buf + len, UNWELL_MAX - (size_t)len,
		    " maxconn:%" PRIu64,
		    (have * o->concurrency + balancers - 1) / balancers);
	return 2 + percent;
}

/* The line for an agent-check; without a name, that of the worst app. */
static void
run_agent(struct client *cl)
{
	const struct supervisor *s = cl->all->sup;
	const char *name = cl->said.words[1];
	const char *number = name == NULL ? NULL : cl->said.words[2];
	const struct group *g = NULL;
	char buf[UNWELL_MAX], worst[UNWELL_MAX] = "up 100%";
	unsigned least = UINT_MAX;
	uint64_t balancers = 1;

	if (number != NULL &&
	    (!number_parse(number, strlen(number), &balancers) ||
		balancers == 0 || balancers > BALANCERS_MAX)) {
		client_error(
		    cl, "usage: agent [APP [BALANCERS]], at most 1000");
		return;
	}
	if (name != NULL && (g = target_lookup(s, name)) == NULL)
		(void)snprintf(
		    worst, sizeof(worst), "fail # no app %.64s", name);
	else if (name != NULL)
		(void)agent_put(g, balancers, worst);
	while (name == NULL && (g = group_next(s, g)) != NULL) {
		unsigned rank = g->closing ? UINT_MAX : agent_put(g, 0, buf);

		if (rank >= least)
			continue;
		least = rank;
		(void)strlcpy(worst, buf, sizeof(worst));
	}
	/* A failure may be told in several lines. */
	worst[strcspn(worst, "\r\n")] = '\0';
	client_tell(cl, "%s", worst);
}

/* --- wait --------------------------------------------------------------- */

static void
tell_given_up(struct client *cl, const struct group *g)
{
	client_error(cl,
	    strcmp(g->given_up.why, GROUP_ROLLED_BACK) == 0 ? "%s: %s"
							    : GIVEN_UP,
	    g->conf->name, g->given_up.why);
}

/*
 * Whether there is more to wait for of the app, whose processes that are ready
 * are counted; if not, the client is told if it has failed. An app that does
 * not run, or not much longer, keeps no client that waits for all apps.
 */
static bool
group_goes_on(struct client *cl, const struct group *g, struct progress *sum)
{
	const struct app *a = &g->sup->pool.apps[g->app];
	const tstamp now = loop_now(&g->sup->loop);
	const uint32_t ready = app_ready(a), least = a->options.min_processes;
	char why[GROUP_FAILURE_MAX];

	if (g->closing || a->phase != APP_RUNNING || a->leaving.soon != 0) {
		if (cl->app != NULL)
			client_error(cl, "%s is %s", cl->app,
			    g->closing ? "being removed" : app_state_name(a));
		return false;
	}
	sum->done += ready < least ? ready : least;
	sum->of += least;
	sum->what = "ready";
	/* A touch before the command is a restart to wait for. */
	if (!a->failed &&
	    (!restart_files_seen(g, cl->came, now) || wait_is_rolling(a)))
		return true;
	if (a->failed)
		client_error(cl, "%s has failed: %s", g->conf->name,
		    group_failure(g, why));
	else if (a->rollout.state == ROLLOUT_GIVEN_UP)
		tell_given_up(cl, g);
	else if (backlog_wrong_port(g)[0] != '\0')
		client_error(
		    cl, "%s: %s", g->conf->name, backlog_wrong_port(g));
	else
		return !app_is_ready(a);
	return false;
}

static bool
ready_goes_on(struct client *cl, struct progress *out)
{
	const struct supervisor *s = cl->all->sup;
	const struct group *g = NULL;
	bool goes_on = false;

	if (s->stopping)
		client_error(cl, "the daemon is stopping");
	else if (cl->app == NULL)
		while (cl->out.len == 0 && (g = group_next(s, g)) != NULL)
			goes_on |= group_goes_on(cl, g, out);
	else if ((g = target_lookup(s, cl->app)) == NULL)
		client_error(cl, "no app %s any more", cl->app);
	else
		goes_on = group_goes_on(cl, g, out);
	if (cl->out.len > 0)
		return false;
	if (!goes_on)
		client_tell(cl, "ready");
	return goes_on;
}

static void
run_wait(struct client *cl)
{
	if (!set_app(cl, cl->said.words[1]))
		return;
	cl->came = loop_now(&cl->all->sup->loop);
	client_wait_while(cl, ready_goes_on);
}

/* --- addresses ---------------------------------------------------------- */

static void
put_address(struct client *cl, const char *address)
{
	if (cl->said.json)
		emit_string(&cl->json, address);
	else
		text_printf(&cl->out, "%s\n", address);
}

/* In the words of pool.conf. */
static void
run_listeners(struct client *cl)
{
	const struct supervisor *s = cl->all->sup;
	const struct group *g = NULL;
	const struct app_listener *l;
	const struct counter_address *address;

	if (cl->said.json)
		emit_array(&cl->json);
	while ((g = group_next(s, g)) != NULL)
		TAILQ_FOREACH(l, &g->listeners, next)
			put_address(cl, l->where.text);
	for (size_t i = 0; (address = poolcounter_address(s, i)) != NULL; i++)
		put_address(cl, address->where);
	if (cl->said.json) {
		emit_array_end(&cl->json);
		text_puts(&cl->out, "\n");
	}
}

/*
 * The answer is the protocol and the address, which may have spaces. A second
 * line says why the app has failed, which a connection alone would not show.
 */
static void
run_ping(struct client *cl)
{
	const struct group *g = target_group(cl, cl->said.words[1]);
	const struct app_listener *l, *first = NULL;
	const char *protocol, *why = NULL;
	char failure[GROUP_FAILURE_MAX];
	const struct app *a;

	if (g == NULL)
		return;
	a = &g->sup->pool.apps[g->app];
	if (a->phase != APP_RUNNING) {
		client_error(cl, "%s is %s", cl->said.words[1],
		    g->closing && !g->sup->stopping ? "being removed"
						    : app_state_name(a));
		return;
	}
	/* The group has its listeners in the order of their turns. */
	for (size_t i = 0; i < g->conf->listen.len && first == NULL; i++)
		TAILQ_FOREACH(l, &g->listeners, next)
			if (!l->leaving &&
			    strcmp(l->where.text,
				g->conf->listen.list[i].text) == 0)
				first = l;
	if (first == NULL) {
		client_error(cl, "%s listens nowhere", cl->said.words[1]);
		return;
	}
	if (a->failed)
		why = group_failure(g, failure);
	protocol = conf_protocol_names[g->conf->refusal.protocol];
	if (!cl->said.json) {
		text_printf(&cl->out, "%s %s\n", protocol, first->address);
		if (why != NULL)
			client_tell(cl, "failed: %s", why);
		return;
	}
	emit_object(&cl->json);
	emit_put_string(&cl->json, "protocol", protocol);
	emit_put_string(&cl->json, "address", first->address);
	emit_put_string(&cl->json, "failed", why);
	emit_object_end(&cl->json);
	text_puts(&cl->out, "\n");
}

/* --- reload, reopen and stop -------------------------------------------- */

/*
 * Whether a rollout is under way; else tells which one was given up since the
 * reload began.
 */
static bool
rollouts_go_on(struct client *cl, struct progress *out)
{
	const struct supervisor *s = cl->all->sup;
	const struct group *g = NULL, *given_up = NULL;
	bool rolls = false;

	out->what = "replaced";
	while ((g = group_next(s, g)) != NULL) {
		const struct app *a = &s->pool.apps[g->app];

		rolls |= wait_is_rolling(a);
		if (given_up == NULL && g->given_up.at >= cl->came &&
		    (a->rollout.state == ROLLOUT_GIVEN_UP ||
			strcmp(g->given_up.why, GROUP_ROLLED_BACK) == 0))
			given_up = g;
		if (app_rolling(a) && a->outdated <= a->rollout.size) {
			out->done += a->rollout.size - a->outdated;
			out->of += a->rollout.size;
		}
	}
	rolls = rolls && !s->stopping;
	if (!rolls && given_up != NULL)
		tell_given_up(cl, given_up);
	return rolls;
}

static bool
reload_goes_on(struct client *cl, struct progress *out)
{
	struct reload_answer *a = cl->reload;
	bool ok = true;

	if (a != NULL) {
		if (!a->over)
			return true;
		client_tell(cl, "%s", a->text == NULL ? "no memory" : a->text);
		ok = a->ok;
		if (!ok)
			client_error(cl,
			    "not reloaded, the old configuration stays in "
			    "force");
		cl->came = a->began;
		reload_forget(a);
		cl->reload = NULL;
	}
	return ok && rollouts_go_on(cl, out);
}

/* The answer is the new program's, or that of the former which serves on. */
static bool
upgrade_goes_on(struct client *cl, struct progress *out)
{
	const struct reload_answer *a = cl->reload;

	(void)out;
	/* In another program of the daemon's the upgrade has another answer. */
	if (a == NULL)
		a = cl->reload = upgrade_answer(cl->all->sup);
	if (a != NULL && !a->over)
		return true;
	if (a != NULL && a->ok)
		client_tell(cl, "%s", a->text);
	else
		client_error(cl, "%s",
		    a == NULL || a->text == NULL ? "no memory" : a->text);
	return false;
}

/* A reload, or an upgrade. */
static void
run_reload(struct client *cl)
{
	struct supervisor *s = cl->all->sup;
	const tstamp now = loop_now(&s->loop);
	const bool up = cl->id == COMMAND_UPGRADE;

	if (s->stopping)
		client_error(cl, "the daemon is stopping");
	if (s->stopping || !client_may_wait(cl))
		return;
	cl->reload = up ? upgrade_request(s, now) : reload_request(s, now);
	if (cl->reload == NULL)
		client_error(cl, "no memory");
	else
		client_wait_while(cl, up ? upgrade_goes_on : reload_goes_on);
}

static bool
reopen_goes_on(struct client *cl, struct progress *out)
{
	const struct supervisor *s = cl->all->sup;
	const char *file = s->config->log.path;

	(void)out;
	if (s->reopening.config != NULL)
		return true;
	/* A reload may have brought a log that is no file. */
	if (s->reopening.failure[0] == '\0')
		client_tell(
		    cl, "%s: opened anew", file == NULL ? "the log" : file);
	else
		client_error(cl, "%s; lines go on to the former file",
		    s->reopening.failure);
	return false;
}

static void
run_reopen(struct client *cl)
{
	struct supervisor *s = cl->all->sup;

	if (s->config->log.dest != LOG_DEST_FILE) {
		client_tell(cl, "the log is no file: nothing to open anew");
	} else if (client_may_wait(cl)) {
		logging_reopen(s);
		client_wait_while(cl, reopen_goes_on);
	}
}

/* The end of the daemon is the end of the answer. */
static void
run_stop(struct client *cl)
{
	struct supervisor *s = cl->all->sup;

	if (cl->said.words[1] != NULL) {
		steer_run(cl);
		return;
	}
	client_tell(cl, "stopping");
	cl->waits = WAIT_END;
	if (!s->stopping)
		supervisor_stop(s, false, loop_now(&s->loop));
}

/* --- version and help --------------------------------------------------- */

static void
run_version(struct client *cl)
{
	if (cl->said.json)
		text_puts(&cl->out, "{\"version\":\"" APPPOOL_VERSION "\"}\n");
	else
		client_tell(cl, "apppoold " APPPOOL_VERSION);
}

static void
run_help(struct client *cl)
{
	const char *name = cl->said.words[1];

	if (name != NULL && command_find(name) == COMMANDS) {
		client_error(cl, "unknown command %.64s; see help", name);
		return;
	}
	if (cl->said.json)
		emit_object(&cl->json);
	for (const struct command *c = commands; c < commands + COMMANDS; c++) {
		if (c->kind == COMMAND_LOCAL ||
		    (name != NULL && strcmp(name, c->name) != 0))
			continue;
		if (cl->said.json)
			emit_put_string(&cl->json, c->name, c->does);
		else
			text_printf(&cl->out, "%s%s%s: %s\n", c->name,
			    c->arguments, c->further, c->does);
	}
	if (cl->said.json) {
		emit_object_end(&cl->json);
		text_puts(&cl->out, "\n");
	}
}

/* --- rights ------------------------------------------------------------- */

/* Whether the peer of this identity is in the group, or was as it connected. */
static bool
allow_member(int fd, const struct ucred *peer, gid_t gid)
{
	gid_t *groups = NULL;
	socklen_t len = 0;
	bool found = peer->gid == gid;

	/* The first call gives the size. */
	if (!found &&
	    getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) == -1 &&
	    errno == ERANGE && (groups = malloc(len)) != NULL &&
	    getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) == 0)
		for (size_t i = 0; i < len / sizeof(*groups); i++)
			found = found || groups[i] == gid;
	free(groups);
	return found;
}

/*
 * Root, the user of the daemon, and members of control_group may change
 * something, and an event names who has. False: the client was told.
 */
static bool
allow_change(struct client *cl, tstamp now)
{
	const struct command_line *line = &cl->said;
	const struct supervisor *s = cl->all->sup;
	const gid_t group = s->config->control_gid;
	struct ucred peer = { 0 };
	struct text words;

	if (peer_identify(cl->io.fd, &peer) == -1 ||
	    (peer.uid != 0 && peer.uid != geteuid() &&
		(group == (gid_t)-1 ||
		    !allow_member(cl->io.fd, &peer, group)))) {
		log_limited(&cl->all->refused_rate, now, LOG_LEVEL_WARN,
		    "control: %s refused, of uid %u (pid %d)", line->words[0],
		    (unsigned)peer.uid, (int)peer.pid);
		client_error(cl,
		    "%s needs root, the user of the daemon, or a member of "
		    "control_group",
		    line->words[0]);
		return false;
	}
	text_init(&words, CLIENT_LINE_MAX);
	for (size_t i = 0; i < line->nwords; i++) {
		text_puts(&words, i == 0 ? "" : " ");
		text_escaped(&words, line->words[i], strlen(line->words[i]));
	}
	tell_event(cl->all->sup, target_subject(s, line->words + 1), NULL,
	    LOG_LEVEL_INFO, EVENT_COMMAND, NULL,
	    "control: %.*s, by uid %u (pid %d)",
	    (int)(words.len < COMMAND_TOLD ? words.len : COMMAND_TOLD),
	    words.data, (unsigned)peer.uid, (int)peer.pid);
	text_fini(&words);
	return true;
}

/* --- lines -------------------------------------------------------------- */

const char *
command_split(char *line, size_t len, struct command_line *out)
{
	char *rest = line, *word;
	bool *flag;

	if (len > CLIENT_LINE_MAX)
		return "the line is longer than 4096 bytes";
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)line[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return "a control character in the line";
	}
	line[len] = '\0';
	*out = (struct command_line){ 0 };
	while ((word = strsep(&rest, " \t")) != NULL) {
		if (*word == '\0')
			continue;
		/* Before the command each may stand once. */
		flag = strcmp(word, "json") == 0    ? &out->json
		    : strcmp(word, "progress") == 0 ? &out->progress
						    : NULL;
		if (out->nwords == 0 && flag != NULL && !*flag) {
			*flag = true;
			continue;
		}
		if (out->nwords == COMMAND_WORDS_MAX)
			return "too many words";
		out->words[out->nwords++] = word;
	}
	/* An answer in JSON is one value and nothing else. */
	out->progress = out->progress && !out->json;
	return out->nwords == 0 ? "no command" : NULL;
}

/*
 * All commands but those of steer.c, whose arguments end with NULL; and what
 * their clients go on waiting by after an upgrade.
 */
static const struct {
	void (*run)(struct client *);
	bool (*goes_on)(struct client *, struct progress *);
} runs[COMMANDS] = {
	[COMMAND_AGENT] = { run_agent, NULL },
	[COMMAND_APPS] = { run_apps, NULL },
	[COMMAND_EVENTS] = { run_events, NULL },
	[COMMAND_HEALTH] = { run_health, NULL },
	[COMMAND_HELP] = { run_help, NULL },
	[COMMAND_LISTENERS] = { run_listeners, NULL },
	[COMMAND_LOGS] = { run_events, NULL },
	[COMMAND_METRICS] = { run_metrics, NULL },
	[COMMAND_PING] = { run_ping, NULL },
	[COMMAND_RELOAD] = { run_reload, reload_goes_on },
	[COMMAND_REOPEN] = { run_reopen, reopen_goes_on },
	[COMMAND_STATUS] = { run_status, NULL },
	[COMMAND_STOP] = { run_stop, NULL },
	[COMMAND_UPGRADE] = { run_reload, upgrade_goes_on },
	[COMMAND_VERSION] = { run_version, NULL },
	[COMMAND_WAIT] = { run_wait, ready_goes_on },
};

void
command_run(struct client *cl, tstamp now)
{
	const struct command_line *line = &cl->said;
	const char *wrong = command_split(cl->line, cl->len, &cl->said);
	const char *name = line->words[0], *nearest;
	const struct command *c;

	if (wrong != NULL) {
		client_error(cl, "%s", wrong);
		return;
	}
	cl->id = command_find(name);
	c = &commands[cl->id];
	if (cl->id == COMMANDS || c->kind == COMMAND_LOCAL) {
		nearest = command_nearest(name);
		if (nearest == NULL)
			client_error(
			    cl, "unknown command %.64s; see help", name);
		else
			client_error(cl, "unknown command %s; is %s meant?",
			    name, nearest);
	} else if (line->nwords - 1 < c->least ||
	    (line->nwords - 1 > c->most && c->further[0] == '\0')) {
		client_error(cl, "usage: %s%s", name, c->arguments);
	} else if (!cl->again && c->kind == COMMAND_CHANGES &&
	    !allow_change(cl, now)) {
		return;
	} else if (cl->again && runs[cl->id].goes_on != NULL) {
		cl->app = line->words[1];
		cl->waits = WAIT_APPS;
		cl->goes_on = runs[cl->id].goes_on;
	} else if (runs[cl->id].run != NULL) {
		runs[cl->id].run(cl);
	} else {
		steer_run(cl);
	}
}
