/* The counter: its clients, what they ask, and what becomes of it. */

#include <assert.h>
#include <string.h>

#include "core/counter.h"
#include "core/layout.h"

const char *
counter_word_text(enum counter_word word)
{
	static const char *const words[COUNTER_WORDS] = {
		[COUNTER_LOCKED] = "LOCKED",
		[COUNTER_DONE] = "DONE",
		[COUNTER_QUEUE_FULL] = "QUEUE_FULL",
		[COUNTER_TIMEOUT] = "TIMEOUT",
		[COUNTER_LOCK_HELD] = "LOCK_HELD",
		[COUNTER_NOT_LOCKED] = "NOT_LOCKED",
		[COUNTER_RELEASED] = "RELEASED",
		[COUNTER_WAIT_FOR_RESPONSE] = "ERROR WAIT_FOR_RESPONSE",
		[COUNTER_TOO_MANY_KEYS] = "ERROR TOO_MANY_KEYS",
	};

	return words[word];
}

/* --- memory ------------------------------------------------------------- */

static uint32_t
bucket_count(uint32_t entries)
{
	uint32_t n = 16;

	while (n < entries && n < 1u << 31)
		n *= 2;
	return n;
}

/* Lays the tables out in the memory; gives the bytes that takes. */
static size_t
lay_out(struct counter *c, const struct counter_limits *l, char *memory)
{
	uint32_t all_clients = l->clients + l->apart;
	uint32_t all_keys = l->keys + l->apart;
	size_t used = 0, clients = all_clients, keys = all_keys;
	size_t entries = clients * COUNTER_STACK;
	uint32_t buckets = bucket_count(all_keys);
	uint32_t rank_buckets = bucket_count(all_clients);
	void *at;

	c->limits = *l;
	c->bucket_mask = buckets - 1;
	c->rank_mask = rank_buckets - 1;
	c->clients = layout_carve(memory, &used, clients * sizeof(*c->clients));
	c->entries = layout_carve(memory, &used, entries * sizeof(*c->entries));
	c->client_links =
	    layout_carve(memory, &used, clients * sizeof(struct ilink));
	c->entry_links =
	    layout_carve(memory, &used, entries * sizeof(struct ilink));
	c->replies = layout_carve(
	    memory, &used, (clients + COUNTER_STACK) * sizeof(*c->replies));
	c->keys = layout_carve(memory, &used, keys * sizeof(*c->keys));
	c->chunks = layout_carve(
	    memory, &used, keys * COUNTER_CHUNKS * sizeof(*c->chunks));
	c->buckets = layout_carve(memory, &used, buckets * sizeof(*c->buckets));
	c->ranks = layout_carve(memory, &used, clients * sizeof(*c->ranks));
	c->rank_buckets = layout_carve(
	    memory, &used, rank_buckets * sizeof(*c->rank_buckets));
	at = layout_carve(memory, &used, deadlines_memory(all_clients));
	if (at != NULL)
		deadlines_init(&c->waits, at, all_clients);
	return used;
}

size_t
counter_memory(const struct counter_limits *limits)
{
	struct counter none = { 0 };

	return lay_out(&none, limits, NULL);
}

void
counter_init(struct counter *c, const struct counter_limits *limits,
    void *memory, const struct siphash_seed *seed, tstamp now)
{
	memset(c, 0, sizeof(*c));
	(void)lay_out(c, limits, memory);
	ilist_init(&c->free_clients);
	c->in_force = *limits;
	c->seed = *seed;
	c->now = now;
}

void
counter_move(
    struct counter *c, const struct counter_limits *limits, void *memory)
{
	struct counter to = *c;

	assert(limits->clients >= c->limits.clients &&
	    limits->keys >= c->limits.keys &&
	    limits->apart >= c->limits.apart && c->nreplies == 0);
	(void)lay_out(&to, limits, memory);
	memcpy(to.clients, c->clients, c->nclients * sizeof(*c->clients));
	memcpy(to.entries, c->entries,
	    c->nclients * COUNTER_STACK * sizeof(*c->entries));
	memcpy(to.client_links, c->client_links,
	    c->nclients * sizeof(struct ilink));
	memcpy(to.entry_links, c->entry_links,
	    c->nclients * COUNTER_STACK * sizeof(struct ilink));
	memcpy(to.keys, c->keys, c->nkeys * sizeof(*c->keys));
	memcpy(to.chunks, c->chunks, c->nchunks * sizeof(*c->chunks));
	memcpy(to.ranks, c->ranks, c->nranks * sizeof(*c->ranks));
	deadlines_copy(&c->waits, &to.waits, c->nclients);
	counter_keys_rehash(&to);
	*c = to;
}

void
counter_resize(struct counter *c, const struct counter_limits *limits)
{
	assert(limits->clients <= c->limits.clients &&
	    limits->keys <= c->limits.keys && limits->apart <= c->limits.apart);
	c->in_force = *limits;
}

/* --- replies ------------------------------------------------------------ */

static void
at(struct counter *c, tstamp now)
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
reply(struct counter *c, uint32_t client, enum counter_word word)
{
	assert(
	    c->nreplies < c->limits.clients + c->limits.apart + COUNTER_STACK);
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

/* --- entries ------------------------------------------------------------ */

static uint32_t
client_of(uint32_t entry)
{
	return entry / COUNTER_STACK;
}

/* The entry at this depth of the client's stack. */
static uint32_t
entry_at(const struct counter *c, uint32_t client, unsigned depth)
{
	return client * COUNTER_STACK + c->clients[client].stack[depth];
}

/* The client's newest entry. */
static uint32_t
top_entry(const struct counter *c, uint32_t client)
{
	return entry_at(c, client, c->clients[client].depth - 1u);
}

static bool
is_waiting(const struct counter_entry *e)
{
	return e->state == COUNTER_ME || e->state == COUNTER_ANY;
}

/* A new entry, on top of the stack; it is to be locked or enqueued. */
static uint32_t
push(struct counter *c, uint32_t client, uint32_t key, uint32_t workers)
{
	struct counter_client *cl = &c->clients[client];
	uint32_t n = entry_at(c, client, cl->depth);

	assert(cl->depth < COUNTER_STACK);
	cl->depth++;
	c->entries[n].since = c->now;
	c->entries[n].key = key;
	c->entries[n].workers = workers;
	return n;
}

/* Takes the entry off its client's stack, wherever it stands there. */
static void
pop(struct counter *c, uint32_t entry)
{
	struct counter_client *cl = &c->clients[client_of(entry)];
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

/* How long the entry has been held, or has waited, in microseconds. */
static uint64_t
age(const struct counter *c, uint32_t entry)
{
	return (uint64_t)(c->now - c->entries[entry].since) / 1000;
}

static void
enqueue(struct counter *c, uint32_t entry, bool any, tspan timeout)
{
	c->entries[entry].state = any ? COUNTER_ANY : COUNTER_ME;
	counter_keys_join(c, entry);
	deadlines_set(&c->waits, client_of(entry), tstamp_add(c->now, timeout));
	c->figures.waiting++;
}

static void
dequeue(struct counter *c, uint32_t entry)
{
	counter_keys_leave(c, entry);
	deadlines_set(&c->waits, client_of(entry), TSTAMP_NEVER);
	c->figures.waiting--;
}

/* The entry holds a place, which is among the holders of its key. */
static void
lock(struct counter *c, uint32_t entry)
{
	struct counter_entry *e = &c->entries[entry];

	e->state = COUNTER_HELD;
	e->since = c->now;
	c->figures.held++;
	c->figures.acquired++;
	reply(c, client_of(entry), COUNTER_LOCKED);
}

/* --- ends --------------------------------------------------------------- */

/* A wait ends without a lock. */
static void
withdraw(struct counter *c, uint32_t entry)
{
	uint32_t key = c->entries[entry].key;

	dequeue(c, entry);
	pop(c, entry);
	counter_keys_drop(c, key);
}

/* Gives the place of a holder that has gone to a waiter, if one may have it. */
static void
hand_over(struct counter *c, uint32_t key, bool also_any)
{
	struct counter_key *k = &c->keys[key];
	uint32_t client = counter_keys_heir(c, key, COUNTER_ME, k->holders);
	uint32_t heir;

	if (client == ILIST_NONE && also_any)
		client = counter_keys_heir(c, key, COUNTER_ANY, k->holders);
	if (client == ILIST_NONE) {
		k->holders--;
		counter_keys_drop(c, key);
		return;
	}
	heir = top_entry(c, client);
	if (c->entries[heir].state == COUNTER_ME)
		c->figures.me_time += age(c, heir);
	else
		c->figures.any_time += age(c, heir);
	dequeue(c, heir);
	lock(c, heir);
}

/* Tells all clients that wait for the result that it is there. */
static void
wake_all(struct counter *c, uint32_t key, uint64_t worked)
{
	struct counter_key *k = &c->keys[key];

	while (!ilist_empty(&k->any)) {
		uint32_t n = k->any.first;

		c->figures.good_time += age(c, n);
		c->figures.gained_time += worked;
		dequeue(c, n);
		pop(c, n);
		reply(c, client_of(n), COUNTER_DONE);
	}
}

/* A lock ends; released: by its holder, and not by its leaving. */
static void
unlock(struct counter *c, uint32_t entry, bool released)
{
	uint32_t key = c->entries[entry].key;
	uint64_t worked = age(c, entry);

	c->figures.processing_time += worked;
	c->figures.processed++;
	c->figures.held--;
	pop(c, entry);
	if (released)
		wake_all(c, key, worked);
	hand_over(c, key, !released);
}

/* A lock or a wait ends. */
static void
end(struct counter *c, uint32_t entry, bool released)
{
	if (is_waiting(&c->entries[entry]))
		withdraw(c, entry);
	else
		unlock(c, entry, released);
}

/* --- clients ------------------------------------------------------------ */

uint32_t
counter_clients(const struct counter *c)
{
	return c->nclients - c->free_clients.count - c->apart;
}

/* Lets a client in, for whom there is room. */
static uint32_t
let_in(struct counter *c, bool apart)
{
	uint32_t n = c->free_clients.first;
	struct counter_client *cl;

	if (n == ILIST_NONE)
		n = c->nclients++;
	else
		ilist_remove(&c->free_clients, c->client_links, n);
	cl = &c->clients[n];
	*cl = (struct counter_client){ .open = true, .apart = apart };
	c->apart += apart;
	for (unsigned i = 0; i < COUNTER_STACK; i++)
		cl->stack[i] = (uint8_t)i;
	return n;
}

uint32_t
counter_opened(struct counter *c, tstamp now)
{
	at(c, now);
	if (counter_clients(c) >= c->in_force.clients)
		return ILIST_NONE;
	return let_in(c, false);
}

uint32_t
counter_opened_apart(struct counter *c, tstamp now)
{
	at(c, now);
	/* As long as a former limit lasts, there may be more than apart. */
	if (counter_clients(c) + c->apart >=
	    c->limits.clients + c->limits.apart)
		return ILIST_NONE;
	return let_in(c, true);
}

void
counter_closed(struct counter *c, uint32_t client, tstamp now)
{
	struct counter_client *cl = &c->clients[client];

	assert(cl->open);
	at(c, now);
	while (cl->depth > 0)
		end(c, top_entry(c, client), false);
	cl->open = false;
	c->apart -= cl->apart;
	ilist_push_front(&c->free_clients, c->client_links, client);
}

/* --- requests ----------------------------------------------------------- */

/* Takes a free place, which may be the first of a new key. */
static void
take(struct counter *c, uint32_t client, uint32_t key, uint32_t hash,
    const struct counter_request *r)
{
	uint32_t most = c->in_force.keys;

	if (key == ILIST_NONE) {
		if (c->clients[client].apart)
			most += c->in_force.apart;
		if (c->used_keys >= most) {
			c->figures.full_tables++;
			reply(c, client, COUNTER_TOO_MANY_KEYS);
			return;
		}
		key = counter_keys_add(c, hash, r->key, r->len);
	}
	c->keys[key].holders++;
	lock(c, push(c, client, key, r->workers));
}

/* Whether the client may ask for one more lock; it is told if not. */
static bool
may_ask(struct counter *c, uint32_t client)
{
	const struct counter_client *cl = &c->clients[client];

	if (cl->depth > 0 && is_waiting(&c->entries[top_entry(c, client)])) {
		c->figures.lock_while_waiting++;
		reply(c, client, COUNTER_WAIT_FOR_RESPONSE);
		return false;
	}
	if (cl->depth == COUNTER_STACK) {
		c->figures.lock_mismatch++;
		reply(c, client, COUNTER_LOCK_HELD);
		return false;
	}
	return true;
}

void
counter_acquire(struct counter *c, uint32_t client,
    const struct counter_request *r, tstamp now)
{
	uint32_t hash, key, holders = 0, waiters = 0;

	assert(c->clients[client].open);
	assert(r->len > 0 && r->len <= COUNTER_KEY_MAX);
	at(c, now);
	if (!may_ask(c, client))
		return;
	hash = counter_keys_hash(c, r->key, r->len);
	key = counter_keys_find(c, hash, r->key, r->len);
	if (key != ILIST_NONE) {
		holders = c->keys[key].holders;
		waiters = counter_keys_waiters(&c->keys[key]);
	}
	if (holders + waiters >= r->maxqueue) {
		c->figures.full_queues++;
		reply(c, client, COUNTER_QUEUE_FULL);
	} else if (holders < r->workers) {
		take(c, client, key, hash, r);
	} else if (r->timeout <= 0) {
		reply(c, client, COUNTER_TIMEOUT);
	} else {
		enqueue(
		    c, push(c, client, key, r->workers), r->any, r->timeout);
	}
}

void
counter_release(
    struct counter *c, uint32_t client, const char *key, size_t len, tstamp now)
{
	const struct counter_client *cl = &c->clients[client];
	unsigned left = cl->depth;

	assert(cl->open);
	at(c, now);
	while (left-- > 0) {
		uint32_t n = entry_at(c, client, left);

		if (len != 0 &&
		    !counter_keys_is(c, c->entries[n].key, key, len))
			continue;
		c->figures.releases++;
		end(c, n, true);
		reply(c, client, COUNTER_RELEASED);
		return;
	}
	c->figures.release_mismatch++;
	reply(c, client, COUNTER_NOT_LOCKED);
}

/* --- time --------------------------------------------------------------- */

tstamp
counter_deadline(const struct counter *c)
{
	uint32_t client;

	return deadlines_first(&c->waits, &client);
}

void
counter_tick(struct counter *c, tstamp now)
{
	uint32_t client, n;

	at(c, now);
	while (deadlines_first(&c->waits, &client) <= now) {
		n = top_entry(c, client);
		c->figures.wasted_time += age(c, n);
		withdraw(c, n);
		reply(c, client, COUNTER_TIMEOUT);
	}
}
