/* The connections the program holds. */

#include <assert.h>
#include <stdlib.h>

#include "adapter/accept_sessions.h"

#define GROWTH 16

bool
sessions_reserve(struct sessions *s)
{
	struct given *list;

	if (s->len < s->room)
		return true;
	list = reallocarray(s->list, s->room + GROWTH, sizeof(*list));
	if (list == NULL)
		return false;
	s->list = list;
	s->room += GROWTH;
	return true;
}

void
sessions_add(struct sessions *s, const struct given *g)
{
	assert(s->len < s->room);
	s->list[s->len++] = *g;
}

void
sessions_remove(struct sessions *s, size_t i)
{
	assert(i < s->len);
	s->list[i] = s->list[--s->len];
}

nanoseconds
sessions_next(const struct sessions *s)
{
	nanoseconds next = INT64_MAX;

	for (size_t i = 0; i < s->len; i++)
		if (s->list[i].look_at < next)
			next = s->list[i].look_at;
	return next;
}
