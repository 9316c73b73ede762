/* An answer to a health check: what is common to its protocols. */

#include <string.h>

#include "ctl/ping_private.h"

void
ping_answer_init(struct ping_answer *a, enum conf_protocol protocol)
{
	memset(a, 0, sizeof(*a));
	a->protocol = protocol;
}

void
ping_broken(struct ping_answer *a, const char *why)
{
	a->state = PING_BROKEN;
	a->why = why;
}

void
ping_note(char *text, size_t size, const char *data, size_t len)
{
	size_t at = strlen(text);

	for (size_t i = 0; i < len && at + 1 < size; i++) {
		unsigned char c = (unsigned char)data[i];

		/* One line of ASCII, that no terminal obeys. */
		if (c < ' ')
			text[at++] = ' ';
		else
			text[at++] = c < 0x7f ? (char)c : '?';
	}
	text[at] = '\0';
}

/* HTTP: whether the body has come as far as was said. */
static bool
answer_whole(const struct ping_answer *a)
{
	if (!a->head_done)
		return false;
	if (a->status == 204 || a->status == 304)
		return true;
	return a->has_length && a->body >= a->length;
}

enum ping_state
ping_answer_put(struct ping_answer *a, const char *data, size_t len)
{
	if (a->state != PING_MORE)
		return a->state;
	a->total += len;
	switch (a->protocol) {
	case CONF_PROTOCOL_FASTCGI:
		ping_fastcgi_put(a, data, len);
		break;
	case CONF_PROTOCOL_HTTP:
		ping_head_put(a, data, len, true);
		if (a->state == PING_MORE && answer_whole(a))
			a->state = PING_DONE;
		break;
	default:
		break;
	}
	if (a->state == PING_MORE && a->total > PING_ANSWER_MAX) {
		if (a->head_done)
			a->state = PING_DONE;
		else
			ping_broken(a, "the answer goes on for ever");
	}
	return a->state;
}

enum ping_state
ping_answer_end(struct ping_answer *a)
{
	if (a->state != PING_MORE)
		return a->state;
	if (a->total == 0)
		ping_broken(a, "closed without an answer");
	else if (!a->head_done)
		ping_broken(a, "the answer ends in its head");
	else if (a->protocol == CONF_PROTOCOL_FASTCGI)
		ping_broken(a, "the answer has no end");
	else if (a->has_length && a->body < a->length)
		ping_broken(a, "the answer is shorter than it says");
	else
		a->state = PING_DONE;
	return a->state;
}

bool
ping_answer_good(const struct ping_answer *a)
{
	return a->state == PING_DONE && a->status >= 200 && a->status < 400 &&
	    a->app_status == 0;
}
