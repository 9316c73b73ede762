/* Names of options, sections and calls: ours, and those of others. */

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "conf/room.h"
#include "sys/text.h"

/* Names outside of sections that are no options. */
static const struct {
	const char *name;
	enum form form;
	const char *misused;
} others[] = {
	{ "app", FORM_TITLED,
	    "section 'app' needs a name: app \"NAME\" { ... }" },
	{ "defaults", FORM_SECTION,
	    "'defaults' is a section: defaults { ... }" },
	{ "include", FORM_CALL, "'include' is a call: include(\"FILE\")" },
	{ NULL, FORM_NONE, NULL },
};

static size_t
other_find(const char *name)
{
	size_t i = 0;

	while (others[i].name != NULL && strcmp(others[i].name, name) != 0)
		i++;
	return i;
}

/* ---- names in files of other pool managers, servers and supervisors ---- */

/*
 * pool.conf(5) has more of them under NAMES ELSEWHERE.
 *
 * Without regard to case, and to '-' in place of '_'. */
static const struct {
	const char *theirs;
	const char *ours;
} peers[] = {
	{ "bind", "listen" },
	{ "chdir", "directory" },
	{ "cheaper", "min_processes" },
	{ "cheaper_idle", "max_idle_time" },
	{ "clear_env", "clear_environment" },
	{ "emergency_restart_threshold", "start_limit" },
	{ "env", "environment" },
	{ "error_log", "log" },
	{ "ExecStart", "command" },
	{ "gainValue", "gain" },
	{ "gid", "group" },
	{ "graceful_timeout", "stop_timeout" },
	{ "harakiri", "request_timeout" },
	{ "initial_env", "environment" },
	{ "killInterval", "kill_interval" },
	{ "LimitNOFILE", "limit_nofile" },
	{ "listen.backlog", "backlog" },
	{ "listen.group", "socket_group" },
	{ "listen.mode", "socket_mode" },
	{ "listen.owner", "socket_user" },
	{ "ListenBacklog", "backlog" },
	{ "ListenStream", "listen" },
	{ "listen_queue_depth", "backlog" },
	{ "logfile", "log" },
	{ "loglevel", "log_level" },
	{ "max_children", "max_processes" },
	{ "MaxClients", "max_processes" },
	{ "maxClassProcesses", "max_processes" },
	{ "MaxConnectionsPerChild", "max_requests" },
	{ "max_instances_per_app", "max_processes" },
	{ "max_pool_size", "max_processes" },
	{ "maxProcesses", "max_processes" },
	{ "max_request_queue_size", "max_queue" },
	{ "max_request_queue_time", "queue_timeout" },
	{ "max_request_time", "request_timeout" },
	{ "MaxRequestsPerChild", "max_requests" },
	{ "MaxRequestWorkers", "max_processes" },
	{ "max_workers", "max_processes" },
	{ "max_worker_lifetime", "max_lifetime" },
	{ "memory_limit", "max_memory" },
	{ "min_instances", "min_processes" },
	{ "minProcesses", "min_processes" },
	{ "MinSpareServers", "min_idle" },
	{ "min_workers", "min_processes" },
	{ "multiThreshold", "multi_threshold" },
	{ "numprocs", "min_processes" },
	{ "pidfile", "pid_file" },
	{ "pm.max_children", "max_processes" },
	{ "pm.max_requests", "max_requests" },
	{ "pm.min_spare_servers", "min_idle" },
	{ "pm.process_idle_timeout", "max_idle_time" },
	{ "pm.start_servers", "min_processes" },
	{ "pool_idle_time", "max_idle_time" },
	{ "processes", "max_processes" },
	{ "process.max", "max_processes" },
	{ "process.priority", "nice" },
	{ "process_control_timeout", "stop_timeout" },
	{ "raw_env", "environment" },
	{ "reload_on_rss", "max_memory" },
	{ "request_slowlog_timeout", "slow_timeout" },
	{ "request_terminate_timeout", "request_timeout" },
	{ "RestartSec", "restart_delay" },
	{ "rlimit_core", "limit_core" },
	{ "rlimit_files", "limit_nofile" },
	{ "ServerLimit", "max_processes" },
	{ "singleThreshold", "single_threshold" },
	{ "startDelay", "start_delay" },
	{ "startretries", "start_limit" },
	{ "startsecs", "ready_after" },
	{ "StartServers", "min_processes" },
	{ "stdout_logfile", "output" },
	{ "stopwaitsecs", "stop_timeout" },
	{ "threads", "concurrency" },
	{ "ThreadsPerChild", "concurrency" },
	{ "timeout", "request_timeout" },
	{ "TimeoutStartSec", "start_timeout" },
	{ "TimeoutStopSec", "stop_timeout" },
	{ "touch_reload", "watch" },
	{ "uid", "user" },
	{ "updateInterval", "update_interval" },
	{ "workers", "max_processes" },
	{ "worker_connections", "concurrency" },
	{ "worker_processes", "max_processes" },
	{ "worker_reload_mercy", "stop_timeout" },
	{ "WorkingDirectory", "directory" },
};

static bool
peer_is(const char *a, const char *b)
{
	for (; *a != '\0' && *b != '\0'; a++, b++)
		if (strncasecmp(a, b, 1) != 0 && (*a != '-' || *b != '_'))
			return false;
	return *a == *b;
}

/* The option of ours that this one is nearest to, or NULL. */
static const char *
peer_option(const char *name)
{
	/* mod_fastcgi has a '-' before each. */
	name += strspn(name, "-");
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++)
		if (peer_is(name, peers[i].theirs))
			return peers[i].ours;
	return NULL;
}

/* ---- names of a file ---- */

/* The known name nearest to an unknown one, or NULL. */
static const char *
name_nearest(bool in_app, const char *name)
{
	const struct option *o = in_app ? options_app : options_global;
	size_t len = in_app ? options_app_len : options_global_len;
	const char *names[128];
	size_t n = 0;

	assert(len < sizeof(names) / sizeof(names[0]) - 4);
	for (; n < len; n++)
		names[n] = o[n].name;
	for (size_t i = 0; !in_app && others[i].name != NULL; i++)
		names[n++] = others[i].name;
	names[n] = NULL;
	return suggest_nearest(name, names);
}

/* Where an option belongs, if it is not valid here; else "". */
static const char *
name_belongs(const struct stmt *s, const char *option)
{
	if (options_find(s->section != NULL, option) != NULL)
		return "";
	return s->section != NULL ? ", outside of sections" : ", in an app";
}

/* Reports a name that is unknown or in the wrong place. */
static void
name_unknown(struct findings *f, const struct stmt *s, const struct token *t)
{
	static const struct token any = { .text = "VALUE", .len = 5 };
	const struct token *value = token_is_text(t + 2) ? t + 2 : &any;
	bool in_app = s->section != NULL;
	const char *name = s->name;
	const char *what = s->form >= FORM_SECTION ? "section" : "option";
	const char *nearest = name_nearest(in_app, name);
	const char *ours = s->form == FORM_OPTION ? peer_option(name) : NULL;
	enum form other = others[other_find(name)].form;

	if (other == FORM_CALL)
		findings_mistake(
		    f, s->where, "include() stands outside of sections");
	else if (other != FORM_NONE)
		findings_mistake(f, s->where,
		    "section '%s' within another one: a '}' is missing before",
		    name);
	else if (options_find(!in_app, name) != NULL)
		findings_mistake(f, s->where,
		    in_app ? "option '%s' belongs outside of sections"
			   : "option '%s' belongs in an app or in defaults",
		    name);
	else if (ours != NULL)
		findings_mistake(f, s->where,
		    "unknown option '%s': write %s = %.*s%s", name, ours,
		    TOKEN_SHOW(value), name_belongs(s, ours));
	else if (nearest != NULL)
		findings_mistake(f, s->where,
		    "unknown %s '%s'; did you mean '%s'?", what, name, nearest);
	else
		findings_mistake(f, s->where, "unknown %s '%s'", what, name);
}

/* Reports a name without a sign behind it. */
static void
name_alone(struct findings *f, const struct stmt *s, const struct token *t)
{
	bool value = token_is_text(t + 1) && t[1].line == t->line;
	const char *quote = t[1].kind == TOKEN_WORD ? "\"" : "";
	const char *ours = s->option != NULL ? s->name : peer_option(s->name);

	if (value && strcmp(s->name, "include") == 0)
		findings_mistake(f, s->where,
		    "'include' is a call: write include(%s%.*s%s)", quote,
		    TOKEN_SHOW(t + 1), quote);
	else if (value && ours != NULL)
		findings_mistake(f, s->where,
		    "'%s' is not followed by '=': write %s = %.*s%s", s->name,
		    ours, TOKEN_SHOW(t + 1), name_belongs(s, ours));
	else
		findings_mistake(
		    f, s->where, "'%s' is not followed by '=' or '{'", s->name);
}

bool
names_check(struct findings *f, const struct stmt *s, const struct token *t)
{
	struct where sign = { s->where.source, t[1].line };
	const struct option *o = s->option;
	size_t other = other_find(s->name);

	if (s->form == FORM_NONE)
		name_alone(f, s, t);
	else if (o == NULL &&
	    (s->section != NULL || others[other].name == NULL))
		name_unknown(f, s, t);
	else if (o == NULL && others[other].form != s->form)
		findings_mistake(f, sign, "%s", others[other].misused);
	else if (o == NULL)
		return true;
	else if (s->form != FORM_OPTION)
		findings_mistake(
		    f, sign, "'%s' is an option: %s = VALUE", o->name, o->name);
	else if (t[1].kind == TOKEN_APPEND && !o->type->list)
		findings_mistake(f, sign,
		    "option '%s' is no list that '+=' could add to", o->name);
	else if (t[2].kind == TOKEN_OPEN && !o->type->list)
		findings_mistake(
		    f, sign, "option '%s' takes one value, no list", o->name);
	else
		return true;
	return false;
}
