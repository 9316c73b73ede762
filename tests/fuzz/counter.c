/*
 * Any talk of a few clients with the PoolCounter service, over sockets and in
 * virtual time: the invariants hold after every turn, answers are whole lines
 * of known words, and when all have left nothing is left.
 *
 * The input is a list of steps: a byte that says which of them and by whom,
 * and for what is said its length and bytes.
 */

#include <sys/socket.h>

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/counter_check.h"
#include "../unit/still.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CLIENTS 6

/* More find nothing that fewer do not, and take longer. */
#define STEPS_MAX 48

enum step {
	STEP_SAY,
	STEP_SAY_LINE,
	STEP_WAIT,
	STEP_LEAVE,
	STEP_HALF_CLOSE,
	STEPS
};

static struct loop loop;
static struct lane closer;
static struct lockers all;
static struct counter_figures figures;
static int clients[CLIENTS];

/* --- the service -------------------------------------------------------- */

static void
start(void)
{
	const struct counter_limits limits = { .clients = CLIENTS, .keys = 8 };

	now = TSPAN_SECONDS(1);
	if (loop_init(&loop, &still_clock) == -1)
		abort();
	if (!lockers_init(&all, &loop, &closer, &limits, &figures))
		abort();
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = -1;
}

/* Turns the loop until nothing is ready. */
static void
turn(void)
{
	int called;

	do {
		called = loop_turn(&loop, now);
		lockers_turn(&all, now);
	} while (called > 0 || !TAILQ_EMPTY(&all.ready[LOCKERS_STRANGERS]));
	counter_check(&all.counter);
}

/* --- clients ------------------------------------------------------------ */

static void
come(int i)
{
	int sv[2];

	if (clients[i] != -1)
		return;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) == -1)
		abort();
	clients[i] = sv[0];
	/* Taken for TCP, which is closed here and now. */
	lockers_add(&all, sv[1], true, LOCKERS_STRANGERS, now);
}

static void
leave(int i)
{
	if (clients[i] == -1)
		return;
	(void)close(clients[i]);
	clients[i] = -1;
}

static void
check_line(const char *line, size_t len)
{
	static const char *const words[] = { "LOCKED", "DONE", "QUEUE_FULL",
		"TIMEOUT", "LOCK_HELD", "NOT_LOCKED", "RELEASED",
		"ERROR BAD_SYNTAX", "ERROR BAD_COMMAND", "ERROR WRONG_STAT",
		"ERROR WAIT_FOR_RESPONSE", "ERROR TOO_MANY_KEYS",
		"ERROR LINE_TOO_LONG", "" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == len && memcmp(words[i], line, len) == 0)
			return;
	/* A line of STATS. */
	assert(memchr(line, ':', len) != NULL);
}

static void
hear(int i)
{
	static char buf[65536];
	char *p = buf, *lf;
	ssize_t n;

	if (clients[i] == -1)
		return;
	n = recv(clients[i], buf, sizeof(buf), MSG_DONTWAIT);
	if (n == 0)
		leave(i);
	while (n > 0) {
		lf = memchr(p, '\n', (size_t)n);
		/* Unless the buffer was too small, lines are whole. */
		if (lf == NULL) {
			assert(p != buf);
			break;
		}
		check_line(p, (size_t)(lf - p));
		n -= lf + 1 - p;
		p = lf + 1;
	}
}

static size_t
say(int i, const uint8_t *data, size_t size, bool line)
{
	size_t len = size == 0 ? 0 : data[0];

	if (size == 0)
		return 0;
	if (len > size - 1)
		len = size - 1;
	(void)send(clients[i], data + 1, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (line)
		(void)send(clients[i], "\n", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	return len + 1;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (all.loop == NULL)
		start();
	for (int left = STEPS_MAX; size > 0 && left > 0; left--) {
		int step = data[0] % STEPS, i = data[0] / STEPS % CLIENTS;
		size_t used = 1;

		come(i);
		if (step == STEP_SAY || step == STEP_SAY_LINE)
			used +=
			    say(i, data + 1, size - 1, step == STEP_SAY_LINE);
		else if (step == STEP_WAIT)
			now += TSPAN_MSECONDS(700);
		else if (step == STEP_LEAVE)
			leave(i);
		else
			(void)shutdown(clients[i], SHUT_WR);
		turn();
		for (int k = 0; k < CLIENTS; k++)
			hear(k);
		data += used;
		size -= used;
	}
	for (int i = 0; i < CLIENTS; i++)
		leave(i);
	turn();
	assert(figures.clients == 0);
	assert(figures.keys == 0);
	assert(all.pending == 0);
	assert(TAILQ_EMPTY(&all.ready[LOCKERS_STRANGERS]));
	assert(TAILQ_EMPTY(&all.dirty[LOCKERS_STRANGERS]));
	return 0;
}
