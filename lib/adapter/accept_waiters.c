/* The threads of the program that wait in accept(). */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/accept_view.h"
#include "adapter/accept_waiters.h"

#define GROWTH 16

/* The time after which it is looked at again who is in doubt. */
#define AGAIN MILLISECONDS(5)

/* Was in doubt, and is not for this call any more. */
#define BELIEVED (-1)

static void
remove_at(struct waiters *w, size_t i)
{
	w->len--;
	memmove(w->list + i, w->list + i + 1, (w->len - i) * sizeof(*w->list));
}

/* Those that were interrupted, or are dead, and have not called again. */
static void
forget_gone(struct waiters *w, int notify)
{
	for (size_t i = w->len; i-- > 0;)
		if (!call_waits(notify, &w->list[i].call))
			remove_at(w, i);
}

static bool
grow(struct waiters *w)
{
	struct waiter *list =
	    reallocarray(w->list, w->room + GROWTH, sizeof(*list));

	if (list == NULL)
		return false;
	w->list = list;
	w->room += GROWTH;
	return true;
}

bool
waiters_add(struct waiters *w, const struct call *c, int notify)
{
	if (w->len == w->room)
		forget_gone(w, notify);
	if (w->len == w->room && !grow(w))
		return false;
	w->list[w->len++] = (struct waiter){ .call = *c };
	return true;
}

void
waiters_forget(struct waiters *w, pid_t tid)
{
	for (size_t i = w->len; i-- > 0;)
		if (w->list[i].call.tid == tid)
			remove_at(w, i);
}

void
waiters_doubt(struct waiters *w, nanoseconds until)
{
	/* Not again and again, or a program full of signals would starve. */
	for (size_t i = 0; i < w->len; i++)
		if (w->list[i].doubted == 0)
			w->list[i].doubted = until;
}

void
waiters_fail(struct waiters *w, int notify, int error)
{
	while (w->len > 0)
		call_fail(notify, &w->list[--w->len].call, error);
}

const struct call *
waiters_last(struct waiters *w, int notify)
{
	for (size_t i = w->len; i-- > 0;) {
		if (!call_waits(notify, &w->list[i].call))
			remove_at(w, i);
		else if (w->list[i].doubted <= 0)
			return &w->list[i].call;
	}
	return NULL;
}

void
waiters_review(struct waiters *w, nanoseconds now)
{
	for (size_t i = 0; i < w->len; i++) {
		struct waiter *x = &w->list[i];

		if (x->doubted <= 0 || x->doubted > now)
			continue;
		/* Where the processors are busy it may not be seen for long. */
		x->doubted =
		    view_has_signals(x->call.tid) ? now + AGAIN : BELIEVED;
	}
}

nanoseconds
waiters_next(const struct waiters *w)
{
	nanoseconds next = INT64_MAX;

	for (size_t i = 0; i < w->len; i++)
		if (w->list[i].doubted > 0 && w->list[i].doubted < next)
			next = w->list[i].doubted;
	return next;
}
