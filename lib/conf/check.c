/*
 * Checks values that are right by themselves and wrong together, and then what
 * the file refers to on this machine.
 */

#include <sys/syscall.h>
#include <sys/un.h>

#include <errno.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <unistd.h>

#include "conf/room.h"
#include "sys/child.h"
#include "sys/listener.h"
#include "sys/ownfile.h"

/* ---- within an app ---- */

static bool
both_sound(const struct build *b, const struct conf_app *app, const char *x,
    const char *y)
{
	return build_sound(b, app, x) && build_sound(b, app, y);
}

/* Reports it where low is set, else where high is. */
static void
check_over(const struct build *b, const struct conf_app *app, const char *low,
    double low_value, const char *high, double high_value)
{
	bool is_set = build_level(b, app, low) != LEVEL_PRESET;
	const char *where = is_set ? low : high;

	if (low_value <= high_value || !both_sound(b, app, low, high))
		return;
	if (options_find(true, low)->type == &type_span)
		build_say(
		    b, app, SAID_MISTAKE, where, "%s is over %s", low, high);
	else
		build_say(b, app, SAID_MISTAKE, where,
		    "%s (%g) is over %s (%g)", low, low_value, high,
		    high_value);
}

static void
check_needs(const struct build *b, const struct conf_app *app,
    const char *option, bool used, const char *needed, bool there)
{
	if (used && !there && both_sound(b, app, option, needed))
		build_say(b, app, SAID_MISTAKE, option,
		    "%s has no effect without %s", option, needed);
}

static void
check_http(const struct build *b, const struct conf_app *app,
    const char *option, bool used)
{
	if (used && app->refusal.protocol != CONF_PROTOCOL_HTTP &&
	    both_sound(b, app, option, "protocol"))
		build_say(b, app, SAID_MISTAKE, option,
		    "%s needs protocol = http", option);
}

static void
check_required(const struct build *b, const struct conf_app *app)
{
	if (app->program.command[0] == NULL && build_sound(b, app, "command"))
		findings_mistake(b->findings, build_where(b, app, "command"),
		    "app '%s' has no command", app->name);
	if (!both_sound(b, app, "listen", "handoff"))
		return;
	if (app->listen.len == 0 && app->handoff != CONF_HANDOFF_NONE)
		findings_mistake(b->findings, build_where(b, app, "listen"),
		    "app '%s' has no listen address (only handoff = none needs "
		    "none)",
		    app->name);
	if (app->listen.len > CHILD_FDS_MAX &&
	    app->handoff == CONF_HANDOFF_LISTEN)
		findings_mistake(b->findings, build_where(b, app, "listen"),
		    "app '%s' has %zu listen addresses: with handoff = listen "
		    "a process can be given %d",
		    app->name, app->listen.len, CHILD_FDS_MAX);
}

/* Facts that all workers of a template have in common. */
static void
check_common(const struct build *b, const struct conf_app *app,
    const char *option, char *const *list)
{
	if (placeholder_in_list(list) && app->template &&
	    both_sound(b, app, option, "template"))
		build_say(b, app, SAID_MISTAKE, option,
		    "%s has {slot}, but with template = true all processes "
		    "have the same one",
		    option);
}

/*
 * A threshold has no effect with target_wait: the one that is set nearer to the
 * app rules. Both at one place are a mistake, unless the threshold is set to
 * its default. A private queue cannot keep a target.
 */
static void
check_target(const struct build *b, struct conf_app *app)
{
	struct app_options *o = &app->pool;
	const struct {
		const char *option;
		double *value;
	} thresholds[] = {
		{ "grow_threshold", &o->load.grow_threshold },
		{ "multi_threshold", &o->load.multi_threshold },
		{ "single_threshold", &o->load.single_threshold },
	};
	enum build_level target = build_level(b, app, "target_wait");

	if (!options_allowed(options_find(true, "target_wait"), app->handoff) ||
	    (o->private_queue && build_level(b, app, "queue") > target))
		o->target_wait = 0;
	for (size_t i = 0; i < 3; i++) {
		const char *option = thresholds[i].option;
		double preset =
		    strtod(options_find(true, option)->preset, NULL);
		enum build_level own = build_level(b, app, option);

		if (own > target)
			o->target_wait = 0;
		if (o->target_wait == 0 || *thresholds[i].value == preset ||
		    !both_sound(b, app, option, "target_wait"))
			continue;
		if (own < target)
			*thresholds[i].value = preset;
		else
			build_say(b, app, SAID_MISTAKE, option,
			    "%s has no effect with target_wait; with "
			    "target_wait = 0 it has",
			    option);
	}
	if (o->private_queue && o->target_wait > 0 &&
	    both_sound(b, app, "queue", "target_wait"))
		build_say(b, app, SAID_MISTAKE, "target_wait",
		    "target_wait cannot be kept with queue = private, where "
		    "connections wait for one process each");
}

static void
check_one_app(struct build *b, struct conf_app *app)
{
	struct app_options *o = &app->pool;

	check_target(b, app);
	check_required(b, app);
	/* Job workers are as many as the minimum says, and never more. */
	if (app->handoff != CONF_HANDOFF_NONE)
		check_over(b, app, "min_processes", o->min_processes,
		    "max_processes", o->max_processes);
	check_over(
	    b, app, "min_idle", o->min_idle, "max_processes", o->max_processes);
	/* A job may start every hour: such a delay is not over the default. */
	if (build_level(b, app, "restart_delay_max") == LEVEL_PRESET &&
	    o->restart_delay > o->restart_delay_max)
		o->restart_delay_max = o->restart_delay;
	check_over(b, app, "restart_delay", (double)o->restart_delay,
	    "restart_delay_max", (double)o->restart_delay_max);
	if (app->cgroup.memory_max > 0)
		check_over(b, app, "memory_high",
		    (double)app->cgroup.memory_high, "memory_max",
		    (double)app->cgroup.memory_max);
	check_over(b, app, "multi_threshold", o->load.multi_threshold,
	    "grow_threshold", o->load.grow_threshold);
	if (app->limit.local && b->conf->counter_len == 0)
		build_say(b, app, SAID_MISTAKE, "limit",
		    "limit: local is the daemon's own counter, and no counter "
		    "is configured");
	check_needs(b, app, "refork_after", app->refork_after > 0, "template",
	    app->template);
	if (app->template && app->handoff == CONF_HANDOFF_ACCEPT &&
	    app->accept_by != CONF_ACCEPT_BY_LIBRARY &&
	    (app->accept_by == CONF_ACCEPT_BY_SECCOMP || o->concurrency > 1) &&
	    both_sound(b, app, "template", "accept_by"))
		build_say(b, app, SAID_MISTAKE, "template",
		    "template = true needs the library: accept_by = library, "
		    "or auto with concurrency = 1");
	check_common(b, app, "command", app->program.command);
	check_common(b, app, "environment", app->program.environment);
	check_needs(b, app, "wait_for_request", app->parking.wait_for_request,
	    "wait_for_data", app->parking.wait_for_data);
	check_http(b, app, "tell_failures", app->refusal.tell_failures);
	check_http(b, app, "load_report", app->load_report);
	check_needs(b, app, "slow_signal", app->slow_signal != 0,
	    "slow_timeout", o->slow_timeout != 0);
	check_needs(b, app, "queue", o->private_queue, "prefetch",
	    o->prefetch > 0 && !o->prefetch_auto);
}

/*
 * True if one of the addresses could not be bound while the other listens.
 * Their texts are canonical.
 */
static bool
overlap(const struct conf_listen *a, const struct conf_listen *b)
{
	static const char *const any[] = { "*:", "0.0.0.0:", "[::]:" };
	const struct conf_listen *both[] = { a, b };
	const char *port = strrchr(a->text, ':');

	if (a->kind != b->kind)
		return false;
	if (a->kind != CONF_LISTEN_TCP || a->addr_len == 0 || b->addr_len == 0)
		return strcmp(a->text, b->text) == 0;
	if (strcmp(port, strrchr(b->text, ':')) != 0 || strcmp(port, ":0") == 0)
		return false;
	if (strcmp(a->text, b->text) == 0)
		return true;
	for (size_t i = 0; i < 6; i++) {
		const struct conf_listen *l = both[i / 3];

		/* Between the families only a wildcard for both conflicts. */
		if (strncmp(l->text, any[i % 3], strlen(any[i % 3])) == 0 &&
		    (a->addr.ss_family == b->addr.ss_family ||
			(l->addr.ss_family == AF_INET6 && !l->v6only)))
			return true;
	}
	return false;
}

/* ---- between apps ---- */

/* An address of the file; each is compared with each other. */
struct use {
	const char *owner; /* "app 'NAME'", "option 'counter'" */
	const struct conf_listen *listen;
	struct where where;
};

/* Adds the addresses of a list at `to`, and returns the end of them. */
static struct use *
use_add(struct use *to, const char *owner, struct where where,
    const struct conf_listen *list, size_t len)
{
	for (size_t i = 0; i < len; i++)
		*to++ = (struct use){ owner, &list[i], where };
	return to;
}

static void
check_addresses(struct build *b)
{
	struct conf_listen control = { .kind = CONF_LISTEN_UNIX };
	const struct conf *conf = b->conf;
	struct arena *a = b->findings->arena;
	size_t most = 1 + conf->counter_len;
	struct use *all, *end;

	for (size_t i = 0; i < conf->apps_len; i++)
		most += conf->apps[i].listen.len;
	all = end = arena_alloc(a, most, sizeof(*all));
	/* The daemon's own come first: a conflict is told of the app. */
	if (conf->control != NULL) {
		control.text = arena_printf(a, "unix:%s", conf->control);
		end = use_add(end, "option 'control'",
		    build_where(b, NULL, "control"), &control, 1);
	}
	end = use_add(end, "option 'counter'", build_where(b, NULL, "counter"),
	    conf->counter, conf->counter_len);
	for (size_t i = 0; i < conf->apps_len; i++) {
		const struct conf_app *app = &conf->apps[i];

		end = use_add(end, arena_printf(a, "app '%s'", app->name),
		    build_where(b, app, "listen"), app->listen.list,
		    app->listen.len);
	}
	for (const struct use *l = all; l < end; l++) {
		const struct use *e = all;

		while (e < l && !overlap(l->listen, e->listen))
			e++;
		if (e < l && e->owner == l->owner)
			findings_mistake(b->findings, l->where,
			    "%s: %s and %s are one address", l->owner,
			    e->listen->text, l->listen->text);
		else if (e < l)
			findings_mistake(b->findings, l->where,
			    "%s: %s is taken by %s of %s (%s)", l->owner,
			    l->listen->text, e->listen->text, e->owner,
			    where_text(a, e->where));
	}
}

/* Each app must be there, and none can wait for the end of itself. */
static void
check_app_needs(struct build *b, const struct conf_app *app)
{
	const struct conf *conf = b->conf;
	const struct conf_app **met =
	    arena_alloc(b->findings->arena, conf->apps_len + 1, sizeof(*met));
	size_t n = app->needs[0] != NULL ? 1 : 0, k;

	/* All that it needs, by way of others, too. */
	met[0] = app;
	for (size_t i = 0; i < n; i++) {
		for (char **name = met[i]->needs; *name != NULL; name++) {
			const struct conf_app *needed =
			    conf_find_app(conf, *name);

			if (needed == NULL && i == 0)
				build_say(b, app, SAID_MISTAKE, "needs",
				    "needs '%s', which is no app", *name);
			else if (needed == app)
				build_say(b, app, SAID_MISTAKE, "needs",
				    "needs itself%s%s",
				    i > 0 ? ", by way of " : "",
				    i > 0 ? met[i]->name : "");
			for (k = 0; k < n && met[k] != needed; k++)
				;
			if (needed != NULL && k == n)
				met[n++] = needed;
		}
	}
}

/* Of close_delay the longer counts: that of the app, or that of all. */
static void
check_delays(struct build *b)
{
	static const char why[] =
	    "close_delay is not shorter than the daemon's stop_timeout, in "
	    "which clients are served after it";
	struct conf *conf = b->conf;
	tspan of_all = conf->close_delay;

	if (of_all > 0 && of_all >= conf->stop_timeout &&
	    both_sound(b, NULL, "close_delay", "stop_timeout"))
		build_say(b, NULL, SAID_MISTAKE, "close_delay", "%s", why);
	for (size_t i = 0; i < conf->apps_len; i++) {
		struct conf_app *app = &conf->apps[i];

		if (app->close_delay > 0 &&
		    app->close_delay >= conf->stop_timeout &&
		    build_sound(b, app, "close_delay") &&
		    build_sound(b, NULL, "stop_timeout"))
			build_say(
			    b, app, SAID_MISTAKE, "close_delay", "%s", why);
		if (app->close_delay > conf->close_delay)
			conf->close_delay = app->close_delay;
		if (app->close_delay < of_all)
			app->close_delay = of_all;
	}
}

/* ---- files that the daemon makes itself ---- */

/* Returns 0, or the errno of that access to a folder. */
static int
folder_error(const char *folder, int how)
{
	struct stat st;

	if (stat(folder, &st) == -1)
		return errno;
	if (!S_ISDIR(st.st_mode))
		return ENOTDIR;
	return access(folder, how) == -1 ? errno : 0;
}

/*
 * Checks the folder of a file that the daemon will make. detail: what stands
 * before the fault; path NULL: none.
 */
static void
check_folder(const struct build *b, const struct conf_app *app,
    const char *option, const char *detail, const char *path)
{
	static const char run[] = CONF_DEFAULT_FOLDER;
	struct arena *a = b->findings->arena;
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;
	const char *folder, *parent, *fault;
	int error;

	if (path == NULL)
		return;
	folder = arena_strndup(a, path, slash == path ? 1 : slash - path);
	error = folder_error(folder, W_OK | X_OK);
	if (error == 0)
		return;
	fault = arena_printf(a, "directory %s: %s", folder, strerror(error));
	if (error == ENOENT && conf_makes_folder(b->conf) &&
	    strcmp(folder, run) == 0) {
		parent = arena_strndup(a, run, strrchr(run, '/') - run);
		error = folder_error(parent, W_OK | X_OK);
		if (error == 0)
			return;
		fault = error == EACCES && geteuid() != 0
		    ? arena_printf(a,
			  "directory %s is not there, and only root can make "
			  "it; another place will do",
			  run)
		    : arena_printf(a, "directory %s cannot be made in %s: %s",
			  run, parent, strerror(error));
	}
	build_say(b, app, SAID_OUTSIDE, option, "%s%s", detail, fault);
}

static void
check_files(const struct build *b)
{
	const struct {
		const char *option;
		const char *path;
		enum ownfile_kind kind;
	} files[] = {
		{ "log", b->conf->log.path, OWNFILE_ANY },
		{ "pid_file", b->conf->pid_file, OWNFILE_REGULAR },
		{ "dump_file", b->conf->dump_file, OWNFILE_ANY },
	};
	char why[OWNFILE_WHY];

	check_folder(b, NULL, "control",
	    build_level(b, NULL, "control") != LEVEL_PRESET ? "" : "not set, ",
	    b->conf->control);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const char *path = files[i].path;

		if (path == NULL)
			continue;
		check_folder(b, NULL, files[i].option, "", path);
		/* The dump itself replaces whatever has its name. */
		if (path == b->conf->dump_file)
			path = arena_printf(b->findings->arena, "%.*s/.",
			    (int)(strrchr(path, '/') - path), path);
		if (ownfile_open(path, files[i].kind, OWNFILE_LOOK, 0, why) ==
			-1 &&
		    why[0] != '\0')
			build_say(
			    b, NULL, SAID_OUTSIDE, files[i].option, "%s", why);
	}
}

/* ---- addresses ---- */

/* Reports an address under the ports that this process may bind. */
static void
check_port(const struct build *b, const struct conf_app *app,
    const char *option, const struct conf_listen *l)
{
	const struct sockaddr_in *in = (const void *)&l->addr;
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct sets[2];
	unsigned port, first = 1024;
	FILE *f;

	/* Both families have the port in one place. */
	port = l->kind == CONF_LISTEN_TCP ? ntohs(in->sin_port) : 0;
	f = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "re");
	if (f != NULL) {
		(void)!fscanf(f, "%u", &first);
		(void)fclose(f);
	}
	if (port == 0 || port >= first ||
	    (syscall(SYS_capget, &header, sets) == 0 &&
		(sets[0].effective & 1U << CAP_NET_BIND_SERVICE) != 0))
		return;
	build_say(b, app, SAID_OUTSIDE, option,
	    "address %s: ports under %u are for root, or need "
	    "CAP_NET_BIND_SERVICE",
	    l->text, first);
}

static void
check_listens(const struct build *b, const struct conf_app *app,
    const char *option, const struct conf_listen *list, size_t len)
{
	struct listener_spec spec;
	const char *why = "";

	for (size_t i = 0; i < len; i++)
		if (list[i].kind == CONF_LISTEN_UNIX)
			check_folder(b, app, option,
			    arena_printf(
				b->findings->arena, "%s: ", list[i].text),
			    conf_listen_name(&list[i]));
	/* A daemon that starts will find out by binding. */
	if ((b->findings->flags & CONF_OUTSIDE_STRICT) == 0)
		return;
	for (const struct conf_listen *l = list; l < list + len; l++) {
		if (l->kind == CONF_LISTEN_FD || l->addr_len == 0)
			continue;
		check_port(b, app, option, l);
		conf_listen_spec(l, &spec);
		if (listener_probe(&spec, &why) == 0)
			continue;
		if (errno != EADDRINUSE)
			build_say(b, app, SAID_OUTSIDE, option,
			    "address %s: %s: %s", l->text, why,
			    strerror(errno));
		else if (b->is_ours == NULL || !b->is_ours(l))
			build_say(b, app, SAID_OUTSIDE, option,
			    "somebody else listens on %s; ss %s tells who",
			    l->text,
			    l->kind == CONF_LISTEN_UNIX ? "-lxp" : "-ltnp");
	}
}

/* ---- programs, folders and limits of an app ---- */

/*
 * Reports a program that nobody could execute. What its user may not, and an
 * interpreter that is missing, the start of a process tells exactly.
 */
static void
check_program(const struct build *b, const struct conf_app *app)
{
	char *const *command = app->program.command;
	const char *path, *why = NULL;
	struct stat st;
	bool exists;

	if (command[0] == NULL || command[0][0] != '/')
		return;
	path = resolve_outside(b->findings->arena, app, command[0]);
	exists = stat(path, &st) == 0;
	if (exists && !S_ISREG(st.st_mode))
		why = "is not a regular file";
	else if (exists && (st.st_mode & 0111) == 0)
		why = "is not executable";
	else if (access(path, X_OK) == -1)
		why = strerror(errno);
	if (why == NULL)
		return;
	build_say(b, app, SAID_OUTSIDE, "command", "program %s: %s%s", path,
	    why,
	    command[1] != NULL || strchr(command[0], ' ') == NULL
		? ""
		: " (arguments are elements of their own: { \"PROGRAM\", "
		  "\"ARGUMENT\" })");
}

/* A relative argument that names no file where the program starts. */
static void
check_argument(
    const struct build *b, const struct conf_app *app, const char *text)
{
	/* An argument with one of these endings looks like a file. */
	static const char *const ends[] = { "js", "mjs", "cjs", "ts", "py",
		"rb", "ru", "pl", "psgi", "php", "phar", "sh", "lua", "tcl",
		"jar", "conf", "cfg", "ini", "yml", "yaml", "toml" };
	struct arena *a = b->findings->arena;
	const char *directory = app->program.directory;
	const char *dot = strrchr(text, '.'), *path, *beside;
	size_t i = 0, n = sizeof(ends) / sizeof(ends[0]);
	struct stat st;

	while (dot != NULL && i < n && strcmp(dot + 1, ends[i]) != 0)
		i++;
	if (dot == NULL || i == n || text[0] == '-' ||
	    strstr(text, "//") != NULL ||
	    strpbrk(text, " \t\n=*?;|&<>$(){}'\"") != NULL)
		return;
	path = resolve_outside(a, app, source_join(a, directory, text));
	if (stat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR))
		return;
	beside =
	    source_join(a, build_where(b, app, "command").source->dir, text);
	build_say(b, app, SAID_DOUBT, "command",
	    "argument '%s': there is no such file in %s, where the program "
	    "starts%s%s",
	    text, directory, stat(beside, &st) == 0 ? "; write " : "",
	    stat(beside, &st) == 0 ? beside : "");
}

static void
check_limits(const struct build *b, const struct conf_app *app)
{
	const struct conf_program *p = &app->program;
	const struct {
		const char *option;
		int resource;
		struct conf_rlimit limit;
	} limits[] = {
		{ "limit_nofile", RLIMIT_NOFILE, p->limit_nofile },
		{ "limit_core", RLIMIT_CORE, p->limit_core },
		{ "limit_as", RLIMIT_AS, p->limit_as },
		{ "limit_nproc", RLIMIT_NPROC, p->limit_nproc },
		{ "limit_cpu", RLIMIT_CPU, p->limit_cpu },
	};
	struct rlimit now;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (limits[i].limit.set && geteuid() != 0 &&
		    getrlimit(limits[i].resource, &now) == 0 &&
		    now.rlim_max != RLIM_INFINITY &&
		    limits[i].limit.max > now.rlim_max)
			build_say(b, app, SAID_OUTSIDE, limits[i].option,
			    "%s: only root can raise it over the hard limit "
			    "(%ju)",
			    limits[i].option, (uintmax_t)now.rlim_max);
	}
}

/* Reports limits of a cgroup where there is none, or not such a one. */
static void
check_cgroup(const struct build *b, const struct conf_app *app)
{
	const struct cgroup_options *c = &app->cgroup;
	const struct {
		const char *option;
		enum cgroup_need need;
		bool set;
	} limits[] = {
		{ "memory_max", CGROUP_MEMORY, c->memory_max > 0 },
		{ "memory_high", CGROUP_MEMORY, c->memory_high > 0 },
		{ "cpu_weight", CGROUP_CPU, c->cpu_weight != 100 },
		{ "cpu_max", CGROUP_CPU, c->cpu_max > 0 },
		{ "tasks_max", CGROUP_PIDS, c->tasks_max > 0 },
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		const char *why = cgroup_lacks(limits[i].need);

		if (limits[i].set && why != NULL)
			build_say(b, app,
			    b->conf->require_cgroup ? SAID_MISTAKE : SAID_DOUBT,
			    limits[i].option, "%s has no effect: %s",
			    limits[i].option, why);
	}
}

static void
check_programs(const struct build *b, const struct conf_app *app)
{
	const struct conf_program *p = &app->program;
	const char *directory =
	    resolve_outside(b->findings->arena, app, p->directory);
	int error = p->chroot != NULL ? folder_error(p->chroot, X_OK) : 0;

	if (error != 0) {
		build_say(b, app, SAID_OUTSIDE, "chroot", "chroot %s: %s",
		    p->chroot, strerror(error));
		return;
	}
	error = folder_error(directory, X_OK);
	if (error != 0)
		build_say(b, app, SAID_OUTSIDE, "directory", "directory %s: %s",
		    directory, strerror(error));
	check_program(b, app);
	for (size_t i = 1; p->command[0] != NULL && p->command[i] != NULL; i++)
		check_argument(b, app, p->command[i]);
}

/* Checks what the file refers to, if the flags of the load ask for that. */
static void
check_outside(const struct build *b)
{
	struct conf *conf = b->conf;

	if ((b->findings->flags & (CONF_OUTSIDE_WARN | CONF_OUTSIDE_STRICT)) ==
	    0)
		return;
	/* A daemon that starts has looked at its own. */
	if ((b->findings->flags & CONF_OUTSIDE_STRICT) != 0)
		cgroup_init(false);
	if (conf->require_cgroup && cgroup_lacks(CGROUP_ANY) != NULL)
		build_say(b, NULL, SAID_MISTAKE, "require_cgroup",
		    "apps can have no cgroup: %s", cgroup_lacks(CGROUP_ANY));
	check_files(b);
	check_listens(b, NULL, "counter", conf->counter, conf->counter_len);
	for (size_t i = 0; i < conf->apps_len; i++) {
		const struct conf_app *app = &conf->apps[i];

		/* Of an unknown user nobody knows what it may do. */
		if (app->program.identity.user != NULL)
			check_programs(b, app);
		check_limits(b, app);
		check_cgroup(b, app);
		check_listens(
		    b, app, "listen", app->listen.list, app->listen.len);
		check_folder(
		    b, app, "output", "output: ", app->program.output_file);
	}
}

void
check_conf(struct build *b)
{
	const struct sockaddr_un *sun = NULL;
	const char *control = b->conf->control;
	bool sound = build_sound(b, NULL, "max_processes");
	uint64_t sum = 0;

	for (size_t i = 0; i < b->conf->apps_len; i++) {
		struct conf_app *app = &b->conf->apps[i];

		check_one_app(b, app);
		sound = sound && build_sound(b, app, "min_processes");
		sum += app->pool.min_processes;
	}
	for (size_t i = 0; i < b->conf->apps_len; i++)
		check_app_needs(b, &b->conf->apps[i]);
	if (control != NULL && strlen(control) >= sizeof(sun->sun_path))
		build_say(b, NULL, SAID_MISTAKE, "control",
		    "'%s' is too long for a socket: %zu bytes of at most %zu",
		    control, strlen(control), sizeof(sun->sun_path) - 1);
	check_addresses(b);
	check_delays(b);
	if (sound && sum > b->conf->max_processes)
		findings_mistake(b->findings,
		    build_where(b, NULL, "max_processes"),
		    "the apps' min_processes add up to %ju, over max_processes "
		    "(%u)",
		    (uintmax_t)sum, b->conf->max_processes);
	if (b->conf->apps_len == 0 && b->conf->counter_len == 0 &&
	    b->findings->mistakes == 0)
		findings_mistake(b->findings,
		    (struct where){ b->parse->sources, 1 },
		    "neither an app nor a counter is configured");
	check_outside(b);
}
