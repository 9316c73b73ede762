/*
 * The adapter that stands between the daemon and a program which does not
 * speak its protocol. It comes with the daemon: from the tree that was built,
 * or from where that was installed, which may have been moved as a whole.
 */

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf_private.h"

/* NULL: this handoff needs none. */
static const char *
adapter_name(enum conf_handoff handoff)
{
	switch (handoff) {
	case CONF_HANDOFF_ACCEPT:
		return "apppool-accept";
	case CONF_HANDOFF_STDIO:
		return "apppool-stdio";
	default:
		return NULL;
	}
}

/* The folder of the program we are, also if that was replaced since. */
static char *
own_folder(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (n <= 0)
		return NULL;
	path[n] = '\0';
	slash = strrchr(path, '/');
	return slash == NULL ? NULL
			     : conf_strndup(path, (size_t)(slash - path));
}

/* Its path (allocated), or NULL: it is not there. */
static char *
adapter_in(const char *folder, const char *below, const char *name)
{
	char *path = conf_printf("%s%s/%s", folder, below, name);

	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return NULL;
}

char *
conf_adapter_search(const char *name)
{
	static const char *const below[] = { "/build/libexec", "/libexec",
		"/../libexec/apppoold" };
	char *folder = own_folder();
	char *path = NULL;

	if (folder != NULL)
		for (size_t i = 0; path == NULL && i < 3; i++)
			path = adapter_in(folder, below[i], name);
	free(folder);
	return path != NULL ? path : adapter_in(CONF_LIBEXECDIR, "", name);
}

/*
 * Without root's rights seccomp(2) is for those alone who give up gaining any
 * by set-user-ID programs.
 */
static void
adapter_restrict(struct conf_app *app)
{
	if (app->handoff != CONF_HANDOFF_ACCEPT || app->identity.uid == 0 ||
	    app->no_new_privileges)
		return;
	app->no_new_privileges = true;
	app->restricted = true;
}

void
conf_adapter_find(struct conf_build *b)
{
	for (size_t i = 0; i < b->conf->apps_len; i++) {
		struct conf_app *app = &b->conf->apps[i];
		const char *name = adapter_name(app->handoff);

		if (name == NULL)
			continue;
		adapter_restrict(app);
		app->adapter = conf_adapter_search(name);
		if (app->adapter != NULL)
			continue;
		conf_outside_note(b->findings,
		    conf_app_where(b, app, "handoff"),
		    "app '%s': %s is not in %s: it is installed with the "
		    "daemon",
		    app->name, name, CONF_LIBEXECDIR);
		conf_app_break(app, "%s is not in %s", name, CONF_LIBEXECDIR);
	}
}
