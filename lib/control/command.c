/* What may be asked for on the control socket; see apppoolctl(8). */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/control_private.h"
#include "daemon/reload.h"
#include "sys/json.h"
#include "sys/log.h"
#include "sys/peer.h"
#include "sys/suggest.h"

struct command {
	const char *name;
	const char *arguments; /* for people */
	const char *does; /* likewise */
	unsigned min; /* arguments */
	unsigned max;
	bool changes; /* not for everybody who may connect */
	/* The arguments end with NULL. */
	void (*run)(struct client *, char *const *, tstamp);
};

/* --- apps --------------------------------------------------------------- */

/* The nearest name of an app, for one that is none of them. */
static const char *
nearest_app(const struct supervisor *s, const char *name)
{
	const char **names;
	const char *nearest;
	size_t len = 0;

	names = calloc((size_t)s->pool.napps + 1, sizeof(*names));
	if (names == NULL)
		return NULL;
	for (uint32_t n = 0; n < s->pool.napps; n++)
		if (s->groups[n] != NULL)
			names[len++] = s->groups[n]->conf->name;
	nearest = suggest_nearest(name, names);
	free(names);
	return nearest;
}

bool
command_choose_app(struct client *cl, const char *name)
{
	struct supervisor *s = cl->control->sup;
	const char *nearest;

	if (supervisor_group(s, name) == NULL) {
		nearest = nearest_app(s, name);
		if (nearest == NULL)
			client_error(cl, "no app %s", name);
		else
			client_error(
			    cl, "no app %s; is %s meant?", name, nearest);
		return false;
	}
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
	if (args[0] != NULL && !command_choose_app(cl, args[0]))
		return;
	cl->wants_status = true;
}

/* What pool.conf says of where we listen, a line each. */
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
	const struct supervisor *s = cl->control->sup;
	const struct door *d;
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
		TAILQ_FOREACH(d, &s->groups[n]->doors, next)
			tell_listener(cl, &j, d->where.text);
	}
	for (size_t i = 0; services_counter_address(&s->services, i, &address);
	     i++)
		tell_listener(cl, &j, address.where);
	if (cl->json) {
		json_array_end(&j);
		text_puts(&cl->out, "\n");
	}
}

/* --- reload and stop ---------------------------------------------------- */

static void
command_reloaded(void *arg, bool ok, const char *text)
{
	struct client *cl = arg;

	client_tell(cl, text);
	if (!ok)
		client_error(
		    cl, "not reloaded, the old configuration stays in force");
	cl->waits = WAIT_NOTHING;
	if (ok && command_wait_rollout(cl))
		return;
	/* Else it has not even begun to wait. */
	if (cl->state == CLIENT_WAITING)
		client_answer(cl, loop_now(&cl->control->sup->loop));
}

static void
command_reload(struct client *cl, char *const *args, tstamp now)
{
	struct control *c = cl->control;

	(void)args;
	if (c->sup->stopping) {
		client_error(cl, "the daemon is stopping");
		return;
	}
	if (c->nwaiting >= c->max_waiting) {
		client_error(cl, "too many clients wait already");
		return;
	}
	cl->waits = WAIT_RELOAD;
	reload_request(c->sup, command_reloaded, cl, now);
}

/* The client sees the end of the daemon as the end of the answer. */
static void
command_stop(struct client *cl, char *const *args, tstamp now)
{
	struct supervisor *s = cl->control->sup;

	(void)args;
	client_tell(cl, "stopping");
	cl->waits = WAIT_END;
	if (!s->stopping)
		supervisor_stop(s, now);
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
	{ "wait", "[APP]", "until min_processes are ready", 0, 1, false,
	    command_wait },
	{ "ping", "APP", "where apppoolctl ping can try it", 1, 1, false,
	    command_ping },
	{ "reload", "", "put the configuration into force", 0, 0, true,
	    command_reload },
	{ "stop", "", "stop gracefully", 0, 0, true, command_stop },
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
			text_printf(&cl->out, "%-10s %-8s %s\n",
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

/* --- which one ---------------------------------------------------------- */

/* Root, who runs the daemon, and who is in control_group. */
static bool
may_change(const struct client *cl)
{
	const struct conf *conf = cl->control->sup->config->conf;
	struct peer peer;

	if (peer_identify(cl->io.fd, &peer) == -1)
		return false;
	if (peer.uid == 0 || peer.uid == geteuid())
		return true;
	return conf->control_gid != (gid_t)-1 &&
	    peer_in_group(cl->io.fd, conf->control_gid);
}

/* true: it may, and the log says who does it. */
static bool
grant_change(struct client *cl, const char *name, tstamp now)
{
	struct peer peer = { 0 };

	(void)peer_identify(cl->io.fd, &peer);
	if (may_change(cl)) {
		log_info("control: %s, by uid %u (pid %d)", name,
		    (unsigned)peer.uid, (int)peer.pid);
		return true;
	}
	log_limited(&cl->control->refused_rate, now, LOG_LEVEL_WARN,
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
	const char *names[COMMANDS + 1];
	const char *nearest;

	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
		names[i] = commands[i].name;
	}
	names[COMMANDS] = NULL;
	nearest = suggest_nearest(name, names);
	if (nearest == NULL)
		client_error(cl, "unknown command %.64s; see help", name);
	else
		client_error(
		    cl, "unknown command %s; is %s meant?", name, nearest);
	return NULL;
}

void
command_run(struct client *cl, const struct control_line *line, tstamp now)
{
	const struct command *command = find_command(cl, line->words[0]);
	size_t nargs = line->nwords - 1;

	if (command == NULL)
		return;
	if (nargs < command->min || nargs > command->max) {
		client_error(cl, "usage: %s%s%s", command->name,
		    command->max == 0 ? "" : " ", command->arguments);
		return;
	}
	if (command->changes && !grant_change(cl, command->name, now))
		return;
	command->run(cl, line->words + 1, now);
}
