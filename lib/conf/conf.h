#ifndef CONF_CONF_H
#define CONF_CONF_H

/*
 * The configuration, read and checked as a whole. A struct conf that is in
 * force is never changed: a reload loads a second one and compares. Before that
 * tables_fit() may lower max_parked. Every field is named like the
 * option of pool.conf(5) that it holds; the manual says what 0 means. Times are
 * tspan, sizes bytes, loads percent. Lists of strings end with NULL and are
 * never NULL themselves. All memory belongs to the struct conf.
 */

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/app.h"
#include "sys/cgroup.h"
#include "sys/log.h"

/* make defines it otherwise for another SYSCONFDIR. */
#ifndef CONF_DEFAULT_FILE
#define CONF_DEFAULT_FILE "/etc/apppoold/pool.conf"
#endif
#define CONF_DEFAULT_FOLDER "/run/apppoold"
#define CONF_DEFAULT_CONTROL CONF_DEFAULT_FOLDER "/control.sock"

/* The most that a file can ask for: tables of these sizes suffice. */
#define CONF_PROCESSES_MAX 10000
#define CONF_AUTO_MAX 256 /* of max_processes = auto */
#define CONF_APPS_MAX 1000
#define CONF_QUEUE_MAX 1000000

/* Names of apps, options and hosts are made of these. */
#define CONF_NAME_BYTES \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

#define CONF_REPLY_MAX 65536 /* bytes of on_full = reply:FILE */

struct arena_block;
struct pool_limits;

enum conf_handoff {
	CONF_HANDOFF_NATIVE,
	CONF_HANDOFF_ACCEPT,
	CONF_HANDOFF_STDIO,
	CONF_HANDOFF_LISTEN,
	CONF_HANDOFF_NONE
};

enum conf_on_full {
	CONF_ON_FULL_WAIT,
	CONF_ON_FULL_CLOSE,
	CONF_ON_FULL_REFUSE,
	CONF_ON_FULL_REPLY
};

enum conf_protocol {
	CONF_PROTOCOL_RAW,
	CONF_PROTOCOL_HTTP,
	CONF_PROTOCOL_FASTCGI
};

enum conf_output {
	CONF_OUTPUT_LOG,
	CONF_OUTPUT_INHERIT,
	CONF_OUTPUT_NULL,
	CONF_OUTPUT_FILE
};

enum conf_listen_kind {
	CONF_LISTEN_TCP,
	CONF_LISTEN_UNIX,
	CONF_LISTEN_FD
};

/*
 * An address to listen at; a host name has become as many as it has addresses.
 * "*:PORT" is one IPv6 socket for both families where the kernel has IPv6, else
 * an IPv4 one; "[::]:PORT" is IPv6 alone.
 */
struct conf_listen {
	enum conf_listen_kind kind;

	/*
	 * Canonical: "127.0.0.1:8080", "[::1]:80", "*:80", "unix:/abs/path",
	 * "fd:NAME". Two addresses are the same if and only if their texts are.
	 * Port 0 lets the kernel choose.
	 */
	char *text;

	/* TCP and UNIX; length 0 in an app that is `broken`, else valid. */
	struct sockaddr_storage addr;
	socklen_t addr_len;
	bool v6only; /* TCP over IPv6: the value for IPV6_V6ONLY */
};

struct conf_identity {
	bool change; /* false: the daemon is not root, and they stay as it is */
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* supplementary groups, gid included */
	size_t groups_len;

	char *user; /* name, or the number where there is no name */
	char *home; /* directory and shell of the user, never NULL */
	char *shell;
};

struct conf_rlimit {
	bool set; /* false: inherited */
	rlim_t max; /* soft and hard alike; may be RLIM_INFINITY */
};

/* A server of a PoolCounter service on this or another machine. */
struct conf_server {
	const char *name; /* as it is written */
	struct conf_listen where; /* addr_len 0: its host is not known */
};

/* A PoolCounter lock in front of each hand-over. */
struct conf_limit {
	char *server; /* "local", or addresses; NULL: no limit */
	bool local; /* the daemon's own counter; it has no servers then */
	struct conf_server *servers; /* in the order of the key */
	unsigned servers_len; /* at most SERVERLIST_MAX */
	char *key;
	unsigned workers;
	unsigned maxqueue;
	tspan timeout;
	bool fail_closed;
};

/* How an unmodified program is given what it accepts. */
enum conf_accept_by {
	CONF_ACCEPT_BY_AUTO, /* by the library, if the program allows it */
	CONF_ACCEPT_BY_LIBRARY,
	CONF_ACCEPT_BY_SECCOMP,
};

/* The listeners of an app; none where handoff is none. */
struct conf_listeners {
	struct conf_listen *list;
	size_t len;
	char *where; /* "FILE:LINE" of the list, or of the app's begin */
	unsigned backlog;
	bool nonblocking;
	char *user; /* of Unix sockets; NULL: the daemon's own */
	char *group; /* likewise */
	uid_t uid; /* (uid_t)-1: leave as it is */
	gid_t gid; /* (gid_t)-1: leave as it is */
	mode_t mode;
};

struct conf_program {
	/*
	 * command[0] is an absolute path, unless the app is broken; seen from
	 * inside the chroot if there is one.
	 */
	char **command;
	char *adapter; /* absolute; NULL: none, or broken for want of it */
	char *library; /* absolute, of apppool-accept; NULL: seccomp alone */
	char *directory; /* absolute; likewise seen from inside the chroot */
	char **environment; /* "NAME=VALUE", on top of the daemon's */
	bool clear_environment;
	char *user; /* resolved name; see identity */
	char *group; /* resolved name */
	struct conf_identity identity;
	int umask; /* -1: inherited */
	bool nice_set;
	int nice; /* the value itself, not an increment; if nice_set */
	char *chroot; /* absolute, or NULL */
	bool no_new_privileges;
	bool restricted; /* seccomp(2) asks for no_new_privileges */
	struct conf_rlimit limit_nofile;
	struct conf_rlimit limit_core; /* bytes */
	struct conf_rlimit limit_as; /* bytes */
	struct conf_rlimit limit_nproc;
	struct conf_rlimit limit_cpu; /* seconds */
	enum conf_output output;
	char *output_file; /* absolute; CONF_OUTPUT_FILE only, else NULL */
	enum log_level stderr_level; /* CONF_OUTPUT_LOG only */
};

/* The answer to connections that are turned away. */
struct conf_refusal {
	enum conf_on_full on_full;
	char *file; /* absolute; CONF_ON_FULL_REPLY only, else NULL */
	const char *reply; /* the bytes it held when read; likewise */
	size_t reply_len; /* then 1 to CONF_REPLY_MAX, else 0 */
	enum conf_protocol protocol;
	bool tell_failures; /* CONF_PROTOCOL_HTTP only */
};

/* Connections that the daemon keeps between requests, or before the first. */
struct conf_parking {
	bool keep_alive;
	tspan keep_alive_timeout;
	unsigned max_parked;
	bool wait_for_data;
	bool wait_for_request; /* of HTTP */
};

struct conf_app {
	char *name;

	/*
	 * Not NULL: why this app is failed although the file is right (an
	 * unknown user, ...). Fields that it concerns are not to be relied on.
	 */
	char *broken;

	enum conf_handoff handoff;
	enum conf_accept_by accept_by;
	struct conf_listeners listen;
	struct conf_program program;
	struct conf_refusal refusal;
	struct conf_limit limit;
	struct conf_parking parking;
	struct cgroup_options cgroup;

	/*
	 * min_processes <= max_processes; all min_processes together <=
	 * conf.max_processes. max_processes of job workers, which have no such
	 * option, is their minimum, or 1.
	 */
	struct app_options pool;
	bool max_auto; /* max_processes = auto, of which that is the bound */

	tspan close_delay; /* the daemon's, if that is longer */
	bool exit_on_failed;
	char **needs; /* names of apps; no circle */
	bool log_requests;
	bool load_report; /* CONF_PROTOCOL_HTTP only */
	unsigned slow_signal; /* see conf_signal() */
	unsigned timeout_signal;
	unsigned stop_signal; /* conf_signal() of the word after it */
	bool template;
	unsigned refork_after; /* 0: never; else template */
	char *restart_dir; /* as directory, or NULL for none */
	char **watch; /* absolute */

	char **values; /* as conf_print() has them; for this room */
};

struct conf {
	char *file; /* absolute; of a command line "apppoold run" */

	char *choice; /* of a command line: its handoff, and why; else NULL */
	unsigned max_processes;
	bool max_auto; /* auto, of which that is the bound */
	unsigned process_slack;
	char *control; /* absolute, or NULL for none */
	mode_t control_mode;
	char *control_group; /* NULL: none */
	gid_t control_gid; /* (gid_t)-1: none */
	struct conf_listen *counter;
	size_t counter_len;
	unsigned counter_max_clients;
	struct log_spec log; /* log_level and log_format, too */
	char *pid_file; /* absolute, or NULL */
	char *dump_file; /* absolute, or NULL */
	tspan stop_timeout;
	tspan close_delay; /* the longest of all; under stop_timeout, or 0 */
	bool require_cgroup;

	/* The user of keepers; keeper_changes: not the daemon's. */
	bool keeper_changes;
	uid_t keeper_uid;
	gid_t keeper_gid;
	char *keeper; /* the program, absolute */
	char *counter_program; /* likewise, apppool-counter */

	char *user; /* of apps that name none; NULL: we are not root */
	char *group; /* NULL: that of the user */

	bool nobody_by_default; /* some app is, for want of a user's name */

	struct conf_app *apps; /* in the order of the file */
	size_t apps_len;

	char **values; /* as in an app */
	struct arena_block *memory; /* of all fields */
	unsigned refs; /* the main thread's to change */
};

/* Lines "FILE:LINE: text", by file and line. Both lists end with NULL. */
struct conf_report {
	char **mistakes;
	size_t mistakes_len;
	char **warnings;
	size_t warnings_len;
	struct arena_block *memory;
};

void conf_report_fini(struct conf_report *);

/*
 * Check users, directories and programs, too. A fault of theirs is a warning,
 * and makes its app `broken` only if the app cannot be represented.
 */
#define CONF_OUTSIDE_WARN 0x1

/* As -t has it: faults outside of the file, addresses too, are mistakes. */
#define CONF_OUTSIDE_STRICT 0x2

/*
 * Ask nothing outside of the file, not even for users and hosts, whose fields
 * stay empty: for callers that want sizes and rules only.
 */
#define CONF_INSIDE 0x4

/*
 * Reads and checks file and what it includes. Returns NULL if there is a
 * mistake, or no memory; report, to be undone in any case, then has all
 * mistakes that could be found, at least one. Never binds, never writes, never
 * ends the process. Resolves names of users and hosts and so may wait for them.
 * For one thread of the process at a time.
 *
 * is_ours, which may be NULL, is asked under CONF_OUTSIDE_STRICT about an
 * address in use: true if a daemon on this very file holds it.
 */
struct conf *conf_load(const char *file, unsigned flags,
    bool (*is_ours)(const struct conf_listen *), struct conf_report *report);

/*
 * The same under CONF_OUTSIDE_WARN, of what conf_print() has written of the
 * configuration of this file; choice: as in struct conf.
 */
struct conf *conf_load_text(const char *file, const char *choice,
    const char *text, struct conf_report *report);

/* An option of the command line of apppoold(8), "apppoold run". */
struct conf_word {
	char letter; /* -l, -n or -o */
	const char *text;
};

struct conf_run {
	const struct conf_word *words;
	size_t words_len;
	char *const *command; /* at least a program; NULL ends it */
	bool print; /* for conf_print(): a file that says the same */
};

/*
 * As conf_load() under CONF_OUTSIDE_WARN, of a command line: findings name what
 * was typed. Only options that are set are printed.
 */
struct conf *conf_run(const struct conf_run *run, struct conf_report *report);

/*
 * conf_load() gives one reference, conf_ref() another; conf_free() takes one
 * back, and the last with the configuration. NULL: nothing.
 */
struct conf *conf_ref(struct conf *);
void conf_free(struct conf *);

/* The absolute path of a UNIX address, the name of LISTEN_FDNAMES of an FD. */
static inline const char *
conf_listen_name(const struct conf_listen *l)
{
	return strchr(l->text, ':') + 1;
}

/*
 * The listener to open for the address, without owner, mode and backlog yet,
 * and for CONF_LISTEN_FD without a place. Its texts are those of the address.
 */
struct listener_spec;
void conf_listen_spec(const struct conf_listen *, struct listener_spec *out);

/* Writes all values, defaults included: loading that gives an equal one. */
void conf_print(const struct conf *, FILE *);

/* The two parts of that: what is outside of apps, and one app. */
void conf_print_global(const struct conf *, FILE *);
void conf_print_app(const struct conf_app *, FILE *);

/*
 * The path of the control socket that file names, for apppoolctl: an allocated
 * string, "" for none, CONF_DEFAULT_CONTROL if the file names none. Mistakes in
 * other statements do not matter. NULL and errno if file cannot be read.
 */
char *conf_control_path(const char *file);

/* Whether the control socket is in CONF_DEFAULT_FOLDER, which is then made. */
bool conf_makes_folder(const struct conf *);

/*
 * Makes *out at least as large as the apps of the configuration need. Room for
 * apps that are there already is the caller's to add.
 */
void conf_pool_limits(const struct conf *, struct pool_limits *out);

/* NULL: there is no app of that name. */
const struct conf_app *conf_find_app(const struct conf *, const char *name);

bool conf_app_needs(const struct conf_app *, const char *name);

/* Differences between two versions of an app, by what they cost. */
#define CONF_CHANGED_SIZES 0x1 /* sizes, thresholds, timeouts: in place */
#define CONF_CHANGED_LISTEN 0x2 /* addresses, backlog, owner, mode */
#define CONF_CHANGED_PROCESS 0x4 /* command, identity, ...: all processes */

/* All that apply; 0: none. Another place in the file is no difference. */
unsigned conf_app_changes(
    const struct conf_app *old, const struct conf_app *new);

/*
 * A duration in the words of pool.conf(5): "250ms", "1.5h", or bare seconds.
 * False if text is none; *out is then unchanged.
 */
bool conf_parse_span(const char *text, tspan *out);

/* Likewise a size: "64K", "2G", or bare bytes. */
bool conf_parse_size(const char *text, uint64_t *out);

/* The same up to about `most`, and exact if it is a time of day, since 1970. */
bool conf_parse_time(const char *text, tspan most, tspan *out);

/*
 * Some words in `command` and `environment` stand for values of a process:
 * "{app}", "{slot}", and "{slot+N}" for a sum. All other braces are text. This
 * returns the text for the process of that slot, allocated. NULL and ENOMEM,
 * also if it would be longer than anything that can be executed.
 */
char *placeholder_fill(const char *text, const char *app, uint32_t slot);

/* The words of pool.conf(5), by the value of the enum; NULL ends them. */
extern const char *const conf_handoff_names[], *const conf_protocol_names[];

/* The number of the signal that an option names; 0: none. */
int conf_signal(unsigned word);

#endif
