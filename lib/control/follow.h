#ifndef CONTROL_FOLLOW_H
#define CONTROL_FOLLOW_H

/*
 * A client's way through the events of the daemon: the newest of them, and
 * then, if it follows, what happens, in bounded pieces.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/events.h"
#include "sys/text.h"

/* The number of events without -n. */
#define FOLLOW_LAST 20

/* The arguments of a command. */
struct follow_wish {
	const char *app; /* NULL: of the daemon and all apps */
	uint64_t last; /* so many of the newest */
	bool on; /* and what happens later */
};

struct follow {
	const struct events *events;
	struct follow_wish wish; /* its app is not owned, and lasts as long */
	bool json;
	bool begun; /* place is that of the next event */
	struct events_place place;
	uint64_t end; /* no event of this number or later; unless wish.on */
	bool said; /* something, so far */
	struct text piece;
};

/*
 * "[APP] [-n N] [-f]" in any order; the arguments end with NULL. NULL, or what
 * is wrong.
 */
const char *follow_parse(char *const *args, struct follow_wish *out);

/* Whether an event is about the app. */
bool follow_knows(const struct events *events, const char *app);

/* NULL and errno. */
struct follow *follow_new(
    const struct events *events, const struct follow_wish *wish, bool json);

/* f may be NULL. */
void follow_free(struct follow *f);

/*
 * Gives the next piece, which may be empty and stays until the next call;
 * NULL: that was all, up to now if it follows.
 */
const char *follow_next(struct follow *f, size_t *len_out);

/* Whether events came since follow_next() gave all. */
bool follow_has_more(const struct follow *f);

#endif
