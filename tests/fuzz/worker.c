/*
 * Any packets of a few workers, over sockets and in virtual time: the
 * invariants of the pool hold, and each connection has one end.
 */

#include <sys/socket.h>

#include "daemon/worker.h"

#include "sup.h"

/* Longer than a message may be. */
#define PACKET_MAX (WIRE_MAX + 256)

enum step {
	STEP_SAY, /* any bytes */
	STEP_SAY_VERB, /* of the protocol, with the serial of a connection */
	STEP_SAY_LONG, /* a byte, many times */
	STEP_SAY_DESCRIPTORS,
	STEP_SHUT, /* or an empty packet, which reads the same */
	STEP_RECEIVE,
	STEP_ARRIVE,
	STEP_WAIT,
	STEP_DIE,
	STEPS
};

static bool shut[WORKERS];
static bool doomed[WORKERS]; /* SIGKILL was sent */
static uint64_t received[WORKERS]; /* bytes */

/* --- beginning and end -------------------------------------------------- */

static void
begin(uint8_t options)
{
	web.pool.concurrency = options & 1 ? 3 : 1;
	web.pool.prefetch = options & 2 ? 2 : 0;
	web.pool.min_processes = options & 4 ? 2 : 0;
	web.pool.max_requests = options & 8 ? 3 : 0;
	web.refusal.on_full =
	    options & 16 ? CONF_ON_FULL_CLOSE : CONF_ON_FULL_WAIT;
	web.pool.private_queue = options & 32 && web.pool.prefetch > 0;
	web.pool.close_when_full = options & 16;
	/* Descriptors to be closed wait for a keeper that never comes. */
	(void)sup_begin();
	sup.keepers->rest = TSTAMP_NEVER;
}

/* --- workers ------------------------------------------------------------ */

static void
join(uint32_t process)
{
	struct worker *w = worker_new(sup.groups[0], process);

	if (w == NULL)
		abort();
	if (shut[process]) {
		close(ends[process][0]);
		close(ends[process][1]);
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
			ends[process]) == -1)
			abort();
		shut[process] = false;
	}
	doomed[process] = false;
	received[process] = 0;
	w->channel.fd = ends[process][0];
	w->channel.ready = channel_ready;
	w->child_end = ends[process][1];
	if (loop_set(&sup.loop, &w->channel, EPOLLIN) == -1)
		abort();
	pool_spawned(&sup.pool, process, now);
}

/*
 * Receives a message in the place of the worker: it names a connection that
 * the worker has, or says STOP. Gives the connection, or ILIST_NONE.
 */
static bool
receive(uint32_t process, uint32_t *conn_out)
{
	char message[WIRE_MAX];
	int fd = -1;
	ssize_t n = fdpass_recv_one(
	    ends[process][1], message, sizeof(message), MSG_DONTWAIT, &fd);

	*conn_out = ILIST_NONE;
	if (n <= 0)
		return false;
	received[process] += (uint64_t)n;
	if (fd == -1) {
		assert(n == sizeof(WIRE_STOP) - 1);
		assert(memcmp(message, WIRE_STOP, (size_t)n) == 0);
		return true;
	}
	close(fd);
	assert(memcmp(message, WIRE_CONN, sizeof(WIRE_CONN) - 1) == 0);
	*conn_out = channel_conn(&sup, message, (size_t)n);
	return true;
}

/* The last messages are read; connections unread are taken back. */
static void
die(uint32_t process)
{
	struct worker *w = sup.workers[process];
	char rest[PACKET_MAX];
	struct fdpass_got got;
	uint32_t conn;

	if (w == NULL)
		return;
	channel_read_rest(w, now);
	pool_died(&sup.pool, process, END_SIGNAL, now);
	while (receive(process, &conn)) {
		if (conn == ILIST_NONE)
			continue;
		sup.accepted[conn].fd = client;
		pool_retaken(&sup.pool, conn, now);
	}
	/* Packets that were not heard are not for its successor. */
	while (fdpass_recv(ends[process][0], rest, sizeof(rest), MSG_DONTWAIT,
		   &got) > 0)
		for (size_t i = 0; i < got.nfds; i++)
			close(got.fds[i]);
	w->channel.fd = -1;
	w->child_end = -1;
	worker_free(w);
	pool_gone(&sup.pool, process, now);
}

/* --- the daemon --------------------------------------------------------- */

/* As the keeper does. The descriptor that comes back is another of the same. */
static void
take(const struct action *a)
{
	struct worker *w = sup.workers[a->process];
	struct retake *r = &w->retake;
	char message[WIRE_MAX];
	int fd = -1;
	ssize_t n;

	sup.keepers->rest = 0;
	channel_take(&sup, a, now);
	sup.keepers->rest = TSTAMP_NEVER;
	if (r->end != NULL) {
		n = fdpass_recv_one(
		    w->child_end, message, sizeof(message), MSG_DONTWAIT, &fd);
		TAILQ_REMOVE(&sup.keepers->retakes, r, next);
		if (n > 0)
			r->message(r, message, (size_t)n, fd, now);
		r->end(r, true, now);
	}
	for (uint32_t i = 0; i < sup.pool.nconns; i++) {
		if (sup.accepted[i].fd == -1 || sup.accepted[i].fd == client)
			continue;
		close(sup.accepted[i].fd);
		sup.accepted[i].fd = client;
	}
}

static void
doom(uint32_t process)
{
	doomed[process] = true;
}

static const struct ways own = { join, take, doom };

/* Turns the loop until nobody says more. */
static void
turn(void)
{
	int called;

	do {
		called = loop_turn(&sup.loop, now);
		if (pool_deadline(&sup.pool) <= now)
			pool_tick(&sup.pool, now);
		carry_out();
		for (uint32_t i = 0; i < WORKERS; i++) {
			if (!doomed[i])
				continue;
			doomed[i] = false;
			die(i);
			called++;
		}
	} while (called > 0);
}

/* --- steps -------------------------------------------------------------- */

static void
say(uint32_t process, const void *packet, size_t len)
{
	if (len > 0 && fdpass_send(ends[process][1], packet, len, -1) == -1)
		assert(errno == EAGAIN || errno == EPIPE);
}

static void
say_verb(uint32_t process, struct input *in)
{
	static const char *const verbs[] = { WIRE_READY, WIRE_DONE, WIRE_LOST,
		WIRE_RETIRE, WIRE_BLIND, WIRE_FAIL, WIRE_EVENT, WIRE_STATUS };
	uint8_t what = next(in), which = next(in);
	const char *verb = verbs[what % (sizeof(verbs) / sizeof(verbs[0]))];
	uint64_t serial = serial_of(which % CONNS) + which / 64;
	char text[64];

	/* Of a former connection with that number. */
	if (what & 64)
		serial ^= UINT64_C(1) << 40;

	if (what & 128) {
		say(process, verb, strlen(verb));
		return;
	}
	(void)snprintf(
	    text, sizeof(text), "%s %llu", verb, (unsigned long long)serial);
	say(process, text, strlen(text));
}

static void
say_long(uint32_t process, struct input *in)
{
	char packet[PACKET_MAX];
	uint8_t c = next(in);
	size_t len = (size_t)next(in) * 17 + 1;

	memset(packet, c, len);
	memcpy(packet, WIRE_STATUS " ", len < 7 ? len : 7);
	say(process, packet, len);
}

static void
say_descriptors(uint32_t process, uint8_t n)
{
	const int two[2] = { client, client };

	if (n % 2 == 0)
		(void)fdpass_send(ends[process][1], "DONE", 4, client);
	else
		(void)fdpass_send_many(ends[process][1], "READY", 5, two, 2);
}

/* All that was sent is received, or unread. */
static void
check_sent(void)
{
	for (uint32_t i = 0; i < WORKERS; i++) {
		const struct worker *w = sup.workers[i];

		if (w != NULL)
			assert(w->pickup.sent ==
			    received[i] + (uint64_t)fdpass_unread(ends[i][1]));
	}
}

/* No connection has arrived whose serial is so large: it is not ended. */
static void
check_stale(uint64_t completed, const uint8_t *data, size_t size)
{
	if (size > 1 && data[0] % STEPS == STEP_SAY_VERB &&
	    (data[1] & 192) == 64)
		assert(sup.pool.apps[0].figures.completed == completed);
}

static void
step(struct input *in)
{
	uint8_t what = next(in);
	uint32_t process = what / STEPS % WORKERS, conn;
	const uint8_t *bytes;
	size_t len;

	switch ((enum step)(what % STEPS)) {
	case STEP_SAY:
		bytes = next_bytes(in, &len);
		if (sup.workers[process] != NULL)
			say(process, bytes, len);
		break;
	case STEP_SAY_VERB:
		if (sup.workers[process] != NULL)
			say_verb(process, in);
		break;
	case STEP_SAY_LONG:
		if (sup.workers[process] != NULL)
			say_long(process, in);
		break;
	case STEP_SAY_DESCRIPTORS:
		if (sup.workers[process] != NULL)
			say_descriptors(process, next(in));
		break;
	case STEP_SHUT:
		if (sup.workers[process] != NULL) {
			(void)shutdown(ends[process][1], SHUT_WR);
			shut[process] = true;
		}
		break;
	case STEP_RECEIVE:
		if (sup.workers[process] != NULL)
			(void)receive(process, &conn);
		break;
	case STEP_ARRIVE:
		arrive();
		break;
	case STEP_WAIT:
		now += TSPAN_MSECONDS(1) << next(in) % 18;
		break;
	default:
		die(process);
		break;
	}
}

static void
end(void)
{
	pool_stop_now(&sup.pool, 0, now);
	carry_out();
	for (uint32_t i = 0; i < WORKERS; i++)
		die(i);
	carry_out();
	sup_end();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	if (client == -1)
		sup_start(&own);
	begin(next(&in));
	turn();
	for (int left = STEPS_MAX; in.size > 0 && left > 0; left--) {
		const struct input before = in;
		uint64_t completed = sup.pool.apps[0].figures.completed;

		step(&in);
		turn();
		check_sent();
		check_stale(completed, before.data, before.size);
	}
	pool_check(&sup.pool);
	end();
	return 0;
}
