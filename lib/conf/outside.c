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

#include "conf/outside.h"
#include "conf/programs.h"
#include "sys/listener.h"
#include "sys/ownfile.h"
#include "sys/procinfo.h"

/* An app that is checked. */
struct look {
	struct build *b;
	struct arena *a; /* of the findings */
	const struct conf_app *app;
};

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
	findings_outside(l->b->findings, build_where(l->b, l->app, option),
	    "app '%s': %s: only root can raise it over the hard limit (%ju)",
	    l->app->name, option, (uintmax_t)now.rlim_max);
}

static void
check_limits(const struct look *l)
{
	const struct conf_app *app = l->app;

	check_limit(
	    l, "limit_nofile", RLIMIT_NOFILE, &app->program.limit_nofile);
	check_limit(l, "limit_core", RLIMIT_CORE, &app->program.limit_core);
	check_limit(l, "limit_as", RLIMIT_AS, &app->program.limit_as);
	check_limit(l, "limit_nproc", RLIMIT_NPROC, &app->program.limit_nproc);
	check_limit(l, "limit_cpu", RLIMIT_CPU, &app->program.limit_cpu);
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

/* The first port for which no right is needed. */
static unsigned
first_free_port(void)
{
	unsigned first = 1024;
	char text[32];

	if (procinfo_file(AT_FDCWD,
		"/proc/sys/net/ipv4/ip_unprivileged_port_start", text,
		sizeof(text)) == 0)
		(void)sscanf(text, "%u", &first);
	return first;
}

/* Whether we have the right to bind any port. */
static bool
may_bind(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct sets[2];

	return syscall(SYS_capget, &header, sets) == 0 &&
	    (sets[0].effective & 1U << CAP_NET_BIND_SERVICE) != 0;
}

static void
check_port(const struct address_check *c, const struct conf_listen *l)
{
	const struct sockaddr_in *in = (const void *)&l->addr;
	unsigned port, first = first_free_port();

	/* Both families have the port in one place. */
	port = l->kind == CONF_LISTEN_TCP ? ntohs(in->sin_port) : 0;
	if (port != 0 && port < first && !may_bind())
		findings_outside(c->b->findings, c->where,
		    "%s: address %s: ports under %u are for root, or need "
		    "CAP_NET_BIND_SERVICE",
		    c->what, l->text, first);
}

static void
check_address(const struct address_check *c, const struct conf_listen *l)
{
	const char *why = "";
	struct listener_spec spec;

	if (l->kind == CONF_LISTEN_FD || l->addr_len == 0)
		return;
	check_port(c, l);
	conf_listen_spec(l, &spec);
	if (listener_probe(&spec, &why) == 0)
		return;
	if (errno != EADDRINUSE) {
		findings_outside(c->b->findings, c->where,
		    "%s: address %s: %s: %s", c->what, l->text, why,
		    strerror(errno));
	} else if (c->is_ours == NULL || !c->is_ours(l)) {
		findings_outside(c->b->findings, c->where,
		    "%s: somebody else listens on %s; ss %s tells who", c->what,
		    l->text, l->path != NULL ? "-lxp" : "-ltnp");
	}
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

	check_listens(&c, l->app->listen.list, l->app->listen.len);
	check_folder(l->b, build_where(l->b, l->app, "output"),
	    arena_printf(l->a, "%s: output", what),
	    l->app->program.output_file);
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

		programs_check(b, l.app);
		check_limits(&l);
		check_sockets(&l, is_ours);
	}
}
