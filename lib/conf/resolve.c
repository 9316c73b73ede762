/* Resolves what the values mean on this machine. */

#include <sys/stat.h>

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/placeholder.h"
#include "conf/resolve.h"
#include "conf/type.h"
#include "sys/acceptfilter.h"

/* The user of apps that name nobody when we are root. */
static const char nobody[] = "nobody";

/* The PATH of a process when its environment is cleared. */
static const char plain_path[] = "/usr/local/bin:/usr/bin:/bin";

/* ---- users and groups ---- */

/* False if text is no number of a user or group. */
static bool
parse_id(const char *text, unsigned *out)
{
	uint64_t number;

	if (!type_parse_uint(text, &number) || number >= UINT_MAX)
		return false;
	*out = (unsigned)number;
	return true;
}

/*
 * After a search for a user or group: jumps if memory ran out. errno becomes 0
 * if there is none of that name, else why nobody knows.
 */
static void
judge_search(struct arena *a, const void *found)
{
	if (found == NULL && errno == ENOMEM)
		arena_exhausted(a);
	if (errno == ENOENT || errno == ESRCH)
		errno = 0;
}

/*
 * Finds a user by name or number. NULL: errno is 0, there is none, or why
 * nobody knows.
 */
static const struct passwd *
find_user(struct arena *a, const char *name)
{
	const struct passwd *found;
	unsigned number;

	errno = 0;
	found = parse_id(name, &number) ? getpwuid(number) : getpwnam(name);
	judge_search(a, found);
	return found;
}

/* Finds a group; a number needs no name. False: errno as for a user. */
static bool
find_group(struct arena *a, const char *name, gid_t *out)
{
	const struct group *found;
	unsigned number;

	errno = 0;
	found = getgrnam(name);
	judge_search(a, found);
	if (found != NULL)
		*out = found->gr_gid;
	else if (parse_id(name, &number))
		*out = number;
	else
		return false;
	return true;
}

/* The name of a group, or its number. */
static char *
group_name(struct arena *a, gid_t gid)
{
	const struct group *found;

	errno = 0;
	found = getgrgid(gid);
	judge_search(a, found);
	return found != NULL ? arena_strdup(a, found->gr_name)
			     : arena_printf(a, "%u", (unsigned)gid);
}

/*
 * Takes a user by name or number; nameless: a number may have no name, which
 * root accepts only if that is certain. False: errno as above.
 */
static bool
take_user(
    struct build *b, const char *name, bool nameless, struct conf_identity *id)
{
	const struct passwd *u = find_user(b->findings->arena, name);
	unsigned number;

	if (u == NULL &&
	    (!nameless || (errno != 0 && geteuid() == 0) ||
		!parse_id(name, &number)))
		return false;
	id->uid = u != NULL ? u->pw_uid : number;
	id->gid = u != NULL ? u->pw_gid : (gid_t)-1;
	id->user = arena_strdup(b->arena, u != NULL ? u->pw_name : name);
	id->home = arena_strdup(b->arena, u != NULL ? u->pw_dir : "/");
	id->shell = arena_strdup(b->arena,
	    u != NULL && u->pw_shell[0] != '\0' ? u->pw_shell : "/bin/sh");
	return true;
}

/* ---- the identity of an app, when we are root ---- */

static const char *
why_not(void)
{
	return errno != 0 ? strerror(errno) : "there is none of that name";
}

/* Breaks the app for a name that nobody has. */
static void
break_app(struct build *b, struct conf_app *app, struct where where,
    const char *what, const char *name)
{
	const char *why = why_not();

	findings_outside(b->findings, where, "app '%s': %s '%s': %s", app->name,
	    what, name, why);
	type_break(app, b->arena, "%s '%s': %s", what, name, why);
}

static void
find_groups(struct build *b, struct conf_identity *id)
{
	int len = 32;

	for (;;) {
		int room = len;

		id->groups =
		    arena_alloc(b->arena, (size_t)room, sizeof(*id->groups));
		if (getgrouplist(id->user, id->gid, id->groups, &len) != -1)
			break;
		/* The library does not say when memory runs out. */
		if (room > NGROUPS_MAX)
			arena_exhausted(b->arena);
		/*
		 * Old versions of the library do not say how many groups there
		 * are.
		 */
		if (len <= room)
			len = room * 2;
	}
	id->groups_len = (size_t)len;
}

/* The user that an app, `defaults` or the file names, in this order. */
static const char *
user_wanted(const struct build *b, const struct conf_app *app)
{
	if (app->program.user != NULL)
		return app->program.user;
	return b->conf->user != NULL ? b->conf->user : nobody;
}

/* A group of the file goes with the user of the file, not with another. */
static const char *
group_wanted(const struct build *b, const struct conf_app *app)
{
	if (app->program.group != NULL || app->program.user != NULL)
		return app->program.group;
	return b->conf->group;
}

/* Names that the app did not set are those of its identity. */
static void
fill_names(struct build *b, struct conf_app *app)
{
	if (app->program.user == NULL)
		app->program.user = app->program.identity.user;
	if (app->program.group == NULL)
		app->program.group =
		    group_name(b->arena, app->program.identity.gid);
}

static void
identity_as_root(struct build *b, struct conf_app *app)
{
	struct conf_identity *id = &app->program.identity;
	const struct conf_app *own_user =
	    app->program.user != NULL ? app : NULL;
	const struct conf_app *own_group =
	    app->program.group != NULL ? app : NULL;
	const char *user = user_wanted(b, app);
	const char *group = group_wanted(b, app);

	if (app->program.user == NULL && b->conf->user == NULL)
		b->conf->nobody_by_default = true;
	if (!take_user(b, user, group != NULL, id)) {
		break_app(
		    b, app, build_where(b, own_user, "user"), "user", user);
		return;
	}
	id->change = true;
	if (group != NULL && !find_group(b->findings->arena, group, &id->gid))
		break_app(
		    b, app, build_where(b, own_group, "group"), "group", group);
	find_groups(b, id);
	fill_names(b, app);
}

/* ---- and when we are not ---- */

static void
identity_as_we_are(struct build *b, struct conf_identity *id)
{
	const char *number = arena_printf(b->arena, "%u", (unsigned)geteuid());

	(void)take_user(b, number, true, id);
	id->uid = geteuid();
	id->gid = getegid();
}

/* Reports an identity that only root can take: a mistake of the file. */
static void
only_root(struct build *b, const struct conf_app *app, const char *user,
    const char *group)
{
	struct conf_identity id = { 0 };
	gid_t gid;

	/* A user without a name, as in a container, has a number. */
	if (user != NULL &&
	    (!take_user(b, user, true, &id) || id.uid != geteuid()))
		findings_mistake(b->findings, build_where(b, app, "user"),
		    "option 'user': only root can run processes as '%s'", user);
	if (group != NULL &&
	    (!find_group(b->findings->arena, group, &gid) || gid != getegid()))
		findings_mistake(b->findings, build_where(b, app, "group"),
		    "option 'group': only root can run processes as '%s'",
		    group);
}

static void
identity_of(struct build *b, struct conf_app *app)
{
	if (geteuid() == 0) {
		identity_as_root(b, app);
		return;
	}
	identity_as_we_are(b, &app->program.identity);
	only_root(b, app, app->program.user, app->program.group);
	if (app->program.chroot != NULL)
		findings_mistake(b->findings, build_where(b, app, "chroot"),
		    "option 'chroot': only root can use it");
	fill_names(b, app);
}

/* ---- owners of sockets ---- */

static void
socket_owner(struct build *b, struct conf_app *app)
{
	const struct passwd *u = NULL;

	if (app->listen.user != NULL) {
		u = find_user(b->findings->arena, app->listen.user);
		if (u == NULL)
			break_app(b, app, build_where(b, app, "socket_user"),
			    "socket_user", app->listen.user);
		else
			app->listen.uid = u->pw_uid;
	}
	if (app->listen.group != NULL &&
	    !find_group(
		b->findings->arena, app->listen.group, &app->listen.gid))
		break_app(b, app, build_where(b, app, "socket_group"),
		    "socket_group", app->listen.group);
}

/*
 * An unknown group is a mistake, always: the control socket is never left open
 * to others than those who were meant.
 */
static void
control_owner(struct build *b)
{
	struct conf *conf = b->conf;

	if (conf->control_group != NULL &&
	    !find_group(
		b->findings->arena, conf->control_group, &conf->control_gid))
		findings_mistake(b->findings,
		    build_where(b, NULL, "control_group"),
		    "option 'control_group': group '%s': %s",
		    conf->control_group, why_not());
}

/* ---- the user of keepers ---- */

/*
 * A user of the package's, or else a number that neither distributions nor the
 * service manager (for users that it makes for a time) give to anybody.
 */
#define KEEPER_NAME "apppool-keeper"
#define KEEPER_NUMBER 65530

static void
resolve_keeper(struct build *b)
{
	struct conf *conf = b->conf;
	const struct passwd *u;

	if (geteuid() != 0)
		return;
	u = find_user(b->findings->arena, KEEPER_NAME);
	conf->keeper_changes = true;
	conf->keeper_uid = u != NULL ? u->pw_uid : KEEPER_NUMBER;
	conf->keeper_gid = u != NULL ? u->pw_gid : KEEPER_NUMBER;
	for (size_t i = 0; i < conf->apps_len; i++) {
		const struct conf_app *app = &conf->apps[i];

		if (app->program.identity.change &&
		    app->program.identity.uid == conf->keeper_uid)
			findings_mistake(b->findings,
			    build_where(b, app, "user"),
			    "app '%s': user '%s' is that of the daemon's "
			    "keepers, which no process may get at",
			    app->name, app->program.user);
	}
}

static void
resolve_identities(struct build *b)
{
	struct conf *conf = b->conf;

	control_owner(b);
	for (size_t i = 0; i < conf->apps_len; i++) {
		identity_of(b, &conf->apps[i]);
		socket_owner(b, &conf->apps[i]);
	}
	if (geteuid() != 0)
		only_root(b, NULL, conf->user, conf->group);
	else if (conf->user == NULL)
		conf->user = arena_strdup(b->arena, nobody);
	resolve_keeper(b);
}

/* ---- programs that come with the daemon ---- */

/* The folder of the program we are, also if that was replaced since. */
static bool
own_folder(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);
	char *slash = n > 0 ? memrchr(path, '/', (size_t)n) : NULL;

	if (slash == NULL)
		return false;
	*slash = '\0';
	return true;
}

/* The daemon may run in the tree that was built, or be moved as a whole. */
bool
conf_our_program(const char *name, char *path, size_t size)
{
	static const char *const below[] = { "/build/libexec", "/libexec",
		"/../libexec/apppoold" };
	char folder[PATH_MAX];
	bool known = own_folder(folder, sizeof(folder));

	for (size_t i = 0; known && i < 3; i++) {
		int len =
		    snprintf(path, size, "%s%s/%s", folder, below[i], name);

		if (len < (int)size && access(path, X_OK) == 0)
			return true;
	}
	return snprintf(path, size, "%s/%s", CONF_LIBEXECDIR, name) <
	    (int)size &&
	    access(path, X_OK) == 0;
}

static char *
find_ours(struct arena *a, const char *name)
{
	char path[PATH_MAX];

	return conf_our_program(name, path, sizeof(path))
	    ? arena_strdup(a, path)
	    : NULL;
}

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

/*
 * Without rights of root's seccomp(2) is for those alone who give up gaining
 * any by set-user-ID programs.
 */
static void
restrict_app(struct conf_app *app)
{
	if (app->handoff != CONF_HANDOFF_ACCEPT ||
	    app->program.identity.uid == 0 || app->program.no_new_privileges ||
	    acceptfilter_privileged())
		return;
	app->program.no_new_privileges = true;
	app->program.restricted = true;
}

static void
resolve_adapters(struct build *b)
{
	b->conf->keeper = find_ours(b->arena, "apppool-keeper");
	/* The start of a process says that it is not there. */
	if (b->conf->keeper == NULL)
		b->conf->keeper = arena_printf(
		    b->arena, "%s/apppool-keeper", CONF_LIBEXECDIR);
	for (size_t i = 0; i < b->conf->apps_len; i++) {
		struct conf_app *app = &b->conf->apps[i];
		const char *name = adapter_name(app->handoff);

		if (name == NULL)
			continue;
		restrict_app(app);
		app->program.adapter = find_ours(b->arena, name);
		if (app->program.adapter != NULL)
			continue;
		findings_outside(b->findings, build_where(b, app, "handoff"),
		    "app '%s': %s is not in %s: it is installed with the "
		    "daemon",
		    app->name, name, CONF_LIBEXECDIR);
		type_break(
		    app, b->arena, "%s is not in %s", name, CONF_LIBEXECDIR);
	}
}

/* ---- programs ---- */

/* The PATH that the processes of the app will have. */
static const char *
path_of(const struct conf_app *app)
{
	const char *path = NULL;

	for (char **e = app->program.environment; *e != NULL; e++) {
		if (strncmp(*e, "PATH=", 5) == 0)
			return *e + 5;
	}
	if (!app->program.clear_environment)
		path = getenv("PATH");
	return path != NULL && *path != '\0' ? path : plain_path;
}

/* The mode of the file at a path of the app; 0: there is none. */
static mode_t
mode_of(struct arena *a, const struct conf_app *app, const char *path)
{
	struct stat st;

	if (app->program.chroot != NULL)
		path = arena_printf(a, "%s%s", app->program.chroot, path);
	return stat(path, &st) == 0 ? st.st_mode : 0;
}

static bool
is_there(struct arena *a, const struct conf_app *app, const char *path)
{
	return S_ISREG(mode_of(a, app, path));
}

static bool
is_program(struct arena *a, const struct conf_app *app, const char *path)
{
	return is_there(a, app, path) && (mode_of(a, app, path) & 0111) != 0;
}

/* The absolute path, or NULL if PATH has no such thing. */
static char *
search(struct build *b, const struct conf_app *app, const char *name)
{
	const char *folder = path_of(app);

	while (folder != NULL) {
		size_t len = strcspn(folder, ":");
		char *path =
		    arena_printf(b->arena, "%.*s/%s", (int)len, folder, name);

		/* A relative folder would mean another place later. */
		if (folder[0] == '/' &&
		    is_program(b->findings->arena, app, path))
			return path;
		folder = folder[len] == ':' ? folder + len + 1 : NULL;
	}
	/* Ours are in no PATH, and may stand before a program by hand. */
	return strncmp(name, "apppool-", 8) == 0 && app->program.chroot == NULL
	    ? find_ours(b->arena, name)
	    : NULL;
}

/* The folder that relative paths of this option start from. */
static const char *
start_of(const struct build *b, const struct conf_app *app, const char *option)
{
	return app->program.chroot != NULL
	    ? "/"
	    : build_where(b, app, option).source->dir;
}

/* Why a program was not found in PATH, and what to write if it is nearby. */
static const char *
not_in_path(const struct build *b, const struct conf_app *app, const char *name)
{
	struct arena *a = b->findings->arena;
	const char *beside = source_join(a, start_of(b, app, "command"), name);
	const char *within = source_join(a, app->program.directory, name);
	const char *path = is_there(a, app, beside) ? beside : within;

	if (!is_there(a, app, path))
		return arena_printf(b->arena,
		    "program '%s' is not in PATH (%s)", name, path_of(app));
	return arena_printf(b->arena,
	    "program '%s' is not in PATH: write %s%s%s", name,
	    path == beside ? "./" : "", path == beside ? name : path,
	    is_program(a, app, path) ? "" : ", and make it executable");
}

/* The program as the file has it, with the name of the app. */
static char *
program_name(struct build *b, const struct conf_app *app)
{
	char *filled = placeholder_fill(app->program.command[0], app->name, 0);
	char *name = NULL;

	if (filled != NULL)
		name = arena_try(b->arena, strlen(filled) + 1);
	if (name != NULL)
		strcpy(name, filled);
	free(filled);
	if (name == NULL)
		arena_exhausted(b->arena);
	return name;
}

static void
resolve_command(struct build *b, struct conf_app *app)
{
	const char *why;
	char *name;

	if (app->program.command[0] == NULL)
		return;
	name = program_name(b, app);
	app->program.command[0] = strchr(name, '/') != NULL
	    ? source_join(b->arena, start_of(b, app, "command"), name)
	    : search(b, app, name);
	if (app->program.command[0] != NULL)
		return;
	app->program.command[0] = name;
	why = not_in_path(b, app, name);
	findings_outside(b->findings, build_where(b, app, "command"),
	    "app '%s': %s", app->name, why);
	type_break(app, b->arena, "%s", why);
}

static void
resolve_programs(struct build *b)
{
	for (size_t i = 0; i < b->conf->apps_len; i++) {
		struct conf_app *app = &b->conf->apps[i];

		app->program.directory =
		    source_join(b->arena, start_of(b, app, "directory"),
			app->program.directory != NULL ? app->program.directory
						       : ".");
		if (app->restart_dir != NULL)
			app->restart_dir = source_join(
			    b->arena, app->program.directory, app->restart_dir);
		resolve_command(b, app);
	}
}

/* ---- answers ---- */

static void
read_replies(struct build *b)
{
	for (size_t i = 0; i < b->conf->apps_len; i++) {
		struct conf_app *app = &b->conf->apps[i];
		const char *why;
		struct stat st;

		if (app->refusal.on_full != CONF_ON_FULL_REPLY)
			continue;
		app->refusal.reply = source_bytes(b->arena, app->refusal.file,
		    CONF_REPLY_MAX, &st, &app->refusal.reply_len);
		if (app->refusal.reply == NULL)
			why = source_why(b->findings->arena, CONF_REPLY_MAX);
		else if (app->refusal.reply_len == 0)
			why = "is empty; 'close' sends nothing";
		else
			continue;
		findings_mistake(b->findings, build_where(b, app, "on_full"),
		    "option 'on_full': %s: %s", app->refusal.file, why);
	}
}

/* ---- options in the words of the core ---- */

/*
 * By itself the pool hands ahead only where a process has one session at a
 * time, the end of which is known; and where it is trusted, as it could hold
 * the daemon up while something is taken back from it: a process of the
 * daemon's own user can do worse.
 */
static bool
may_prefetch(const struct conf_app *app)
{
	return app->handoff == CONF_HANDOFF_NATIVE &&
	    app->pool.concurrency == 1 && !app->pool.private_queue &&
	    app->program.identity.uid == geteuid();
}

static void
resolve_pool(struct conf_app *app)
{
	struct app_options *o = &app->pool;

	o->sessions = app->handoff != CONF_HANDOFF_NONE &&
	    app->handoff != CONF_HANDOFF_LISTEN;
	o->listens = app->handoff == CONF_HANDOFF_LISTEN;
	o->exit_ends = app->handoff == CONF_HANDOFF_STDIO;
	o->close_when_full = app->refusal.on_full != CONF_ON_FULL_WAIT;
	o->limited = app->limit.server != NULL;
	if (o->prefetch_auto)
		o->prefetch = may_prefetch(app) ? 1 : 0;
	/* Job workers have no sessions: nothing tells that they are idle. */
	if (app->handoff == CONF_HANDOFF_NONE) {
		o->max_processes = o->min_processes;
		o->max_idle_time = 0;
		if (o->max_processes == 0)
			o->max_processes = 1;
	}
}

void
resolve_conf(struct build *b)
{
	bool inside = (b->findings->flags & CONF_INSIDE) != 0;

	resolve_programs(b);
	if (!inside)
		resolve_identities(b);
	resolve_adapters(b);
	if (!inside)
		read_replies(b);
	for (size_t i = 0; i < b->conf->apps_len; i++)
		resolve_pool(&b->conf->apps[i]);
}
