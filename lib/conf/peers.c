/* Names of options elsewhere. */

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "conf/peers.h"

/* Without regard to case, and to '-' in place of '_'. */
static const struct {
	const char *theirs;
	const char *ours;
} names[] = {
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
same_name(const char *a, const char *b)
{
	for (; *a != '\0' && *b != '\0'; a++, b++)
		if (strncasecmp(a, b, 1) != 0 && (*a != '-' || *b != '_'))
			return false;
	return *a == *b;
}

const char *
peers_option(const char *name)
{
	/* mod_fastcgi has a '-' before each. */
	name += strspn(name, "-");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (same_name(name, names[i].theirs))
			return names[i].ours;
	return NULL;
}
