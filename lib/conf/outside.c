/* Checks what the file refers to on this machine. */

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "conf/outside.h"
#include "sys/listener.h"
#include "sys/ownfile.h"

/* An app that is checked. */
struct look {
	struct build *b;
	struct arena *a; /* of the findings */
	const struct conf_app *app;
};

/* ---- what the processes of an app may enter and run ---- */

static bool
is_member(const struct conf_identity *id, gid_t gid)
{
	if (id->gid == gid)
		return true;
	for (size_t i = 0; i < id->groups_len; i++) {
		if (id->groups[i] == gid)
			return true;
	}
	return false;
}

/*
 * True if the mode lets the user execute, or search (X_OK), or write (W_OK); an
 * access control list may know better.
 */
static bool
may(const struct conf_identity *id, const char *path, const struct stat *st,
    int how)
{
	mode_t bit = how == W_OK ? S_IWOTH : S_IXOTH;

	if (!id->change)
		return access(path, how) == 0;
	if (getxattr(path, "system.posix_acl_access", NULL, 0) > 0)
		return true;
	if (id->uid == 0)
		return how == W_OK || S_ISDIR(st->st_mode) ||
		    (st->st_mode & 0111) != 0;
	if (st->st_uid == id->uid)
		bit <<= 6;
	else if (is_member(id, st->st_gid))
		bit <<= 3;
	return (st->st_mode & bit) != 0;
}

/* Why the processes cannot be in that folder, or NULL. */
static const char *
folder_denied(const struct look *l, const char *path)
{
	const struct conf_identity *id = &l->app->identity;
	struct stat st;

	if (stat(path, &st) == -1)
		return arena_strdup(l->a, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return "is not a directory";
	if (!may(id, path, &st, X_OK))
		return arena_printf(
		    l->a, "user '%s' may not enter it", id->user);
	return NULL;
}

/* Why the processes cannot run that program, or NULL. */
static const char *
program_denied(const struct look *l, const char *path)
{
	const struct conf_identity *id = &l->app->identity;
	struct stat st;

	if (stat(path, &st) == -1)
		return arena_strdup(l->a, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return "is not a regular file";
	if ((st.st_mode & 0111) == 0)
		return "is not executable";
	if (!may(id, path, &st, X_OK))
		return arena_printf(
		    l->a, "user '%s' may not execute it", id->user);
	return NULL;
}

/* Why the processes cannot append to that file, or make it, or NULL. */
static const char *
output_denied(const struct look *l, const char *path)
{
	const struct conf_identity *id = &l->app->identity;
	const char *what = path;
	struct stat st;

	if (lstat(path, &st) == -1) {
		what = arena_strndup(l->a, path, strrchr(path, '/') - path);
		if (errno != ENOENT || stat(what, &st) == -1)
			return arena_strdup(l->a, strerror(errno));
	}
	if (S_ISLNK(st.st_mode))
		return "is a symbolic link: remove it, or name the file it "
		       "leads to";
	if (!may(id, what, &st, W_OK))
		return arena_printf(l->a, "user '%s' may not %s it", id->user,
		    what == path ? "write" : "make");
	return NULL;
}

/*
 * The same, step by step from the root directory. Permission bits decide,
 * because the user is another than the daemon's.
 */
static const char *
denied(const struct look *l, const char *path,
    const char *(*last)(const struct look *, const char *))
{
	for (const char *p = strchr(path, '/'); p != NULL;
	     p = strchr(p + 1, '/')) {
		size_t len = p > path ? (size_t)(p - path) : 1;
		const char *step = arena_strndup(l->a, path, len);
		const char *why = folder_denied(l, step);

		if (why != NULL)
			return arena_printf(l->a, "%s: %s", step, why);
	}
	return last(l, path);
}

/* ---- programs and folders of apps ---- */

static void say(const struct look *l, const char *option, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Reports a thing of the outside, at the place of an option of the app. */
static void
say(const struct look *l, const char *option, const char *fmt, ...)
{
	va_list ap;
	const char *text;

	va_start(ap, fmt);
	text = arena_vprintf(l->a, fmt, ap);
	va_end(ap);
	findings_outside(l->b->findings, build_where(l->b, l->app, option),
	    "app '%s': %s", l->app->name, text);
}

/* The path seen from outside of the app's root directory. */
static const char *
seen_from_here(const struct look *l, const char *path)
{
	if (l->app->chroot == NULL)
		return path;
	return arena_printf(l->a, "%s%s", l->app->chroot, path);
}

/* The program a script names in its first line, or NULL. */
static const char *
interpreter_of(const struct look *l, const char *path)
{
	char line[256];
	ssize_t n;
	size_t start;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd == -1)
		return NULL;
	n = read(fd, line, sizeof(line) - 1);
	(void)close(fd);
	if (n < 3 || line[0] != '#' || line[1] != '!')
		return NULL;
	line[n] = '\0';
	start = 2 + strspn(line + 2, " \t");
	return arena_strndup(
	    l->a, line + start, strcspn(line + start, " \t\r\n"));
}

static void
check_interpreter(const struct look *l, const char *program)
{
	const char *name = interpreter_of(l, program);
	const char *path;
	const char *why;

	if (name == NULL)
		return;
	path = seen_from_here(l, name);
	why = denied(l, path, program_denied);
	if (why != NULL)
		say(l, "command", "the interpreter of %s: %s: %s",
		    l->app->command[0], path, why);
}

/* A hint for command = "/bin/prog -x". */
static const char *
hint_of(const struct conf_app *app)
{
	if (app->command[1] != NULL || strchr(app->command[0], ' ') == NULL)
		return "";
	return " (arguments are elements of their own: "
	       "{ \"PROGRAM\", \"ARGUMENT\" })";
}

static void
check_program(const struct look *l)
{
	const struct conf_app *app = l->app;
	const char *path;
	const char *why;

	if (app->command[0] == NULL || app->command[0][0] != '/')
		return;
	path = seen_from_here(l, app->command[0]);
	why = denied(l, path, program_denied);
	if (why != NULL)
		say(l, "command", "program %s: %s%s", path, why, hint_of(app));
	else
		check_interpreter(l, path);
}

static void
check_directory(const struct look *l)
{
	const char *path = seen_from_here(l, l->app->directory);
	const char *why = denied(l, path, folder_denied);

	if (why != NULL)
		say(l, "directory", "directory %s: %s", path, why);
}

/* A file in a place where others may replace it is opened by the app's user. */
static void
check_output(const struct look *l)
{
	const char *path = l->app->output_file, *why;
	char unsafe[OWNFILE_WHY];

	if (path == NULL || l->app->identity.user == NULL ||
	    ownfile_check(path, OWNFILE_ANY, unsafe) == 0 || unsafe[0] == '\0')
		return;
	why = denied(l, path, output_denied);
	if (why != NULL)
		say(l, "output", "output %s: %s (%s)", path, why, unsafe);
}

static void
check_programs(const struct look *l)
{
	const char *root = l->app->chroot;
	const char *why;

	/* Of an unknown user nobody knows what it may do. */
	if (l->app->identity.user == NULL)
		return;
	why = root != NULL ? denied(l, root, folder_denied) : NULL;
	if (why != NULL) {
		say(l, "chroot", "chroot %s: %s", root, why);
		return;
	}
	check_directory(l);
	check_program(l);
}

/* ---- limits ---- */

static void
check_limit(const struct look *l, const char *option, int resource,
    const struct conf_rlimit *limit)
{
	struct rlimit now;

	if (!limit->set || geteuid() == 0 || getrlimit(resource, &now) == -1)
		return;
	if (now.rlim_max == RLIM_INFINITY || limit->max <= now.rlim_max)
		return;
	say(l, option, "%s: only root can raise it over the hard limit (%ju)",
	    option, (uintmax_t)now.rlim_max);
}

static void
check_limits(const struct look *l)
{
	const struct conf_app *app = l->app;

	check_limit(l, "limit_nofile", RLIMIT_NOFILE, &app->limit_nofile);
	check_limit(l, "limit_core", RLIMIT_CORE, &app->limit_core);
	check_limit(l, "limit_as", RLIMIT_AS, &app->limit_as);
	check_limit(l, "limit_nproc", RLIMIT_NPROC, &app->limit_nproc);
	check_limit(l, "limit_cpu", RLIMIT_CPU, &app->limit_cpu);
}

/* ---- files that we make ourselves ---- */

bool
conf_makes_folder(const struct conf *conf)
{
	static const char folder[] = CONF_DEFAULT_FOLDER "/";
	const char *control = conf->control;

	return control != NULL &&
	    strncmp(control, folder, sizeof(folder) - 1) == 0 &&
	    strchr(control + sizeof(folder) - 1, '/') == NULL;
}

/* Returns 0, or the errno of making a file in that folder. */
static int
making_error(const char *folder)
{
	struct stat st;

	if (stat(folder, &st) == -1)
		return errno;
	if (!S_ISDIR(st.st_mode))
		return ENOTDIR;
	return access(folder, W_OK | X_OK) == -1 ? errno : 0;
}

/* Why the default folder cannot be made, or NULL: it can. */
static const char *
default_fault(struct arena *a)
{
	static const char folder[] = CONF_DEFAULT_FOLDER;
	const char *parent =
	    arena_strndup(a, folder, (size_t)(strrchr(folder, '/') - folder));
	int error = making_error(parent);

	if (error == EACCES && geteuid() != 0)
		return arena_printf(a,
		    "directory %s is not there, and only root can make it; "
		    "another place will do",
		    folder);
	if (error != 0)
		return arena_printf(a, "directory %s cannot be made in %s: %s",
		    folder, parent, strerror(error));
	return NULL;
}

/* Checks the folder of a file that the daemon will make; NULL path: none. */
static void
check_folder(
    struct build *b, struct where where, const char *what, const char *path)
{
	struct arena *a = b->findings->arena;
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;
	const char *folder;
	const char *fault;
	int error;

	if (path == NULL)
		return;
	folder = arena_strndup(a, path, slash == path ? 1 : slash - path);
	error = making_error(folder);
	if (error == 0)
		return;
	if (error == ENOENT && conf_makes_folder(b->conf) &&
	    strcmp(folder, CONF_DEFAULT_FOLDER) == 0)
		fault = default_fault(a);
	else
		fault = arena_printf(
		    a, "directory %s: %s", folder, strerror(error));
	if (fault != NULL)
		findings_outside(b->findings, where, "%s: %s", what, fault);
}

/* Checks the way to a file that the daemon writes; NULL path: none. */
static void
check_own(struct build *b, const char *option, const char *path,
    enum ownfile_kind kind)
{
	char why[OWNFILE_WHY];

	if (path != NULL && ownfile_check(path, kind, why) == -1 &&
	    why[0] != '\0')
		findings_outside(b->findings, build_where(b, NULL, option),
		    "option '%s': %s", option, why);
}

static void
check_files(struct build *b)
{
	struct conf *conf = b->conf;
	const char *dump = conf->dump_file;

	check_folder(b, build_where(b, NULL, "control"),
	    build_sets(b, NULL, "control")
		? "option 'control'"
		: "option 'control', which is not set",
	    conf->control);
	check_folder(
	    b, build_where(b, NULL, "log"), "option 'log'", conf->log_file);
	check_folder(b, build_where(b, NULL, "pid_file"), "option 'pid_file'",
	    conf->pid_file);
	check_own(b, "log", conf->log_file, OWNFILE_ANY);
	check_own(b, "pid_file", conf->pid_file, OWNFILE_REGULAR);
	/* The dump itself replaces whatever has its name. */
	if (dump != NULL)
		dump = arena_printf(b->findings->arena, "%.*s/.",
		    (int)(strrchr(dump, '/') - dump), dump);
	check_own(b, "dump_file", dump, OWNFILE_ANY);
	check_folder(b, build_where(b, NULL, "dump_file"), "option 'dump_file'",
	    conf->dump_file);
}

/* ---- addresses ---- */

/* The addresses of an app, or of the counter. */
struct address_check {
	struct build *b;
	struct where where;
	const char *what; /* "app 'NAME'", "option 'counter'" */
	bool (*is_ours)(const struct conf_listen *);
};

static void
check_address(const struct address_check *c, const struct conf_listen *l)
{
	const char *why = "";
	struct listener_spec spec;

	if (l->kind == CONF_LISTEN_FD || l->addr_len == 0)
		return;
	conf_listen_spec(l, &spec);
	if (listener_probe(&spec, &why) == 0)
		return;
	if (errno != EADDRINUSE)
		findings_outside(c->b->findings, c->where,
		    "%s: address %s: %s: %s", c->what, l->text, why,
		    strerror(errno));
	else if (c->is_ours == NULL || !c->is_ours(l))
		findings_outside(c->b->findings, c->where,
		    "%s: somebody else listens on %s", c->what, l->text);
}

static void
check_listens(
    const struct address_check *c, const struct conf_listen *list, size_t len)
{
	for (size_t i = 0; i < len; i++)
		check_folder(c->b, c->where,
		    arena_printf(
			c->b->findings->arena, "%s: %s", c->what, list[i].text),
		    list[i].path);
	/* A daemon that starts will find out by binding. */
	if ((c->b->findings->flags & CONF_OUTSIDE_STRICT) == 0)
		return;
	for (size_t i = 0; i < len; i++)
		check_address(c, &list[i]);
}

static void
check_sockets(const struct look *l, bool (*is_ours)(const struct conf_listen *))
{
	const char *what = arena_printf(l->a, "app '%s'", l->app->name);
	struct address_check c = { l->b, build_where(l->b, l->app, "listen"),
		what, is_ours };

	check_listens(&c, l->app->listen, l->app->listen_len);
	check_folder(l->b, build_where(l->b, l->app, "output"),
	    arena_printf(l->a, "%s: output", what), l->app->output_file);
}

void
outside_check(struct build *b, bool (*is_ours)(const struct conf_listen *))
{
	struct address_check counter = { b, build_where(b, NULL, "counter"),
		"option 'counter'", is_ours };

	if ((b->findings->flags & (CONF_OUTSIDE_WARN | CONF_OUTSIDE_STRICT)) ==
	    0)
		return;
	check_files(b);
	check_listens(&counter, b->conf->counter, b->conf->counter_len);
	for (size_t i = 0; i < b->conf->apps_len; i++) {
		struct look l = { b, b->findings->arena, &b->conf->apps[i] };

		check_programs(&l);
		check_limits(&l);
		check_output(&l);
		check_sockets(&l, is_ours);
	}
}
