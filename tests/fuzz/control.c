/*
 * Any bytes as a line for the control socket, as the status text of a worker,
 * as what it says in an event, and as an answer for apppoolctl.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "control/room.h"
#include "ctl/ctl.h"
#include "sys/emit.h"
#include "sys/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The question is a word of the line. */
static void
try_wish(const struct command_line *line)
{
	const struct events none = { .mem = NULL };
	struct follow *f;
	const char *why;
	size_t i = 1;

	f = follow_new(&none, false, line->words + 1, false, &why);
	assert((f == NULL) == (why != NULL));
	while (f != NULL && i < line->nwords && line->words[i] != f->of)
		i++;
	if (f != NULL && f->of != NULL)
		assert(i < line->nwords && f->of[0] != '-');
	follow_free(f);
}

/* Words are in the line, one behind the other, and have no blanks. */
static void
try_line(const char *data, size_t size)
{
	char *line = malloc(size + 1);
	struct command_line out;
	const char *before = line;

	memcpy(line, data, size);
	if (command_split(line, size, &out) == NULL) {
		assert(size <= CLIENT_LINE_MAX);
		assert(out.nwords >= 1 && out.nwords <= COMMAND_WORDS_MAX);
		assert(out.words[out.nwords] == NULL);
		for (size_t i = 0; i < out.nwords; i++) {
			size_t len = strlen(out.words[i]);

			assert(out.words[i] >= before && len > 0);
			assert(strcspn(out.words[i], " \t\n") == len);
			before = out.words[i] + len;
		}
		assert(before <= line + size);
		try_wish(&out);
	}
	free(line);
}

/* The output is UTF-8 without control characters. */
static void
check_printable(const struct text *t)
{
	for (size_t at = 0, n; at < t->len; at += n) {
		n = text_char_length(t->data + at, t->len - at);
		assert(n != 0);
		assert((unsigned char)t->data[at] >= ' ');
		assert(t->data[at] != 0x7f);
	}
}

static void
try_text(const char *data, size_t size)
{
	char *string = strndup(data, size);
	struct text t;
	struct emit j = { .out = &t };

	text_init(&t, 8 * size + 16);
	emit_string(&j, string);
	assert(!t.failed);
	check_printable(&t);
	text_clear(&t);
	text_escaped(&t, data, size);
	assert(!t.failed);
	check_printable(&t);
	text_fini(&t);
	free(string);
}

/* An event is a line, whatever the worker says or prints. */
static void
try_event(const char *data, size_t size, enum event_kind kind, bool json)
{
	struct event event = {
		.kind = kind,
		.app = "web",
		.id = "ab12cd34",
		.text = data,
		.len = size,
	};
	char *args[] = { (char[]){ "-n" }, (char[]){ "1" }, NULL };
	struct events events = { .mem = malloc(EVENTS_SIZE) };
	struct follow *f;
	const char *piece, *why;
	size_t len;

	if (events.mem == NULL)
		abort();
	events_put(&events, &event);
	f = follow_new(&events, kind != EVENT_WORKER, args, json, &why);
	piece = follow_next(f, &len);
	assert(len > 1 && memchr(piece, '\n', len) == piece + len - 1);
	check_printable(
	    (&(struct text){ .data = f->piece.data, .len = len - 1 }));
	assert(follow_next(f, &len) == NULL);
	follow_free(f);
	free(events.mem);
}

/* The answer goes through whole, but for a last line that is an error. */
static void
try_answer(const char *data, size_t size)
{
	char *shown = NULL, *error = NULL;
	FILE *to, *from = size == 0 ? NULL : fmemopen((void *)data, size, "r");
	size_t len = 0;
	bool whole;

	if (from == NULL)
		return;
	to = open_memstream(&shown, &len);
	whole = ask_show(from, to, NULL, false, &error);
	assert(whole || error == NULL);
	assert(error == NULL || data[size - 1] == '\n');
	(void)fclose(from);
	(void)fclose(to);
	assert(len <= size && memcmp(shown, data, len) == 0);
	assert(error != NULL || len == size);
	free(shown);
	free(error);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_line((const char *)data, size);
	try_text((const char *)data, size);
	try_event((const char *)data, size, EVENT_WORKER, false);
	try_event((const char *)data, size, EVENT_WORKER, true);
	try_event((const char *)data, size, EVENT_STDOUT, false);
	try_event((const char *)data, size, EVENT_STDERR, true);
	try_answer((const char *)data, size);
	return 0;
}
