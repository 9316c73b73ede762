/* The counter: its clients, what they ask, and what becomes of it. */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "counter/counter.h"

/* --- order ---------------------------------------------------------------- */

/* The height of a tree has a bound: no keys of a client are slow to find. */
static int
key_compare(const struct counter_key *a, const struct counter_key *b)
{
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return memcmp(a->text, b->text, a->len);
}

static struct counter_entry *
counter_newest(struct counter_client *cl)
{
	return &cl->entries[cl->depth - 1];
}

static int
wait_compare(struct counter_client *one, struct counter_client *other)
{
	const struct counter_entry *a = counter_newest(one);
	const struct counter_entry *b = counter_newest(other);

	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	if (a->workers != b->workers)
		return a->workers < b->workers ? -1 : 1;
	return one->turn < other->turn ? -1 : one->turn > other->turn;
}

RB_GENERATE_STATIC(counter_keys, counter_key, node, key_compare)
RB_GENERATE_STATIC(counter_waits, counter_client, wait, wait_compare)

/* --- keys ----------------------------------------------------------------- */

/*
 * A new key, without holders; NULL: there are as many as there may be, or there
 * is no memory.
 */
static struct counter_key *
key_add(struct counter *c, const struct counter_request *r, uint32_t most)
{
	struct counter_key *k =
	    c->figures->keys < most ? malloc(sizeof(*k) + r->len) : NULL;

	if (k == NULL)
		return NULL;
	*k = (struct counter_key){ .len = r->len,
		.text = memcpy(k + 1, r->key, r->len) };
	ilist_init(&k->any);
	(void)RB_INSERT(counter_keys, &c->keys, k);
	c->figures->keys++;
	return k;
}

static void
key_drop(struct counter *c, struct counter_key *k)
{
	if (k->holders != 0 || k->waiters != 0)
		return;
	(void)RB_REMOVE(counter_keys, &c->keys, k);
	free(k);
	c->figures->keys--;
}

/* --- memory --------------------------------------------------------------- */

/* Lays the tables out in the memory; gives the bytes that takes. */
static size_t
counter_lay_out(struct counter *c, const struct counter_limits *l, char *memory)
{
	size_t used = 0, clients = l->clients;

	LAYOUT_CARVE(c->clients, memory, &used, clients);
	LAYOUT_CARVE(c->links, memory, &used, clients);
	deadlines_carve(&c->waits, memory, &used, l->clients);
	return used;
}

bool
counter_init(struct counter *c, const struct counter_limits *limits,
    struct counter_figures *figures,
    void (*say)(struct counter *, uint32_t client, enum counter_word),
    tstamp now)
{
	/* Untouched pages take no memory: calloc(), as that of a map is. */
	*c = (struct counter){
		.limits = *limits,
		.memory = calloc(1, counter_lay_out(c, limits, NULL)),
		.figures = figures,
		.say = say,
		.now = now,
	};
	if (c->memory == NULL)
		return false;
	(void)counter_lay_out(c, limits, c->memory);
	ilist_init(&c->free_clients);
	counter_limit(c, limits);
	return true;
}

void
counter_fini(struct counter *c)
{
	struct counter_key *k;

	while ((k = RB_ROOT(&c->keys)) != NULL) {
		(void)RB_REMOVE(counter_keys, &c->keys, k);
		free(k);
	}
	free(c->memory);
	c->memory = NULL;
}

void
counter_limit(struct counter *c, const struct counter_limits *ceilings)
{
	assert(ceilings->clients <= c->limits.clients &&
	    ceilings->keys <= c->limits.keys);
	c->ceilings = *ceilings;
	c->figures->max_clients = ceilings->clients;
	c->figures->max_keys = ceilings->keys;
}

static void
counter_at(struct counter *c, tstamp now)
{
	assert(now >= c->now);
	c->now = now;
}

/* --- entries -------------------------------------------------------------- */

/* How long the entry has been held, or has waited, in microseconds. */
static uint64_t
counter_age(const struct counter *c, const struct counter_entry *e)
{
	return (uint64_t)(c->now - e->since) / 1000;
}

static uint32_t
counter_number(const struct counter *c, const struct counter_client *cl)
{
	return (uint32_t)(cl - c->clients);
}

/* A new entry, the newest; it is to be locked or enqueued. */
static void
counter_push(struct counter *c, struct counter_client *cl,
    struct counter_key *key, uint32_t workers)
{
	assert(cl->depth < COUNTER_STACK);
	cl->entries[cl->depth++] = (struct counter_entry){
		.since = c->now, .key = key, .workers = workers
	};
}

static void
counter_pop(struct counter_client *cl, struct counter_entry *e)
{
	memmove(e, e + 1, (char *)counter_newest(cl) - (char *)e);
	cl->depth--;
}

/* The client waits, behind all who wait for the key under the same limit. */
static void
counter_enqueue(
    struct counter *c, struct counter_client *cl, bool any, tspan timeout)
{
	const uint32_t client = counter_number(c, cl);
	struct counter_entry *e = counter_newest(cl);

	e->state = any ? COUNTER_ANY : COUNTER_ME;
	cl->turn = c->nwaits++;
	(void)RB_INSERT(counter_waits, &e->key->waits, cl);
	if (any)
		ilist_push_back(&e->key->any, c->links, client);
	e->key->waiters++;
	deadlines_set(&c->waits, client, tstamp_add(c->now, timeout));
	c->figures->waiting++;
}

static void
counter_dequeue(struct counter *c, struct counter_client *cl)
{
	const uint32_t client = counter_number(c, cl);
	struct counter_entry *e = counter_newest(cl);

	(void)RB_REMOVE(counter_waits, &e->key->waits, cl);
	if (e->state == COUNTER_ANY)
		ilist_remove(&e->key->any, c->links, client);
	e->key->waiters--;
	deadlines_set(&c->waits, client, TSTAMP_NEVER);
	c->figures->waiting--;
}

/* The client holds a place, which is among the holders of its key. */
static void
counter_lock(struct counter *c, struct counter_client *cl)
{
	struct counter_entry *e = counter_newest(cl);

	e->state = COUNTER_HELD;
	e->since = c->now;
	c->figures->held++;
	c->figures->acquired++;
	c->say(c, counter_number(c, cl), COUNTER_LOCKED);
}

/* --- ends ----------------------------------------------------------------- */

static void
counter_withdraw(struct counter *c, struct counter_client *cl)
{
	struct counter_key *key = counter_newest(cl)->key;

	counter_dequeue(c, cl);
	counter_pop(cl, counter_newest(cl));
	key_drop(c, key);
}

/* The first of the clients that may have the place of a holder; or NULL. */
static struct counter_client *
counter_heir(struct counter_key *k, enum counter_state state)
{
	struct counter_client least = { .depth = 1,
		.entries[0] = {
		    .state = (uint8_t)state, .workers = k->holders } };
	struct counter_client *cl = RB_NFIND(counter_waits, &k->waits, &least);
	const struct counter_entry *e = cl == NULL ? NULL : counter_newest(cl);

	return e != NULL && e->state == state && e->workers == k->holders
	    ? cl
	    : NULL;
}

/* Gives the place of a holder that has gone to a waiter, if one may have it. */
static void
counter_hand_over(struct counter *c, struct counter_key *k, bool also_any)
{
	struct counter_client *heir = counter_heir(k, COUNTER_ME);
	uint64_t *time = &c->figures->me_time;

	if (heir == NULL && also_any) {
		heir = counter_heir(k, COUNTER_ANY);
		time = &c->figures->any_time;
	}
	if (heir == NULL) {
		k->holders--;
		key_drop(c, k);
		return;
	}
	*time += counter_age(c, counter_newest(heir));
	counter_dequeue(c, heir);
	counter_lock(c, heir);
}

/*
 * A lock ends; released: by its holder, and not by its leaving. Then all who
 * wait for the result are told that it is there.
 */
static void
counter_unlock(struct counter *c, struct counter_client *cl,
    struct counter_entry *e, bool released)
{
	struct counter_key *key = e->key;
	const uint64_t worked = counter_age(c, e);

	c->figures->processing_time += worked;
	c->figures->processed++;
	c->figures->held--;
	counter_pop(cl, e);
	while (released && !ilist_empty(&key->any)) {
		const uint32_t n = key->any.first;
		struct counter_client *waiter = &c->clients[n];

		c->figures->good_time += counter_age(c, counter_newest(waiter));
		c->figures->gained_time += worked;
		counter_dequeue(c, waiter);
		counter_pop(waiter, counter_newest(waiter));
		c->say(c, n, COUNTER_DONE);
	}
	counter_hand_over(c, key, !released);
}

static void
counter_end(struct counter *c, struct counter_client *cl,
    struct counter_entry *e, bool released)
{
	if (e->state != COUNTER_HELD)
		counter_withdraw(c, cl);
	else
		counter_unlock(c, cl, e, released);
}

/* --- clients -------------------------------------------------------------- */

uint32_t
counter_opened(struct counter *c, bool own, tstamp now)
{
	uint32_t n = c->free_clients.first;

	counter_at(c, now);
	if ((!own && c->figures->clients >= c->ceilings.clients) ||
	    (n == ILIST_NONE && c->nclients == c->limits.clients))
		return ILIST_NONE;
	if (n == ILIST_NONE)
		n = c->nclients++;
	else
		ilist_remove(&c->free_clients, c->links, n);
	c->clients[n] = (struct counter_client){ .open = true, .own = own };
	c->figures->clients += !own;
	return n;
}

void
counter_closed(struct counter *c, uint32_t client, tstamp now)
{
	struct counter_client *cl = &c->clients[client];

	assert(cl->open);
	counter_at(c, now);
	while (cl->depth > 0)
		counter_end(c, cl, counter_newest(cl), false);
	cl->open = false;
	c->figures->clients -= !cl->own;
	ilist_push_front(&c->free_clients, c->links, client);
}

void
counter_acquire(struct counter *c, uint32_t client,
    const struct counter_request *r, tstamp now)
{
	struct counter_client *cl = &c->clients[client];
	const uint32_t most = cl->own ? c->limits.keys : c->ceilings.keys;
	struct counter_key wanted = { .len = r->len, .text = r->key };
	uint32_t holders = 0, waiters = 0;
	struct counter_key *key;

	assert(cl->open && r->len > 0 && r->len <= COUNTER_KEY_MAX);
	counter_at(c, now);
	if (cl->depth > 0 && counter_newest(cl)->state != COUNTER_HELD) {
		c->figures->lock_while_waiting++;
		c->say(c, client, COUNTER_WAIT_FOR_RESPONSE);
		return;
	}
	if (cl->depth == COUNTER_STACK) {
		c->figures->lock_mismatch++;
		c->say(c, client, COUNTER_LOCK_HELD);
		return;
	}
	key = RB_FIND(counter_keys, &c->keys, &wanted);
	if (key != NULL) {
		holders = key->holders;
		waiters = key->waiters;
	}
	if (holders + waiters >= r->maxqueue) {
		c->figures->full_queues++;
		c->say(c, client, COUNTER_QUEUE_FULL);
	} else if (key == NULL && (key = key_add(c, r, most)) == NULL) {
		c->figures->full_tables++;
		c->say(c, client, COUNTER_TOO_MANY_KEYS);
	} else if (holders < r->workers) {
		/* A place is free, and may be the first of a new key. */
		key->holders++;
		counter_push(c, cl, key, r->workers);
		counter_lock(c, cl);
	} else if (r->timeout <= 0) {
		c->say(c, client, COUNTER_TIMEOUT);
	} else {
		counter_push(c, cl, key, r->workers);
		counter_enqueue(c, cl, r->any, r->timeout);
	}
}

void
counter_release(
    struct counter *c, uint32_t client, const char *key, size_t len, tstamp now)
{
	struct counter_client *cl = &c->clients[client];
	const struct counter_key wanted = { .len = len, .text = key };
	unsigned left = cl->depth;

	assert(cl->open);
	counter_at(c, now);
	while (left-- > 0) {
		struct counter_entry *e = &cl->entries[left];

		if (len != 0 && key_compare(e->key, &wanted) != 0)
			continue;
		c->figures->releases++;
		counter_end(c, cl, e, true);
		c->say(c, client, COUNTER_RELEASED);
		return;
	}
	c->figures->release_mismatch++;
	c->say(c, client, COUNTER_NOT_LOCKED);
}

/* --- time ----------------------------------------------------------------- */

void
counter_tick(struct counter *c, tstamp now)
{
	struct counter_client *cl;
	uint32_t client;

	counter_at(c, now);
	while (deadlines_first(&c->waits, &client) <= now) {
		cl = &c->clients[client];
		c->figures->wasted_time += counter_age(c, counter_newest(cl));
		counter_withdraw(c, cl);
		c->say(c, client, COUNTER_TIMEOUT);
	}
}
