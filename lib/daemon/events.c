/* The ring of events. */

#include <sys/mman.h>

#include <string.h>

#include "daemon/events.h"

/*
 * An event in memory, followed by app, id and text, each with a NUL. Records
 * are never split: where one does not fit before the end of the memory, a
 * record of size WRAP, or the end itself, sends the reader to the beginning.
 */
#define WRAP 0

struct record {
	size_t size; /* with all that follows, or WRAP */
	uint64_t number;
	struct timespec at;
	const char *reason;
	pid_t pid;
	uint8_t kind;
	uint8_t level;
	uint16_t app_size; /* with NUL */
	uint16_t id_size;
	uint16_t len; /* of the text, without NUL */
};

int
events_init(struct events *e)
{
	memset(e, 0, sizeof(*e));
	e->oldest = e->next = 1;
	e->mem = mmap(NULL, EVENTS_SIZE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (e->mem != MAP_FAILED)
		return 0;
	e->mem = NULL;
	return -1;
}

void
events_fini(struct events *e)
{
	if (e->mem != NULL)
		(void)munmap(e->mem, EVENTS_SIZE);
	e->mem = NULL;
}

/* Copies the record at the place, or after a WRAP; returns where it is. */
static size_t
record_at(const struct events *e, size_t at, struct record *out)
{
	if (at < EVENTS_SIZE)
		memcpy(&out->size, e->mem + at, sizeof(out->size));
	if (at == EVENTS_SIZE || out->size == WRAP)
		at = 0;
	memcpy(out, e->mem + at, sizeof(*out));
	return at;
}

static void
drop_oldest(struct events *e)
{
	struct record r;

	(void)record_at(e, e->tail, &r);
	e->tail += r.size;
	e->oldest++;
	e->tail = record_at(e, e->tail, &r);
}

/*
 * Sees to it that size bytes are free at the head. Not all events go for that,
 * and the head never reaches the tail.
 */
static void
make_room(struct events *e, size_t size)
{
	const size_t mark = WRAP;

	while (e->oldest < e->next) {
		if (e->head > e->tail && EVENTS_SIZE - e->head >= size)
			return;
		if (e->head > e->tail && e->tail > size) {
			if (e->head < EVENTS_SIZE)
				memcpy(e->mem + e->head, &mark, sizeof(mark));
			e->head = 0;
			return;
		}
		if (e->head < e->tail && e->tail - e->head > size)
			return;
		drop_oldest(e);
	}
}

/* Puts size bytes, the last of which becomes a NUL. */
static char *
put_string(char *to, const char *s, size_t size)
{
	memcpy(to, s, size - 1);
	to[size - 1] = '\0';
	return to + size;
}

void
events_put(struct events *e, struct event *event)
{
	const size_t align = _Alignof(struct record);
	struct record r = {
		.number = e->next,
		.at = event->at,
		.reason = event->reason,
		.pid = event->pid,
		.kind = (uint8_t)event->kind,
		.level = (uint8_t)event->level,
		.app_size = (uint16_t)(strnlen(event->app, EVENTS_APP_MAX) + 1),
		.id_size = (uint16_t)(strlen(event->id) + 1),
		.len =
		    (uint16_t)(event->len < EVENTS_TEXT_MAX ? event->len
							    : EVENTS_TEXT_MAX),
	};
	char *to;

	event->number = r.number;
	if (e->mem == NULL)
		return;
	r.size = sizeof(r) + r.app_size + r.id_size + r.len + 1u;
	r.size = (r.size + align - 1) / align * align;
	make_room(e, r.size);
	memcpy(e->mem + e->head, &r, sizeof(r));
	to = e->mem + e->head + sizeof(r);
	to = put_string(to, event->app, r.app_size);
	to = put_string(to, event->id, r.id_size);
	(void)put_string(to, event->text, r.len + 1u);
	e->head += r.size;
	e->next++;
}

void
events_oldest(const struct events *e, struct events_place *out)
{
	*out = (struct events_place){ .number = e->oldest, .at = e->tail };
}

bool
events_next(
    const struct events *e, struct events_place *place, struct event *out)
{
	struct record r;
	const char *p;

	/* Of the oldest, too, the place may have been written over. */
	if (place->number <= e->oldest) {
		place->lost += e->oldest - place->number;
		place->number = e->oldest;
		place->at = e->tail;
	}
	if (place->number == e->next)
		return false;
	place->at = record_at(e, place->at, &r);
	p = e->mem + place->at + sizeof(r);
	*out = (struct event){
		.number = r.number,
		.at = r.at,
		.kind = (enum event_kind)r.kind,
		.level = (enum log_level)r.level,
		.reason = r.reason,
		.pid = r.pid,
		.app = p,
		.id = p + r.app_size,
		.text = p + r.app_size + r.id_size,
		.len = r.len,
	};
	place->at += r.size;
	place->number++;
	return true;
}

const char *
events_kind_name(enum event_kind kind)
{
	static const char *const names[] = {
		[EVENT_START] = "start",
		[EVENT_SPAWN] = "spawn",
		[EVENT_READY] = "ready",
		[EVENT_EXIT] = "exit",
		[EVENT_FAILURE] = "failure",
		[EVENT_RECOVERY] = "recovery",
		[EVENT_REFUSAL] = "refusal",
		[EVENT_RESTART] = "restart",
		[EVENT_RELOAD] = "reload",
		[EVENT_COMMAND] = "command",
		[EVENT_STOP] = "stop",
		[EVENT_WORKER] = "worker",
	};

	return names[kind];
}
