/*
 * All options of pool.conf: name, type, default, smallest and largest value
 * (durations in seconds; both 0: the type says it), the handoffs that allow
 * it, what a change of it costs, and what it is. Parsing, checking, -T and the
 * comparison at a reload go by these rows.
 */

#include <string.h>

#include "conf/room.h"

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
		.min = least, .max = most, .help = __VA_ARGS__ \
	}
#define WORDS(...) \
	.words = (const char *const[]) \
	{ \
		__VA_ARGS__, NULL \
	}
#define GLOBAL(option, ...) ROW(conf, option, option, __VA_ARGS__)
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
#define POOL(option, allowed, ...) \
	APP(option, pool.option, allowed, IN_PLACE, __VA_ARGS__)

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
	GLOBAL(log, log, "stderr", 0, 0, "stderr, syslog or a file",
	    GLOBAL_EXTRA(log_file)),
	GLOBAL(log_level, word, "info", 0, 0,
	    "least important messages that are logged",
	    WORDS("error", "warn", "=warning", "info", "debug")),
	GLOBAL(log_format, word, "text", 0, 0, "text or an object a line",
	    WORDS("text", "json")),
	GLOBAL(pid_file, path, NULL, 0, 0,
	    "file that holds the number of the process"),
	GLOBAL(dump_file, path, NULL, 0, 0,
	    "file that SIGUSR1 writes the state to"),
	GLOBAL(stop_timeout, span, "30s", 0, LONG,
	    "longest graceful stop of the whole daemon"),
	GLOBAL(user, string, NULL, 0, 0, "who runs apps that name nobody"),
	GLOBAL(group, string, NULL, 0, 0, "group of apps that name none"),
};

const size_t options_global_len =
    sizeof(options_global) / sizeof(options_global[0]);

const struct option options_app[] = {
	SOCKETS(listen, list, listen, NULL, 0, 0,
	    "addresses that connections come from", APP_EXTRA(listen.len)),
	SOCKETS(backlog, backlog, uint, "1024", 1, 65535,
	    "connections the kernel keeps until they are accepted"),
	SOCKETS(
	    socket_user, user, string, NULL, 0, 0, "owner of the Unix sockets"),
	SOCKETS(socket_group, group, string, NULL, 0, 0,
	    "group of the Unix sockets"),
	SOCKETS(socket_mode, mode, mode, "0660", 0, 0,
	    "permissions of the Unix sockets"),
	PROGRAM(command, command, NULL, 0, 0, "program and arguments"),
	APP(handoff, handoff, ALL, REPLACES, word, "native", 0, 0,
	    "how a connection reaches the program",
	    .words = type_handoff_words),
	PROGRAM(directory, string, NULL, 0, 0, "where the program is started"),
	PROGRAM(environment, environment, NULL, 0, 0,
	    "variables on top of those of the daemon"),
	PROGRAM(clear_environment, flag, "false", 0, 0,
	    "leave the variables of the daemon out"),
	PROGRAM(user, string, NULL, 0, 0, "who the processes are"),
	PROGRAM(group, string, NULL, 0, 0, "group of the processes"),
	PROGRAM(umask, umask, "inherit", 0, 0,
	    "permissions that new files do not get"),
	PROGRAM(nice, nice, "inherit", 0, 0, "nice value of the processes",
	    APP_EXTRA(program.nice_set)),
	PROGRAM(chroot, path, NULL, 0, 0, "root directory of the processes"),
	PROGRAM(no_new_privileges, flag, "false", 0, 0,
	    "set-user-ID programs give nothing"),
	PROGRAM(
	    limit_nofile, rlimit, "inherit", 8, 0, "descriptors of a process"),
	PROGRAM(
	    limit_core, rlimit_size, "inherit", 0, 0, "size of a core file"),
	PROGRAM(limit_as, rlimit_size, "inherit", 1, 0,
	    "addresses of a process, in bytes"),
	PROGRAM(limit_nproc, rlimit, "inherit", 0, 0, "processes of the user"),
	PROGRAM(limit_cpu, rlimit_span, "inherit", 1, 0,
	    "processor time of a process"),
	PROGRAM(output, word, "log", 0, 0,
	    "where standard output and standard error go",
	    APP_EXTRA(program.output_file),
	    WORDS("log", "inherit", "null", "/")),
	POOL(min_processes, ALL, uint, "1", 0, CONF_PROCESSES_MAX,
	    "processes that are kept"),
	POOL(max_processes, CONNECTIONS, uint, "8", 1, CONF_PROCESSES_MAX,
	    "processes at most"),
	POOL(min_idle, SESSIONS, uint, "0", 0, CONF_PROCESSES_MAX,
	    "processes kept ready beyond those that are busy"),
	POOL(concurrency, LASTING, uint, "1", 1, 10000,
	    "connections one process serves at a time"),
	POOL(prefetch, LASTING, prefetch, "auto", 0, 1000,
	    "further connections a process is handed ahead",
	    APP_EXTRA(pool.prefetch_auto)),
	APP(queue, pool.private_queue, LASTING, IN_PLACE, word, "global", 0, 0,
	    "connections wait in common, or each for a process",
	    WORDS("global", "private")),
	POOL(max_queue, SESSIONS, uint, "100", 0, CONF_QUEUE_MAX,
	    "accepted connections that wait for a process"),
	POOL(queue_timeout, SESSIONS, span, "0", 0, LONG,
	    "longest wait of a connection"),
	APP(on_full, refusal.on_full, SESSIONS, IN_PLACE, word, "wait", 0, 0,
	    "what happens when the queue is full", APP_EXTRA(refusal.file),
	    WORDS("wait", "close", "refuse", "reply:")),
	APP(protocol, refusal.protocol, CONNECTIONS, IN_PLACE, word, "raw", 0,
	    0, "how clients are turned away", .words = type_protocol_words),
	APP(limit, limit, SESSIONS, IN_PLACE, limit, NULL, 0, 0,
	    "lock of a PoolCounter taken for each connection"),
	APP(limit_fail, limit.fail, SESSIONS, IN_PLACE, word, "open", 0, 0,
	    "what happens without the server of limit",
	    WORDS("open", "closed")),
	POOL(retry_limit, SESSIONS, uint, "10", 0, 1000,
	    "times a connection is given to another process"),
	APP(keep_alive, parking.keep_alive, NATIVE, REPLACES, flag, "false", 0,
	    0, "a process may park a connection between requests"),
	PARKING(wait_for_data, flag, "false", 0, 0,
	    "a new connection is parked until its client sends something"),
	PARKING(wait_for_request, word, "none", 0, 0,
	    "and until the head of its first request is there",
	    WORDS("none", "http")),
	PARKING(keep_alive_timeout, span, "60s", SHORT, LONG,
	    "a parked connection is closed then"),
	PARKING(max_parked, uint, "10000", 1, 1e6,
	    "connections that are parked at a time"),
	POOL(start_delay, CONNECTIONS, span, "50ms", 0, LONG,
	    "longest wait until one more process starts"),
	APP(start_delay_step, pool.growth, CONNECTIONS, IN_PLACE, word,
	    "double", 0, 0, "how many more processes start at a time",
	    WORDS("double", "linear", "all")),
	POOL(stop_delay, CONNECTIONS, span_auto, "auto", 0, LONG,
	    "time between two stops of idle processes"),
	POOL(max_idle_time, CONNECTIONS, span_auto, "auto", 0, LONG,
	    "an idle process above the minimum stops then"),
	POOL(target_wait, SESSIONS, span, "0", 0, LONG,
	    "wait that 99 of 100 connections do not exceed"),
	POOL(update_interval, CONNECTIONS, span, "10s", SHORT, LONG,
	    "time between two estimates of the load"),
	POOL(gain, CONNECTIONS, real, "0.5", 0.001, 1,
	    "weight of the last interval in an estimate"),
	POOL(grow_threshold, CONNECTIONS, real, "90", 0, 100,
	    "load at which one more process starts"),
	POOL(multi_threshold, CONNECTIONS, real, "0", 0, 100,
	    "load under which one of several is not needed"),
	POOL(single_threshold, CONNECTIONS, real, "0", 0, 100,
	    "load under which a single process is not needed"),
	POOL(kill_interval, CONNECTIONS, span, "60s", SHORT, LONG,
	    "time between two stops for want of load"),
	POOL(max_requests, LASTING, uint, "0", 0, 1e9,
	    "connections after which a process is replaced"),
	POOL(max_lifetime, ALL, span, "0", 0, LONG,
	    "age at which a process is replaced"),
	POOL(max_memory, ALL, size, "0", 0, 0,
	    "resident memory at which a process is replaced"),
	POOL(start_timeout, ALL, span, "30s", SHORT, LONG,
	    "a process must be ready by then"),
	POOL(ready_after, SILENT, span, "1s", 0, LONG,
	    "a silent program is ready when it has lived so long"),
	POOL(pickup_timeout, SESSIONS, span, "10s", SHORT, LONG,
	    "a connection must be received by then"),
	POOL(restart_delay, ALL, span, "1s", SHORT, LONG,
	    "pause after a failed start or a young death"),
	POOL(restart_delay_max, ALL, span, "60s", SHORT, LONG,
	    "longest pause after several of them"),
	POOL(start_limit, ALL, uint, "5", 1, 1e6,
	    "failed starts in a row until the app is failed"),
	POOL(min_server_life, ALL, span, "30s", 0, LONG,
	    "a process that dies younger died young"),
	APP(exit_on_failed, exit_on_failed, ALL, IN_PLACE, flag, "false", 0, 0,
	    "the daemon ends when the app is failed"),
	POOL(request_timeout, SESSIONS, span, "0", 0, LONG,
	    "longest session of a process"),
	POOL(slow_timeout, SESSIONS, span, "0", 0, LONG,
	    "a longer session is logged with its place"),
	POOL(stop_timeout, ALL, span, "30s", 0, LONG,
	    "time from asking a process to stop to SIGTERM"),
	POOL(kill_timeout, ALL, span, "5s", 0, LONG,
	    "time from SIGTERM to SIGKILL"),
	APP(restart_dir, restart_dir, ALL, IN_PLACE, string, "tmp", 0, 0,
	    "folder of restart.txt and always_restart.txt"),
	APP(watch, watch, ALL, IN_PLACE, paths, NULL, 0, 0,
	    "files whose change restarts the app"),
	APP(template, template, NATIVE, REPLACES, flag, "false", 0, 0,
	    "fork processes from one that has loaded the program"),
	APP(refork_after, refork_after, NATIVE, IN_PLACE, uint, "0", 0, 1e9,
	    "connections after which a process forks the next template"),
};

const size_t options_app_len = sizeof(options_app) / sizeof(options_app[0]);

const struct option *
options_find(bool in_app, const char *name)
{
	const struct option *o = in_app ? options_app : options_global;
	size_t len = in_app ? options_app_len : options_global_len;

	for (size_t i = 0; i < len; i++) {
		if (strcmp(o[i].name, name) == 0)
			return &o[i];
	}
	return NULL;
}

bool
options_allowed(const struct option *o, enum conf_handoff handoff)
{
	return o->handoffs == ALL || (o->handoffs & BIT(handoff)) != 0;
}
