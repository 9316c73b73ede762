/* The commands of the control socket; see apppoolctl(8). */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/command.h"
#include "control/status_json.h"
#include "control/status_metrics.h"
#include "control/status_text.h"
#include "control/steer.h"
#include "control/target.h"
#include "control/wait.h"
#include "daemon/listeners.h"
#include "daemon/logging.h"
#include "daemon/reload.h"
#include "daemon/stop.h"
#include "daemon/tell.h"
#include "sys/json.h"
#include "sys/log.h"
#include "sys/peer.h"
#include "sys/suggest.h"

/* Bytes of a command that are told; who has given it stands behind them. */
#define COMMAND_TOLD 512

struct command {
	const char *name;
	const char *arguments; /* for people */
	const char *does; /* likewise */
	unsigned min; /* arguments */
	unsigned max;
	bool changes; /* only for clients that may change something */
	/* The arguments end with NULL. */
	void (*run)(struct client *, char *const *, tstamp);
};

/* --- apps --------------------------------------------------------------- */

/* The group of this name; NULL: there is none, and the client was told. */
static const struct group *
find_group(struct client *cl, const char *name)
{
	char why[TARGET_WHY];
	const struct group *g = target_group(cl->all->sup, name, why);

	if (g == NULL)
		client_error(cl, "%s", why);
	return g;
}

/* Sets the app of the client; false likewise. */
static bool
choose_app(struct client *cl, const char *name)
{
	if (find_group(cl, name) == NULL)
		return false;
	cl->app = strdup(name);
	if (cl->app == NULL)
		client_error(cl, "%s", strerror(errno));
	return cl->app != NULL;
}

/* --- status ------------------------------------------------------------- */

static void
command_status(struct client *cl, char *const *args, tstamp now)
{
	(void)now;
	if (args[0] != NULL && !choose_app(cl, args[0]))
		return;
	cl->wants = cl->json ? &status_json : &status_text;
}

/* The names alone; as JSON all of the status but the workers. */
static void
command_apps(struct client *cl, char *const *args, tstamp now)
{
	const struct supervisor *s = cl->all->sup;

	(void)args;
	(void)now;
	if (cl->json) {
		cl->wants = &status_json_apps;
		return;
	}
	for (uint32_t n = 0; n < s->pool.napps; n++)
		if (s->groups[n] != NULL)
			text_printf(&cl->out, "%s\n", s->groups[n]->conf->name);
}

/* Of an app that is gone there may be events. */
static void
command_events(struct client *cl, char *const *args, tstamp now)
{
	const struct events *events = &cl->all->sup->events;
	struct follow_wish wish;
	const char *wrong = follow_parse(args, &wish);

	(void)now;
	if (wrong != NULL) {
		client_error(cl, "usage: events [APP] [-n N] [-f]; %s", wrong);
		return;
	}
	if (wish.app != NULL && target_lookup(cl->all->sup, wish.app) == NULL &&
	    !follow_knows(events, wish.app) && find_group(cl, wish.app) == NULL)
		return;
	if (wish.on && !client_may_wait(cl))
		return;
	/* The words lie in the client's line. */
	cl->follow = follow_new(events, &wish, cl->json);
	if (cl->follow == NULL)
		client_error(cl, "%s", strerror(errno));
	else if (wish.on)
		wait_for_events(cl);
}

static void
command_metrics(struct client *cl, char *const *args, tstamp now)
{
	(void)args;
	(void)now;
	if (cl->json)
		client_error(cl,
		    "metrics has no JSON; status -j has the same "
		    "figures");
	else
		cl->wants = &status_metrics;
}

static void
command_wait(struct client *cl, char *const *args, tstamp now)
{
	(void)now;
	if (args[0] == NULL || choose_app(cl, args[0]))
		wait_until_ready(cl);
}

/* --- addresses ---------------------------------------------------------- */

/* Adds an address, in the words of pool.conf, to the answer. */
static void
tell_listener(struct client *cl, struct json *j, const char *text)
{
	if (cl->json)
		json_string(j, text);
	else
		text_printf(&cl->out, "%s\n", text);
}

static void
command_listeners(struct client *cl, char *const *args, tstamp now)
{
	const struct supervisor *s = cl->all->sup;
	const struct app_listener *l;
	struct counter_address address;
	struct json j;

	(void)args;
	(void)now;
	json_init(&j, &cl->out);
	if (cl->json)
		json_array(&j);
	for (uint32_t n = 0; n < s->pool.napps; n++) {
		if (s->groups[n] == NULL)
			continue;
		TAILQ_FOREACH(l, &s->groups[n]->listeners, next)
			tell_listener(cl, &j, l->where.text);
	}
	for (size_t i = 0; services_counter_address(&s->services, i, &address);
	     i++)
		tell_listener(cl, &j, address.where);
	if (cl->json) {
		json_array_end(&j);
		text_puts(&cl->out, "\n");
	}
}

/* The first listener in the order of the configuration; NULL: none is open. */
static const struct app_listener *
first_listener(const struct group *g)
{
	const struct app_listener *l;

	/* The group has its listeners in the order of their turns. */
	for (size_t i = 0; i < g->conf->listen_len; i++)
		TAILQ_FOREACH(l, &g->listeners, next)
			if (!l->leaving &&
			    strcmp(l->where.text, g->conf->listen[i].text) == 0)
				return l;
	return NULL;
}

/* The news of an app that does not run. */
static const char *
describe_state(const struct group *g)
{
	return g->closing && !g->sup->stopping
	    ? "being removed"
	    : app_state_name(&g->sup->pool.apps[g->app]);
}

/*
 * The answer is the protocol and the address, which may have spaces. A second
 * line says why the app has failed, which a connection alone would not show.
 */
static void
command_ping(struct client *cl, char *const *args, tstamp now)
{
	const struct group *g = find_group(cl, args[0]);
	const struct app_listener *l;
	const char *protocol, *why = NULL;
	char failure[GROUP_FAILURE_MAX];
	struct json j;

	(void)now;
	if (g == NULL)
		return;
	if (g->sup->pool.apps[g->app].phase != APP_RUNNING) {
		client_error(cl, "%s is %s", args[0], describe_state(g));
		return;
	}
	l = first_listener(g);
	if (l == NULL) {
		client_error(cl, "%s listens nowhere", args[0]);
		return;
	}
	if (app_has_failed(&g->sup->pool.apps[g->app]))
		why = group_failure(g, failure);
	protocol = conf_protocol_name(g->conf->protocol);
	if (!cl->json) {
		text_printf(&cl->out, "%s %s\n", protocol, l->address);
		if (why != NULL)
			client_tell(cl, "failed: %s", why);
		return;
	}
	json_init(&j, &cl->out);
	json_object(&j);
	json_put_string(&j, "protocol", protocol);
	json_put_string(&j, "address", l->address);
	json_put_string(&j, "failed", why);
	json_object_end(&j);
	text_puts(&cl->out, "\n");
}

/* --- reload and stop ---------------------------------------------------- */

static void
reloaded(void *arg, bool ok, const char *text)
{
	struct client *cl = arg;

	client_tell(cl, "%s", text);
	if (!ok)
		client_error(
		    cl, "not reloaded, the old configuration stays in force");
	cl->waits = WAIT_NOTHING;
	if (ok && wait_until_rolled_out(cl))
		return;
	/* A reload may fail at once: the client does not wait yet. */
	if (cl->state == CLIENT_WAITING)
		client_answer(cl, loop_now(&cl->all->sup->loop));
}

static void
command_reload(struct client *cl, char *const *args, tstamp now)
{
	struct supervisor *s = cl->all->sup;

	(void)args;
	if (s->stopping) {
		client_error(cl, "the daemon is stopping");
		return;
	}
	if (!client_may_wait(cl))
		return;
	cl->waits = WAIT_RELOAD;
	reload_request(s, reloaded, cl, now);
}

static bool
reopen_goes_on(struct client *cl, struct progress *out)
{
	const struct supervisor *s = cl->all->sup;
	const char *file = s->config->conf->log_file;

	(void)out;
	if (s->reopening != NULL)
		return true;
	/* A reload may have brought a log that is no file. */
	if (s->reopen_failure[0] == '\0')
		client_tell(
		    cl, "%s: opened anew", file == NULL ? "the log" : file);
	else
		client_error(cl, "%s; lines go on to the former file",
		    s->reopen_failure);
	return false;
}

static void
command_reopen(struct client *cl, char *const *args, tstamp now)
{
	struct supervisor *s = cl->all->sup;

	(void)args;
	(void)now;
	if (s->config->conf->log != CONF_LOG_FILE) {
		client_tell(cl, "the log is no file: nothing to open anew");
		return;
	}
	if (!client_may_wait(cl))
		return;
	logging_reopen(s);
	wait_while(cl, reopen_goes_on);
}

/* The end of the daemon is the end of the answer. */
static void
command_stop(struct client *cl, char *const *args, tstamp now)
{
	struct supervisor *s = cl->all->sup;

	if (args[0] != NULL) {
		steer_stop(cl, args, now);
		return;
	}
	client_tell(cl, "stopping");
	cl->waits = WAIT_END;
	if (!s->stopping)
		stop_gracefully(s, now);
}

/* --- version and help --------------------------------------------------- */

static void
command_version(struct client *cl, char *const *args, tstamp now)
{
	struct json j;

	(void)args;
	(void)now;
	if (!cl->json) {
		client_tell(cl, "apppoold " APPPOOL_VERSION);
		return;
	}
	json_init(&j, &cl->out);
	json_object(&j);
	json_put_string(&j, "version", APPPOOL_VERSION);
	json_object_end(&j);
	text_puts(&cl->out, "\n");
}

static void command_help(struct client *, char *const *, tstamp);

static const struct command commands[] = {
	{ "status", "[APP]", "what runs, waits and was served", 0, 1, false,
	    command_status },
	{ "apps", "", "the names of all apps", 0, 0, false, command_apps },
	{ "wait", "[APP]", "until min_processes are ready", 0, 1, false,
	    command_wait },
	{ "ping", "APP", "where apppoolctl ping can try it", 1, 1, false,
	    command_ping },
	{ "reload", "", "put the configuration into force", 0, 0, true,
	    command_reload },
	{ "reopen", "", "open the log's file anew", 0, 0, true,
	    command_reopen },
	{ "detach", "ID", "have a worker leave after its sessions", 1, 1, true,
	    steer_detach },
	{ "resize", "APP MIN MAX", "give an app more or fewer processes", 3, 3,
	    true, steer_resize },
	{ "restart", "[APP|ID...]", "replace processes", 0, COMMAND_WORDS_MAX,
	    true, steer_restart },
	{ "drain", "APP", "keep clients waiting, and have no process", 1, 1,
	    true, steer_drain },
	{ "resume", "APP", "have a drained app run again", 1, 1, true,
	    steer_resume },
	{ "stop", "[APP]", "stop an app or, gracefully, the daemon", 0, 1, true,
	    command_stop },
	{ "start", "APP", "have a stopped app run again", 1, 1, true,
	    steer_start },
	{ "events", "[APP] [-n N] [-f]", "what has happened, and happens", 0,
	    COMMAND_WORDS_MAX, false, command_events },
	{ "metrics", "", "figures of all apps, in OpenMetrics", 0, 0, false,
	    command_metrics },
	{ "listeners", "", "the addresses that are held", 0, 0, false,
	    command_listeners },
	{ "version", "", "of the daemon", 0, 0, false, command_version },
	{ "help", "", "these lines", 0, 0, false, command_help },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void
command_help(struct client *cl, char *const *args, tstamp now)
{
	struct json j;

	(void)args;
	(void)now;
	if (!cl->json) {
		for (size_t i = 0; i < COMMANDS; i++)
			text_printf(&cl->out, "%-10s %-17s %s\n",
			    commands[i].name, commands[i].arguments,
			    commands[i].does);
		return;
	}
	json_init(&j, &cl->out);
	json_object(&j);
	for (size_t i = 0; i < COMMANDS; i++)
		json_put_string(&j, commands[i].name, commands[i].does);
	json_object_end(&j);
	text_puts(&cl->out, "\n");
}

/* --- rights ------------------------------------------------------------- */

/* Root, the user of the daemon, and members of control_group may. */
static bool
may_change(const struct client *cl)
{
	const struct conf *conf = cl->all->sup->config->conf;
	struct peer peer;

	if (peer_identify(cl->io.fd, &peer) == -1)
		return false;
	if (peer.uid == 0 || peer.uid == geteuid())
		return true;
	return conf->control_gid != (gid_t)-1 &&
	    peer_in_group(cl->io.fd, conf->control_gid);
}

static void
tell_change(const struct client *cl, const struct command_line *line,
    const struct peer *peer)
{
	struct text words;

	text_init(&words, CLIENT_LINE_MAX);
	for (size_t i = 0; i < line->nwords; i++) {
		text_puts(&words, i == 0 ? "" : " ");
		text_escaped(&words, line->words[i], strlen(line->words[i]));
	}
	tell_command(cl->all->sup,
	    target_subject(cl->all->sup, line->words + 1),
	    "control: %.*s, by uid %u (pid %d)",
	    (int)(words.len < COMMAND_TOLD ? words.len : COMMAND_TOLD),
	    words.data, (unsigned)peer->uid, (int)peer->pid);
	text_fini(&words);
}

/* True: the client may, and an event names it. False: the client was told. */
static bool
allow_change(struct client *cl, const struct command_line *line, tstamp now)
{
	const char *name = line->words[0];
	struct peer peer = { 0 };

	(void)peer_identify(cl->io.fd, &peer);
	if (may_change(cl)) {
		tell_change(cl, line, &peer);
		return true;
	}
	log_limited(&cl->all->refused_rate, now, LOG_LEVEL_WARN,
	    "control: %s refused, of uid %u (pid %d)", name, (unsigned)peer.uid,
	    (int)peer.pid);
	client_error(cl,
	    "%s needs root, the user of the daemon, or a member of "
	    "control_group",
	    name);
	return false;
}

static const struct command *
find_command(struct client *cl, const char *name)
{
	const char *names[COMMANDS + 1], **end = names;
	const char *nearest;

	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
		/* A suggestion that is typed shall change nothing. */
		if (!commands[i].changes)
			*end++ = commands[i].name;
	}
	*end = NULL;
	nearest = suggest_nearest(name, names);
	if (nearest == NULL)
		client_error(cl, "unknown command %.64s; see help", name);
	else
		client_error(
		    cl, "unknown command %s; is %s meant?", name, nearest);
	return NULL;
}

/* --- lines -------------------------------------------------------------- */

static const char *
check_line(const char *line, size_t len)
{
	if (len > CLIENT_LINE_MAX)
		return "the line is longer than 4096 bytes";
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)line[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return "a control character in the line";
	}
	return NULL;
}

/* Takes a word before the command; false: it is the command. */
static bool
is_prefix(struct command_line *line, const char *word)
{
	bool *flag = NULL;

	if (strcmp(word, "json") == 0)
		flag = &line->json;
	else if (strcmp(word, "progress") == 0)
		flag = &line->progress;
	if (flag == NULL || *flag)
		return false;
	*flag = true;
	return true;
}

const char *
command_parse(char *line, size_t len, struct command_line *out)
{
	const char *wrong = check_line(line, len);
	char *rest = line, *word;

	if (wrong != NULL)
		return wrong;
	line[len] = '\0';
	*out = (struct command_line){ 0 };
	while ((word = strsep(&rest, " \t")) != NULL) {
		if (*word == '\0')
			continue;
		if (out->nwords == 0 && is_prefix(out, word))
			continue;
		if (out->nwords == COMMAND_WORDS_MAX)
			return "too many words";
		out->words[out->nwords++] = word;
	}
	return out->nwords == 0 ? "no command" : NULL;
}

void
command_run(struct client *cl, char *text, size_t len, tstamp now)
{
	struct command_line line;
	const char *wrong = command_parse(text, len, &line);
	const struct command *command;
	size_t nargs;

	if (wrong != NULL) {
		client_error(cl, "%s", wrong);
		return;
	}
	cl->json = line.json;
	/* An answer in JSON is one value and nothing else. */
	cl->watches = line.progress && !line.json;
	command = find_command(cl, line.words[0]);
	if (command == NULL)
		return;
	nargs = line.nwords - 1;
	if (nargs < command->min || nargs > command->max)
		client_error(cl, "usage: %s%s%s", command->name,
		    command->max == 0 ? "" : " ", command->arguments);
	else if (!command->changes || allow_change(cl, &line, now))
		command->run(cl, line.words + 1, now);
}
