/* The text of a state: records are written and read by tables of members. */

#include <sys/param.h>
#include <sys/socket.h>

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/carry.h"
#include "sys/number.h"

/* Descriptors for which there is more room at a time. */
#define FDS_ROOM 4096

/* --- members -------------------------------------------------------------- */

/* Where the bytes of a number of that size are in one of 64 bits. */
#define LOW_BYTES(n, size) \
	((char *)(n) + \
	    (BYTE_ORDER == LITTLE_ENDIAN ? 0 : sizeof(*(n)) - (size)))

/* The number of a member; of a double, and of 64 bits, the bits. */
static int64_t
number_get(const struct carry_field *f, const char *at)
{
	unsigned unused = 8 * (unsigned)(sizeof(int64_t) - f->size);
	int64_t n = 0;

	memcpy(LOW_BYTES(&n, f->size), at, f->size);
	/* Shifting there and back fills up with the sign. */
	if (f->type == CARRY_SIGNED || f->type == CARRY_DESCRIPTOR)
		n = (int64_t)((uint64_t)n << unused) >> unused;
	return n;
}

/* False: the number is none for this member. */
static bool
number_set(const struct carry_field *f, char *at, int64_t n)
{
	double d;

	if ((f->type == CARRY_BOOL && n != 0 && n != 1) ||
	    (f->type == CARRY_DESCRIPTOR && (n < -1 || n > INT_MAX / 2)))
		return false;
	memcpy(at, LOW_BYTES(&n, f->size), f->size);
	if (f->type != CARRY_DOUBLE)
		return number_get(f, at) == n;
	memcpy(&d, at, sizeof(d));
	return isfinite(d);
}

/* --- writing -------------------------------------------------------------- */

static void
put_number(struct text *t, int64_t n)
{
	char buf[NUMBER_DIGITS + 1], *end = buf + sizeof(buf), *at;

	at = number_write(end, n < 0 ? -(uint64_t)n : (uint64_t)n);
	if (n < 0)
		*--at = '-';
	text_put(t, at, (size_t)(end - at));
}

static void
put_member(struct text *t, const struct carry_field *f)
{
	text_put(t, " ", 1);
	text_puts(t, f->name);
	text_put(t, "=", 1);
}

static void
put_string(struct text *t, const struct carry_field *f, const char *s)
{
	if (s == NULL || *s == '\0')
		return;
	put_member(t, f);
	put_number(t, (int64_t)strlen(s));
	text_put(t, ":", 1);
	text_puts(t, s);
}

static void
carry_note_fd(struct carry *c, int fd)
{
	int *fds = c->fds;

	if (c->nfds % FDS_ROOM == 0)
		fds = reallocarray(fds, c->nfds + FDS_ROOM, sizeof(*fds));
	if (fds == NULL) {
		c->text.failed = true;
		return;
	}
	c->fds = fds;
	fds[c->nfds++] = fd;
}

static void
carry_note_stored(struct carry *c, const struct listener *l)
{
	struct kept_socket *kept;

	if (l->stored[0] == '\0' || l->fd == -1)
		return;
	kept = reallocarray(c->kept, c->nkept + 1, sizeof(*kept));
	if (kept == NULL) {
		c->text.failed = true;
		return;
	}
	c->kept = kept;
	kept[c->nkept++] = (struct kept_socket){ l->fd, l->stored };
}

void
carry_put(struct carry *c, enum carry_id id, uint32_t of, const void *record)
{
	const struct carry_kind *k = carry_kinds[id];
	struct text *t = &c->text;
	const char *string;

	text_puts(t, k->name);
	text_put(t, " ", 1);
	put_number(t, of);
	for (size_t i = 0; i < k->fields->len; i++) {
		const struct carry_field *f = &k->fields->list[i];
		const char *at = (const char *)record + f->offset;
		uint32_t n = f->n;

		if (f->type == CARRY_CHARS || f->type == CARRY_STORED) {
			put_string(t, f, at);
			if (f->type == CARRY_STORED)
				carry_note_stored(
				    c, LOOP_OWNER(at, struct listener, stored));
			continue;
		}
		if (f->type == CARRY_STRING) {
			memcpy(&string, at, sizeof(string));
			put_string(t, f, string);
			continue;
		}
		while (n > 0 &&
		    number_get(f, at + (size_t)(n - 1) * f->size) == f->absent)
			n--;
		if (n == 0)
			continue;
		put_member(t, f);
		for (uint32_t j = 0; j < n; j++) {
			if (j > 0)
				text_put(t, ",", 1);
			put_number(t, number_get(f, at + (size_t)j * f->size));
		}
		if (f->type == CARRY_DESCRIPTOR)
			carry_note_fd(c, (int)number_get(f, at));
	}
	text_put(t, "\n", 1);
	c->counts[id]++;
}

/* --- reading -------------------------------------------------------------- */

/* A place in a text whose last byte is a newline, and its end. */
struct reading {
	const char *at;
	const char *end;
};

/* A word ends before a blank, a newline or that byte; it may be empty. */
static struct reading
read_word(struct reading *r, char last)
{
	struct reading word = { r->at, r->at };

	while (*r->at != ' ' && *r->at != '\n' && *r->at != last)
		r->at++;
	word.end = r->at;
	return word;
}

static bool
read_is(const struct reading *word, const char *text)
{
	size_t len = (size_t)(word->end - word->at);

	return strnlen(text, len + 1) == len &&
	    memcmp(word->at, text, len) == 0;
}

static bool
read_number(struct reading *r, int64_t *out)
{
	bool negative = *r->at == '-';
	uint64_t n;

	r->at += negative;
	if (!number_read(&r->at, r->end, &n))
		return false;
	*out = (int64_t)(negative ? -n : n);
	return true;
}

/* The value of a member, up to the byte behind it. */
static bool
read_value(const struct carry_field *f, struct reading *r, char *at)
{
	bool chars = f->type == CARRY_CHARS || f->type == CARRY_STORED;
	bool string = chars || f->type == CARRY_STRING;
	char *copy;
	int64_t n;

	for (uint32_t i = 0; !string; i++, r->at++) {
		if (i == f->n || !read_number(r, &n) ||
		    !number_set(f, at + (size_t)i * f->size, n))
			return false;
		if (*r->at != ',')
			return true;
	}
	if (!read_number(r, &n) || n < 0 || *r->at++ != ':' ||
	    n >= r->end - r->at || memchr(r->at, '\0', (size_t)n) != NULL)
		return false;
	if (chars) {
		if ((size_t)n >= f->size)
			return false;
		memcpy(at, r->at, (size_t)n);
		at[n] = '\0';
	} else {
		memcpy(&copy, at, sizeof(copy));
		/* A name that is there twice has a value already. */
		if (copy != NULL || (copy = strndup(r->at, (size_t)n)) == NULL)
			return false;
		memcpy(at, &copy, sizeof(copy));
	}
	r->at += n;
	return true;
}

static bool
read_members(struct carry *c, const struct carry_kind *k, struct reading *r,
    void *record)
{
	size_t next = 0, len = k->fields->len, tried;

	while (*r->at == ' ') {
		const struct carry_field *f = NULL;
		struct reading name;
		const char *value;
		char *at;

		r->at++;
		name = read_word(r, '=');
		/* Names come in the order of the table. */
		for (tried = 0; tried < len && f == NULL; tried++) {
			f = &k->fields->list[(next + tried) % len];
			if (!read_is(&name, f->name))
				f = NULL;
		}
		if (f == NULL) {
			(void)snprintf(c->why, sizeof(c->why),
			    "%s has %.*s, which is not known here", k->name,
			    (int)MIN(name.end - name.at, 64), name.at);
			return false;
		}
		next = (size_t)(f - k->fields->list) + 1;
		at = (char *)record + f->offset;
		value = r->at;
		if (*r->at++ != '=' || !read_value(f, r, at) ||
		    (*r->at != ' ' && *r->at != '\n')) {
			(void)snprintf(c->why, sizeof(c->why),
			    "%s of %s cannot be %.*s", f->name, k->name,
			    (int)MIN(strcspn(value, " \n"), 64), value);
			return false;
		}
		if (f->type == CARRY_DESCRIPTOR)
			carry_note_fd(c, (int)number_get(f, at));
	}
	return *r->at++ == '\n';
}

bool
carry_copy(struct carry *c, void *to, void *record)
{
	const struct carry_fields *fields = carry_kinds[c->id]->fields;
	struct loop *loop = &c->sup->loop;

	for (size_t i = 0; i < fields->len; i++) {
		const struct carry_field *f = &fields->list[i];
		char *at = (char *)record + f->offset;
		char *into = (char *)to + f->offset;

		if (f->type == CARRY_DEADLINE) {
			struct timer *t = TIMER_OWNER(into, struct timer, at);
			tstamp when = number_get(f, at);

			if (into == at)
				t->at = TSTAMP_NEVER;
			if (!c->dry)
				timer_set(&loop->timers, t, when);
		} else if (f->type == CARRY_EVENTS) {
			struct loop_io *io =
			    LOOP_OWNER(into, struct loop_io, events);
			uint32_t events = (uint32_t)number_get(f, at);

			io->events = 0;
			if (events != 0 && loop_set(loop, io, events) == -1)
				return false;
		} else if (into != at) {
			memcpy(into, at, (size_t)f->size * f->n);
			if (f->type == CARRY_STRING)
				memset(at, 0, f->size);
		}
		if (f->type == CARRY_STORED) {
			struct listener *l =
			    LOOP_OWNER(into, struct listener, stored);

			l->addrlen = sizeof(l->addr);
			if (l->fd != -1 &&
			    getsockname(l->fd, (void *)&l->addr, &l->addrlen) ==
				-1)
				return false;
		}
	}
	return true;
}

static bool
carry_restore(struct carry *c, struct reading *r)
{
	struct supervisor *s = c->sup;
	struct reading kind = read_word(r, ' ');
	const struct carry_kind *k;
	const struct carry_field *f;
	struct group *g = NULL;
	unsigned tried = 0;
	int64_t of = -1;
	void *record;
	char *string;
	bool good, made = false;

	/* Its kind is that of the one before, or more likely a later one. */
	for (;
	     tried < CARRIED_KINDS && !read_is(&kind, carry_kinds[c->id]->name);
	     tried++)
		c->id = (c->id + 1) % CARRIED_KINDS;
	if (tried == CARRIED_KINDS || *r->at++ != ' ' || !read_number(r, &of) ||
	    of < 0 || of > UINT32_MAX) {
		(void)snprintf(c->why, sizeof(c->why),
		    "a record of %.*s is not known here",
		    (int)MIN(kind.end - kind.at, 64), kind.at);
		return false;
	}
	c->of = (uint32_t)of;
	k = carry_kinds[c->id];
	/* Nothing follows the end, and all but the head the pool. */
	if (c->counts[CARRIED_END] > 0 ||
	    (c->id > CARRIED_POOL && s->pool_memory == NULL) ||
	    (record = calloc(1, k->fields->size)) == NULL)
		return false;
	if (k->of_app && c->of < s->pool.napps)
		g = s->groups[c->of];
	/* All members have the value at first that is not written. */
	for (size_t i = 0; i < k->fields->len; i++)
		if ((f = &k->fields->list[i])->absent != 0)
			(void)number_set(
			    f, (char *)record + f->offset, f->absent);
	good = read_members(c, k, r, record) && (!k->of_app || g != NULL);
	if (good && k->restore != NULL && (k->inside || !c->dry)) {
		made = k->made;
		good = (!made || carry_copy(c, record, record)) &&
		    k->restore(c, g, record);
	}
	if (good && k->row != NULL)
		good = k->row->restore(&s->pool, c->of, record);
	if (made)
		return good;
	for (size_t i = 0; i < k->fields->len; i++)
		if ((f = &k->fields->list[i])->type == CARRY_STRING) {
			memcpy(&string, (char *)record + f->offset,
			    sizeof(string));
			free(string);
		}
	free(record);
	return good;
}

bool
carry_read(struct carry *c, const char *text, size_t len)
{
	struct reading r = { text, text + len };
	bool good = len > 0 && text[len - 1] == '\n';

	while (good && r.at < r.end &&
	    (c->head == NULL || c->counts[CARRIED_STATE] == 0)) {
		good = carry_restore(c, &r);
		if (!good && c->why[0] == '\0')
			(void)snprintf(c->why, sizeof(c->why),
			    "a record of %s cannot be",
			    carry_kinds[c->id]->name);
		c->counts[c->id]++;
	}
	if (good && (c->head != NULL || c->counts[CARRIED_END] == 1))
		return true;
	if (c->why[0] == '\0')
		(void)snprintf(c->why, sizeof(c->why), "its end is missing");
	return false;
}
