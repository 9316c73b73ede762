/* What a process is started with. */

#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/birth.h"
#include "daemon/listeners.h"
#include "daemon/supervisor.h"
#include "sys/wire.h"

extern char **environ;

/* --- environment -------------------------------------------------------- */

struct env {
	char **list; /* NULL at the end; each string owned */
	size_t len;
	size_t room;
	bool failed;
};

static bool
env_same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return strncmp(a, b, n) == 0 && b[n] == '=';
}

/* Takes text over, in place of an earlier one of the same name. */
static void
env_put(struct env *e, char *text)
{
	char **list = e->list;

	if (text == NULL) {
		e->failed = true;
		return;
	}
	for (size_t i = 0; i < e->len; i++) {
		if (env_same_name(text, list[i])) {
			free(list[i]);
			list[i] = text;
			return;
		}
	}
	if (e->len + 1 >= e->room) {
		list = reallocarray(list, e->room + 64, sizeof(*list));
		if (list == NULL) {
			free(text);
			e->failed = true;
			return;
		}
		e->list = list;
		e->room += 64;
	}
	list[e->len++] = text;
	list[e->len] = NULL;
}

static void env_format(struct env *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
env_format(struct env *e, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) == -1)
		text = NULL;
	va_end(ap);
	env_put(e, text);
}

static void
env_free(char **list)
{
	for (char **p = list; p != NULL && *p != NULL; p++)
		free(*p);
	free(list);
}

static void
env_identity(struct env *e, const struct conf_identity *id)
{
	if (!id->change)
		return;
	env_format(e, "HOME=%s", id->home);
	env_format(e, "USER=%s", id->user);
	env_format(e, "LOGNAME=%s", id->user);
	env_format(e, "SHELL=%s", id->shell);
}

/* The kind of address its connections have, going by the first listener. */
static const char *
env_family(const struct group *g)
{
	const struct app_listener *l;
	int family = AF_UNIX;
	socklen_t len = sizeof(family);

	/* They take turns, so that the first may be anywhere. */
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

static void
env_channel(struct env *e, const struct worker *w)
{
	env_format(e, WIRE_ENV_APP "=%s", w->group->conf->name);
	env_format(e, WIRE_ENV_ID "=%s", w->id);
	env_format(e, WIRE_ENV_SLOT "=%u", (unsigned)w->slot);
	if (w->child_end == -1)
		return;
	env_format(e, WIRE_ENV_PROTOCOL "=" WIRE_VERSION);
	env_format(e, WIRE_ENV_FD "=3");
	env_format(e, WIRE_ENV_FAMILY "=%s", env_family(w->group));
}

/* As the service manager does it; the child adds its own number. */
static void
env_sockets(struct env *e, struct birth *b)
{
	static const char name[] = "LISTEN_PID=";
	char *pid = calloc(1, sizeof(name) + CHILD_NUMBER_SIZE);

	env_format(e, "LISTEN_FDS=%zu", b->sockets.len);
	env_format(e, "LISTEN_FDNAMES=%s", b->sockets.names);
	if (pid != NULL)
		b->spec.number = stpcpy(pid, name);
	env_put(e, pid);
}

/* What each process gets; NULL: no memory. */
static char **
env_build(struct birth *b)
{
	const struct worker *w = b->worker;
	const struct conf_app *conf = w->group->conf;
	struct counter_address counter;
	struct env e = { 0 };

	if (!conf->clear_environment)
		for (char **p = environ; *p != NULL; p++)
			if (strchr(*p, '=') != NULL)
				env_put(&e, strdup(*p));
	if (conf->clear_environment)
		env_format(&e, "PATH=/usr/local/bin:/usr/bin:/bin");
	env_identity(&e, &conf->identity);
	if (services_counter_address(&w->group->sup->services, 0, &counter))
		env_format(&e, WIRE_ENV_COUNTER "=%s", counter.reach);
	for (char **p = conf->environment; *p != NULL; p++)
		env_put(&e, strdup(*p));
	env_channel(&e, w);
	if (b->sockets.len > 0)
		env_sockets(&e, b);
	if (!e.failed)
		return e.list;
	env_free(e.list);
	errno = ENOMEM;
	return NULL;
}

/* --- the rest ----------------------------------------------------------- */

static void
birth_limit(struct birth *b, int resource, const struct conf_rlimit *l)
{
	struct child_limit *to = &b->limits[b->spec.nlimits];

	if (!l->set)
		return;
	to->resource = resource;
	to->value.rlim_cur = l->max;
	to->value.rlim_max = l->max;
	b->spec.nlimits++;
}

static void
birth_limits(struct birth *b, const struct conf_app *conf)
{
	b->spec.limits = b->limits;
	/* We raised our own soft limit; they get what we were given. */
	b->limits[0].resource = RLIMIT_NOFILE;
	b->limits[0].value = b->worker->sup->nofile;
	b->spec.nlimits = conf->limit_nofile.set ? 0 : 1;
	birth_limit(b, RLIMIT_NOFILE, &conf->limit_nofile);
	birth_limit(b, RLIMIT_CORE, &conf->limit_core);
	birth_limit(b, RLIMIT_AS, &conf->limit_as);
	birth_limit(b, RLIMIT_NPROC, &conf->limit_nproc);
	birth_limit(b, RLIMIT_CPU, &conf->limit_cpu);
}

static void
birth_identity(struct birth *b, const struct conf_app *conf)
{
	const struct conf_identity *id = &conf->identity;

	b->spec.chroot = conf->chroot;
	b->spec.directory = conf->directory;
	b->spec.set_nice = conf->nice_set;
	b->spec.nice = conf->nice;
	b->spec.set_umask = conf->umask != -1;
	b->spec.umask = (mode_t)conf->umask;
	b->spec.no_new_privs = conf->no_new_privileges;
	b->spec.set_identity = id->change;
	b->spec.uid = id->uid;
	b->spec.gid = id->gid;
	b->spec.groups = id->groups;
	b->spec.ngroups = id->groups_len;
}

/* Its channel, or what it is to accept from. */
static bool
birth_descriptors(struct birth *b)
{
	struct worker *w = b->worker;

	b->spec.stdio[0] = b->spec.stdio[1] = b->spec.stdio[2] = -1;
	b->spec.fds = &w->child_end;
	b->spec.nfds = w->child_end == -1 ? 0 : 1;
	if (!group_accepts_itself(w->group))
		return true;
	if (birth_sockets_take(w->group, &b->sockets) == -1)
		return false;
	b->spec.stdio[0] = b->sockets.fds[0];
	b->spec.fds = b->sockets.fds;
	b->spec.nfds = b->sockets.len;
	return true;
}

/* Opens what is to be its stdout and stderr. */
static bool
birth_output(struct birth *b, const struct conf_app *conf)
{
	struct worker *w = b->worker;
	uid_t owner = conf->identity.change ? conf->identity.uid : (uid_t)-1;

	switch (conf->output) {
	case CONF_OUTPUT_INHERIT:
		b->spec.stdio[1] = STDOUT_FILENO;
		b->spec.stdio[2] = STDERR_FILENO;
		return true;
	case CONF_OUTPUT_NULL:
		return true;
	case CONF_OUTPUT_FILE:
		/* Opened in the lane: the disk may be slow. */
		b->file = conf->output_file;
		return true;
	default:
		b->output = output_open(
		    &w->output, &w->sup->loop, w->group->name, w->id, owner);
		b->spec.stdio[1] = b->output;
		b->spec.stdio[2] = b->output;
		return b->output != -1;
	}
}

/* The program, or the adapter with the program as its arguments. */
static bool
birth_command(struct birth *b, const struct conf_app *conf)
{
	size_t len = 0;

	b->spec.path = conf->command[0];
	b->spec.argv = conf->command;
	if (conf->adapter == NULL)
		return true;
	while (conf->command[len] != NULL)
		len++;
	b->argv = reallocarray(NULL, 1 + len + 1, sizeof(*b->argv));
	if (b->argv == NULL)
		return false;
	b->argv[0] = strrchr(conf->adapter, '/') + 1;
	memcpy(b->argv + 1, conf->command, (len + 1) * sizeof(*b->argv));
	b->spec.path = conf->adapter;
	/* It would find out too late that it cannot, and each time anew. */
	b->spec.next = conf->command[0];
	b->spec.argv = b->argv;
	return true;
}

/* A FIFO that nobody reads is an error, and not waited for in the lane. */
static bool
birth_open_file(struct birth *b)
{
	const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY;

	if (b->file == NULL)
		return true;
	b->output = open(b->file, flags | O_NONBLOCK, 0640);
	if (b->output == -1 || fcntl(b->output, F_SETFL, O_APPEND) == -1) {
		b->file_error = errno;
		b->unopened = b->file;
		return false;
	}
	b->spec.stdio[1] = b->output;
	b->spec.stdio[2] = b->output;
	return true;
}

/* Here too: what others have written to it may have to be written first. */
static void
birth_close_file(struct birth *b)
{
	if (b->file == NULL || b->output == -1)
		return;
	(void)close(b->output);
	b->output = -1;
}

/* The app's user, and whoever is in its root, may not be able to find it. */
static bool
birth_open_adapter(struct birth *b)
{
	if (b->argv == NULL)
		return true;
	b->spec.program = open(b->spec.path, O_PATH | O_CLOEXEC);
	if (b->spec.program != -1)
		return true;
	b->file_error = errno;
	b->unopened = b->spec.path;
	b->spec.program = 0;
	return false;
}

static void
birth_work(struct lane_job *job)
{
	struct birth *b = LOOP_OWNER(job, struct birth, job);

	if (birth_open_file(b) && birth_open_adapter(b))
		(void)child_spawn(&b->spec, &b->result);
	birth_close_file(b);
	if (b->spec.program != 0)
		(void)close(b->spec.program);
}

static void
birth_done(struct lane_job *job, tstamp now)
{
	struct birth *b = LOOP_OWNER(job, struct birth, job);

	b->born(b, now);
}

bool
birth_failed(const struct birth *b)
{
	return b->file_error != 0 || b->result.error != 0;
}

bool
birth_no_room(const struct birth *b)
{
	switch (b->file_error) {
	case 0:
		return child_no_room(&b->result);
	case EMFILE:
	case ENFILE:
	case ENOMEM:
		return true;
	default:
		return false;
	}
}

void
birth_explain(const struct birth *b, char *buf, size_t size)
{
	if (b->file_error == 0)
		(void)child_explain(&b->spec, &b->result, buf, size);
	else
		(void)snprintf(buf, size, "cannot open %s: %s", b->unopened,
		    strerror(b->file_error));
}

void
birth_free(struct birth *b)
{
	if (b->output != -1)
		close(b->output);
	config_unref(b->config);
	birth_sockets_free(&b->sockets);
	env_free(b->envp);
	free(b->argv);
	free(b);
}

struct birth *
birth_new(struct worker *w, void (*born)(struct birth *, tstamp now))
{
	const struct conf_app *conf = w->group->conf;
	struct birth *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return NULL;
	b->job.work = birth_work;
	b->job.done = birth_done;
	b->worker = w;
	b->born = born;
	b->config = config_ref(w->group->config);
	b->output = -1;
	w->one_session = conf->handoff == CONF_HANDOFF_STDIO;
	w->adapted = conf->handoff == CONF_HANDOFF_ACCEPT;
	birth_limits(b, conf);
	birth_identity(b, conf);
	child_result_init(&b->result);
	if (birth_descriptors(b))
		b->envp = env_build(b);
	b->spec.envp = b->envp;
	if (b->envp == NULL || !birth_command(b, conf) ||
	    !birth_output(b, conf)) {
		int error = errno;

		birth_free(b);
		errno = error;
		return NULL;
	}
	return b;
}
