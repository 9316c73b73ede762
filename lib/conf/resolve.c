/* Resolves what the values mean on this machine. */

#include <sys/prctl.h>

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "conf/room.h"
#include "sys/acceptfilter.h"

/* The user of apps that name nobody when we are root. */
static const char nobody[] = "nobody";

/* The PATH of a process when its environment is cleared. */
static const char plain_path[] = "/usr/local/bin:/usr/bin:/bin";

/* ---- users and groups ---- */

static bool
parse_id(const char *text, unsigned *out)
{
	uint64_t number;

	if (!type_parse_uint(text, &number) || number >= UINT_MAX)
		return false;
	*out = (unsigned)number;
	return true;
}

/* Why a search for a user or a group found none, by errno. */
static const char *
why_unknown(void)
{
	return errno == 0 || errno == ENOENT || errno == ESRCH
	    ? "there is none of that name"
	    : strerror(errno);
}

/* Finds a user by name or number. NULL: why_unknown() explains it. */
static const struct passwd *
find_user(const char *name)
{
	unsigned number;

	errno = 0;
	return parse_id(name, &number) ? getpwuid(number) : getpwnam(name);
}

/* Finds a group; a number needs no name. False: as above. */
static bool
find_group(const char *name, gid_t *out)
{
	const struct group *found;
	unsigned number;

	errno = 0;
	found = getgrnam(name);
	if (found != NULL)
		*out = found->gr_gid;
	else if (parse_id(name, &number))
		*out = number;
	else
		return false;
	return true;
}

/*
 * Takes a user by name or number; nameless: a number may have no name, which
 * root accepts only if that is certain. False: as above.
 */
static bool
take_user(
    struct build *b, const char *name, bool nameless, struct conf_identity *id)
{
	const struct passwd *u = find_user(name);
	bool certain = errno == 0 || errno == ENOENT || errno == ESRCH;
	unsigned number;

	if (u == NULL &&
	    (!nameless || (!certain && geteuid() == 0) ||
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

/* ---- identities ---- */

/*
 * When we are root: the user that the app, `defaults` or the file names, in
 * this order, with its groups. A group of the file goes with the user of the
 * file, not with another.
 */
static void
identity_as_root(struct build *b, struct conf_app *app)
{
	struct conf_program *p = &app->program;
	struct conf_identity *id = &p->identity;
	const struct conf_app *own_group = p->group != NULL ? app : NULL;
	const char *group = p->group;
	const char *user = p->user;
	static gid_t groups[NGROUPS_MAX];
	int len = NGROUPS_MAX;

	if (user == NULL) {
		group = group != NULL ? group : b->conf->group;
		user = b->conf->user != NULL ? b->conf->user : nobody;
		if (b->conf->user == NULL)
			b->conf->nobody_by_default = true;
	}
	if (!take_user(b, user, group != NULL, id)) {
		build_break(b, app,
		    build_where(b, p->user != NULL ? app : NULL, "user"),
		    "user '%s': %s", user, why_unknown());
		return;
	}
	id->change = true;
	if (group != NULL && !find_group(group, &id->gid))
		build_break(b, app, build_where(b, own_group, "group"),
		    "group '%s': %s", group, why_unknown());
	if (getgrouplist(id->user, id->gid, groups, &len) != -1) {
		id->groups_len = (size_t)len;
		id->groups =
		    arena_alloc(b->arena, id->groups_len, sizeof(*id->groups));
		memcpy(
		    id->groups, groups, id->groups_len * sizeof(*id->groups));
	}
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
	if (group != NULL && (!find_group(group, &gid) || gid != getegid()))
		findings_mistake(b->findings, build_where(b, app, "group"),
		    "option 'group': only root can run processes as '%s'",
		    group);
}

static void
resolve_identity(struct build *b, struct conf_app *app)
{
	struct conf_program *p = &app->program;
	struct conf_identity *id = &p->identity;
	const struct group *found;

	if (geteuid() == 0) {
		identity_as_root(b, app);
		if (id->user == NULL)
			return;
	} else {
		(void)take_user(b,
		    arena_printf(b->arena, "%u", (unsigned)geteuid()), true,
		    id);
		id->uid = geteuid();
		id->gid = getegid();
		only_root(b, app, p->user, p->group);
		if (p->chroot != NULL)
			findings_mistake(b->findings,
			    build_where(b, app, "chroot"),
			    "option 'chroot': only root can use it");
	}
	/* Names that the app did not set are those of its identity. */
	if (p->user == NULL)
		p->user = id->user;
	if (p->group == NULL) {
		found = getgrgid(id->gid);
		p->group = found != NULL
		    ? arena_strdup(b->arena, found->gr_name)
		    : arena_printf(b->arena, "%u", (unsigned)id->gid);
	}
}

/*
 * The user of the keeper is one of the package's, or else a number that neither
 * distributions nor the service manager (for users that it makes for a time)
 * give to anybody.
 */
#define KEEPER_NAME "_apppoold"
#define KEEPER_NUMBER 65530

static void
resolve_identities(struct build *b)
{
	struct conf *conf = b->conf;
	const struct passwd *u;

	/*
	 * An unknown group is a mistake, always: the control socket is never
	 * left open to others than those who were meant.
	 */
	if (conf->control_group != NULL &&
	    !find_group(conf->control_group, &conf->control_gid))
		build_say(b, NULL, SAID_MISTAKE, "control_group",
		    "group '%s': %s", conf->control_group, why_unknown());
	for (size_t i = 0; i < conf->apps_len; i++) {
		struct conf_app *app = &conf->apps[i];
		struct conf_listeners *l = &app->listen;

		resolve_identity(b, app);
		/* The owner of its Unix sockets. */
		u = l->user != NULL ? find_user(l->user) : NULL;
		if (u != NULL)
			l->uid = u->pw_uid;
		else if (l->user != NULL)
			build_break(b, app, build_where(b, app, "socket_user"),
			    "socket_user '%s': %s", l->user, why_unknown());
		if (l->group != NULL && !find_group(l->group, &l->gid))
			build_break(b, app, build_where(b, app, "socket_group"),
			    "socket_group '%s': %s", l->group, why_unknown());
	}
	if (geteuid() != 0) {
		only_root(b, NULL, conf->user, conf->group);
		return;
	}
	if (conf->user == NULL)
		conf->user = arena_strdup(b->arena, nobody);
	u = find_user(KEEPER_NAME);
	conf->keeper_changes = true;
	conf->keeper_uid = u != NULL ? u->pw_uid : KEEPER_NUMBER;
	conf->keeper_gid = u != NULL ? u->pw_gid : KEEPER_NUMBER;
	for (size_t i = 0; i < conf->apps_len; i++) {
		const struct conf_program *p = &conf->apps[i].program;

		if (p->identity.change && p->identity.uid == conf->keeper_uid)
			build_say(b, &conf->apps[i], SAID_MISTAKE, "user",
			    "user '%s' is that of the daemon's keepers, which "
			    "no process may get at",
			    p->user);
	}
}

/* ---- programs that come with the daemon ---- */

/*
 * Returns the path of a program that is installed with the daemon, which may
 * run in the tree that was built, or be moved as a whole.
 */
static char *
find_ours(struct arena *a, const char *name)
{
	static const char *const below[] = { "/build/libexec", "/libexec",
		"/libexec/apppoold" };
	char exe[PATH_MAX], *path;
	/* The link has the path even if the program was replaced since. */
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe));
	char *slash = n > 0 ? memrchr(exe, '/', (size_t)n) : NULL;

	for (size_t i = 0; slash != NULL && i < 3; i++) {
		path = arena_printf(
		    a, "%.*s%s/%s", (int)(slash - exe), exe, below[i], name);
		if (access(path, X_OK) == 0)
			return path;
		if (i == 1) /* the last is beside sbin, not in it */
			slash = memrchr(exe, '/', (size_t)(slash - exe));
	}
	return arena_printf(a, "%s/%s", CONF_LIBEXECDIR, name);
}

static void
resolve_adapter(struct build *b, struct conf_app *app)
{
	const char *name = "apppool-stdio";
	char *library;

	if (app->handoff == CONF_HANDOFF_ACCEPT) {
		name = "apppool-accept";
		library = find_ours(b->arena, "apppool-accept.so");
		/* More at a time are for threads or children, as a rule. */
		if (app->accept_by == CONF_ACCEPT_BY_LIBRARY ||
		    (app->accept_by == CONF_ACCEPT_BY_AUTO &&
			app->pool.concurrency == 1 &&
			access(library, R_OK) == 0))
			app->program.library = library;
		/*
		 * Without rights of root's seccomp(2) is for those alone who
		 * give up gaining any by set-user-ID programs, as a container
		 * may have done for all of us.
		 */
		if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
			app->program.no_new_privileges = true;
		app->program.restricted = app->program.identity.uid != 0 &&
		    !app->program.no_new_privileges &&
		    !acceptfilter_privileged();
	} else if (app->handoff != CONF_HANDOFF_STDIO) {
		return;
	}
	app->program.adapter = find_ours(b->arena, name);
	if (access(app->program.adapter, X_OK) == 0)
		return;
	app->program.adapter = NULL;
	build_break(b, app, build_where(b, app, "handoff"),
	    "%s is not in %s: it is installed with the daemon", name,
	    CONF_LIBEXECDIR);
}

/* ---- programs ---- */

/* The PATH that the processes of the app will have. */
static const char *
app_path(const struct conf_app *app)
{
	const char *path = NULL;

	for (char **e = app->program.environment; *e != NULL; e++)
		if (strncmp(*e, "PATH=", 5) == 0)
			return *e + 5;
	if (!app->program.clear_environment)
		path = getenv("PATH");
	return path != NULL && *path != '\0' ? path : plain_path;
}

const char *
resolve_outside(struct arena *a, const struct conf_app *app, const char *path)
{
	return app->program.chroot == NULL
	    ? path
	    : arena_printf(a, "%s%s", app->program.chroot, path);
}

/* The mode of the regular file at a path of the app; 0: there is none. */
static mode_t
mode_of(struct arena *a, const struct conf_app *app, const char *path)
{
	struct stat st;

	path = resolve_outside(a, app, path);
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? st.st_mode : 0;
}

char *
resolve_search(struct arena *a, const struct conf_app *app, const char *name)
{
	const char *folder = app_path(app);
	char *ours;

	while (folder != NULL) {
		size_t len = strcspn(folder, ":");
		char *path = arena_printf(a, "%.*s/%s", (int)len, folder, name);

		/* A relative folder would mean another place later. */
		if (folder[0] == '/' && (mode_of(a, app, path) & 0111) != 0)
			return path;
		folder = folder[len] == ':' ? folder + len + 1 : NULL;
	}
	/* Ours are in no PATH, and may stand before a program by hand. */
	if (strncmp(name, "apppool-", 8) != 0 || app->program.chroot != NULL)
		return NULL;
	ours = find_ours(a, name);
	return access(ours, X_OK) == 0 ? ours : NULL;
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
	bool is_beside = mode_of(a, app, beside) != 0;
	mode_t mode = mode_of(a, app, is_beside ? beside : within);

	if (mode == 0)
		return arena_printf(b->arena,
		    "program '%s' is not in PATH (%s)", name, app_path(app));
	return arena_printf(b->arena,
	    "program '%s' is not in PATH: write %s%s%s", name,
	    is_beside ? "./" : "", is_beside ? name : within,
	    (mode & 0111) != 0 ? "" : ", and make it executable");
}

static void
resolve_program(struct build *b, struct conf_app *app)
{
	struct conf_program *p = &app->program;
	char *name, *filled;

	p->directory = source_join(b->arena, start_of(b, app, "directory"),
	    p->directory != NULL ? p->directory : ".");
	if (app->restart_dir != NULL)
		app->restart_dir =
		    source_join(b->arena, p->directory, app->restart_dir);
	if (p->command[0] == NULL)
		return;
	filled = placeholder_fill(p->command[0], app->name, 0);
	name = arena_strdup(b->arena, filled != NULL ? filled : p->command[0]);
	free(filled);
	p->command[0] = strchr(name, '/') != NULL
	    ? source_join(b->arena, start_of(b, app, "command"), name)
	    : resolve_search(b->arena, app, name);
	if (p->command[0] != NULL)
		return;
	p->command[0] = name;
	build_break(b, app, build_where(b, app, "command"), "%s",
	    not_in_path(b, app, name));
}

static void
resolve_reply(struct build *b, struct conf_app *app)
{
	struct conf_refusal *r = &app->refusal;
	const struct source *file;
	const char *why;

	if (r->on_full != CONF_ON_FULL_REPLY)
		return;
	file = source_read(b->arena, r->file, CONF_REPLY_MAX);
	r->reply = file->text;
	r->reply_len = file->len;
	if (file->error != 0)
		why =
		    source_why(b->findings->arena, file->error, CONF_REPLY_MAX);
	else if (file->len == 0)
		why = "is empty; 'close' sends nothing";
	else
		return;
	findings_mistake(b->findings, build_where(b, app, "on_full"),
	    "option 'on_full': %s: %s", r->file, why);
}

/* ---- options in the words of the core ---- */

static void
resolve_pool(struct conf_app *app)
{
	struct app_options *o = &app->pool;

	o->sessions = app->handoff != CONF_HANDOFF_NONE &&
	    app->handoff != CONF_HANDOFF_LISTEN;
	o->listens = app->handoff == CONF_HANDOFF_LISTEN;
	o->exit_ends = app->handoff == CONF_HANDOFF_STDIO;
	o->numbered = app->handoff == CONF_HANDOFF_NONE &&
	    (placeholder_in_list(app->program.command) ||
		placeholder_in_list(app->program.environment));
	o->close_when_full = app->refusal.on_full != CONF_ON_FULL_WAIT;
	o->limited = app->limit.server != NULL;
	/*
	 * By itself the pool hands ahead only where a process has one session
	 * at a time, the end of which is known.
	 */
	if (o->prefetch_auto)
		o->prefetch = (app->handoff == CONF_HANDOFF_NATIVE ||
				  app->program.library != NULL) &&
		    o->concurrency == 1 && !o->private_queue;
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
	struct conf *conf = b->conf;

	for (size_t i = 0; i < conf->apps_len; i++)
		resolve_program(b, &conf->apps[i]);
	if (!inside)
		resolve_identities(b);
	/* The start of such a process says that the program is not there. */
	conf->keeper = find_ours(b->arena, "apppool-keeper");
	conf->counter_program = find_ours(b->arena, "apppool-counter");
	for (size_t i = 0; i < conf->apps_len; i++) {
		resolve_adapter(b, &conf->apps[i]);
		if (!inside)
			resolve_reply(b, &conf->apps[i]);
		resolve_pool(&conf->apps[i]);
	}
}
