/* What clients ask of the counter, and what becomes of it. */

#include <assert.h>

#include "core/counter_private.h"

static const char *const counter_words[COUNTER_WORDS] = {
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

const char *
counter_word_text(enum counter_word word)
{
	return counter_words[word];
}

/* --- replies ------------------------------------------------------------ */

static void
counter_at(struct counter *c, tstamp now)
{
	assert(now >= c->now && c->nreplies == 0);
	c->now = now;
	c->first_reply = 0;
}

void
counter_reply(struct counter *c, uint32_t client, enum counter_word word)
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

/* --- clients ------------------------------------------------------------ */

uint32_t
counter_clients(const struct counter *c)
{
	return c->nclients - c->free_clients.count;
}

uint32_t
counter_opened(struct counter *c, tstamp now)
{
	uint32_t n = c->free_clients.first;
	struct counter_client *cl;

	counter_at(c, now);
	if (counter_clients(c) >= c->in_force.clients)
		return ILIST_NONE;
	if (n == ILIST_NONE)
		n = c->nclients++;
	else
		ilist_remove(&c->free_clients, c->client_links, n);
	cl = &c->clients[n];
	*cl = (struct counter_client){ .open = true };
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
		counter_end(
		    c, counter_entry_at(c, client, cl->depth - 1u), false);
	cl->open = false;
	ilist_push_front(&c->free_clients, c->client_links, client);
}

/* --- requests ----------------------------------------------------------- */

/* There is a free place, which may be the first of a new key. */
static void
counter_take(struct counter *c, uint32_t client, uint32_t key, uint32_t hash,
    const struct counter_request *r)
{
	if (key == ILIST_NONE) {
		if (c->used_keys >= c->in_force.keys) {
			c->figures.full_tables++;
			counter_reply(c, client, COUNTER_TOO_MANY_KEYS);
			return;
		}
		key = counter_add(c, hash, r->key, r->len);
	}
	c->keys[key].holders++;
	counter_lock(c, counter_push(c, client, key, r->workers));
}

void
counter_acquire(struct counter *c, uint32_t client,
    const struct counter_request *r, tstamp now)
{
	const struct counter_client *cl = &c->clients[client];
	uint32_t hash, key, holders = 0, waiters = 0;

	assert(cl->open && r->len > 0 && r->len <= COUNTER_KEY_MAX);
	counter_at(c, now);
	if (counter_waits(c, client)) {
		c->figures.lock_while_waiting++;
		counter_reply(c, client, COUNTER_WAIT_FOR_RESPONSE);
		return;
	}
	if (cl->depth == COUNTER_STACK) {
		c->figures.lock_mismatch++;
		counter_reply(c, client, COUNTER_LOCK_HELD);
		return;
	}
	hash = counter_hash(c, r->key, r->len);
	key = counter_find(c, hash, r->key, r->len);
	if (key != ILIST_NONE) {
		holders = c->keys[key].holders;
		waiters = counter_waiters(&c->keys[key]);
	}
	if (holders + waiters >= r->maxqueue) {
		c->figures.full_queues++;
		counter_reply(c, client, COUNTER_QUEUE_FULL);
	} else if (holders < r->workers) {
		counter_take(c, client, key, hash, r);
	} else if (r->timeout <= 0) {
		counter_reply(c, client, COUNTER_TIMEOUT);
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
	unsigned left = cl->depth;

	assert(cl->open);
	counter_at(c, now);
	while (left-- > 0) {
		uint32_t n = counter_entry_at(c, client, left);

		if (len != 0 && !counter_is_key(c, c->entries[n].key, key, len))
			continue;
		c->figures.releases++;
		counter_end(c, n, true);
		counter_reply(c, client, COUNTER_RELEASED);
		return;
	}
	c->figures.release_mismatch++;
	counter_reply(c, client, COUNTER_NOT_LOCKED);
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

	counter_at(c, now);
	while (deadlines_first(&c->waits, &client) <= now) {
		n = counter_entry_at(c, client, c->clients[client].depth - 1u);
		counter_expire(c, n);
	}
}
