/*
 * All options of pool.conf: name, type, default, smallest and largest value
 * (durations in seconds; both 0: the type says it), the handoffs that allow
 * it, what a change of it costs, and what it is. Parsing, checking, -T and the
 * comparison at a reload go by these rows.
 */

#include <assert.h>
#include <string.h>

#include "conf/options.h"
#include "sys/suggest.h"

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

/* A change of a global option costs no app anything. */
#define GLOBAL(field, kind, value, least, most, ...) \
	{ \
		.name = #field, .type = &type_##kind, \
		.offset = offsetof(struct conf, field), .preset = value, \
		.min = least, .max = most, .help = __VA_ARGS__ \
	}
#define APP(field, kind, value, least, most, allowed, price, ...) \
	{ \
		.name = #field, .type = &type_##kind, \
		.offset = offsetof(struct conf_app, field), .preset = value, \
		.min = least, .max = most, .handoffs = allowed, .cost = price, \
		.in_app = true, .help = __VA_ARGS__ \
	}
#define GLOBAL_EXTRA(field) .extra = offsetof(struct conf, field)
#define APP_EXTRA(field) .extra = offsetof(struct conf_app, field)

const struct option options_global[] = {
	GLOBAL(max_processes, uint, "64", 1, CONF_PROCESSES_MAX,
	    "the most processes of all apps together"),
	GLOBAL(process_slack, uint, "4", 0, CONF_PROCESSES_MAX,
	    "room under the ceiling at which processes not needed stop"),
	GLOBAL(
	    control, path, CONF_DEFAULT_CONTROL, 0, 0, "socket of apppoolctl"),
	GLOBAL(control_mode, mode, "0660", 0, 0,
	    "permissions of the control socket"),
	GLOBAL(control_group, string, NULL, 0, 0,
	    "group that may change something over the control socket"),
	GLOBAL(counter, listen, NULL, 0, 0,
	    "addresses of the PoolCounter service", GLOBAL_EXTRA(counter_len)),
	GLOBAL(counter_max_clients, uint, "10000", 1, 1e6,
	    "clients of the PoolCounter at a time"),
	GLOBAL(counter_max_keys, uint, "100000", 1, 1e7,
	    "keys of the PoolCounter that are locked at a time"),
	GLOBAL(log, log, "stderr", 0, 0, "stderr, syslog or a file",
	    GLOBAL_EXTRA(log_file)),
	GLOBAL(log_level, word, "info", 0, 0,
	    "least important messages that are logged",
	    .words = type_log_level_words),
	GLOBAL(log_format, word, "text", 0, 0, "text or an object a line",
	    .words = type_log_format_words),
	GLOBAL(pid_file, path, NULL, 0, 0,
	    "file that holds the number of the process"),
	GLOBAL(dump_file, path, NULL, 0, 0,
	    "file that SIGUSR1 writes the state to"),
	GLOBAL(
	    keeper_user, string, NULL, 0, 0, "who reads what processes print"),
	GLOBAL(stop_timeout, span, "30s", 0, LONG,
	    "longest graceful stop of the whole daemon"),
	GLOBAL(user, string, NULL, 0, 0, "who runs apps that name nobody"),
	GLOBAL(group, string, NULL, 0, 0, "group of apps that name none"),
};

const size_t options_global_len =
    sizeof(options_global) / sizeof(options_global[0]);

/* ---- names that later versions will use ---- */

static bool
reserved_parse(const struct input *in, void *base)
{
	(void)base;
	findings_mistake(in->findings, in->where,
	    "option '%s' is not in force yet in this version",
	    in->option->name);
	return false;
}

static const struct type type_reserved = { .parse = reserved_parse };

#define RESERVED(field, allowed) \
	{ \
		.name = #field, .type = &type_reserved, .handoffs = (allowed), \
		.in_app = true \
	}
#define RESERVED_NAMES 2

const struct option options_app[] = {
	APP(listen, listen, NULL, 0, 0, CONNECTIONS, LISTENER,
	    "addresses that connections come from", APP_EXTRA(listen_len)),
	APP(backlog, uint, "1024", 1, 65535, CONNECTIONS, LISTENER,
	    "connections the kernel keeps until they are accepted"),
	APP(socket_user, string, NULL, 0, 0, CONNECTIONS, LISTENER,
	    "owner of the Unix sockets"),
	APP(socket_group, string, NULL, 0, 0, CONNECTIONS, LISTENER,
	    "group of the Unix sockets"),
	APP(socket_mode, mode, "0660", 0, 0, CONNECTIONS, LISTENER,
	    "permissions of the Unix sockets"),
	APP(command, command, NULL, 0, 0, ALL, REPLACES,
	    "program and arguments"),
	APP(handoff, word, "native", 0, 0, ALL, REPLACES,
	    "how a connection reaches the program",
	    .words = type_handoff_words),
	APP(directory, string, NULL, 0, 0, ALL, REPLACES,
	    "where the program is started"),
	APP(environment, environment, NULL, 0, 0, ALL, REPLACES,
	    "variables on top of those of the daemon"),
	APP(clear_environment, bool, "false", 0, 0, ALL, REPLACES,
	    "leave the variables of the daemon out"),
	APP(user, string, NULL, 0, 0, ALL, REPLACES, "who the processes are"),
	APP(group, string, NULL, 0, 0, ALL, REPLACES, "group of the processes"),
	APP(umask, umask, "inherit", 0, 0, ALL, REPLACES,
	    "permissions that new files do not get"),
	APP(nice, nice, "inherit", 0, 0, ALL, REPLACES,
	    "nice value of the processes", APP_EXTRA(nice_set)),
	APP(chroot, path, NULL, 0, 0, ALL, REPLACES,
	    "root directory of the processes"),
	APP(no_new_privileges, bool, "false", 0, 0, ALL, REPLACES,
	    "set-user-ID programs give nothing"),
	APP(limit_nofile, rlimit, "inherit", 8, 0, ALL, REPLACES,
	    "descriptors of a process"),
	APP(limit_core, rlimit_size, "inherit", 0, 0, ALL, REPLACES,
	    "size of a core file"),
	APP(limit_as, rlimit_size, "inherit", 1, 0, ALL, REPLACES,
	    "addresses of a process, in bytes"),
	APP(limit_nproc, rlimit, "inherit", 0, 0, ALL, REPLACES,
	    "processes of the user"),
	APP(limit_cpu, rlimit_span, "inherit", 1, 0, ALL, REPLACES,
	    "processor time of a process"),
	APP(output, word, "log", 0, 0, ALL, REPLACES,
	    "where standard output and standard error go",
	    APP_EXTRA(output_file), .words = type_output_words),
	APP(min_processes, uint, "1", 0, CONF_PROCESSES_MAX, ALL, IN_PLACE,
	    "processes that are kept"),
	APP(max_processes, uint, "8", 1, CONF_PROCESSES_MAX, CONNECTIONS,
	    IN_PLACE, "processes at most"),
	APP(min_idle, uint, "0", 0, CONF_PROCESSES_MAX, SESSIONS, IN_PLACE,
	    "processes kept ready beyond those that are busy"),
	APP(concurrency, uint, "1", 1, 10000, LASTING, IN_PLACE,
	    "connections one process serves at a time"),
	APP(prefetch, uint_or_auto, "auto", 0, 1000, LASTING, IN_PLACE,
	    "further connections a process is handed ahead"),
	APP(queue, word, "global", 0, 0, LASTING, IN_PLACE,
	    "connections wait in common, or each for a process",
	    .words = type_queue_words),
	APP(max_queue, uint, "100", 0, CONF_QUEUE_MAX, SESSIONS, IN_PLACE,
	    "accepted connections that wait for a process"),
	APP(queue_timeout, span, "0", 0, LONG, SESSIONS, IN_PLACE,
	    "longest wait of a connection"),
	APP(on_full, word, "wait", 0, 0, SESSIONS, IN_PLACE,
	    "what happens when the queue is full", APP_EXTRA(on_full_file),
	    .words = type_on_full_words),
	APP(protocol, word, "raw", 0, 0, CONNECTIONS, IN_PLACE,
	    "how clients are turned away", .words = type_protocol_words),
	APP(limit, limit, NULL, 0, 0, SESSIONS, IN_PLACE,
	    "lock of a PoolCounter taken for each connection"),
	APP(limit_connect_timeout, span, "100ms", SHORT, LONG, SESSIONS,
	    IN_PLACE, "time a server of limit has to take a connection"),
	APP(limit_fail, word, "open", 0, 0, SESSIONS, IN_PLACE,
	    "what happens without the server of limit",
	    .words = type_limit_fail_words),
	APP(retry_limit, uint, "10", 0, 1000, SESSIONS, IN_PLACE,
	    "times a connection is given to another process"),
	APP(keep_alive, bool, "false", 0, 0, NATIVE, REPLACES,
	    "a process may park a connection between requests"),
	APP(wait_for_data, bool, "false", 0, 0, SESSIONS, IN_PLACE,
	    "a new connection is parked until its client sends something"),
	APP(wait_for_request, word, "none", 0, 0, SESSIONS, IN_PLACE,
	    "and until the head of its first request is there",
	    .words = type_wait_for_request_words),
	APP(keep_alive_timeout, span, "60s", SHORT, LONG, SESSIONS, IN_PLACE,
	    "a parked connection is closed then"),
	APP(max_parked, uint, "10000", 1, 1e6, SESSIONS, IN_PLACE,
	    "connections that are parked at a time"),
	APP(start_delay, span, "50ms", 0, LONG, CONNECTIONS, IN_PLACE,
	    "longest wait until one more process starts"),
	APP(start_delay_step, word, "double", 0, 0, CONNECTIONS, IN_PLACE,
	    "how many more processes start at a time",
	    .words = type_start_delay_step_words),
	APP(stop_delay, span, "10s", 0, LONG, CONNECTIONS, IN_PLACE,
	    "time between two stops of idle processes"),
	APP(max_idle_time, span, "5m", 0, LONG, CONNECTIONS, IN_PLACE,
	    "an idle process above the minimum stops then"),
	APP(target_wait, span, "20ms", 0, LONG, SESSIONS, IN_PLACE,
	    "wait that 99 of 100 connections do not exceed"),
	APP(update_interval, span, "10s", SHORT, LONG, CONNECTIONS, IN_PLACE,
	    "time between two estimates of the load"),
	APP(gain, real, "0.5", 0.001, 1, CONNECTIONS, IN_PLACE,
	    "weight of the last interval in an estimate"),
	APP(grow_threshold, real, "90", 0, 100, CONNECTIONS, IN_PLACE,
	    "load at which one more process starts"),
	APP(multi_threshold, real, "0", 0, 100, CONNECTIONS, IN_PLACE,
	    "load under which one of several is not needed"),
	APP(single_threshold, real, "0", 0, 100, CONNECTIONS, IN_PLACE,
	    "load under which a single process is not needed"),
	APP(kill_interval, span, "60s", SHORT, LONG, CONNECTIONS, IN_PLACE,
	    "time between two stops for want of load"),
	APP(max_requests, uint, "0", 0, 1e9, LASTING, IN_PLACE,
	    "connections after which a process is replaced"),
	APP(max_requests_jitter, uint, "0", 0, 1e9, LASTING, IN_PLACE,
	    "up to so many are added"),
	APP(max_lifetime, span, "0", 0, LONG, ALL, IN_PLACE,
	    "age at which a process is replaced"),
	APP(max_lifetime_jitter, span, "0", 0, LONG, ALL, IN_PLACE,
	    "up to so much is added"),
	APP(max_memory, size, "0", 0, 0, ALL, IN_PLACE,
	    "resident memory at which a process is replaced"),
	APP(start_timeout, span, "30s", SHORT, LONG, ALL, IN_PLACE,
	    "a process must be ready by then"),
	APP(ready_after, span, "1s", 0, LONG, SILENT, IN_PLACE,
	    "a silent program is ready when it has lived so long"),
	APP(pickup_timeout, span, "10s", SHORT, LONG, SESSIONS, IN_PLACE,
	    "a connection must be received by then"),
	APP(restart_delay, span, "1s", SHORT, LONG, ALL, IN_PLACE,
	    "pause after a failed start or a young death"),
	APP(restart_delay_max, span, "60s", SHORT, LONG, ALL, IN_PLACE,
	    "longest pause after several of them"),
	APP(start_limit, uint, "5", 1, 1e6, ALL, IN_PLACE,
	    "failed starts in a row until the app is failed"),
	APP(min_server_life, span, "30s", 0, LONG, ALL, IN_PLACE,
	    "a process that dies younger died young"),
	APP(exit_on_failed, bool, "false", 0, 0, ALL, IN_PLACE,
	    "the daemon ends when the app is failed"),
	APP(request_timeout, span, "0", 0, LONG, SESSIONS, IN_PLACE,
	    "longest session of a process"),
	APP(slow_timeout, span, "0", 0, LONG, SESSIONS, IN_PLACE,
	    "a longer session is logged with its place"),
	APP(stop_timeout, span, "30s", 0, LONG, ALL, IN_PLACE,
	    "time from asking a process to stop to SIGTERM"),
	APP(kill_timeout, span, "5s", 0, LONG, ALL, IN_PLACE,
	    "time from SIGTERM to SIGKILL"),
	APP(restart_dir, string, "tmp", 0, 0, ALL, IN_PLACE,
	    "folder of restart.txt and always_restart.txt"),
	APP(watch, paths, NULL, 0, 0, ALL, IN_PLACE,
	    "files whose change restarts the app"),
	APP(template, bool, "false", 0, 0, NATIVE, REPLACES,
	    "fork processes from one that has loaded the program"),
	APP(refork_after, uint, "0", 0, 1e9, NATIVE, IN_PLACE,
	    "connections after which a process forks the next template"),
	RESERVED(canary, ALL),
	RESERVED(canary_time, ALL),
};

const size_t options_app_names = sizeof(options_app) / sizeof(options_app[0]);
const size_t options_app_len =
    sizeof(options_app) / sizeof(options_app[0]) - RESERVED_NAMES;

const struct option *
options_find(bool in_app, const char *name)
{
	const struct option *o = in_app ? options_app : options_global;
	size_t len = in_app ? options_app_names : options_global_len;

	for (size_t i = 0; i < len; i++) {
		if (strcmp(o[i].name, name) == 0)
			return &o[i];
	}
	return NULL;
}

const char *
options_nearest(bool in_app, const char *name)
{
	const struct option *o = in_app ? options_app : options_global;
	size_t len = in_app ? options_app_names : options_global_len;
	const char *names[sizeof(options_app) / sizeof(options_app[0]) + 4];
	size_t n = 0;

	for (; n < len; n++)
		names[n] = o[n].name;
	if (!in_app) {
		names[n++] = "app";
		names[n++] = "defaults";
		names[n++] = "include";
	}
	names[n] = NULL;
	return suggest_nearest(name, names);
}

size_t
options_index(const struct option *o)
{
	return (size_t)(o - (o->in_app ? options_app : options_global));
}

bool
options_allowed(const struct option *o, enum conf_handoff handoff)
{
	return o->handoffs == ALL || (o->handoffs & BIT(handoff)) != 0;
}

void
options_preset(bool in_app, void *base, struct arena *a)
{
	const struct option *options = in_app ? options_app : options_global;
	size_t len = in_app ? options_app_len : options_global_len;
	struct findings none = { .arena = a };

	for (size_t i = 0; i < len; i++) {
		char *value = (char *)(uintptr_t)options[i].preset;
		struct input in = { .option = &options[i],
			.dir = "/",
			.values = &value,
			.len = value != NULL ? 1 : 0,
			.arena = a,
			.findings = &none };

		if (value != NULL || options[i].type->list)
			(void)options[i].type->parse(&in, base);
	}
	assert(none.len == 0);
}
