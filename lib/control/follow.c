/*
 * A client's way through the events of the daemon, or through what processes
 * print: the newest of them, and then, if it follows, what comes, in bounded
 * pieces.
 */

#include <sys/param.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/room.h"
#include "sys/number.h"

/* How many are told without -n. */
#define LAST 20

/* How many are looked at for one piece, and bytes from which it is given. */
#define LOOKS 256
#define PIECE_SIZE 8192

/* With the last event, in JSON and each byte of it escaped. */
#define PIECE_MAX (PIECE_SIZE + 8 * EVENTS_TEXT_MAX)

static bool
follow_wants(const struct follow *f, const struct event *event)
{
	return f->of == NULL ||
	    strncmp(event->app, f->of, EVENTS_APP_MAX) == 0 ||
	    strcmp(event->id, f->of) == 0;
}

struct follow *
follow_new(const struct events *events, bool output, char *const *args,
    bool json, const char **why_out)
{
	struct follow *f = calloc(1, sizeof(*f));
	struct events_place next;
	struct event event;

	*why_out = f == NULL ? strerror(ENOMEM) : NULL;
	if (f == NULL)
		return NULL;
	f->events = events;
	f->last = LAST;
	f->json = json;
	f->place = (struct events_place){ .output = output, .number = 1 };
	f->later = events->last[output] + 1;
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
		else if (f->of != NULL)
			*why_out = "one app or worker at most";
		else
			f->of = *args;
	if (*why_out != NULL) {
		follow_free(f);
		return NULL;
	}
	next = f->place;
	while (events_next(events, &next, &event))
		f->found += follow_wants(f, &event);
	f->owed = MIN(f->found, f->last);
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
	const char *kind = event_kind_names[event->kind];
	const bool output = event->kind >= EVENT_STDOUT;
	char time[LOG_TIME];
	struct emit j = { .out = to };

	(void)log_time(&event->at, time);
	if (!json) {
		text_printf(to, "%s %-8s ", time, kind);
		if (event->kind >= EVENT_WORKER)
			text_printf(to, "%s/%s: ", event->app, event->id);
		text_escaped(to, event->text, event->len);
		text_puts(to, "\n");
		return;
	}
	emit_object(&j);
	emit_put_uint(&j, "number", event->number);
	emit_put_string(&j, "time", time);
	if (!output) {
		emit_put_string(&j, "event", kind);
		emit_put_string(&j, "level", log_level_names[event->level]);
	}
	emit_put_string(&j, "app", event->app[0] == '\0' ? NULL : event->app);
	emit_put_string(&j, "id", event->id[0] == '\0' ? NULL : event->id);
	if (output)
		emit_put_string(&j, "stream", kind);
	else if (event->pid != 0)
		emit_put_uint(&j, "pid", (uint64_t)event->pid);
	else
		emit_put_null(&j, "pid");
	if (!output)
		emit_put_string(&j, "reason", event->reason);
	emit_key(&j, output ? "line" : "text");
	emit_bytes(&j, event->text, event->len);
	emit_object_end(&j);
	text_puts(to, "\n");
}

static void
put_lost(struct follow *f, uint64_t lost)
{
	if (lost == 0)
		return;
	if (f->json)
		text_printf(&f->piece, "{\"lost\":%" PRIu64 "}\n", lost);
	else
		text_printf(&f->piece,
		    "%" PRIu64 " %s lost: they came faster than they were "
		    "read\n",
		    lost, f->place.output ? "lines" : "events");
}

/*
 * Puts the next one, if it is wanted. Those that were there at first may have
 * been forgotten since, and of later ones there may be some that are gone.
 */
static void
follow_step(struct follow *f)
{
	const uint64_t from = MAX(f->place.number, f->later);
	struct event event;
	bool got = events_next(f->events, &f->place, &event), later;

	if (!got)
		f->place.number = f->events->last[f->place.output] + 1;
	later = f->place.number > from;
	if (later && f->on)
		put_lost(f, f->place.number - got - from);
	if (got && (!later || f->on) && follow_wants(f, &event)) {
		put_event(&f->piece, &event, f->json);
		f->owed -= !later;
	}
	if (f->place.number >= f->later) {
		put_lost(f, f->owed);
		f->owed = 0;
	}
}

const char *
follow_next(struct follow *f, size_t *len_out)
{
	text_clear(&f->piece);
	if (!follow_has_more(f) && (f->said || f->on))
		return NULL;
	/* An answer has a line, that it is seen to be whole. */
	if (!follow_has_more(f))
		text_puts(&f->piece,
		    f->json               ? "\n"
			: f->place.output ? "no lines\n"
					  : "no events\n");
	for (int left = LOOKS;
	     left > 0 && follow_has_more(f) && f->piece.len < PIECE_SIZE;
	     left--)
		follow_step(f);
	f->said = f->said || f->piece.len > 0;
	*len_out = f->piece.len;
	return f->piece.len == 0 ? "" : f->piece.data;
}
