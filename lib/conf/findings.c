/* Findings: mistakes and warnings of a load, and the report of them. */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/room.h"

/* More findings than anybody reads are dropped. */
#define FINDINGS_MAX 1000
#define LINES_MAX 100
#define TEXT_MAX 500

struct finding {
	struct where where;
	size_t seq; /* findings of one line stay in the order they came */
	bool mistake;
	const char *text;
};

static void __attribute__((format(printf, 4, 0)))
findings_add(struct findings *f, bool mistake, struct where where,
    const char *fmt, va_list ap)
{
	char text[TEXT_MAX + 4];

	if (mistake)
		f->mistakes++;
	if (f->len >= FINDINGS_MAX)
		return;
	/*
	 * Parts quoted from the file may hold line ends, terminal commands, and
	 * megabytes.
	 */
	if (vsnprintf(text, sizeof(text), fmt, ap) > TEXT_MAX)
		strcpy(text + TEXT_MAX, "...");
	for (char *p = text; *p != '\0'; p++) {
		if (iscntrl((unsigned char)*p))
			*p = '?';
	}
	f->list = arena_grow(f->arena, f->list, f->len, sizeof(*f->list));
	f->list[f->len] = (struct finding){ where, f->len, mistake,
		arena_strdup(f->arena, text) };
	f->len++;
}

void
findings_mistake(struct findings *f, struct where where, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	findings_add(f, true, where, fmt, ap);
	va_end(ap);
}

void
findings_outside(
    struct findings *f, bool doubt, struct where where, const char *fmt, ...)
{
	bool strict = (f->flags & CONF_OUTSIDE_STRICT) != 0;
	va_list ap;

	if (!strict && (f->flags & CONF_OUTSIDE_WARN) == 0)
		return;
	va_start(ap, fmt);
	findings_add(f, strict && !doubt, where, fmt, ap);
	va_end(ap);
}

static int
findings_compare(const void *left, const void *right)
{
	const struct finding *a = left;
	const struct finding *b = right;

	if (a->where.source->order != b->where.source->order)
		return a->where.source->order < b->where.source->order ? -1 : 1;
	if (a->where.line != b->where.line)
		return a->where.line < b->where.line ? -1 : 1;
	return a->seq < b->seq ? -1 : 1;
}

/* Returns lines "FILE:LINE: text", ended by NULL, each of them once. */
static char **
findings_lines(
    const struct findings *f, bool mistakes, struct arena *out, size_t *len_out)
{
	char **lines = arena_alloc(out, f->len + 2, sizeof(*lines));
	size_t n = 0;

	for (size_t i = 0; i < f->len && !(mistakes && n == LINES_MAX); i++) {
		const struct finding *found = &f->list[i];
		size_t same = 0;

		if (found->mistake != mistakes)
			continue;
		lines[n] = arena_printf(out, "%s:%d: %s",
		    found->where.source->path, found->where.line, found->text);
		/* A mistake in `defaults` is found again with each app. */
		while (strcmp(lines[same], lines[n]) != 0)
			same++;
		n += same == n;
	}
	if (n == LINES_MAX && mistakes)
		lines[n++] = arena_printf(
		    out, "only the first %d mistakes are shown", LINES_MAX);
	lines[n] = NULL;
	*len_out = n;
	return lines;
}

void
findings_report(
    struct findings *f, struct arena *out, struct conf_report *report)
{
	if (f->len > 0)
		qsort(f->list, f->len, sizeof(*f->list), findings_compare);
	report->mistakes = findings_lines(f, true, out, &report->mistakes_len);
	report->warnings = findings_lines(f, false, out, &report->warnings_len);
}
