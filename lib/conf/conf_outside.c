/*
 * What the file refers to on this machine: programs, folders, limits and
 * addresses. Looked at only when asked for; nothing is bound, connected to or
 * written.
 */

#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf_private.h"
#include "sys/listener.h"

/* ---- programs and folders ---- */

/* path as we see it, for an app that sees it from inside its root. */
static char *
seen_from_here(const struct conf_app *app, const char *path)
{
	return conf_printf(
	    "%s%s", app->chroot != NULL ? app->chroot : "", path);
}

/* The program a script names in its first line, or NULL. */
static char *
interpreter_of(const char *path)
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
	return conf_strndup(line + start, strcspn(line + start, " \t\r\n"));
}

static void
check_interpreter(
    struct conf_build *b, const struct conf_app *app, const char *program)
{
	char *name = interpreter_of(program);
	char *path;
	char *why;

	if (name == NULL)
		return;
	path = seen_from_here(app, name);
	why = conf_denied(&app->identity, path, false);
	if (why != NULL)
		conf_outside_note(b->findings,
		    conf_app_where(b, app, "command"),
		    "app '%s': the interpreter of %s: %s: %s", app->name,
		    app->command[0], path, why);
	free(why);
	free(path);
	free(name);
}

/* What is often meant where the program is "/bin/prog -x". */
static const char *
hint_of(const struct conf_app *app)
{
	if (app->command[1] != NULL || strchr(app->command[0], ' ') == NULL)
		return "";
	return " (arguments are elements of their own: "
	       "{ \"PROGRAM\", \"ARGUMENT\" })";
}

static void
check_program(struct conf_build *b, const struct conf_app *app)
{
	char *path;
	char *why;

	if (app->command[0] == NULL || app->command[0][0] != '/')
		return;
	path = seen_from_here(app, app->command[0]);
	why = conf_denied(&app->identity, path, false);
	if (why != NULL)
		conf_outside_note(b->findings,
		    conf_app_where(b, app, "command"),
		    "app '%s': program %s: %s%s", app->name, path, why,
		    hint_of(app));
	else
		check_interpreter(b, app, path);
	free(why);
	free(path);
}

/* false: there is none, so that nothing within it can be looked at. */
static bool
check_chroot(struct conf_build *b, const struct conf_app *app)
{
	char *why = app->chroot == NULL
	    ? NULL
	    : conf_denied(&app->identity, app->chroot, true);
	bool ok = why == NULL;

	if (!ok)
		conf_outside_note(b->findings, conf_app_where(b, app, "chroot"),
		    "app '%s': chroot %s: %s", app->name, app->chroot, why);
	free(why);
	return ok;
}

static void
check_directory(struct conf_build *b, const struct conf_app *app)
{
	char *path = seen_from_here(app, app->directory);
	char *why = conf_denied(&app->identity, path, true);

	if (why != NULL)
		conf_outside_note(b->findings,
		    conf_app_where(b, app, "directory"),
		    "app '%s': directory %s: %s", app->name, path, why);
	free(why);
	free(path);
}

/* Returns 0, or the errno of making a file in that folder. */
static int
folder_denied(const char *folder)
{
	struct stat st;

	if (stat(folder, &st) == -1)
		return errno;
	if (!S_ISDIR(st.st_mode))
		return ENOTDIR;
	return access(folder, W_OK | X_OK) == -1 ? errno : 0;
}

bool
conf_makes_folder(const struct conf *conf)
{
	static const char folder[] = CONF_DEFAULT_FOLDER "/";
	const char *control = conf->control;

	return control != NULL &&
	    strncmp(control, folder, sizeof(folder) - 1) == 0 &&
	    strchr(control + sizeof(folder) - 1, '/') == NULL;
}

/* Why the default one cannot be made (allocated); NULL: it can. */
static char *
making_fault(void)
{
	static const char folder[] = CONF_DEFAULT_FOLDER;
	char *parent =
	    conf_strndup(folder, (size_t)(strrchr(folder, '/') - folder));
	int error = folder_denied(parent);
	char *fault = NULL;

	if (error == EACCES && geteuid() != 0)
		fault = conf_printf("directory %s is not there, and only root "
				    "can make it; another place will do",
		    folder);
	else if (error != 0)
		fault = conf_printf("directory %s cannot be made in %s: %s",
		    folder, parent, strerror(error));
	free(parent);
	return fault;
}

/* Why no file can be made in the folder (allocated); NULL: it can. */
static char *
folder_fault(const struct conf *conf, const char *folder)
{
	int error = folder_denied(folder);

	if (error == 0)
		return NULL;
	if (error == ENOENT && conf_makes_folder(conf) &&
	    strcmp(folder, CONF_DEFAULT_FOLDER) == 0)
		return making_fault();
	return conf_printf("directory %s: %s", folder, strerror(error));
}

/* The folder that a file of ours is to be made in; NULL path: none. */
static void
check_folder(struct conf_build *b, struct conf_where where, const char *what,
    const char *path)
{
	const char *slash;
	char *folder;
	char *fault;

	if (path == NULL)
		return;
	slash = strrchr(path, '/');
	folder = conf_strndup(path, slash == path ? 1 : (size_t)(slash - path));
	fault = folder_fault(b->conf, folder);
	if (fault != NULL)
		conf_outside_note(b->findings, where, "%s: %s", what, fault);
	free(fault);
	free(folder);
}

/* ---- limits ---- */

static void
check_limit(struct conf_build *b, const struct conf_app *app,
    const char *option, int resource, const struct conf_rlimit *limit)
{
	struct rlimit now;

	if (!limit->set || geteuid() == 0 || getrlimit(resource, &now) == -1)
		return;
	if (now.rlim_max == RLIM_INFINITY || limit->max <= now.rlim_max)
		return;
	conf_outside_note(b->findings, conf_app_where(b, app, option),
	    "app '%s': %s: only root can raise it over the hard limit (%ju)",
	    app->name, option, (uintmax_t)now.rlim_max);
}

static void
check_limits(struct conf_build *b, const struct conf_app *app)
{
	check_limit(b, app, "limit_nofile", RLIMIT_NOFILE, &app->limit_nofile);
	check_limit(b, app, "limit_core", RLIMIT_CORE, &app->limit_core);
	check_limit(b, app, "limit_as", RLIMIT_AS, &app->limit_as);
	check_limit(b, app, "limit_nproc", RLIMIT_NPROC, &app->limit_nproc);
	check_limit(b, app, "limit_cpu", RLIMIT_CPU, &app->limit_cpu);
}

/* ---- addresses ---- */

struct address_check {
	struct conf_build *b;
	struct conf_where where;
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
		conf_outside_note(c->b->findings, c->where,
		    "%s: address %s: %s: %s", c->what, l->text, why,
		    strerror(errno));
	else if (c->is_ours == NULL || !c->is_ours(l))
		conf_outside_note(c->b->findings, c->where,
		    "%s: somebody else listens on %s", c->what, l->text);
}

static void
check_listens(
    const struct address_check *c, const struct conf_listen *list, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char *what = conf_printf("%s: %s", c->what, list[i].text);

		check_folder(c->b, c->where, what, list[i].path);
		free(what);
	}
	/* A daemon that starts finds out by binding. */
	if ((c->b->findings->flags & CONF_OUTSIDE_STRICT) == 0)
		return;
	for (size_t i = 0; i < len; i++)
		check_address(c, &list[i]);
}

static void
check_counter(struct conf_build *b, bool (*is_ours)(const struct conf_listen *))
{
	struct address_check c = { b, conf_global_where(b, "counter"),
		"option 'counter'", is_ours };

	check_listens(&c, b->conf->counter, b->conf->counter_len);
}

static void
check_sockets(struct conf_build *b, const struct conf_app *app,
    bool (*is_ours)(const struct conf_listen *))
{
	char *what = conf_printf("app '%s'", app->name);
	struct address_check c = { b, conf_app_where(b, app, "listen"), what,
		is_ours };

	check_listens(&c, app->listen, app->listen_len);
	free(what);
	what = conf_printf("app '%s': output", app->name);
	check_folder(
	    b, conf_app_where(b, app, "output"), what, app->output_file);
	free(what);
}

/* ---- all ---- */

static void
check_files(struct conf_build *b)
{
	struct conf *conf = b->conf;

	check_folder(b, conf_global_where(b, "control"),
	    conf_global_slot(b, "control")->setting != NULL
		? "option 'control'"
		: "option 'control', which is not set",
	    conf->control);
	check_folder(
	    b, conf_global_where(b, "log"), "option 'log'", conf->log_file);
	check_folder(b, conf_global_where(b, "pid_file"), "option 'pid_file'",
	    conf->pid_file);
	check_folder(b, conf_global_where(b, "dump_file"), "option 'dump_file'",
	    conf->dump_file);
}

void
conf_outside_check(
    struct conf_build *b, bool (*is_ours)(const struct conf_listen *))
{
	if ((b->findings->flags & (CONF_OUTSIDE_WARN | CONF_OUTSIDE_STRICT)) ==
	    0)
		return;
	check_files(b);
	check_counter(b, is_ours);
	for (size_t i = 0; i < b->conf->apps_len; i++) {
		const struct conf_app *app = &b->conf->apps[i];

		/* Without its user nothing can be said of what it may do. */
		if (app->identity.user != NULL && check_chroot(b, app)) {
			check_directory(b, app);
			check_program(b, app);
		}
		check_limits(b, app);
		check_sockets(b, app, is_ours);
	}
}
