/* Everything a process is started with. */

#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/placeholder.h"
#include "daemon/environment.h"
#include "daemon/listeners.h"
#include "sys/ownfile.h"
#include "sys/wire.h"

extern char **environ;

/* --- listening sockets -------------------------------------------------- */

/*
 * The service manager's name for a socket that has one in the file; the name
 * of the app for others, as the service manager names sockets of a unit.
 */
static bool
add_name(struct environment *e, const struct app_listener *l)
{
	const char *word = l->where.kind == CONF_LISTEN_FD
	    ? l->where.fd_name
	    : l->group->conf->name;
	char *names;

	if (asprintf(&names, "%s%s%s",
		e->socket_names == NULL ? "" : e->socket_names,
		e->socket_names == NULL ? "" : ":", word) == -1)
		return false;
	free(e->socket_names);
	e->socket_names = names;
	return true;
}

static bool
copy_socket(struct environment *e, const struct app_listener *l)
{
	int fd;

	if (e->nsockets == CHILD_FDS_MAX) {
		errno = E2BIG;
		return false;
	}
	fd = fcntl(l->acceptor.listener.fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (fd == -1)
		return false;
	e->sockets[e->nsockets++] = fd;
	return add_name(e, l);
}

static bool
copy_sockets(struct environment *e, const struct group *g)
{
	const struct app_listener *l;

	for (size_t i = 0; i < g->conf->listen_len; i++) {
		TAILQ_FOREACH(l, &g->listeners, next)
			if (listeners_serves(l) &&
			    strcmp(l->where.text, g->conf->listen[i].text) ==
				0 &&
			    !copy_socket(e, l))
				return false;
	}
	if (e->nsockets > 0)
		return true;
	errno = EAGAIN;
	return false;
}

/* --- variables ---------------------------------------------------------- */

struct variables {
	char **list; /* NULL at the end; each string owned */
	size_t len;
	size_t room;
	bool failed;
};

static bool
same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return strncmp(a, b, n) == 0 && b[n] == '=';
}

/* Takes text over, in place of an earlier one of the same name. */
static void
put(struct variables *v, char *text)
{
	char **list = v->list;

	if (text == NULL) {
		v->failed = true;
		return;
	}
	for (size_t i = 0; i < v->len; i++) {
		if (same_name(text, list[i])) {
			free(list[i]);
			list[i] = text;
			return;
		}
	}
	if (v->len + 1 >= v->room) {
		list = reallocarray(list, v->room + 64, sizeof(*list));
		if (list == NULL) {
			free(text);
			v->failed = true;
			return;
		}
		v->list = list;
		v->room += 64;
	}
	list[v->len++] = text;
	list[v->len] = NULL;
}

static void putf(struct variables *v, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
putf(struct variables *v, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) == -1)
		text = NULL;
	va_end(ap);
	put(v, text);
}

static void
free_list(char **list)
{
	for (char **p = list; p != NULL && *p != NULL; p++)
		free(*p);
	free(list);
}

static void
put_identity(struct variables *v, const struct conf_identity *id)
{
	if (!id->change)
		return;
	putf(v, "HOME=%s", id->home);
	putf(v, "USER=%s", id->user);
	putf(v, "LOGNAME=%s", id->user);
	putf(v, "SHELL=%s", id->shell);
}

/* The kind of address its connections have, going by the first listener. */
static const char *
family_name(const struct group *g)
{
	const struct app_listener *l;
	int family = AF_UNIX;
	socklen_t len = sizeof(family);

	/* Listeners take turns: the first may be anywhere in the list. */
	TAILQ_FOREACH(l, &g->listeners, next)
		if (strcmp(l->where.text, g->conf->listen[0].text) == 0)
			(void)getsockopt(l->acceptor.listener.fd, SOL_SOCKET,
			    SO_DOMAIN, &family, &len);
	switch (family) {
	case AF_INET:
		return "inet";
	case AF_INET6:
		return "inet6";
	default:
		return "unix";
	}
}

/*
 * Whether the filter before accept() is there before the adapter, which never
 * has the rights that we have. An adapter with our identity, or one whose app
 * can gain no rights anyhow, installs it by itself.
 */
static bool
is_filtered(const struct conf_app *conf)
{
	return conf->handoff == CONF_HANDOFF_ACCEPT && conf->identity.change &&
	    conf->identity.uid != 0 && !conf->no_new_privileges;
}

static void
put_channel(struct variables *v, const struct environment_of *of)
{
	putf(v, WIRE_ENV_APP "=%s", of->group->conf->name);
	putf(v, WIRE_ENV_ID "=%s", of->id);
	if (of->slot == ENVIRONMENT_TEMPLATE)
		putf(v, WIRE_ENV_TEMPLATE "=1");
	else
		putf(v, WIRE_ENV_SLOT "=%u", (unsigned)of->slot);
	if (*of->child_end == -1)
		return;
	putf(v, WIRE_ENV_PROTOCOL "=" WIRE_VERSION);
	putf(v, WIRE_ENV_FD "=3");
	putf(v, WIRE_ENV_FAMILY "=%s", family_name(of->group));
	if (of->keeps)
		putf(v, WIRE_ENV_UNREAD "=kept");
	if (of->group->conf->keep_alive)
		putf(v, WIRE_ENV_KEEP_ALIVE "=1");
	/* The descriptor after the channel: see set_descriptors(). */
	if (is_filtered(of->group->conf))
		putf(v, WIRE_ENV_CALLS "=4");
}

/* As the service manager does it; the child adds its own number. */
static void
put_sockets(struct variables *v, struct environment *to)
{
	static const char name[] = "LISTEN_PID=";
	char *pid = calloc(1, sizeof(name) + CHILD_NUMBER_SIZE);

	putf(v, "LISTEN_FDS=%zu", to->nsockets);
	putf(v, "LISTEN_FDNAMES=%s", to->socket_names);
	if (pid != NULL)
		to->spec.number = stpcpy(pid, name);
	put(v, pid);
}

static bool
set_variables(struct environment *to, const struct environment_of *of)
{
	const struct conf_app *conf = of->group->conf;
	struct counter_address counter;
	struct variables v = { 0 };

	if (!conf->clear_environment)
		for (char **p = environ; *p != NULL; p++)
			if (strchr(*p, '=') != NULL)
				put(&v, strdup(*p));
	if (conf->clear_environment)
		putf(&v, "PATH=/usr/local/bin:/usr/bin:/bin");
	put_identity(&v, &conf->identity);
	if (services_counter_address(&of->group->sup->services, 0, &counter))
		putf(&v, WIRE_ENV_COUNTER "=%s", counter.reach);
	for (char **p = conf->environment; *p != NULL; p++)
		put(&v, placeholder_fill(*p, conf->name, of->slot));
	put_channel(&v, of);
	if (to->nsockets > 0)
		put_sockets(&v, to);
	to->envp = v.list;
	to->spec.envp = v.list;
	if (v.failed)
		errno = ENOMEM;
	return !v.failed;
}

/* --- the rest ----------------------------------------------------------- */

static void
add_limit(struct environment *e, int resource, const struct conf_rlimit *l)
{
	struct child_limit *to = &e->limits[e->spec.nlimits];

	if (!l->set)
		return;
	to->resource = resource;
	to->value.rlim_cur = l->max;
	to->value.rlim_max = l->max;
	e->spec.nlimits++;
}

static void
set_limits(struct environment *e, const struct environment_of *of,
    const struct conf_app *conf)
{
	e->spec.limits = e->limits;
	/* We raised our own soft limit; they get what we were given. */
	e->limits[0].resource = RLIMIT_NOFILE;
	e->limits[0].value = of->group->sup->nofile;
	e->spec.nlimits = conf->limit_nofile.set ? 0 : 1;
	add_limit(e, RLIMIT_NOFILE, &conf->limit_nofile);
	add_limit(e, RLIMIT_CORE, &conf->limit_core);
	add_limit(e, RLIMIT_AS, &conf->limit_as);
	add_limit(e, RLIMIT_NPROC, &conf->limit_nproc);
	add_limit(e, RLIMIT_CPU, &conf->limit_cpu);
}

static void
set_identity(struct environment *e, const struct conf_app *conf)
{
	const struct conf_identity *id = &conf->identity;

	e->spec.chroot = conf->chroot;
	e->spec.directory = conf->directory;
	e->spec.set_nice = conf->nice_set;
	e->spec.nice = conf->nice;
	e->spec.set_umask = conf->umask != -1;
	e->spec.umask = (mode_t)conf->umask;
	e->spec.no_new_privs = conf->no_new_privileges;
	e->spec.set_identity = id->change;
	e->spec.uid = id->uid;
	e->spec.gid = id->gid;
	e->spec.groups = id->groups;
	e->spec.ngroups = id->groups_len;
}

/* Its channel, or the sockets it is to accept from. */
static bool
set_descriptors(struct environment *e, const struct environment_of *of)
{
	e->spec.stdio[0] = e->spec.stdio[1] = e->spec.stdio[2] = -1;
	e->spec.fds = of->child_end;
	e->spec.nfds = *of->child_end == -1 ? 0 : 1;
	e->spec.filter_accept = is_filtered(of->group->conf);
	if (!group_accepts_itself(of->group))
		return true;
	if (!copy_sockets(e, of->group))
		return false;
	e->spec.stdio[0] = e->sockets[0];
	e->spec.fds = e->sockets;
	e->spec.nfds = e->nsockets;
	return true;
}

/* Adds a string, NULL: no memory, to a list that is long enough. */
static bool
add_argument(struct environment *e, size_t *n, char *text)
{
	e->argv[(*n)++] = text;
	return text != NULL;
}

/* The words of ps(1) before program and arguments; NULL: no memory. */
static char *
title_of_adapter(const struct conf_app *conf)
{
	char *title;

	return asprintf(&title, "apppoold: %s adapter of %s",
		   conf_handoff_name(conf->handoff), conf->name) == -1
	    ? NULL
	    : title;
}

/* The program and its arguments; an adapter has them as its own. */
static bool
set_command(struct environment *e, const struct environment_of *of,
    const struct conf_app *conf)
{
	char *const *command = conf->command;
	size_t n = 0, len = 0;

	while (command[len] != NULL)
		len++;
	e->argv = calloc(1 + len + 1, sizeof(*e->argv));
	if (e->argv == NULL)
		return false;
	e->spec.path = command[0];
	e->spec.argv = e->argv;
	if (conf->adapter != NULL) {
		e->spec.path = conf->adapter;
		/* The adapter would fail with it too late, each time anew. */
		e->spec.next = command[0];
		if (!add_argument(e, &n, title_of_adapter(conf)))
			return false;
	}
	if (!add_argument(e, &n, strdup(command[0])))
		return false;
	for (size_t i = 1; i < len; i++)
		if (!add_argument(e, &n,
			placeholder_fill(command[i], conf->name, of->slot)))
			return false;
	return true;
}

/* Its stdout and stderr. */
static bool
set_output(struct environment *e, const struct environment_of *of,
    const struct conf_app *conf)
{
	uid_t owner = conf->identity.change ? conf->identity.uid : (uid_t)-1;

	switch (conf->output) {
	case CONF_OUTPUT_INHERIT:
		e->spec.stdio[1] = STDOUT_FILENO;
		e->spec.stdio[2] = STDERR_FILENO;
		return true;
	case CONF_OUTPUT_NULL:
		return true;
	case CONF_OUTPUT_FILE:
		e->output_file = conf->output_file;
		return true;
	default:
		if (kept_hold(of->group, of->output, owner, e->output) == -1)
			return false;
		e->spec.stdio[1] = e->output[0];
		e->spec.stdio[2] = e->output[1];
		return true;
	}
}

int
environment_init(struct environment *e, const struct environment_of *of)
{
	const struct conf_app *conf = of->group->conf;
	int error;

	memset(e, 0, sizeof(*e));
	e->output[0] = e->output[1] = -1;
	e->config = config_ref(of->group->config);
	set_limits(e, of, conf);
	set_identity(e, conf);
	if (set_descriptors(e, of) && set_variables(e, of) &&
	    set_command(e, of, conf) && set_output(e, of, conf))
		return 0;
	error = errno;
	environment_fini(e);
	errno = error;
	return -1;
}

static void
close_output(struct environment *e)
{
	for (int i = 0; i < 2; i++) {
		if (e->output[i] != -1)
			(void)close(e->output[i]);
		e->output[i] = -1;
	}
}

void
environment_fini(struct environment *e)
{
	close_output(e);
	for (size_t i = 0; i < e->nsockets; i++)
		(void)close(e->sockets[i]);
	free(e->socket_names);
	free_list(e->envp);
	free_list(e->argv);
	config_unref(e->config);
}

/* --- in the lane -------------------------------------------------------- */

/*
 * A FIFO without a reader is an error, and not waited for. What others may
 * replace by a link is opened by the child, with the rights of the app.
 */
static bool
open_output(struct environment *e)
{
	const int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK;
	char why[OWNFILE_WHY];
	int fd;

	if (e->output_file == NULL)
		return true;
	fd = ownfile_open(e->output_file, OWNFILE_ANY, flags, 0640, why);
	if (fd == -1 && why[0] != '\0') {
		e->spec.output = e->output_file;
		return true;
	}
	e->output[0] = fd;
	if (fd == -1 || fcntl(fd, F_SETFL, O_APPEND) == -1)
		return false;
	e->spec.stdio[1] = fd;
	e->spec.stdio[2] = fd;
	return true;
}

/* The app's user, in the app's root, may not be able to find it. */
static bool
open_adapter(struct environment *e)
{
	int fd;

	if (e->spec.next == NULL)
		return true;
	fd = open(e->spec.path, O_PATH | O_CLOEXEC);
	if (fd == -1)
		return false;
	e->spec.program = fd;
	return true;
}

int
environment_open(struct environment *e, const char **file_out)
{
	if (!open_output(e)) {
		*file_out = e->output_file;
		return -1;
	}
	if (!open_adapter(e)) {
		*file_out = e->spec.path;
		return -1;
	}
	return 0;
}

void
environment_close(struct environment *e)
{
	if (e->output_file != NULL)
		close_output(e);
	if (e->spec.program != 0)
		(void)close(e->spec.program);
}
