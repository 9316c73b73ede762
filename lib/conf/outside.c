/* Checks what the file refers to on this machine. */

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "conf/room.h"
#include "sys/listener.h"
#include "sys/ownfile.h"

/* The app (NULL: a global option) that refers to something outside the file. */
struct outside {
	struct build *b;
	struct arena *a; /* of the findings */
	const struct conf_app *app;
	const char *what; /* "app 'NAME'", "option 'counter'" */
	bool (*is_ours)(const struct conf_listen *);
};

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

/* Checks the folder of a file that the daemon will make; NULL path: none. */
static void
check_folder(
    struct build *b, struct where where, const char *what, const char *path)
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
	findings_outside(b->findings, false, where, "%s: %s", what, fault);
}

static void
check_files(struct build *b)
{
	const struct {
		const char *option;
		const char *path;
		enum ownfile_kind kind;
	} files[] = {
		{ "log", b->conf->log_file, OWNFILE_ANY },
		{ "pid_file", b->conf->pid_file, OWNFILE_REGULAR },
		{ "dump_file", b->conf->dump_file, OWNFILE_ANY },
	};
	char why[OWNFILE_WHY];

	check_folder(b, build_where(b, NULL, "control"),
	    build_level(b, NULL, "control") != LEVEL_PRESET
		? "option 'control'"
		: "option 'control', which is not set",
	    b->conf->control);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct where where = build_where(b, NULL, files[i].option);
		const char *path = files[i].path;
		const char *what = arena_printf(
		    b->findings->arena, "option '%s'", files[i].option);

		if (path == NULL)
			continue;
		check_folder(b, where, what, path);
		/* The dump itself replaces whatever has its name. */
		if (path == b->conf->dump_file)
			path = arena_printf(b->findings->arena, "%.*s/.",
			    (int)(strrchr(path, '/') - path), path);
		if (ownfile_open(path, files[i].kind, OWNFILE_LOOK, 0, why) ==
			-1 &&
		    why[0] != '\0')
			findings_outside(
			    b->findings, false, where, "%s: %s", what, why);
	}
}

/* ---- addresses ---- */

/* Reports an address under the ports that this process may bind. */
static void
check_port(
    const struct outside *o, const char *option, const struct conf_listen *l)
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
	build_say(o->b, o->app, SAID_OUTSIDE, option,
	    "address %s: ports under %u are for root, or need "
	    "CAP_NET_BIND_SERVICE",
	    l->text, first);
}

static void
check_listens(const struct outside *o, const char *option,
    const struct conf_listen *list, size_t len)
{
	struct listener_spec spec;
	const char *why = "";

	for (size_t i = 0; i < len; i++)
		check_folder(o->b, build_where(o->b, o->app, option),
		    arena_printf(o->a, "%s: %s", o->what, list[i].text),
		    list[i].path);
	/* A daemon that starts will find out by binding. */
	if ((o->b->findings->flags & CONF_OUTSIDE_STRICT) == 0)
		return;
	for (const struct conf_listen *l = list; l < list + len; l++) {
		if (l->kind == CONF_LISTEN_FD || l->addr_len == 0)
			continue;
		check_port(o, option, l);
		conf_listen_spec(l, &spec);
		if (listener_probe(&spec, &why) == 0)
			continue;
		if (errno != EADDRINUSE)
			build_say(o->b, o->app, SAID_OUTSIDE, option,
			    "address %s: %s: %s", l->text, why,
			    strerror(errno));
		else if (o->is_ours == NULL || !o->is_ours(l))
			build_say(o->b, o->app, SAID_OUTSIDE, option,
			    "somebody else listens on %s; ss %s tells who",
			    l->text, l->path != NULL ? "-lxp" : "-ltnp");
	}
}

/* ---- programs, folders and limits of an app ---- */

/* The path seen from outside of the app's root directory. */
static const char *
seen_from_here(const struct outside *o, const char *path)
{
	if (o->app->program.chroot == NULL)
		return path;
	return arena_printf(o->a, "%s%s", o->app->program.chroot, path);
}

/*
 * Reports a program that nobody could execute. What its user may not, and an
 * interpreter that is missing, the start of a process tells exactly.
 */
static void
check_program(const struct outside *o)
{
	char *const *command = o->app->program.command;
	const char *path, *why = NULL;
	struct stat st;

	if (command[0] == NULL || command[0][0] != '/')
		return;
	path = seen_from_here(o, command[0]);
	if (stat(path, &st) == -1)
		why = strerror(errno);
	else if (!S_ISREG(st.st_mode))
		why = "is not a regular file";
	else if ((st.st_mode & 0111) == 0)
		why = "is not executable";
	else if (access(path, X_OK) == -1)
		why = strerror(errno);
	if (why == NULL)
		return;
	build_say(o->b, o->app, SAID_OUTSIDE, "command", "program %s: %s%s",
	    path, why,
	    command[1] != NULL || strchr(command[0], ' ') == NULL
		? ""
		: " (arguments are elements of their own: { \"PROGRAM\", "
		  "\"ARGUMENT\" })");
}

/* Whether the argument looks like a file that the program reads. */
static bool
looks_like_file(const char *text)
{
	static const char *const ends[] = { "js", "mjs", "cjs", "ts", "py",
		"rb", "ru", "pl", "psgi", "php", "phar", "sh", "lua", "tcl",
		"jar", "conf", "cfg", "ini", "yml", "yaml", "toml" };
	const char *dot = strrchr(text, '.');

	if (dot == NULL || text[0] == '-' || strstr(text, "//") != NULL ||
	    strpbrk(text, " \t\n=*?;|&<>$(){}'\"") != NULL)
		return false;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strcmp(dot + 1, ends[i]) == 0)
			return true;
	return false;
}

/* A relative argument that names no file where the program starts. */
static void
check_argument(const struct outside *o, const char *text)
{
	const char *directory = o->app->program.directory;
	const char *path =
	    seen_from_here(o, source_join(o->a, directory, text));
	const char *beside = source_join(
	    o->a, build_where(o->b, o->app, "command").source->dir, text);
	struct stat st;

	if (stat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR))
		return;
	build_say(o->b, o->app, SAID_DOUBT, "command",
	    "argument '%s': there is no such file in %s, where the program "
	    "starts%s%s",
	    text, directory, stat(beside, &st) == 0 ? "; write " : "",
	    stat(beside, &st) == 0 ? beside : "");
}

static void
check_limits(const struct outside *o)
{
	const struct conf_program *p = &o->app->program;
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
			build_say(o->b, o->app, SAID_OUTSIDE, limits[i].option,
			    "%s: only root can raise it over the hard limit "
			    "(%ju)",
			    limits[i].option, (uintmax_t)now.rlim_max);
	}
}

static void
check_programs(const struct outside *o)
{
	const struct conf_program *p = &o->app->program;
	const char *directory = seen_from_here(o, p->directory);
	int error = p->chroot != NULL ? folder_error(p->chroot, X_OK) : 0;

	if (error != 0) {
		build_say(o->b, o->app, SAID_OUTSIDE, "chroot", "chroot %s: %s",
		    p->chroot, strerror(error));
		return;
	}
	error = folder_error(directory, X_OK);
	if (error != 0)
		build_say(o->b, o->app, SAID_OUTSIDE, "directory",
		    "directory %s: %s", directory, strerror(error));
	check_program(o);
	for (size_t i = 1; p->command[0] != NULL && p->command[i] != NULL; i++)
		if (looks_like_file(p->command[i]))
			check_argument(o, p->command[i]);
}

void
outside_check(struct build *b, bool (*is_ours)(const struct conf_listen *))
{
	struct arena *a = b->findings->arena;
	struct conf *conf = b->conf;
	struct outside o = { b, a, NULL, "option 'counter'", is_ours };

	if ((b->findings->flags & (CONF_OUTSIDE_WARN | CONF_OUTSIDE_STRICT)) ==
	    0)
		return;
	check_files(b);
	check_listens(&o, "counter", conf->counter, conf->counter_len);
	for (size_t i = 0; i < conf->apps_len; i++) {
		o.app = &conf->apps[i];
		o.what = arena_printf(a, "app '%s'", o.app->name);
		/* Of an unknown user nobody knows what it may do. */
		if (o.app->program.identity.user != NULL)
			check_programs(&o);
		check_limits(&o);
		check_listens(
		    &o, "listen", o.app->listen.list, o.app->listen.len);
		check_folder(b, build_where(b, o.app, "output"),
		    arena_printf(a, "%s: output", o.what),
		    o.app->program.output_file);
	}
}
