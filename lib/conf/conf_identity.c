/*
 * Names of users and groups become numbers when the configuration is read: a
 * directory server that is slow later must not hold up the start of a process.
 * Somebody unknown is no mistake of the file: his app is marked as broken.
 */

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf_private.h"

/* Who runs the apps that name nobody when we are root. */
static const char nobody[] = "nobody";

static const char *
why_not(void)
{
	return errno != 0 ? strerror(errno) : "there is none of that name";
}

/* A name that means nobody: told, and the app is one that cannot run. */
static void
app_without(struct conf_build *b, struct conf_app *app, struct conf_where where,
    const char *what, const char *name)
{
	const char *why = why_not();

	conf_outside_note(b->findings, where, "app '%s': %s '%s': %s",
	    app->name, what, name, why);
	conf_app_break(app, "%s '%s': %s", what, name, why);
}

/* ---- who an app is, when we are root ---- */

static void
groups_find(struct conf_identity *id)
{
	int len = 32;

	for (;;) {
		int room = len;

		id->groups =
		    conf_realloc(id->groups, (size_t)room, sizeof(*id->groups));
		if (getgrouplist(id->user, id->gid, id->groups, &len) != -1)
			break;
		/* Old versions of the library do not say how many. */
		if (len <= room)
			len = room * 2;
	}
	id->groups_len = (size_t)len;
}

/* What the app, `defaults` or the file says, in this order. */
static const char *
user_wanted(const struct conf_build *b, const struct conf_app *app)
{
	if (app->user != NULL)
		return app->user;
	return b->conf->user != NULL ? b->conf->user : nobody;
}

/* A group of the file goes with the user of the file, not with another. */
static const char *
group_wanted(const struct conf_build *b, const struct conf_app *app)
{
	if (app->group != NULL || app->user != NULL)
		return app->group;
	return b->conf->group;
}

static struct conf_where
identity_where(const struct conf_build *b, const struct conf_app *app,
    const char *option, bool is_own)
{
	return is_own ? conf_app_where(b, app, option)
		      : conf_global_where(b, option);
}

/* What is in force becomes what is shown. */
static void
names_fill(struct conf_app *app)
{
	if (app->user == NULL)
		app->user = conf_strdup(app->identity.user);
	if (app->group == NULL)
		app->group = conf_group_name(app->identity.gid);
}

static void
identity_as_root(struct conf_build *b, struct conf_app *app)
{
	struct conf_identity *id = &app->identity;
	const char *user = user_wanted(b, app);
	const char *group = group_wanted(b, app);
	struct conf_user u;

	if (app->user == NULL && b->conf->user == NULL)
		b->conf->nobody_by_default = true;
	if (!conf_user_find(user, &u) &&
	    (errno != 0 || group == NULL || !conf_user_of_number(user, &u))) {
		app_without(b, app,
		    identity_where(b, app, "user", app->user != NULL), "user",
		    user);
		return;
	}
	id->change = true;
	id->uid = u.uid;
	id->gid = u.gid;
	id->user = u.name;
	id->home = u.home;
	id->shell = u.shell;
	if (group != NULL && !conf_group_find(group, &id->gid))
		app_without(b, app,
		    identity_where(b, app, "group", app->group != NULL),
		    "group", group);
	groups_find(id);
	names_fill(app);
}

/* ---- and when we are not ---- */

static void
identity_as_we_are(struct conf_identity *id)
{
	char *number = conf_printf("%u", (unsigned)geteuid());
	struct conf_user u;

	id->change = false;
	id->uid = geteuid();
	id->gid = getegid();
	if (conf_user_find(number, &u)) {
		id->user = u.name;
		id->home = u.home;
		id->shell = u.shell;
		free(number);
		return;
	}
	id->user = number;
	id->home = conf_strdup("/");
	id->shell = conf_strdup("/bin/sh");
}

/* What only root can do is a mistake, not a thing of the outside. */
static void
only_root(struct conf_build *b, struct conf_where where, const char *user,
    const char *group)
{
	struct conf_user u = { 0 };
	gid_t gid;

	/* One who has no name, as in a container, has a number all the same. */
	if (user != NULL &&
	    ((!conf_user_find(user, &u) && !conf_user_of_number(user, &u)) ||
		u.uid != geteuid()))
		conf_mistake(b->findings, where,
		    "option 'user': only root can run processes as '%s'", user);
	if (group != NULL &&
	    (!conf_group_find(group, &gid) || gid != getegid()))
		conf_mistake(b->findings, where,
		    "option 'group': only root can run processes as '%s'",
		    group);
	conf_user_fini(&u);
}

static void
identity_of(struct conf_build *b, struct conf_app *app)
{
	if (geteuid() == 0) {
		identity_as_root(b, app);
		return;
	}
	identity_as_we_are(&app->identity);
	only_root(b, conf_app_where(b, app, "user"), app->user, NULL);
	only_root(b, conf_app_where(b, app, "group"), NULL, app->group);
	if (app->chroot != NULL)
		conf_mistake(b->findings, conf_app_where(b, app, "chroot"),
		    "option 'chroot': only root can use it");
	names_fill(app);
}

/* ---- who owns the sockets ---- */

static void
socket_owner(struct conf_build *b, struct conf_app *app)
{
	struct conf_user u;

	if (app->socket_user != NULL) {
		if (conf_user_find(app->socket_user, &u)) {
			app->socket_uid = u.uid;
			conf_user_fini(&u);
		} else {
			app_without(b, app,
			    conf_app_where(b, app, "socket_user"),
			    "socket_user", app->socket_user);
		}
	}
	if (app->socket_group != NULL &&
	    !conf_group_find(app->socket_group, &app->socket_gid))
		app_without(b, app, conf_app_where(b, app, "socket_group"),
		    "socket_group", app->socket_group);
}

/*
 * Who may connect to the control socket is never left open: not knowing the
 * group is a mistake, always.
 */
static void
control_owner(struct conf_build *b)
{
	struct conf *conf = b->conf;

	if (conf->control_group != NULL &&
	    !conf_group_find(conf->control_group, &conf->control_gid))
		conf_mistake(b->findings, conf_global_where(b, "control_group"),
		    "option 'control_group': group '%s': %s",
		    conf->control_group, why_not());
}

void
conf_identity_resolve(struct conf_build *b)
{
	if ((b->findings->flags & CONF_INSIDE) != 0)
		return;
	control_owner(b);
	for (size_t i = 0; i < b->conf->apps_len; i++) {
		identity_of(b, &b->conf->apps[i]);
		socket_owner(b, &b->conf->apps[i]);
	}
	if (geteuid() == 0 && b->conf->user == NULL)
		b->conf->user = conf_strdup(nobody);
	if (geteuid() != 0) {
		only_root(b, conf_global_where(b, "user"), b->conf->user, NULL);
		only_root(
		    b, conf_global_where(b, "group"), NULL, b->conf->group);
	}
}
