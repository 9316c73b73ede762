/*
 * Where an app is: its directory and its program. A relative path starts at
 * the folder of the file that names it; with chroot, at the new root.
 */

#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>

#include "conf/conf_private.h"

/* What a process gets when its environment is cleared. */
static const char plain_path[] = "/usr/local/bin:/usr/bin:/bin";

/* The folder that relative paths of this option start from. */
static const char *
start_of(
    const struct conf_build *b, const struct conf_app *app, const char *option)
{
	return app->chroot != NULL ? "/"
				   : conf_app_where(b, app, option).source->dir;
}

static void
directory_resolve(struct conf_build *b, struct conf_app *app)
{
	char *path = conf_path_join(start_of(b, app, "directory"),
	    app->directory != NULL ? app->directory : ".");

	free(app->directory);
	app->directory = path;
}

static void
restart_dir_resolve(struct conf_app *app)
{
	char *path;

	if (app->restart_dir == NULL)
		return;
	path = conf_path_join(app->directory, app->restart_dir);
	free(app->restart_dir);
	app->restart_dir = path;
}

/* ---- the program ---- */

/* The PATH that the processes of the app will have. */
static const char *
path_of(const struct conf_app *app)
{
	const char *path = NULL;

	for (char **e = app->environment; *e != NULL; e++) {
		if (strncmp(*e, "PATH=", 5) == 0)
			return *e + 5;
	}
	if (!app->clear_environment)
		path = getenv("PATH");
	return path != NULL && *path != '\0' ? path : plain_path;
}

static bool
is_program(const struct conf_app *app, const char *path)
{
	char *outside =
	    conf_printf("%s%s", app->chroot != NULL ? app->chroot : "", path);
	struct stat st;
	bool is = stat(outside, &st) == 0 && S_ISREG(st.st_mode) &&
	    (st.st_mode & 0111) != 0;

	free(outside);
	return is;
}

/* Returns the absolute path (allocated), or NULL if PATH has no such thing. */
static char *
search(const struct conf_app *app, const char *name)
{
	const char *folder = path_of(app);

	while (folder != NULL) {
		size_t len = strcspn(folder, ":");
		char *path = conf_printf("%.*s/%s", (int)len, folder, name);

		/* A relative folder would mean another place later. */
		if (folder[0] == '/' && is_program(app, path))
			return path;
		free(path);
		folder = folder[len] == ':' ? folder + len + 1 : NULL;
	}
	/* Ours are in no PATH, and may stand before a program by hand. */
	return strncmp(name, "apppool-", 8) == 0 && app->chroot == NULL
	    ? conf_adapter_search(name)
	    : NULL;
}

static void
program_resolve(struct conf_build *b, struct conf_app *app)
{
	char *name = app->command[0];
	char *path;

	if (name == NULL)
		return;
	path = strchr(name, '/') != NULL
	    ? conf_path_join(start_of(b, app, "command"), name)
	    : search(app, name);
	if (path == NULL) {
		conf_outside_note(b->findings,
		    conf_app_where(b, app, "command"),
		    "app '%s': program '%s' is not in PATH (%s)", app->name,
		    name, path_of(app));
		conf_app_break(app, "program '%s' is not in PATH (%s)", name,
		    path_of(app));
		return;
	}
	free(name);
	app->command[0] = path;
}

void
conf_place_resolve(struct conf_build *b)
{
	for (size_t i = 0; i < b->conf->apps_len; i++) {
		directory_resolve(b, &b->conf->apps[i]);
		restart_dir_resolve(&b->conf->apps[i]);
		program_resolve(b, &b->conf->apps[i]);
	}
}
