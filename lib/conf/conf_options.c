/*
 * All options of pool.conf: how each is read, checked, compared and printed.
 * One that is not in force yet needs but its last field taken away.
 */

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_private.h"

#define DAY 86400.0
#define LONG (3650 * DAY)

/* The shortest time where 0 would make no sense. */
#define SHORT 0.001

#define NATIVE CONF_BIT(CONF_HANDOFF_NATIVE)
/* A process outlives its sessions. */
#define LASTING (NATIVE | CONF_BIT(CONF_HANDOFF_ACCEPT))
#define SESSIONS (LASTING | CONF_BIT(CONF_HANDOFF_STDIO))
/* Processes say nothing. */
#define SILENT (CONF_BIT(CONF_HANDOFF_LISTEN) | CONF_BIT(CONF_HANDOFF_NONE))
#define CONNECTIONS (SESSIONS | CONF_BIT(CONF_HANDOFF_LISTEN))

#define GLOBAL(field, kind) \
	.name = #field, .type = &conf_type_##kind, \
	.offset = offsetof(struct conf, field)
#define APP(field, kind) \
	.in_app = true, .name = #field, .type = &conf_type_##kind, \
	.offset = offsetof(struct conf_app, field)
#define GLOBAL_EXTRA(field) .extra = offsetof(struct conf, field)
#define APP_EXTRA(field) .extra = offsetof(struct conf_app, field)

#define SIZES .change = CONF_CHANGED_SIZES
#define LISTEN .change = CONF_CHANGED_LISTEN
#define PROCESS .change = CONF_CHANGED_PROCESS
#define CONTROL .change = CONF_CHANGED_CONTROL
#define LOG .change = CONF_CHANGED_LOG
#define FILES .change = CONF_CHANGED_FILES
#define COUNTER .change = CONF_CHANGED_COUNTER

#define NOT_YET .not_in_force = true

const struct conf_option conf_global_options[] = {
	{ GLOBAL(max_processes, uint), .preset = "64", .min = 1,
	    .max = CONF_PROCESSES_MAX, SIZES },
	{ GLOBAL(process_slack, uint), .preset = "4", .max = CONF_PROCESSES_MAX,
	    SIZES },
	{ GLOBAL(control, path), .preset = CONF_DEFAULT_CONTROL, CONTROL },
	{ GLOBAL(control_mode, mode), .preset = "0660", CONTROL },
	{ GLOBAL(control_group, string), CONTROL },
	{ GLOBAL(counter, listen), GLOBAL_EXTRA(counter_len), COUNTER },
	{ GLOBAL(counter_max_clients, uint), .preset = "10000", .min = 1,
	    .max = 1e6, COUNTER },
	{ GLOBAL(counter_max_keys, uint), .preset = "100000", .min = 1,
	    .max = 1e7, COUNTER },
	{ GLOBAL(log, log), GLOBAL_EXTRA(log_file), .preset = "stderr", LOG },
	{ GLOBAL(log_level, word), .preset = "info",
	    .words = conf_log_level_words, LOG },
	{ GLOBAL(log_format, word), .preset = "text",
	    .words = conf_log_format_words, LOG },
	{ GLOBAL(pid_file, path), FILES },
	{ GLOBAL(dump_file, path), FILES },
	{ GLOBAL(stop_timeout, span), .preset = "30s", .max = LONG, SIZES },
	/* These two are part of each app that says nothing else. */
	{ GLOBAL(user, string), .change = 0 },
	{ GLOBAL(group, string), .change = 0 },
};

const size_t conf_global_options_len =
    sizeof(conf_global_options) / sizeof(conf_global_options[0]);

const struct conf_option conf_app_options[] = {
	{ APP(listen, listen), APP_EXTRA(listen_len), .handoffs = CONNECTIONS,
	    LISTEN },
	{ APP(backlog, uint), .preset = "1024", .min = 1, .max = 65535,
	    .handoffs = CONNECTIONS, LISTEN },
	{ APP(socket_user, string), .handoffs = CONNECTIONS, LISTEN },
	{ APP(socket_group, string), .handoffs = CONNECTIONS, LISTEN },
	{ APP(socket_mode, mode), .preset = "0660", .handoffs = CONNECTIONS,
	    LISTEN },

	{ APP(command, command), PROCESS },
	{ APP(handoff, word), .preset = "native", .words = conf_handoff_words,
	    PROCESS },
	{ APP(directory, string), PROCESS },
	{ APP(environment, environment), PROCESS },
	{ APP(clear_environment, bool), .preset = "false", PROCESS },

	{ APP(user, string), PROCESS },
	{ APP(group, string), PROCESS },
	{ APP(umask, umask), .preset = "inherit", PROCESS },
	{ APP(nice, nice), APP_EXTRA(nice_set), .preset = "inherit", PROCESS },
	{ APP(chroot, path), PROCESS },
	{ APP(no_new_privileges, bool), .preset = "false", PROCESS },
	{ APP(limit_nofile, rlimit), .preset = "inherit", .min = 8, PROCESS },
	{ APP(limit_core, rlimit_size), .preset = "inherit", PROCESS },
	{ APP(limit_as, rlimit_size), .preset = "inherit", .min = 1, PROCESS },
	{ APP(limit_nproc, rlimit), .preset = "inherit", PROCESS },
	{ APP(limit_cpu, rlimit_span), .preset = "inherit", .min = 1, PROCESS },
	{ APP(output, word), APP_EXTRA(output_file), .preset = "log",
	    .words = conf_output_words, PROCESS },

	{ APP(min_processes, uint), .preset = "1", .max = CONF_PROCESSES_MAX,
	    SIZES },
	{ APP(max_processes, uint), .preset = "8", .min = 1,
	    .max = CONF_PROCESSES_MAX, .handoffs = CONNECTIONS, SIZES },
	{ APP(min_idle, uint), .preset = "0", .max = CONF_PROCESSES_MAX,
	    .handoffs = SESSIONS, SIZES },
	{ APP(concurrency, uint), .preset = "1", .min = 1, .max = 10000,
	    .handoffs = LASTING, SIZES },
	{ APP(prefetch, uint), .preset = "0", .max = 1000, .handoffs = LASTING,
	    SIZES },

	{ APP(queue, word), .preset = "global", .words = conf_queue_words,
	    .handoffs = LASTING, SIZES },
	{ APP(max_queue, uint), .preset = "100", .max = CONF_QUEUE_MAX,
	    .handoffs = SESSIONS, SIZES },
	{ APP(queue_timeout, span), .preset = "0", .max = LONG,
	    .handoffs = SESSIONS, SIZES },
	{ APP(on_full, word), APP_EXTRA(on_full_file), .preset = "wait",
	    .words = conf_on_full_words, .handoffs = SESSIONS, SIZES },
	{ APP(protocol, word), .preset = "raw", .words = conf_protocol_words,
	    .handoffs = CONNECTIONS, SIZES },
	{ APP(limit, limit), .handoffs = SESSIONS, SIZES },
	{ APP(limit_fail, word), .preset = "open",
	    .words = conf_limit_fail_words, .handoffs = SESSIONS, SIZES },
	{ APP(wait_for_data, bool), .preset = "false", .handoffs = SESSIONS,
	    SIZES, NOT_YET },
	{ APP(keep_alive, bool), .preset = "false", .handoffs = NATIVE, SIZES,
	    NOT_YET },
	{ APP(keep_alive_timeout, span), .preset = "60s", .max = LONG,
	    .handoffs = NATIVE, SIZES, NOT_YET },
	{ APP(max_parked, uint), .preset = "10000", .max = 1e6,
	    .handoffs = NATIVE, SIZES, NOT_YET },
	{ APP(retry_limit, uint), .preset = "10", .max = 1000,
	    .handoffs = SESSIONS, SIZES },

	{ APP(start_delay, span), .preset = "50ms", .max = LONG,
	    .handoffs = CONNECTIONS, SIZES },
	{ APP(stop_delay, span), .preset = "10s", .max = LONG,
	    .handoffs = CONNECTIONS, SIZES },
	{ APP(max_idle_time, span), .preset = "5m", .max = LONG,
	    .handoffs = CONNECTIONS, SIZES },
	{ APP(update_interval, span), .preset = "10s", .min = SHORT,
	    .max = LONG, .handoffs = CONNECTIONS, SIZES },
	{ APP(gain, real), .preset = "0.5", .min = 0.001, .max = 1,
	    .handoffs = CONNECTIONS, SIZES },
	{ APP(grow_threshold, real), .preset = "90", .max = 100,
	    .handoffs = CONNECTIONS, SIZES },
	{ APP(multi_threshold, real), .preset = "0", .max = 100,
	    .handoffs = CONNECTIONS, SIZES },
	{ APP(single_threshold, real), .preset = "0", .max = 100,
	    .handoffs = CONNECTIONS, SIZES },
	{ APP(kill_interval, span), .preset = "60s", .min = SHORT, .max = LONG,
	    .handoffs = CONNECTIONS, SIZES },

	{ APP(max_requests, uint), .preset = "0", .max = 1e9,
	    .handoffs = LASTING, SIZES },
	{ APP(max_requests_jitter, uint), .preset = "0", .max = 1e9,
	    .handoffs = LASTING, SIZES },
	{ APP(max_lifetime, span), .preset = "0", .max = LONG, SIZES },
	{ APP(max_lifetime_jitter, span), .preset = "0", .max = LONG, SIZES },
	{ APP(max_memory, size), .preset = "0", SIZES },
	{ APP(start_timeout, span), .preset = "30s", .min = SHORT, .max = LONG,
	    SIZES },
	{ APP(ready_after, span), .preset = "1s", .max = LONG,
	    .handoffs = SILENT, SIZES },
	{ APP(pickup_timeout, span), .preset = "10s", .min = SHORT, .max = LONG,
	    .handoffs = SESSIONS, SIZES },
	{ APP(restart_delay, span), .preset = "1s", .min = SHORT, .max = LONG,
	    SIZES },
	{ APP(restart_delay_max, span), .preset = "60s", .min = SHORT,
	    .max = LONG, SIZES },
	{ APP(start_limit, uint), .preset = "5", .min = 1, .max = 1e6, SIZES },
	{ APP(min_server_life, span), .preset = "30s", .max = LONG, SIZES },
	{ APP(exit_on_failed, bool), .preset = "false", SIZES },
	{ APP(request_timeout, span), .preset = "0", .max = LONG,
	    .handoffs = SESSIONS, SIZES },
	{ APP(slow_timeout, span), .preset = "0", .max = LONG,
	    .handoffs = SESSIONS, SIZES },
	{ APP(stop_timeout, span), .preset = "30s", .max = LONG, SIZES },
	{ APP(kill_timeout, span), .preset = "5s", .max = LONG, SIZES },

	{ APP(restart_dir, string), .preset = "tmp", SIZES },
	{ APP(canary, uint), .preset = "0", .max = CONF_PROCESSES_MAX, SIZES,
	    NOT_YET },
	{ APP(canary_time, span), .preset = "30s", .max = LONG, SIZES,
	    NOT_YET },
	{ APP(watch, paths), SIZES },
	{ APP(template, bool), .preset = "false", .handoffs = LASTING, PROCESS,
	    NOT_YET },
};

const size_t conf_app_options_len =
    sizeof(conf_app_options) / sizeof(conf_app_options[0]);

const struct conf_option *
conf_option_find(bool in_app, const char *name)
{
	const struct conf_option *options =
	    in_app ? conf_app_options : conf_global_options;
	size_t len = in_app ? conf_app_options_len : conf_global_options_len;

	for (size_t i = 0; i < len; i++) {
		if (strcmp(options[i].name, name) == 0)
			return &options[i];
	}
	return NULL;
}

bool
conf_option_honoured(const struct conf_option *o, enum conf_handoff handoff)
{
	return o->handoffs == 0 || (o->handoffs & CONF_BIT(handoff)) != 0;
}

bool
conf_bad(const struct conf_input *in, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) == -1)
		text = conf_strdup(fmt);
	va_end(ap);
	conf_mistake(
	    in->findings, in->where, "option '%s': %s", in->option->name, text);
	free(text);
	return false;
}
