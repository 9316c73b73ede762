/* Keepers: their start, what they read, and whether they answer. */

#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/keeper.h"
#include "sys/fdpass.h"
#include "sys/log.h"
#include "sys/procinfo.h"

/* Between the beginnings of two keepers of an app, if the first has died. */
#define REST TSPAN_SECONDS(1)

static void check(struct timer *t, tstamp now);
static int take(struct output *o, tstamp now);
static void end(struct output *o, tstamp now);

/* --- coming and going --------------------------------------------------- */

/* With our user where we are not root; then workers have it, too. */
static void
set_spec(struct keeper *k, const struct conf *conf)
{
	k->argv[0] = k->path;
	k->spec.path = k->path;
	k->spec.argv = k->argv;
	for (int i = 0; i < 3; i++)
		k->spec.stdio[i] = -1;
	k->spec.fds = &k->its_end;
	k->spec.nfds = 1;
	k->spec.directory = "/";
	k->spec.set_identity = conf->keeper_changes;
	k->spec.uid = conf->keeper_uid;
	k->spec.gid = conf->keeper_gid;
	child_result_init(&k->result);
}

static void
free_keeper(struct keeper *k)
{
	output_close(&k->output);
	if (k->its_end != -1)
		close(k->its_end);
	timer_set(&k->sup->loop.timers, &k->timer, TSTAMP_NEVER);
	TAILQ_REMOVE(&k->sup->keepers, k, next);
	free(k->left);
	free(k->path);
	free(k->app);
	free(k);
}

/* Not started yet; what is sent to it waits in its socket. NULL and errno. */
static struct keeper *
new_keeper(struct group *g)
{
	struct supervisor *s = g->sup;
	struct keeper *k = calloc(1, sizeof(*k));
	int ends[2] = { -1, -1 };

	if (k == NULL)
		return NULL;
	k->sup = s;
	k->group = g;
	k->app = strdup(g->name);
	k->path = strdup(s->config->conf->keeper);
	if (k->app == NULL || k->path == NULL || fdpass_pair(ends) == -1)
		goto fail;
	fdpass_refuse(ends[0]);
	k->output.take = take;
	k->output.end = end;
	k->its_end = ends[1];
	k->born = loop_now(&s->loop);
	k->asked_at = TSTAMP_NEVER;
	LIST_INIT(&k->kept);
	timer_init(&k->timer, check);
	set_spec(k, s->config->conf);
	if (output_open(&k->output, &s->outputs, ends[0]) == -1)
		goto fail;
	TAILQ_INSERT_TAIL(&s->keepers, k, next);
	return k;
fail:
	if (ends[0] != -1) {
		close(ends[0]);
		close(ends[1]);
	}
	free(k->path);
	free(k->app);
	free(k);
	return NULL;
}

/* The keeper that reads the output of new workers; NULL: none answers. */
static struct keeper *
current(const struct group *g)
{
	struct keeper *k;

	TAILQ_FOREACH(k, &g->sup->keepers, next)
		if (k->group == g && !k->frozen && !k->dismissed)
			return k;
	return NULL;
}

static unsigned
count(const struct group *g)
{
	const struct keeper *k;
	unsigned n = 0;

	TAILQ_FOREACH(k, &g->sup->keepers, next)
		n += k->group == g;
	return n;
}

/* Has the keeper pass on what is left and exit; then its socket ends. */
static void
dismiss(struct keeper *k)
{
	if (k->dismissed)
		return;
	if (!k->taken) {
		free_keeper(k);
		return;
	}
	k->dismissed = true;
	(void)shutdown(k->output.io.fd, SHUT_WR);
	timer_set(&k->sup->loop.timers, &k->timer, TSTAMP_NEVER);
}

/* Dismisses a keeper whose last worker is gone, if another has taken over. */
static void
dismiss_spare(struct keeper *k)
{
	if (LIST_EMPTY(&k->kept) && k->group != NULL && current(k->group) != k)
		dismiss(k);
}

/* Has the workers of the keeper replaced; or, if none can be, stopped. */
static void
replace_workers(struct keeper *k, bool replaceable, tstamp now)
{
	struct kept *o;

	LIST_FOREACH(o, &k->kept, next)
		pool_unheard(&k->sup->pool, o->process, replaceable, now);
}

/* The keeper is dead, or could not be started. */
static void
lose(struct keeper *k, tstamp now)
{
	struct kept *o;

	replace_workers(k, true, now);
	while ((o = LIST_FIRST(&k->kept)) != NULL) {
		LIST_REMOVE(o, next);
		o->keeper = NULL;
	}
	free_keeper(k);
}

/* --- what it is told ---------------------------------------------------- */

/*
 * Says which workers are gone, as far as there is room in its socket; the
 * others when it has answered something.
 */
static void
tell_left(struct keeper *k)
{
	char buf[1 + KEEPER_LEAVE_MAX * KEEPER_ID_LEN] = { KEEPER_LEAVE };

	while (k->nleft > 0) {
		size_t n =
		    k->nleft < KEEPER_LEAVE_MAX ? k->nleft : KEEPER_LEAVE_MAX;
		size_t len = n * KEEPER_ID_LEN;

		memcpy(buf + 1, k->left, len);
		if (fdpass_send(k->output.io.fd, buf, 1 + len, -1) == -1)
			break;
		k->nleft -= n;
		memmove(k->left, k->left + len, k->nleft * KEEPER_ID_LEN);
	}
}

/* --- whether it answers ------------------------------------------------- */

/* The keeper answers what it was just told, unless it is frozen. */
static void
expect(struct keeper *k, tstamp now)
{
	if (k->asked_at != TSTAMP_NEVER || k->frozen || k->dismissed)
		return;
	k->asked_at = now;
	timer_set(&k->sup->loop.timers, &k->timer, now + KEEPER_PATIENCE);
}

static void
answered(struct keeper *k, tstamp now)
{
	if (k->dismissed)
		return;
	tell_left(k);
	k->asked_at = TSTAMP_NEVER;
	timer_set(&k->sup->loop.timers, &k->timer, now + KEEPER_PATIENCE);
	if (!k->frozen)
		return;
	k->frozen = false;
	log_info(
	    "%s: keeper (pid %ld) answers again", k->app, (long)k->result.pid);
	dismiss_spare(k);
}

/* Whether the keeper waits where no turn of the processor helps it. */
static bool
is_stuck(const struct keeper *k)
{
	struct procinfo info;

	return k->its_end == -1 && procinfo_read(k->result.pid, &info) == 0 &&
	    (info.state == 'D' || info.state == 'T' || info.state == 't');
}

static void
freeze(struct keeper *k, tstamp now)
{
	struct supervisor *s = k->sup;
	struct keeper *each;

	k->frozen = true;
	log_warnx("%s: keeper (pid %ld) does not answer: the processes whose "
		  "output it reads are replaced",
	    k->app, (long)k->result.pid);
	replace_workers(k, true, now);
	if (k->group != NULL && keeper_fault(k->group) != NULL)
		TAILQ_FOREACH(each, &s->keepers, next)
			if (each->group == k->group)
				replace_workers(each, false, now);
	dismiss_spare(k);
}

/* The timer: asks, or the answer is late. */
static void
check(struct timer *t, tstamp now)
{
	struct keeper *k = TIMER_OWNER(t, struct keeper, timer);
	const char ping = KEEPER_PING;

	/* Without room it has not read what was said before. */
	(void)fdpass_send(k->output.io.fd, &ping, 1, -1);
	if (k->asked_at == TSTAMP_NEVER) {
		expect(k, now);
		return;
	}
	/* A start can take long, and is not the keeper's. */
	if (k->its_end != -1)
		k->asked_at = now;
	/* Nor is what waits for its turn here. */
	if (!k->output.busy &&
	    (now - k->asked_at >= KEEPER_LIMIT || is_stuck(k)))
		freeze(k, now);
	else
		timer_set(&k->sup->loop.timers, t, now + KEEPER_PATIENCE);
}

/* --- what it says ------------------------------------------------------- */

/* Copies the identifier of the packet; false: the packet has none. */
static bool
take_id(const char *packet, size_t len, char id_out[KEEPER_ID_LEN + 1])
{
	if (len < KEEPER_HEAD)
		return false;
	memcpy(id_out, packet + 1, KEEPER_ID_LEN);
	id_out[KEEPER_ID_LEN] = '\0';
	return true;
}

/* Returns their number. */
static int
log_lines(const struct keeper *k, const char *packet, size_t len)
{
	const char *at = packet + KEEPER_HEAD, *last = packet + len, *newline;
	char id[KEEPER_ID_LEN + 1];
	int lines = 1;

	if (!take_id(packet, len, id))
		return 0;
	while ((newline = memchr(at, '\n', (size_t)(last - at))) != NULL) {
		log_output(k->app, id, at, (size_t)(newline - at));
		at = newline + 1;
		lines++;
	}
	log_output(k->app, id, at, (size_t)(last - at));
	return lines;
}

static void
log_left_out(const struct keeper *k, const char *packet, size_t len)
{
	char id[KEEPER_ID_LEN + 1];
	uint32_t bytes;

	if (!take_id(packet, len, id) || len != KEEPER_HEAD + sizeof(bytes))
		return;
	memcpy(&bytes, packet + KEEPER_HEAD, sizeof(bytes));
	log_warnx("%s: %u bytes of the last output of worker %s left out",
	    k->app, (unsigned)bytes, id);
}

static int
take(struct output *o, tstamp now)
{
	struct keeper *k = LOOP_OWNER(o, struct keeper, output);
	/* Pages without text in them take no memory. */
	char packet[KEEPER_HEAD + KEEPER_LINE_MAX];
	ssize_t n = recv(o->io.fd, packet, sizeof(packet), MSG_DONTWAIT);
	int lines = 0;

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return OUTPUT_NOTHING;
	if (n <= 0)
		return OUTPUT_ENDED;
	if (packet[0] == KEEPER_OUTPUT)
		lines = log_lines(k, packet, (size_t)n);
	else if (packet[0] == KEEPER_LEFT_OUT)
		log_left_out(k, packet, (size_t)n);
	/* Lines are an answer, too: the keeper goes on. */
	answered(k, now);
	return lines;
}

static void
end(struct output *o, tstamp now)
{
	struct keeper *k = LOOP_OWNER(o, struct keeper, output);

	if (!k->dismissed) {
		log_warnx("%s: keeper (pid %ld) died: its processes are "
			  "replaced",
		    k->app, (long)k->result.pid);
		if (k->group != NULL)
			k->group->keeper_rest = k->born + REST;
	}
	lose(k, now);
}

/* --- for workers -------------------------------------------------------- */

void
keeper_init(struct kept *o, uint32_t process, const char *id)
{
	memset(o, 0, sizeof(*o));
	o->process = process;
	o->id = id;
}

const char *
keeper_fault(const struct group *g)
{
	if (current(g) != NULL || count(g) < KEEPER_MAX)
		return NULL;
	return "nobody can read its output: none of its keepers answers";
}

/* The pipe; only the read end does not block. 0, or -1 and errno. */
static int
open_pipe(int ends[2], uid_t owner)
{
	int error;

	if (pipe2(ends, O_CLOEXEC) == -1)
		return -1;
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != -1 &&
	    (owner == (uid_t)-1 || fchown(ends[1], owner, (gid_t)-1) != -1))
		return 0;
	error = errno;
	close(ends[0]);
	close(ends[1]);
	errno = error;
	return -1;
}

int
keeper_hold(struct group *g, struct kept *o, uid_t owner)
{
	tstamp now = loop_now(&g->sup->loop);
	char buf[KEEPER_HEAD] = { KEEPER_HOLD };
	struct keeper *k = current(g);
	int ends[2], error;
	ssize_t sent;

	if (k == NULL && now < g->keeper_rest) {
		errno = EAGAIN;
		return -1;
	}
	if ((k == NULL && (k = new_keeper(g)) == NULL) ||
	    open_pipe(ends, owner) == -1)
		return -1;
	memcpy(buf + 1, o->id, KEEPER_ID_LEN);
	sent = fdpass_send_pair(k->output.io.fd, buf, sizeof(buf), ends);
	error = errno;
	/* Later the worker would run, and the close could wait for it. */
	close(ends[0]);
	if (sent == -1) {
		close(ends[1]);
		errno = error;
		return -1;
	}
	o->keeper = k;
	LIST_INSERT_HEAD(&k->kept, o, next);
	expect(k, now);
	return ends[1];
}

void
keeper_leave(struct kept *o)
{
	struct keeper *k = o->keeper;
	char *left;

	if (k == NULL)
		return;
	o->keeper = NULL;
	LIST_REMOVE(o, next);
	left = reallocarray(k->left, k->nleft + 1, KEEPER_ID_LEN);
	/* Without memory the pipe stays open as long as the keeper. */
	if (left != NULL) {
		memcpy(left + k->nleft * KEEPER_ID_LEN, o->id, KEEPER_ID_LEN);
		k->left = left;
		k->nleft++;
		tell_left(k);
	}
	dismiss_spare(k);
}

/* --- its start ---------------------------------------------------------- */

struct keeper *
keeper_new_one(struct kept *o)
{
	struct keeper *k = o->keeper;

	if (k == NULL || k->taken)
		return NULL;
	k->taken = true;
	return k;
}

bool
keeper_start(struct keeper *k)
{
	int fd = open(k->path, O_PATH | O_CLOEXEC), status;

	if (fd == -1) {
		k->result.stage = CHILD_EXEC;
		k->result.error = errno;
		return false;
	}
	/* The keeper's user may not be able to find it. */
	k->spec.program = fd;
	status = child_spawn(&k->spec, &k->result);
	(void)close(fd);
	return status == 0;
}

void
keeper_started(struct keeper *k, tstamp now)
{
	/* From now on the socket ends with the process. */
	close(k->its_end);
	k->its_end = -1;
	if (k->result.error != 0)
		lose(k, now);
}

/* --- the end ------------------------------------------------------------ */

void
keeper_dismiss_all(struct supervisor *s, const struct group *g)
{
	struct keeper *k, *next;

	TAILQ_FOREACH_SAFE(k, &s->keepers, next, next) {
		if (g != NULL && k->group != g)
			continue;
		k->group = NULL;
		dismiss(k);
	}
}

bool
keeper_any_answers(const struct supervisor *s)
{
	const struct keeper *k;

	TAILQ_FOREACH(k, &s->keepers, next)
		if (!k->frozen)
			return true;
	return false;
}

void
keeper_free_all(struct supervisor *s)
{
	struct keeper *k, *next;

	TAILQ_FOREACH_SAFE(k, &s->keepers, next, next)
		free_keeper(k);
}
