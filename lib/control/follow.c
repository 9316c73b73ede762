/* The events of the daemon for a client. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/follow.h"
#include "sys/json.h"
#include "sys/number.h"

/* Events that are looked at for one piece, and bytes from which it is given. */
#define LOOKS 256
#define PIECE_SIZE 8192

/* With the last event, in JSON and each byte of it escaped. */
#define PIECE_MAX (PIECE_SIZE + 8 * EVENTS_TEXT_MAX)

/* --- the command -------------------------------------------------------- */

const char *
follow_parse(char *const *args, struct follow_wish *out)
{
	struct follow_wish wish = { .last = FOLLOW_LAST };

	for (; *args != NULL; args++) {
		if (strcmp(*args, "-f") == 0) {
			wish.on = true;
		} else if (strcmp(*args, "-n") == 0) {
			if (*++args == NULL)
				return "-n wants a number";
			if (!number_parse(*args, strlen(*args), &wish.last))
				return "what follows -n is no number";
		} else if (**args == '-') {
			return "there are no other options";
		} else if (wish.app != NULL) {
			return "one app at most";
		} else {
			wish.app = *args;
		}
	}
	*out = wish;
	return NULL;
}

/* --- the place ---------------------------------------------------------- */

static bool
is_wanted(const struct event *event, const char *app)
{
	return app == NULL || strncmp(event->app, app, EVENTS_APP_MAX) == 0;
}

static uint64_t
count(const struct events *events, const char *app)
{
	struct events_place place;
	struct event event;
	uint64_t n = 0;

	events_oldest(events, &place);
	while (events_next(events, &place, &event))
		n += is_wanted(&event, app);
	return n;
}

bool
follow_knows(const struct events *events, const char *app)
{
	struct events_place place;
	struct event event;

	events_oldest(events, &place);
	while (events_next(events, &place, &event))
		if (is_wanted(&event, app))
			return true;
	return false;
}

/* Goes to the first of the newest events that are wanted. */
static void
begin(struct follow *f)
{
	uint64_t n = count(f->events, f->wish.app);
	struct events_place next;
	struct event event;

	f->begun = true;
	events_oldest(f->events, &f->place);
	next = f->place;
	while (n > f->wish.last && events_next(f->events, &next, &event)) {
		n -= is_wanted(&event, f->wish.app);
		f->place = next;
	}
}

struct follow *
follow_new(
    const struct events *events, const struct follow_wish *wish, bool json)
{
	struct follow *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->events = events;
	f->wish = *wish;
	f->json = json;
	f->end = events->next;
	text_init(&f->piece, PIECE_MAX);
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

/* null for "". */
static void
put_string(struct json *j, const char *key, const char *s)
{
	json_put_string(j, key, s[0] == '\0' ? NULL : s);
}

static void
put_json(struct text *to, const struct event *event)
{
	char time[LOGSINK_TIME];
	struct json j;

	json_init(&j, to);
	json_object(&j);
	json_put_uint(&j, "number", event->number);
	json_put_string(&j, "time", logsink_time(&event->at, time));
	json_put_string(&j, "event", events_kind_name(event->kind));
	json_put_string(&j, "level", logsink_level_name(event->level));
	put_string(&j, "app", event->app);
	put_string(&j, "id", event->id);
	if (event->pid != 0)
		json_put_uint(&j, "pid", (uint64_t)event->pid);
	else
		json_put_null(&j, "pid");
	json_put_string(&j, "reason", event->reason);
	json_put_string(&j, "text", event->text);
	json_object_end(&j);
	text_puts(to, "\n");
}

/* As in the log, with the kind in the place of the level. */
static void
put_line(struct text *to, const struct event *event)
{
	char time[LOGSINK_TIME];

	text_printf(to, "%s %-8s ", logsink_time(&event->at, time),
	    events_kind_name(event->kind));
	if (event->kind == EVENT_WORKER)
		text_printf(to, "%s/%s: ", event->app, event->id);
	text_escaped(to, event->text, event->len);
	text_puts(to, "\n");
}

static void
put_lost(struct follow *f)
{
	if (f->place.lost == 0)
		return;
	if (f->json)
		text_printf(
		    &f->piece, "{\"lost\":%" PRIu64 "}\n", f->place.lost);
	else
		text_printf(&f->piece,
		    "%" PRIu64 " events lost: they came faster than they were "
		    "read\n",
		    f->place.lost);
	f->place.lost = 0;
}

static void
put(struct follow *f, const struct event *event)
{
	put_lost(f);
	if (!is_wanted(event, f->wish.app))
		return;
	if (f->json)
		put_json(&f->piece, event);
	else
		put_line(&f->piece, event);
}

bool
follow_has_more(const struct follow *f)
{
	return f->place.number < (f->wish.on ? f->events->next : f->end);
}

/* An answer has a line, that it is seen to be whole. */
static void
put_nothing(struct follow *f)
{
	if (f->json)
		text_puts(&f->piece, "\n");
	else
		text_puts(&f->piece, "no events\n");
}

const char *
follow_next(struct follow *f, size_t *len_out)
{
	struct event event;

	if (!f->begun)
		begin(f);
	text_clear(&f->piece);
	if (!follow_has_more(f) && (f->said || f->wish.on))
		return NULL;
	if (!follow_has_more(f))
		put_nothing(f);
	for (int left = LOOKS;
	     left > 0 && follow_has_more(f) && f->piece.len < PIECE_SIZE &&
	     events_next(f->events, &f->place, &event);
	     left--)
		put(f, &event);
	f->said = f->said || f->piece.len > 0;
	*len_out = f->piece.len;
	return f->piece.len == 0 ? "" : f->piece.data;
}
