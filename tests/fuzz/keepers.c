/*
 * Any packets of keepers, over sockets and in virtual time, while workers die
 * with connections unread: the invariants of the pool hold, each connection
 * has one end, and no keeper, take or descriptor is left.
 */

#include <sys/mman.h>
#include <sys/socket.h>

#include "daemon/keeper.c"

#include "sup.h"

/* Seconds in which keepers that work do all, and stalls are forgotten. */
#define SECONDS 200

/* A process of this number, or of one below it, there is not. */
#define NOBODY INT32_MAX

/* Above the lowest free one, as many as a leak could reach at first. */
#define DESCRIPTORS 32

enum step {
	STEP_SAY, /* any bytes */
	STEP_SAY_VERB, /* of the protocol, about a worker */
	STEP_SAY_TAKEN, /* a connection, by its serial */
	STEP_SERVE, /* what the daemon has said, as a keeper does */
	STEP_IGNORE, /* that is received and not answered */
	STEP_END, /* the keeper dies */
	STEP_BUSY, /* it says for whom it does something */
	STEP_ARRIVE,
	STEP_DIE, /* a worker does */
	STEP_RECEIVE, /* the same */
	STEP_WAIT,
	STEPS
};

static pid_t keeper_pid = NOBODY;

/* --- workers ------------------------------------------------------------ */

static void
join(uint32_t process)
{
	struct worker *w = worker_new(sup.groups[0], process);
	int output[KEEPER_HOLD_FDS];

	if (w == NULL)
		abort();
	w->channel.fd = ends[process][0];
	w->child_end = ends[process][1];
	w->output = keeper_hold(w->group, w->id, process, output);
	keeper_ends_given(w->output);
	pool_spawned(&sup.pool, process, now);
	(void)pool_ready(&sup.pool, process, now);
}

/* The worker receives a message; false: there is none. */
static bool
receive(uint32_t process)
{
	char message[WIRE_MAX];
	int fd = -1;
	ssize_t n = fdpass_recv_one(
	    ends[process][1], message, sizeof(message), MSG_DONTWAIT, &fd);

	if (fd != -1)
		close(fd);
	return n > 0;
}

/* As worker.c does it from here on. */
static void
finish(struct worker *w)
{
	uint32_t process = w->process;

	while (receive(process))
		continue;
	w->channel.fd = -1;
	w->child_end = -1;
	worker_free(w);
	pool_gone(&sup.pool, process, now);
}

static void
taken(struct retake *r, const char *buf, size_t len, int fd, tstamp at)
{
	struct worker *w = LOOP_OWNER(r, struct worker, retake);
	uint32_t conn = channel_conn(&sup, buf, len);

	if (fd != -1)
		close(fd);
	if (conn == ILIST_NONE || fd == -1 ||
	    sup.pool.conns[conn].process != w->process)
		return;
	sup.accepted[conn].fd = client;
	pool_retaken(&sup.pool, conn, at);
}

static void
take_ended(struct retake *r, bool complete, tstamp at)
{
	(void)complete;
	(void)at;
	finish(LOOP_OWNER(r, struct worker, retake));
}

static void
die(uint32_t process)
{
	struct worker *w = sup.workers[process];

	/* A dead one waits for a keeper. */
	if (w == NULL || w->retake.end != NULL)
		return;
	pool_died(&sup.pool, process, END_SIGNAL, now);
	if (fdpass_unread(w->child_end) <= 0) {
		finish(w);
		return;
	}
	w->retake.id = w->id;
	w->retake.child_end = w->child_end;
	w->retake.message = taken;
	w->retake.end = take_ended;
	keeper_take_back(w->group, &w->retake);
}

/* --- keepers ------------------------------------------------------------ */

/* The keeper, the start of which is over; NULL: there is none. */
static struct keeper *
current(void)
{
	struct keeper *k = sup.keepers->current;

	if (k != NULL && k->h.starting) {
		k->h.page = mmap(NULL, k->h.page_size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		k->h.result.pid = keeper_pid--;
		k->h.starting = false;
		keeper_started(&k->h, now);
	}
	return k;
}

static void
be_busy(struct keeper *k, uint8_t what)
{
	struct keeper_page *page = k->h.page;
	static const char verbs[] = { 0, KEEPER_OUTPUT, KEEPER_TAKE,
		KEEPER_CLOSE };
	const struct worker *w = sup.workers[what / 8 % WORKERS];

	page->busy = (unsigned char)verbs[what % sizeof(verbs)];
	(void)strcpy(page->app, what & 4 ? "web" : "none");
	memcpy(page->id, w == NULL ? "aaaaaaaa" : w->id, KEEPER_ID_LEN);
}

static void
say(const struct keeper *k, const void *packet, size_t len, int descriptors)
{
	const int two[2] = { client, client };

	if (len == 0)
		return;
	if (descriptors == 2)
		(void)fdpass_send_many(k->h.fds[0], packet, len, two, 2);
	else
		(void)fdpass_send(
		    k->h.fds[0], packet, len, descriptors == 1 ? client : -1);
}

/* Writes a verb, and the identifier of a worker. */
static void
put_head(char *packet, char verb, uint32_t process)
{
	packet[0] = verb;
	if (sup.workers[process] == NULL)
		memset(packet + 1, 'a', KEEPER_ID_LEN);
	else
		memcpy(packet + 1, sup.workers[process]->id, KEEPER_ID_LEN);
}

static void
say_verb(const struct keeper *k, struct input *in)
{
	static const char verbs[] = { KEEPER_OUTPUT, KEEPER_LEFT_OUT,
		KEEPER_TAKEN, KEEPER_DONE, KEEPER_DONE, KEEPER_ERRORS };
	char packet[KEEPER_HEAD + 256];
	uint8_t what = next(in);
	size_t len;
	const uint8_t *bytes = next_bytes(in, &len);

	put_head(packet, verbs[what % sizeof(verbs)], what / 8 % WORKERS);
	memcpy(packet + KEEPER_HEAD, bytes, len);
	say(k, packet, KEEPER_HEAD + len, what / 64);
}

static void
say_taken(const struct keeper *k, uint8_t what)
{
	char packet[KEEPER_HEAD + 64];

	put_head(packet, KEEPER_TAKEN, what / CONNS % WORKERS);
	(void)snprintf(packet + KEEPER_HEAD, 64, WIRE_CONN " %llu 1",
	    (unsigned long long)serial_of(what % CONNS));
	say(k, packet, strlen(packet + KEEPER_HEAD) + KEEPER_HEAD, what / 64);
}

/* Passes on what a dead worker has not received. */
static void
serve_take(const struct keeper *k, char *head, int end)
{
	char packet[KEEPER_HEAD + KEEPER_TAKEN_MAX];
	ssize_t n;
	int fd;

	memcpy(packet, head, KEEPER_HEAD);
	while ((n = fdpass_recv_one(end, packet + KEEPER_HEAD, KEEPER_TAKEN_MAX,
		    MSG_DONTWAIT, &fd)) > 0) {
		(void)fdpass_send(
		    k->h.fds[0], packet, KEEPER_HEAD + (size_t)n, fd);
		if (fd != -1)
			close(fd);
	}
}

/* Receives one packet of the daemon, which is well-formed; false: none. */
static bool
serve(struct keeper *k, bool answers)
{
	char packet[KEEPER_SAID_MAX + 1];
	const char done = KEEPER_DONE;
	struct fdpass_got got;
	ssize_t n = fdpass_recv(
	    k->h.fds[0], packet, KEEPER_SAID_MAX, MSG_DONTWAIT, &got);

	if (n <= 0)
		return false;
	packet[n] = '\0';
	assert(!got.truncated && !got.lost_fds);
	switch (packet[0]) {
	case KEEPER_HOLD:
		assert(n == KEEPER_HEAD + 4 && got.nfds == KEEPER_HOLD_FDS);
		break;
	case KEEPER_TAKE:
		assert(n == KEEPER_HEAD + 4 && got.nfds == 1);
		if (answers)
			serve_take(k, packet, got.fds[0]);
		break;
	case KEEPER_LEAVE:
		assert(n == KEEPER_HEAD + 4 && got.nfds == 0);
		break;
	default:
		assert(packet[0] == KEEPER_CLOSE);
		assert(n == KEEPER_HEAD + 1 || n > KEEPER_HEAD + 4);
		assert(got.nfds ==
		    (n == KEEPER_HEAD + 1 ? 0 : (size_t)n - KEEPER_HEAD - 4));
		break;
	}
	if (answers)
		(void)fdpass_send(k->h.fds[0], &done, 1, -1);
	for (size_t i = 0; i < got.nfds; i++)
		close(got.fds[i]);
	return true;
}

/* --- the daemon --------------------------------------------------------- */

static void
take(const struct action *a)
{
	pool_taken(&sup.pool, a->process, ILIST_NONE, now);
}

static void
doom(uint32_t process)
{
	die(process);
}

static const struct ways own = { join, take, doom };

static void
turn(void)
{
	int called;

	do {
		/* Nothing is really started. */
		STAILQ_INIT(&sup.spawner.waiting);
		called = loop_turn(&sup.loop, now);
		if (pool_deadline(&sup.pool) <= now)
			pool_tick(&sup.pool, now);
		carry_out();
	} while (called > 0);
}

/* --- beginning and end -------------------------------------------------- */

static void
lane_is_late(struct timer *t, tstamp at)
{
	(void)t;
	(void)at;
}

static void
start(void)
{
	sup_start(&own);
	sup.spawner.loop = &sup.loop;
	timer_init(&sup.spawner.timer, lane_is_late);
	conf.keeper = (char *)"/nonexistent";
	web.program.output = CONF_OUTPUT_LOG;
}

static void
begin(uint8_t options)
{
	STAILQ_INIT(&sup.spawner.waiting);
	web.pool.prefetch = options & 1 ? 2 : 0;
	web.pool.min_processes = options & 2 ? 2 : 0;
	(void)sup_begin();
	turn();
}

/* Whether there is something that a keeper is to do. */
static bool
is_left(void)
{
	const struct keepers *all = sup.keepers;

	return keeper_has_work(all) || sup.groups[0]->keeper->nclosings > 0;
}

/* All die, and then come keepers that do what they are there for. */
static void
end(void)
{
	struct keeper *k;

	pool_stop_now(&sup.pool, 0, now);
	for (uint32_t i = 0; i < WORKERS; i++)
		die(i);
	if ((k = current()) != NULL)
		(void)keeper_exited(&sup, k->h.result.pid, now);
	TAILQ_FOREACH(k, &sup.keepers->stalled, next)
		if (!k->h.dead)
			(void)keeper_exited(&sup, k->h.result.pid, now);
	for (int left = SECONDS; is_left(); left--) {
		assert(left > 0);
		while ((k = current()) != NULL && serve(k, true))
			turn();
		now += TSPAN_SECONDS(1);
		turn();
	}
	carry_out();
	sup_end();
	timer_set(&sup.loop.timers, &sup.spawner.timer, TSTAMP_NEVER);
	assert(timers_first(&sup.loop.timers) == TSTAMP_NEVER);
}

static void
step(struct input *in)
{
	uint8_t what = next(in), i = what / STEPS;
	struct keeper *k = current();
	const uint8_t *bytes;
	size_t len;

	switch ((enum step)(what % STEPS)) {
	case STEP_SAY:
		bytes = next_bytes(in, &len);
		if (k != NULL)
			say(k, bytes, len, i % 3);
		break;
	case STEP_SAY_VERB:
		if (k != NULL)
			say_verb(k, in);
		break;
	case STEP_SAY_TAKEN:
		if (k != NULL)
			say_taken(k, next(in));
		break;
	case STEP_SERVE:
	case STEP_IGNORE:
		while (k != NULL && serve(k, what % STEPS == STEP_SERVE))
			continue;
		break;
	case STEP_END:
		if (k != NULL)
			(void)keeper_exited(&sup, k->h.result.pid, now);
		break;
	case STEP_BUSY:
		if (k != NULL)
			be_busy(k, next(in));
		break;
	case STEP_ARRIVE:
		arrive();
		break;
	case STEP_DIE:
		die(i % WORKERS);
		break;
	case STEP_RECEIVE:
		if (sup.workers[i % WORKERS] != NULL)
			(void)receive(i % WORKERS);
		break;
	default:
		now += TSPAN_MSECONDS(1) << next(in) % 18;
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	int before, after;

	if (client == -1)
		start();
	before = dup(client);
	close(before);
	begin(next(&in));
	for (int left = STEPS_MAX; in.size > 0 && left > 0; left--) {
		step(&in);
		turn();
	}
	end();
	after = dup(client);
	close(after);
	assert(before == after);
	for (int fd = after + 1; fd < after + DESCRIPTORS; fd++)
		assert(fcntl(fd, F_GETFD) == -1);
	return 0;
}
