/*
 * A client's way through the events of the daemon: the newest of them, and
 * then, if it follows, what happens, in bounded pieces.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/room.h"
#include "sys/number.h"

/* The number of events without -n. */
#define LAST 20

/* Events that are looked at for one piece, and bytes from which it is given. */
#define LOOKS 256
#define PIECE_SIZE 8192

/* With the last event, in JSON and each byte of it escaped. */
#define PIECE_MAX (PIECE_SIZE + 8 * EVENTS_TEXT_MAX)

static bool
follow_wants(const struct follow *f, const struct event *event)
{
	return f->app == NULL ||
	    strncmp(event->app, f->app, EVENTS_APP_MAX) == 0;
}

struct follow *
follow_new(const struct ring *events, char *const *args, bool json,
    const char **why_out)
{
	struct follow *f = calloc(1, sizeof(*f));
	struct ring_place next;
	struct event event;

	*why_out = f == NULL ? strerror(ENOMEM) : NULL;
	if (f == NULL)
		return NULL;
	f->events = events;
	f->last = LAST;
	f->json = json;
	f->end = events->next;
	text_init(&f->piece, PIECE_MAX);
	for (; *args != NULL && *why_out == NULL; args++)
		if (strcmp(*args, "-f") == 0)
			f->on = true;
		else if (strcmp(*args, "-n") == 0 && args[1] == NULL)
			*why_out = "-n wants a number";
		else if (strcmp(*args, "-n") == 0 &&
		    !number_parse(args[1], strlen(args[1]), &f->last))
			*why_out = "what follows -n is no number";
		else if (strcmp(*args, "-n") == 0)
			args++;
		else if (**args == '-')
			*why_out = "there are no other options";
		else if (f->app != NULL)
			*why_out = "one app at most";
		else
			f->app = *args;
	if (*why_out != NULL) {
		follow_free(f);
		return NULL;
	}
	ring_begin(events, &f->place);
	next = f->place;
	while (events_next(events, &next, &event))
		f->found += follow_wants(f, &event);
	/* The place is that of the first of the newest that are wanted. */
	next = f->place;
	for (uint64_t n = f->found;
	     n > f->last && events_next(events, &next, &event); f->place = next)
		n -= follow_wants(f, &event);
	return f;
}

void
follow_free(struct follow *f)
{
	if (f == NULL)
		return;
	text_fini(&f->piece);
	free(f);
}

/* --- pieces ------------------------------------------------------------- */

/* In JSON; or as in the log, with the kind in the place of the level. */
static void
put_event(struct text *to, const struct event *event, bool json)
{
	char time[LOG_TIME];
	struct emit j;

	if (!json) {
		text_printf(to, "%s %-8s ", log_time(&event->at, time),
		    events_kind_name(event->kind));
		if (event->kind == EVENT_WORKER)
			text_printf(to, "%s/%s: ", event->app, event->id);
		text_escaped(to, event->text, event->len);
		text_puts(to, "\n");
		return;
	}
	emit_init(&j, to);
	emit_object(&j);
	emit_put_uint(&j, "number", event->number);
	emit_put_string(&j, "time", log_time(&event->at, time));
	emit_put_string(&j, "event", events_kind_name(event->kind));
	emit_put_string(&j, "level", log_level_name(event->level));
	emit_put_string(&j, "app", event->app[0] == '\0' ? NULL : event->app);
	emit_put_string(&j, "id", event->id[0] == '\0' ? NULL : event->id);
	if (event->pid != 0)
		emit_put_uint(&j, "pid", (uint64_t)event->pid);
	else
		emit_put_null(&j, "pid");
	emit_put_string(&j, "reason", event->reason);
	emit_put_string(&j, "text", event->text);
	emit_object_end(&j);
	text_puts(to, "\n");
}

const char *
follow_next(struct follow *f, size_t *len_out)
{
	struct event event;

	text_clear(&f->piece);
	if (!follow_has_more(f) && (f->said || f->on))
		return NULL;
	/* An answer has a line, that it is seen to be whole. */
	if (!follow_has_more(f))
		text_puts(&f->piece, f->json ? "\n" : "no events\n");
	for (int left = LOOKS;
	     left > 0 && follow_has_more(f) && f->piece.len < PIECE_SIZE &&
	     events_next(f->events, &f->place, &event);
	     left--) {
		if (f->place.lost > 0)
			text_printf(&f->piece,
			    f->json ? "{\"lost\":%" PRIu64 "}\n"
				    : "%" PRIu64 " events lost: they came "
				      "faster than they were read\n",
			    f->place.lost);
		f->place.lost = 0;
		if (follow_wants(f, &event))
			put_event(&f->piece, &event, f->json);
	}
	f->said = f->said || f->piece.len > 0;
	*len_out = f->piece.len;
	return f->piece.len == 0 ? "" : f->piece.data;
}
