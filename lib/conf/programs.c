/* Checks the programs, folders and outputs of apps on this machine. */

#include <sys/stat.h>
#include <sys/xattr.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "conf/programs.h"
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
	const struct conf_identity *id = &l->app->program.identity;
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
	const struct conf_identity *id = &l->app->program.identity;
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
	const struct conf_identity *id = &l->app->program.identity;
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
	if (l->app->program.chroot == NULL)
		return path;
	return arena_printf(l->a, "%s%s", l->app->program.chroot, path);
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
		    l->app->program.command[0], path, why);
}

/* A hint for command = "/bin/prog -x". */
static const char *
hint_of(const struct conf_app *app)
{
	if (app->program.command[1] != NULL ||
	    strchr(app->program.command[0], ' ') == NULL)
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

	if (app->program.command[0] == NULL ||
	    app->program.command[0][0] != '/')
		return;
	path = seen_from_here(l, app->program.command[0]);
	why = denied(l, path, program_denied);
	if (why != NULL)
		say(l, "command", "program %s: %s%s", path, why, hint_of(app));
	else
		check_interpreter(l, path);
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

static void
check_argument(const struct look *l, const char *text)
{
	const struct conf_app *app = l->app;
	const char *path =
	    seen_from_here(l, source_join(l->a, app->program.directory, text));
	const char *beside = source_join(
	    l->a, build_where(l->b, app, "command").source->dir, text);
	struct stat st;

	if (stat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR))
		return;
	findings_warning(l->b->findings, build_where(l->b, app, "command"),
	    "app '%s': argument '%s': there is no such file in %s, where the "
	    "program starts%s%s",
	    app->name, text, app->program.directory,
	    stat(beside, &st) == 0 ? "; write " : "",
	    stat(beside, &st) == 0 ? beside : "");
}

static void
check_arguments(const struct look *l)
{
	if (l->app->program.command[0] == NULL)
		return;
	for (char **p = l->app->program.command + 1; *p != NULL; p++)
		if (looks_like_file(*p))
			check_argument(l, *p);
}

static void
check_directory(const struct look *l)
{
	const char *path = seen_from_here(l, l->app->program.directory);
	const char *why = denied(l, path, folder_denied);

	if (why != NULL)
		say(l, "directory", "directory %s: %s", path, why);
}

/* A file in a place where others may replace it is opened by the app's user. */
static void
check_output(const struct look *l)
{
	const char *path = l->app->program.output_file, *why;
	char unsafe[OWNFILE_WHY];

	if (path == NULL || l->app->program.identity.user == NULL ||
	    ownfile_check(path, OWNFILE_ANY, unsafe) == 0 || unsafe[0] == '\0')
		return;
	why = denied(l, path, output_denied);
	if (why != NULL)
		say(l, "output", "output %s: %s (%s)", path, why, unsafe);
}

void
programs_check(struct build *b, const struct conf_app *app)
{
	struct look look = { b, b->findings->arena, app }, *l = &look;
	const char *root = app->program.chroot;
	const char *why;

	check_output(l);
	/* Of an unknown user nobody knows what it may do. */
	if (app->program.identity.user == NULL)
		return;
	why = root != NULL ? denied(l, root, folder_denied) : NULL;
	if (why != NULL) {
		say(l, "chroot", "chroot %s: %s", root, why);
		return;
	}
	check_directory(l);
	check_program(l);
	check_arguments(l);
}
