/* The control socket, and the time its clients have. */

#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/control_private.h"
#include "sys/fdpass.h"
#include "sys/log.h"

/* Clients accepted in one turn at most. */
#define ACCEPT_BUDGET 16

/* Those that wait in the backlog. */
#define BACKLOG 1024

static void control_ready(struct loop_io *io, uint32_t events, tstamp now);

static struct listener_spec
control_spec(const struct conf *conf)
{
	return (struct listener_spec){
		.name = "control",
		.path = conf->control,
		.inherited_fd = -1,
		.backlog = BACKLOG,
		.uid = (uid_t)-1,
		.gid = conf->control_gid,
		.mode = conf->control_mode,
	};
}

/*
 * Where no service manager has made the folder of the default. true: it is
 * there, or it is another folder; false and errno: it was logged.
 */
static bool
make_default_folder(const struct conf *conf)
{
	int error;

	if (!conf_makes_folder(conf))
		return true;
	if (mkdir(CONF_DEFAULT_FOLDER, 0755) == 0) {
		log_info("made %s", CONF_DEFAULT_FOLDER);
		return true;
	}
	if (errno == EEXIST)
		return true;
	error = errno;
	log_error("control socket %s: cannot make its folder", conf->control);
	errno = error;
	return false;
}

/* Descriptors are for connections first. */
static void
control_limit(struct control *c, const struct conf *conf)
{
	uint32_t spare = supervisor_spare(conf);

	c->max_clients = CONTROL_CLIENTS;
	if (spare < CONTROL_CLIENTS - CONTROL_CLIENTS_SURE)
		c->max_clients = CONTROL_CLIENTS_SURE + spare;
	c->max_waiting = c->max_clients / 4 * 3;
}

/* Remembers how it was opened. */
static bool
control_remember(struct control *c, const struct conf *conf)
{
	char *path = strdup(conf->control);

	if (path == NULL)
		return false;
	free(c->path);
	c->path = path;
	c->mode = conf->control_mode;
	c->gid = conf->control_gid;
	control_limit(c, conf);
	return true;
}

/* Opens what conf names in place of what is open. */
static bool
control_listen(struct control *c, const struct conf *conf)
{
	const struct listener_spec spec = control_spec(conf);
	struct listener listener;
	const char *why;
	int error;

	if (!make_default_folder(conf))
		return false;
	if (listener_open(&listener, &spec, &why) == -1) {
		error = errno;
		if (errno == EADDRINUSE)
			log_errorx("control socket %s: another process "
				   "listens there; is this daemon running "
				   "already?",
			    conf->control);
		else
			log_error("control socket %s: %s", conf->control, why);
		errno = error;
		return false;
	}
	fdpass_refuse(listener.fd);
	if (!control_remember(c, conf)) {
		log_error("control socket %s", conf->control);
		listener_fini(&listener);
		return false;
	}
	if (c->listener.fd != -1) {
		(void)loop_set(&c->sup->loop, &c->io, 0);
		listener_fini(&c->listener);
	}
	c->listener = listener;
	c->io = (struct loop_io){ .fd = listener.fd, .ready = control_ready };
	if (loop_set(&c->sup->loop, &c->io, EPOLLIN) == -1)
		log_warn("control socket %s", conf->control);
	return true;
}

/* Stops listening. Clients stay. */
static void
control_deafen(struct control *c)
{
	if (c->listener.fd == -1)
		return;
	(void)loop_set(&c->sup->loop, &c->io, 0);
	listener_fini(&c->listener);
	free(c->path);
	c->path = NULL;
}

struct control *
control_open(struct supervisor *s, bool *ok_out)
{
	struct control *c;
	int error;

	*ok_out = true;
	if (s->config->conf->control == NULL)
		return NULL;

	c = calloc(1, sizeof(*c));
	if (c == NULL) {
		log_error("control socket");
		errno = ENOMEM;
		*ok_out = false;
		return NULL;
	}
	c->sup = s;
	c->listener.fd = -1;
	TAILQ_INIT(&c->clients);
	c->look_at = TSTAMP_NEVER;
	c->wait_at = TSTAMP_NEVER;
	if (!control_listen(c, s->config->conf)) {
		error = errno;
		free(c);
		errno = error;
		*ok_out = false;
		return NULL;
	}
	return c;
}

void
control_close(struct control *c)
{
	struct client *cl;

	control_deafen(c);
	while ((cl = TAILQ_FIRST(&c->clients)) != NULL) {
		client_flush(cl);
		client_close(cl);
	}
	free(c);
}

/* The same place: owner and mode change under those who connect. */
static bool
control_update(struct control *c, const struct conf *conf)
{
	const struct listener_spec spec = control_spec(conf);
	const char *why;

	control_limit(c, conf);
	if (c->mode == conf->control_mode && c->gid == conf->control_gid)
		return true;
	if (listener_update(&c->listener, &spec, &why) == -1) {
		log_error("control socket %s: %s", conf->control, why);
		return false;
	}
	c->mode = conf->control_mode;
	c->gid = conf->control_gid;
	return true;
}

/* Somebody may have removed it, who cleaned up. */
static bool
control_is_there(const struct control *c)
{
	struct stat st;

	return lstat(c->path, &st) == 0 && st.st_dev == c->listener.file.dev &&
	    st.st_ino == c->listener.file.ino;
}

bool
control_reconfigure(struct supervisor *s)
{
	const struct conf *conf = s->config->conf;
	struct control *c = s->control;
	bool ok;

	if (c == NULL) {
		s->control = control_open(s, &ok);
		return ok;
	}
	if (conf->control == NULL) {
		control_deafen(c);
		return true;
	}
	if (c->path != NULL && strcmp(c->path, conf->control) == 0 &&
	    control_is_there(c))
		return control_update(c, conf);
	return control_listen(c, conf);
}

/* --- clients ------------------------------------------------------------ */

static void
control_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct control *c = LOOP_OWNER(io, struct control, io);
	int fd = 0;

	(void)events;
	for (unsigned i = 0; i < ACCEPT_BUDGET; i++) {
		if (c->nclients >= c->max_clients)
			break;
		fd = listener_accept(&c->listener, now);
		if (fd < 0)
			break;
		client_new(c, fd, now);
	}
	if (fd >= 0 && c->nclients < c->max_clients)
		return;
	if (fd == LISTENER_EMPTY)
		return;
	/* Until a client has left, or until it has rested. */
	(void)loop_set(&c->sup->loop, &c->io, 0);
	if (fd == LISTENER_RESTING)
		control_arm(c, c->listener.rest_until);
}

static void
control_listen_again(struct control *c)
{
	if (c->listener.fd != -1 && c->io.events == 0 &&
	    c->nclients < c->max_clients)
		(void)loop_set(&c->sup->loop, &c->io, EPOLLIN);
}

void
control_left(struct control *c)
{
	c->nclients--;
	control_listen_again(c);
}

/* --- time --------------------------------------------------------------- */

void
control_arm(struct control *c, tstamp at)
{
	c->look_at = tstamp_min(c->look_at, at);
}

/* Deadlines only ever move away: a look may come too early, never too late. */
static void
control_expire(struct control *c, tstamp now)
{
	struct client *cl, *next;

	c->look_at = TSTAMP_NEVER;
	control_listen_again(c);
	TAILQ_FOREACH_SAFE(cl, &c->clients, next, next) {
		if (cl->deadline <= now)
			client_expire(cl, now);
		else
			control_arm(c, cl->deadline);
	}
}

void
control_tick(struct control *c, tstamp now)
{
	if (c == NULL)
		return;
	c->worked = false;
	if (c->look_at <= now)
		control_expire(c, now);
	if (c->wait_at <= now)
		c->wait_at = command_look(c, now);
}

tstamp
control_deadline(const struct control *c)
{
	return c == NULL ? TSTAMP_NEVER : tstamp_min(c->look_at, c->wait_at);
}
