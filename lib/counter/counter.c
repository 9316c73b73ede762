/* The counter: its clients, what they ask, and what becomes of it. */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "counter/counter.h"

/* libbsd's tree.h uses it in static functions and does not define it. */
#ifndef __unused
#define __unused __attribute__((unused))
#endif

/* --- order ---------------------------------------------------------------- */

/* A tree whose height has a bound: no client can choose keys that are slow. */
static int
key_compare(const struct counter_key *a, const struct counter_key *b)
{
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return memcmp(a->text, b->text, a->len);
}

static int
wait_compare(const struct counter_entry *a, const struct counter_entry *b)
{
	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	if (a->workers != b->workers)
		return a->workers < b->workers ? -1 : 1;
	return a->turn < b->turn ? -1 : a->turn > b->turn;
}

RB_GENERATE_STATIC(counter_keys, counter_key, node, key_compare)
RB_GENERATE_STATIC(counter_waits, counter_entry, wait, wait_compare)

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
	size_t entries = clients * COUNTER_STACK;

	LAYOUT_CARVE(c->clients, memory, &used, clients);
	LAYOUT_CARVE(c->entries, memory, &used, entries);
	LAYOUT_CARVE(c->client_links, memory, &used, clients);
	LAYOUT_CARVE(c->entry_links, memory, &used, entries);
	LAYOUT_CARVE(c->replies, memory, &used, clients + COUNTER_STACK);
	deadlines_carve(&c->waits, memory, &used, l->clients);
	return used;
}

bool
counter_init(struct counter *c, const struct counter_limits *limits,
    struct counter_figures *figures, tstamp now)
{
	/* Untouched pages take no memory: calloc(), as that of a map is. */
	*c = (struct counter){
		.limits = *limits,
		.memory = calloc(1, counter_lay_out(c, limits, NULL)),
		.figures = figures,
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

/* --- replies -------------------------------------------------------------- */

static void
counter_at(struct counter *c, tstamp now)
{
	assert(now >= c->now && c->nreplies == 0);
	c->now = now;
	c->first_reply = 0;
}

/*
 * A fact brings each client one reply at most, and the client it is about up
 * to COUNTER_STACK more.
 */
static void
counter_say(struct counter *c, uint32_t client, enum counter_word word)
{
	assert(c->nreplies < c->limits.clients + COUNTER_STACK);
	c->replies[c->nreplies++] =
	    (struct counter_reply){ .client = client, .word = (uint8_t)word };
}

bool
counter_next_reply(struct counter *c, struct counter_reply *out)
{
	if (c->first_reply == c->nreplies) {
		c->first_reply = c->nreplies = 0;
		return false;
	}
	*out = c->replies[c->first_reply++];
	return true;
}

/* --- entries -------------------------------------------------------------- */

static uint32_t
counter_entry_at(const struct counter *c, uint32_t client, unsigned depth)
{
	return client * COUNTER_STACK + c->clients[client].stack[depth];
}

static uint32_t
counter_newest(const struct counter *c, uint32_t client)
{
	return counter_entry_at(c, client, c->clients[client].depth - 1u);
}

static bool
counter_waits(const struct counter_entry *e)
{
	return e->state == COUNTER_ME || e->state == COUNTER_ANY;
}

/* How long the entry has been held, or has waited, in microseconds. */
static uint64_t
counter_age(const struct counter *c, uint32_t entry)
{
	return (uint64_t)(c->now - c->entries[entry].since) / 1000;
}

/* A new entry, on top of the stack; it is to be locked or enqueued. */
static uint32_t
counter_push(struct counter *c, uint32_t client, struct counter_key *key,
    uint32_t workers)
{
	struct counter_client *cl = &c->clients[client];
	uint32_t n = counter_entry_at(c, client, cl->depth);

	assert(cl->depth < COUNTER_STACK);
	cl->depth++;
	c->entries[n].since = c->now;
	c->entries[n].key = key;
	c->entries[n].workers = workers;
	return n;
}

static void
counter_pop(struct counter *c, uint32_t entry)
{
	struct counter_client *cl = &c->clients[entry / COUNTER_STACK];
	uint8_t slot = (uint8_t)(entry % COUNTER_STACK);
	unsigned i = 0;

	while (cl->stack[i] != slot)
		i++;
	cl->depth--;
	for (; i < cl->depth; i++)
		cl->stack[i] = cl->stack[i + 1];
	cl->stack[i] = slot;
	c->entries[entry].state = COUNTER_FREE;
}

/* The entry waits, behind all who wait for its key under the same limit. */
static void
counter_enqueue(struct counter *c, uint32_t entry, bool any, tspan timeout)
{
	struct counter_entry *e = &c->entries[entry];

	e->state = any ? COUNTER_ANY : COUNTER_ME;
	e->turn = c->nwaits++;
	(void)RB_INSERT(counter_waits, &e->key->waits, e);
	if (any)
		ilist_push_back(&e->key->any, c->entry_links, entry);
	e->key->waiters++;
	deadlines_set(
	    &c->waits, entry / COUNTER_STACK, tstamp_add(c->now, timeout));
	c->figures->waiting++;
}

static void
counter_dequeue(struct counter *c, uint32_t entry)
{
	struct counter_entry *e = &c->entries[entry];

	(void)RB_REMOVE(counter_waits, &e->key->waits, e);
	if (e->state == COUNTER_ANY)
		ilist_remove(&e->key->any, c->entry_links, entry);
	e->key->waiters--;
	deadlines_set(&c->waits, entry / COUNTER_STACK, TSTAMP_NEVER);
	c->figures->waiting--;
}

/* The entry holds a place, which is among the holders of its key. */
static void
counter_lock(struct counter *c, uint32_t entry)
{
	struct counter_entry *e = &c->entries[entry];

	e->state = COUNTER_HELD;
	e->since = c->now;
	c->figures->held++;
	c->figures->acquired++;
	counter_say(c, entry / COUNTER_STACK, COUNTER_LOCKED);
}

/* --- ends ----------------------------------------------------------------- */

static void
counter_withdraw(struct counter *c, uint32_t entry)
{
	struct counter_key *key = c->entries[entry].key;

	counter_dequeue(c, entry);
	counter_pop(c, entry);
	key_drop(c, key);
}

/* The first of the clients that may have the place of a holder; or NULL. */
static struct counter_entry *
counter_heir(struct counter_key *k, enum counter_state state)
{
	struct counter_entry least = { .state = (uint8_t)state,
		.workers = k->holders };
	struct counter_entry *e = RB_NFIND(counter_waits, &k->waits, &least);

	return e != NULL && e->state == state && e->workers == k->holders
	    ? e
	    : NULL;
}

/* Gives the place of a holder that has gone to a waiter, if one may have it. */
static void
counter_hand_over(struct counter *c, struct counter_key *k, bool also_any)
{
	struct counter_entry *e = counter_heir(k, COUNTER_ME);
	uint32_t heir;

	if (e == NULL && also_any)
		e = counter_heir(k, COUNTER_ANY);
	if (e == NULL) {
		k->holders--;
		key_drop(c, k);
		return;
	}
	heir = (uint32_t)(e - c->entries);
	if (e->state == COUNTER_ME)
		c->figures->me_time += counter_age(c, heir);
	else
		c->figures->any_time += counter_age(c, heir);
	counter_dequeue(c, heir);
	counter_lock(c, heir);
}

/*
 * A lock ends; released: by its holder, and not by its leaving. Then all who
 * wait for the result are told that it is there.
 */
static void
counter_unlock(struct counter *c, uint32_t entry, bool released)
{
	struct counter_key *key = c->entries[entry].key;
	const struct ilist *any = &key->any;
	uint32_t n;
	uint64_t worked = counter_age(c, entry);

	c->figures->processing_time += worked;
	c->figures->processed++;
	c->figures->held--;
	counter_pop(c, entry);
	while (released && !ilist_empty(any)) {
		n = any->first;
		c->figures->good_time += counter_age(c, n);
		c->figures->gained_time += worked;
		counter_dequeue(c, n);
		counter_pop(c, n);
		counter_say(c, n / COUNTER_STACK, COUNTER_DONE);
	}
	counter_hand_over(c, key, !released);
}

static void
counter_end(struct counter *c, uint32_t entry, bool released)
{
	if (counter_waits(&c->entries[entry]))
		counter_withdraw(c, entry);
	else
		counter_unlock(c, entry, released);
}

/* --- clients -------------------------------------------------------------- */

uint32_t
counter_opened(struct counter *c, bool own, tstamp now)
{
	uint32_t n = c->free_clients.first;
	struct counter_client *cl;

	counter_at(c, now);
	if ((!own && c->figures->clients >= c->ceilings.clients) ||
	    (n == ILIST_NONE && c->nclients == c->limits.clients))
		return ILIST_NONE;
	if (n == ILIST_NONE)
		n = c->nclients++;
	else
		ilist_remove(&c->free_clients, c->client_links, n);
	cl = &c->clients[n];
	*cl = (struct counter_client){ .open = true, .own = own };
	c->figures->clients += !own;
	for (unsigned i = 0; i < COUNTER_STACK; i++)
		cl->stack[i] = (uint8_t)i;
	return n;
}

void
counter_closed(struct counter *c, uint32_t client, tstamp now)
{
	struct counter_client *cl = &c->clients[client];

	assert(cl->open);
	counter_at(c, now);
	while (cl->depth > 0)
		counter_end(c, counter_newest(c, client), false);
	cl->open = false;
	c->figures->clients -= !cl->own;
	ilist_push_front(&c->free_clients, c->client_links, client);
}

void
counter_acquire(struct counter *c, uint32_t client,
    const struct counter_request *r, tstamp now)
{
	const struct counter_client *cl = &c->clients[client];
	const uint32_t most = cl->own ? c->limits.keys : c->ceilings.keys;
	struct counter_key wanted = { .len = r->len, .text = r->key };
	uint32_t holders = 0, waiters = 0;
	struct counter_key *key;

	assert(cl->open && r->len > 0 && r->len <= COUNTER_KEY_MAX);
	counter_at(c, now);
	if (cl->depth > 0 &&
	    counter_waits(&c->entries[counter_newest(c, client)])) {
		c->figures->lock_while_waiting++;
		counter_say(c, client, COUNTER_WAIT_FOR_RESPONSE);
		return;
	}
	if (cl->depth == COUNTER_STACK) {
		c->figures->lock_mismatch++;
		counter_say(c, client, COUNTER_LOCK_HELD);
		return;
	}
	key = RB_FIND(counter_keys, &c->keys, &wanted);
	if (key != NULL) {
		holders = key->holders;
		waiters = key->waiters;
	}
	if (holders + waiters >= r->maxqueue) {
		c->figures->full_queues++;
		counter_say(c, client, COUNTER_QUEUE_FULL);
	} else if (key == NULL && (key = key_add(c, r, most)) == NULL) {
		c->figures->full_tables++;
		counter_say(c, client, COUNTER_TOO_MANY_KEYS);
	} else if (holders < r->workers) {
		/* A place is free, and may be the first of a new key. */
		key->holders++;
		counter_lock(c, counter_push(c, client, key, r->workers));
	} else if (r->timeout <= 0) {
		counter_say(c, client, COUNTER_TIMEOUT);
	} else {
		counter_enqueue(c, counter_push(c, client, key, r->workers),
		    r->any, r->timeout);
	}
}

void
counter_release(
    struct counter *c, uint32_t client, const char *key, size_t len, tstamp now)
{
	const struct counter_client *cl = &c->clients[client];
	const struct counter_key wanted = { .len = len, .text = key };
	unsigned left = cl->depth;

	assert(cl->open);
	counter_at(c, now);
	while (left-- > 0) {
		uint32_t n = counter_entry_at(c, client, left);

		if (len != 0 && key_compare(c->entries[n].key, &wanted) != 0)
			continue;
		c->figures->releases++;
		counter_end(c, n, true);
		counter_say(c, client, COUNTER_RELEASED);
		return;
	}
	c->figures->release_mismatch++;
	counter_say(c, client, COUNTER_NOT_LOCKED);
}

/* --- time ----------------------------------------------------------------- */

void
counter_tick(struct counter *c, tstamp now)
{
	uint32_t client, n;

	counter_at(c, now);
	while (deadlines_first(&c->waits, &client) <= now) {
		n = counter_newest(c, client);
		c->figures->wasted_time += counter_age(c, n);
		counter_withdraw(c, n);
		counter_say(c, client, COUNTER_TIMEOUT);
	}
}
