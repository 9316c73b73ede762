/*
 * All options of pool.conf: name, type, default, smallest and largest value
 * (durations in seconds; both 0: the type says it), the handoffs that allow
 * it, and what a change of it costs. Parsing, checking, -T and the
 * comparison at a reload go by these rows. Then what to write for names that
 * are not known, or stand where they do not belong.
 */

#include <assert.h>
#include <strings.h>

#include "conf/room.h"
#include "sys/text.h"

#define DAY 86400.0
#define LONG (3650 * DAY)

/* The shortest duration where 0 makes no sense. */
#define SHORT 0.001

#define BIT(handoff) (1U << (handoff))
#define NATIVE BIT(CONF_HANDOFF_NATIVE)
/* Handoffs whose processes outlive their sessions. */
#define LASTING (NATIVE | BIT(CONF_HANDOFF_ACCEPT))
#define SESSIONS (LASTING | BIT(CONF_HANDOFF_STDIO))
/* Handoffs whose programs do not speak with the daemon. */
#define SILENT (BIT(CONF_HANDOFF_LISTEN) | BIT(CONF_HANDOFF_NONE))
#define CONNECTIONS (SESSIONS | BIT(CONF_HANDOFF_LISTEN))
#define ALL 0

#define IN_PLACE CONF_CHANGED_SIZES
#define LISTENER CONF_CHANGED_LISTEN
#define REPLACES CONF_CHANGED_PROCESS

/* A field of struct conf or conf_app, and what an option of it costs. */
#define ROW(of, option, field, kind, value, least, most, ...) \
	{ \
		.name = #option, .type = &type_##kind, \
		.offset = offsetof(struct of, field), \
		.size = sizeof(((struct of *)NULL)->field), .preset = value, \
		.min = least, .max = most, __VA_ARGS__ \
	}
#define WORDS(...) \
	.words = (const char *const[]) \
	{ \
		__VA_ARGS__, NULL \
	}
#define GLOBAL(option, ...) \
	ROW(conf, option, option, __VA_ARGS__, .in_app = false)
#define GLOBAL_EXTRA(field) .extra = offsetof(struct conf, field)
#define APP(option, field, allowed, price, ...) \
	ROW(conf_app, option, field, __VA_ARGS__, .handoffs = allowed, \
	    .cost = price, .in_app = true)
#define APP_EXTRA(field) .extra = offsetof(struct conf_app, field)
#define SOCKETS(option, field, ...) \
	APP(option, listen.field, CONNECTIONS, LISTENER, __VA_ARGS__)
#define PROGRAM(option, ...) \
	APP(option, program.option, ALL, REPLACES, __VA_ARGS__)
#define PARKING(option, ...) \
	APP(option, parking.option, SESSIONS, IN_PLACE, __VA_ARGS__)
#define LOAD(option, ...) \
	APP(option, pool.load.option, CONNECTIONS, IN_PLACE, __VA_ARGS__)
#define CGROUP(option, ...) \
	APP(option, cgroup.option, ALL, IN_PLACE, __VA_ARGS__)
#define POOL(option, allowed, ...) \
	APP(option, pool.option, allowed, IN_PLACE, __VA_ARGS__)

const struct option options_global[] = {
	GLOBAL(max_processes, uint_auto, "64", 1, CONF_PROCESSES_MAX,
	    GLOBAL_EXTRA(max_auto)),
	GLOBAL(process_slack, uint, "4", 0, CONF_PROCESSES_MAX),
	GLOBAL(control, path, CONF_DEFAULT_CONTROL, 0, 0),
	GLOBAL(control_mode, mode, "0660", 0, 0),
	GLOBAL(control_group, string, NULL, 0, 0),
	GLOBAL(counter, listen, NULL, 0, 0, GLOBAL_EXTRA(counter_len)),
	GLOBAL(counter_max_clients, uint, "10000", 1, 1e6),
	GLOBAL(log, log, "stderr", 0, 0),
	ROW(conf, log_level, log.level, word, "info", 0, 0,
	    .words = type_level_words),
	ROW(conf, log_format, log.json, word, "text", 0, 0,
	    WORDS("text", "json")),
	GLOBAL(pid_file, path, NULL, 0, 0),
	GLOBAL(dump_file, path, NULL, 0, 0),
	GLOBAL(stop_timeout, span, "30s", 0, LONG),
	GLOBAL(close_delay, span, "0", 0, LONG),
	GLOBAL(require_cgroup, flag, "false", 0, 0),
	GLOBAL(user, string, NULL, 0, 0),
	GLOBAL(group, string, NULL, 0, 0),
};

const size_t options_global_len =
    sizeof(options_global) / sizeof(options_global[0]);

const struct option options_app[] = {
	SOCKETS(listen, list, listen, NULL, 0, 0, APP_EXTRA(listen.len)),
	SOCKETS(backlog, backlog, uint, "1024", 1, 65535),
	APP(nonblocking, listen.nonblocking, BIT(CONF_HANDOFF_LISTEN), LISTENER,
	    flag, "false", 0, 0),
	SOCKETS(socket_user, user, string, NULL, 0, 0),
	SOCKETS(socket_group, group, string, NULL, 0, 0),
	SOCKETS(socket_mode, mode, mode, "0660", 0, 0),
	PROGRAM(command, command, NULL, 0, 0),
	APP(handoff, handoff, ALL, REPLACES, word, "native", 0, 0,
	    .words = conf_handoff_names),
	APP(accept_by, accept_by, BIT(CONF_HANDOFF_ACCEPT), REPLACES, word,
	    "auto", 0, 0, WORDS("auto", "library", "seccomp")),
	PROGRAM(directory, string, NULL, 0, 0),
	PROGRAM(environment, environment, NULL, 0, 0),
	PROGRAM(clear_environment, flag, "false", 0, 0),
	PROGRAM(user, string, NULL, 0, 0),
	PROGRAM(group, string, NULL, 0, 0),
	PROGRAM(umask, umask, "inherit", 0, 0),
	PROGRAM(nice, nice, "inherit", 0, 0, APP_EXTRA(program.nice_set)),
	PROGRAM(chroot, path, NULL, 0, 0),
	PROGRAM(no_new_privileges, flag, "false", 0, 0),
	PROGRAM(limit_nofile, rlimit, "inherit", 8, 0),
	PROGRAM(limit_core, rlimit_size, "inherit", 0, 0),
	PROGRAM(limit_as, rlimit_size, "inherit", 1, 0),
	PROGRAM(limit_nproc, rlimit, "inherit", 0, 0),
	PROGRAM(limit_cpu, rlimit_span, "inherit", 1, 0),
	CGROUP(memory_max, size, "0", 0, 0),
	CGROUP(memory_high, size, "0", 0, 0),
	CGROUP(cpu_weight, uint, "100", 1, 10000),
	CGROUP(cpu_max, uint, "0", 0, 1e6),
	CGROUP(tasks_max, uint, "0", 0, 4194304),
	PROGRAM(output, word, "log", 0, 0, APP_EXTRA(program.output_file),
	    WORDS("log", "inherit", "null", "/")),
	APP(stderr_level, program.stderr_level, ALL, IN_PLACE, word, "info", 0,
	    0, .words = type_level_words),
	POOL(min_processes, ALL, uint, "1", 0, CONF_PROCESSES_MAX),
	POOL(max_processes, CONNECTIONS, uint_auto, "8", 1, CONF_PROCESSES_MAX,
	    APP_EXTRA(max_auto)),
	POOL(min_idle, SESSIONS, uint, "0", 0, CONF_PROCESSES_MAX),
	POOL(concurrency, LASTING, uint, "1", 1, 10000),
	POOL(prefetch, LASTING, uint, "auto", 0, 1000,
	    APP_EXTRA(pool.prefetch_auto)),
	APP(queue, pool.private_queue, LASTING, IN_PLACE, word, "global", 0, 0,
	    WORDS("global", "private")),
	POOL(max_queue, SESSIONS, uint, "100", 0, CONF_QUEUE_MAX),
	POOL(queue_timeout, SESSIONS, span, "0", 0, LONG),
	APP(on_full, refusal.on_full, SESSIONS, IN_PLACE, word, "wait", 0, 0,
	    APP_EXTRA(refusal.file),
	    WORDS("wait", "close", "refuse", "reply:")),
	APP(protocol, refusal.protocol, CONNECTIONS, IN_PLACE, word, "raw", 0,
	    0, .words = conf_protocol_names),
	APP(tell_failures, refusal.tell_failures, SESSIONS, IN_PLACE, flag,
	    "false", 0, 0),
	APP(limit, limit, SESSIONS, IN_PLACE, limit, NULL, 0, 0),
	APP(limit_fail, limit.fail_closed, SESSIONS, IN_PLACE, word, "open", 0,
	    0, WORDS("open", "closed")),
	POOL(retry_limit, SESSIONS, uint, "10", 0, 1000),
	APP(keep_alive, parking.keep_alive, NATIVE, REPLACES, flag, "false", 0,
	    0),
	PARKING(wait_for_data, flag, "false", 0, 0),
	PARKING(wait_for_request, word, "none", 0, 0, WORDS("none", "http")),
	PARKING(keep_alive_timeout, span, "60s", SHORT, LONG),
	PARKING(max_parked, uint, "10000", 1, 1e6),
	POOL(start_delay, CONNECTIONS, span, "50ms", 0, LONG),
	APP(start_delay_step, pool.growth, CONNECTIONS, IN_PLACE, word,
	    "double", 0, 0, WORDS("double", "linear", "all")),
	POOL(stop_delay, CONNECTIONS, span_auto, "auto", 0, LONG),
	POOL(max_idle_time, CONNECTIONS, span_auto, "auto", 0, LONG),
	POOL(target_wait, SESSIONS, span, "0", 0, LONG),
	LOAD(update_interval, span, "10s", SHORT, LONG),
	LOAD(gain, real, "0.5", 0.001, 1),
	LOAD(grow_threshold, real, "90", 0, 100),
	LOAD(multi_threshold, real, "0", 0, 100),
	LOAD(single_threshold, real, "0", 0, 100),
	LOAD(kill_interval, span, "60s", SHORT, LONG),
	POOL(max_requests, LASTING, uint, "0", 0, 1e9),
	POOL(max_lifetime, ALL, span, "0", 0, LONG),
	POOL(max_memory, ALL, size, "0", 0, 0),
	POOL(start_timeout, ALL, span, "30s", SHORT, LONG),
	POOL(ready_after, SILENT, span, "1s", 0, LONG),
	POOL(pickup_timeout, SESSIONS, span, "10s", SHORT, LONG),
	POOL(restart_delay, ALL, span, "1s", SHORT, LONG),
	POOL(restart_delay_max, ALL, span, "60s", SHORT, LONG),
	POOL(start_limit, ALL, uint, "5", 1, 1e6),
	POOL(min_server_life, ALL, span, "30s", 0, LONG),
	APP(canary, pool.canary.processes, ALL, IN_PLACE, uint, "0", 0,
	    CONF_PROCESSES_MAX),
	APP(canary_time, pool.canary.time, ALL, IN_PLACE, span, "60s", 0, LONG),
	APP(exit_on_failed, exit_on_failed, ALL, IN_PLACE, flag, "false", 0, 0),
	APP(needs, needs, ALL, IN_PLACE, names, NULL, 0, 0),
	POOL(request_timeout, SESSIONS, span, "0", 0, LONG),
	POOL(slow_timeout, SESSIONS, span, "0", 0, LONG),
	APP(slow_signal, slow_signal, SESSIONS, REPLACES, word, "none", 0, 0,
	    .words = type_signal_words),
	APP(timeout_signal, timeout_signal, SESSIONS, IN_PLACE, word, "TERM", 0,
	    0, .words = type_signal_words),
	APP(log_requests, log_requests, SESSIONS, IN_PLACE, flag, "true", 0, 0),
	APP(load_report, load_report, NATIVE, IN_PLACE, flag, "false", 0, 0),
	APP(stop_signal, stop_signal, ALL, REPLACES, word, "TERM", 0, 0,
	    .words = type_signal_words + 1),
	APP(close_delay, close_delay, ALL, IN_PLACE, span, "0", 0, LONG),
	POOL(stop_timeout, ALL, span, "30s", 0, LONG),
	POOL(kill_timeout, ALL, span, "5s", 0, LONG),
	APP(restart_dir, restart_dir, ALL, IN_PLACE, string, "tmp", 0, 0),
	APP(watch, watch, ALL, IN_PLACE, paths, NULL, 0, 0),
	APP(template, template, LASTING, REPLACES, flag, "false", 0, 0),
	APP(refork_after, refork_after, LASTING, IN_PLACE, uint, "0", 0, 1e9),
};

const size_t options_app_len = sizeof(options_app) / sizeof(options_app[0]);

const struct option *
options_find(bool in_app, const char *name)
{
	const struct option *o = in_app ? options_app : options_global;
	size_t len = in_app ? options_app_len : options_global_len;

	for (size_t i = 0; i < len; i++)
		if (strcmp(o[i].name, name) == 0)
			return &o[i];
	return NULL;
}

bool
options_allowed(const struct option *o, enum conf_handoff handoff)
{
	return o->handoffs == ALL || (o->handoffs & BIT(handoff)) != 0;
}

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
	{ "cpu_max", "CPUQuota" },
	{ "cpu_weight", "CPUWeight" },
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
	{ "memory_high", "MemoryHigh" },
	{ "memory_max", "MemoryMax" },
	{ "min_idle", "MinSpareServers pm.min_spare_servers" },
	{ "min_processes", "cheaper min_instances minProcesses min_workers" },
	{ "min_processes", "numprocs pm.start_servers StartServers" },
	{ "multi_threshold", "multiThreshold" },
	{ "needs", "After depends_on Requires" },
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
	{ "stop_signal", "KillSignal stopsignal" },
	{ "stop_timeout", "graceful_timeout process_control_timeout" },
	{ "stop_timeout", "stopwaitsecs TimeoutStopSec worker_reload_mercy" },
	{ "tasks_max", "TasksMax" },
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

bool
options_is_for_app(const char *name)
{
	const char *ours = peer_option(name);

	name = ours != NULL ? ours : name;
	return options_find(true, name) != NULL ||
	    (options_find(false, name) == NULL &&
		(name_nearest(true, name) != NULL ||
		    name_nearest(false, name) == NULL));
}

/* Where an option belongs, if it is not valid here; else "". */
static const char *
name_belongs(const struct stmt *s, const char *option)
{
	if (options_find(s->section != NULL, option) != NULL)
		return "";
	return s->section != NULL ? ", outside of sections" : ", in an app";
}

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
	else if (o != NULL && s->form != FORM_OPTION)
		findings_mistake(
		    f, sign, "'%s' is an option: %s = VALUE", o->name, o->name);
	else if (o != NULL && t[1].kind == TOKEN_APPEND && !o->type->list)
		findings_mistake(f, sign,
		    "option '%s' is no list that '+=' could add to", o->name);
	else if (o != NULL && t[2].kind == TOKEN_OPEN && !o->type->list)
		findings_mistake(
		    f, sign, "option '%s' takes one value, no list", o->name);
	else
		return true;
	return false;
}
