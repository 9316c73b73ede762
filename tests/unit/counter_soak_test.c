/*
 * Soak: random requests of a few clients, by seeds.  After every event all
 * invariants hold, and the replies fit a plain model of the clients.
 */

#include "../support/counter_check.h"
#include "check.h"
#include "core/prng.h"

#define CLIENTS 24
#define EVENTS 20000

struct soak {
	struct counter counter;
	struct counter_figures figures;
	struct prng prng;
	tstamp now;
	bool open[CLIENTS];
	bool waiting[CLIENTS]; /* as the clients know it themselves */
	unsigned held[CLIENTS];
	unsigned heard[CLIENTS + 1]; /* replies of the event */
	unsigned answers; /* of these, to the client it is about */
};

static uint32_t
pick(struct soak *s, uint32_t n)
{
	return (uint32_t)(prng_next(&s->prng) % n);
}

/* Notes in the model what the reply means to its client. */
static void
hear(struct counter *c, uint32_t client, enum counter_word word)
{
	struct soak *s = LOOP_OWNER(c, struct soak, counter);

	s->heard[client]++;
	switch (word) {
	case COUNTER_LOCKED:
		s->held[client]++;
		s->waiting[client] = false;
		break;
	case COUNTER_DONE:
		CHECK(s->waiting[client]);
		s->waiting[client] = false;
		break;
	case COUNTER_TIMEOUT:
		s->waiting[client] = false;
		break;
	default:
		break;
	}
}

static void
settle(struct soak *s, uint32_t about)
{
	s->answers = s->heard[about];
	memset(s->heard, 0, sizeof(s->heard));
	counter_check(&s->counter);
}

/* A few keys, one of which is long. */
static size_t
key_of(struct soak *s, char *key, size_t size)
{
	uint32_t n = pick(s, 5);

	(void)snprintf(key, size, "%0*u", n == 0 ? 300 : 1, (unsigned)n);
	return strlen(key);
}

static void
acquire(struct soak *s, uint32_t client)
{
	char key[COUNTER_KEY_MAX + 1];
	struct counter_request r = { .key = key,
		.workers = 1 + pick(s, 4),
		.maxqueue = 1 + pick(s, 12),
		.timeout = TSPAN_MSECONDS(pick(s, 200)),
		.any = pick(s, 2) == 0 };

	r.len = key_of(s, key, sizeof(key));
	counter_acquire(&s->counter, client, &r, s->now);
	settle(s, client);
	if (s->answers == 0)
		s->waiting[client] = true;
	CHECK(s->answers <= 1);
}

static void
release(struct soak *s, uint32_t client)
{
	char key[COUNTER_KEY_MAX + 1];
	size_t len = pick(s, 3) == 0 ? key_of(s, key, sizeof(key)) : 0;
	uint64_t processed = s->figures.processed;
	uint32_t waits = s->figures.waiting;

	counter_release(&s->counter, client, key, len, s->now);
	settle(s, client);
	CHECK_EQ(1, s->answers);
	if (s->figures.processed != processed)
		s->held[client]--;
	else if (s->figures.waiting != waits)
		s->waiting[client] = false;
}

static void
leave(struct soak *s, uint32_t client)
{
	counter_closed(&s->counter, client, s->now);
	s->open[client] = s->waiting[client] = false;
	s->held[client] = 0;
	settle(s, client);
	CHECK_EQ(0, s->answers);
}

static void
step(struct soak *s)
{
	uint32_t client = pick(s, CLIENTS), what = pick(s, 100);

	s->now += TSPAN_MSECONDS(pick(s, 8));
	if (what < 5) {
		counter_tick(&s->counter, s->now);
		settle(s, CLIENTS);
	} else if (!s->open[client]) {
		client = counter_opened(&s->counter, false, s->now);
		CHECK(client < CLIENTS && !s->open[client]);
		s->open[client] = true;
	} else if (what < 8) {
		leave(s, client);
	} else if (what < 55) {
		acquire(s, client);
	} else {
		release(s, client);
	}
}

/* Checks that model and counter agree on locks and waits. */
static void
compare(const struct soak *s)
{
	for (uint32_t n = 0; n < CLIENTS; n++)
		if (s->open[n])
			CHECK_EQ(s->held[n] + s->waiting[n],
			    s->counter.clients[n].depth);
}

static void
live(uint64_t seed)
{
	const struct counter_limits limits = { .clients = CLIENTS, .keys = 4 };
	struct soak s = { .prng = { seed }, .now = TSPAN_SECONDS(1) };

	NEED(counter_init(&s.counter, &limits, &s.figures, hear, s.now));
	for (unsigned i = 0; i < EVENTS && !check.failed; i++) {
		step(&s);
		compare(&s);
	}
	for (uint32_t n = 0; n < CLIENTS; n++)
		if (s.open[n])
			leave(&s, n);
	CHECK_EQ(0, s.figures.keys);
	CHECK_EQ(0, s.figures.held);
	CHECK_EQ(0, s.figures.waiting);
	if (check.failed)
		fprintf(stderr, "seed %" PRIu64 "\n", seed);
	counter_fini(&s.counter);
}

TEST(the_invariants_hold_through_random_requests)
{
	for (uint64_t seed = 1; seed <= 25 && !check.failed; seed++)
		live(seed);
}

TESTS(NULL, NULL)
