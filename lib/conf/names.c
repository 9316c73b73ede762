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
 * Our options, and what they are called there, without regard to case, and to
 * '-' in place of '_'. pool.conf(5) has more of them under NAMES ELSEWHERE.
 */
static const struct {
	const char *ours;
	const char *theirs;
} peers[] = {
	{ "backlog", "listen.backlog ListenBacklog listen_queue_depth" },
	{ "clear_environment", "clear_env" },
	{ "command", "ExecStart" },
	{ "concurrency", "threads ThreadsPerChild worker_connections" },
	{ "directory", "chdir WorkingDirectory" },
	{ "environment", "env initial_env raw_env" },
	{ "gain", "gainValue" },
	{ "group", "gid" },
	{ "kill_interval", "killInterval" },
	{ "limit_core", "rlimit_core" },
	{ "limit_nofile", "LimitNOFILE rlimit_files" },
	{ "listen", "bind ListenStream" },
	{ "log", "error_log logfile" },
	{ "log_level", "loglevel" },
	{ "max_idle_time", "cheaper_idle pm.process_idle_timeout" },
	{ "max_idle_time", "pool_idle_time" },
	{ "max_lifetime", "max_worker_lifetime" },
	{ "max_memory", "memory_limit reload_on_rss" },
	{ "max_processes", "max_children MaxClients maxClassProcesses" },
	{ "max_processes", "max_instances_per_app max_pool_size maxProcesses" },
	{ "max_processes", "MaxRequestWorkers max_workers pm.max_children" },
	{ "max_processes", "processes process.max ServerLimit workers" },
	{ "max_processes", "worker_processes" },
	{ "max_queue", "max_request_queue_size" },
	{ "max_requests", "MaxConnectionsPerChild MaxRequestsPerChild" },
	{ "max_requests", "pm.max_requests" },
	{ "min_idle", "MinSpareServers pm.min_spare_servers" },
	{ "min_processes", "cheaper min_instances minProcesses min_workers" },
	{ "min_processes", "numprocs pm.start_servers StartServers" },
	{ "multi_threshold", "multiThreshold" },
	{ "nice", "process.priority" },
	{ "output", "stdout_logfile" },
	{ "pid_file", "pidfile" },
	{ "queue_timeout", "max_request_queue_time" },
	{ "ready_after", "startsecs" },
	{ "request_timeout", "harakiri max_request_time" },
	{ "request_timeout", "request_terminate_timeout timeout" },
	{ "restart_delay", "RestartSec" },
	{ "single_threshold", "singleThreshold" },
	{ "slow_timeout", "request_slowlog_timeout" },
	{ "socket_group", "listen.group" },
	{ "socket_mode", "listen.mode" },
	{ "socket_user", "listen.owner" },
	{ "start_delay", "startDelay" },
	{ "start_limit", "emergency_restart_threshold startretries" },
	{ "start_timeout", "TimeoutStartSec" },
	{ "stop_timeout", "graceful_timeout process_control_timeout" },
	{ "stop_timeout", "stopwaitsecs TimeoutStopSec worker_reload_mercy" },
	{ "update_interval", "updateInterval" },
	{ "user", "uid" },
	{ "watch", "touch_reload" },
};

/* The option of ours that this one is nearest to, or NULL. */
static const char *
peer_option(const char *name)
{
	/* mod_fastcgi has a '-' before each. */
	name += strspn(name, "-");
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		const char *word = peers[i].theirs;

		for (size_t len, same; *word != '\0'; word += len) {
			word += strspn(word, " ");
			len = strcspn(word, " ");
			same = 0;
			while (same < len &&
			    (strncasecmp(name + same, word + same, 1) == 0 ||
				(name[same] == '-' && word[same] == '_')))
				same++;
			if (same == len && name[len] == '\0')
				return peers[i].ours;
		}
	}
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
