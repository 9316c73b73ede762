/* Findings: mistakes and warnings of a load. */

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "conf/findings.h"

/* More findings than anybody reads are dropped. */
#define FINDINGS_MAX 1000
#define LINES_MAX 100
#define TEXT_MAX 500

/*
 * Makes the text one line of readable length: parts quoted from the file may
 * hold line ends, terminal commands, and megabytes.
 */
static void
tidy(char *text)
{
	if (strlen(text) > TEXT_MAX)
		strcpy(text + TEXT_MAX, "...");
	for (; *text != '\0'; text++) {
		if (iscntrl((unsigned char)*text))
			*text = '?';
	}
}

static void add(struct findings *f, bool mistake, struct where where,
    const char *fmt, va_list ap) __attribute__((format(printf, 4, 0)));

static void
add(struct findings *f, bool mistake, struct where where, const char *fmt,
    va_list ap)
{
	char text[TEXT_MAX + 4];

	if (mistake)
		f->mistakes++;
	if (f->len >= FINDINGS_MAX)
		return;
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	tidy(text);
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
	add(f, true, where, fmt, ap);
	va_end(ap);
}

void
findings_outside(struct findings *f, struct where where, const char *fmt, ...)
{
	va_list ap;

	if ((f->flags & (CONF_OUTSIDE_WARN | CONF_OUTSIDE_STRICT)) == 0)
		return;
	va_start(ap, fmt);
	add(f, (f->flags & CONF_OUTSIDE_STRICT) != 0, where, fmt, ap);
	va_end(ap);
}

void
findings_warning(struct findings *f, struct where where, const char *fmt, ...)
{
	va_list ap;

	if ((f->flags & (CONF_OUTSIDE_WARN | CONF_OUTSIDE_STRICT)) == 0)
		return;
	va_start(ap, fmt);
	add(f, false, where, fmt, ap);
	va_end(ap);
}

static int
compare(const void *left, const void *right)
{
	const struct finding *a = left;
	const struct finding *b = right;

	if (a->where.source->order != b->where.source->order)
		return a->where.source->order < b->where.source->order ? -1 : 1;
	if (a->where.line != b->where.line)
		return a->where.line < b->where.line ? -1 : 1;
	return a->seq < b->seq ? -1 : 1;
}

void
findings_sort(struct findings *f)
{
	if (f->len > 0)
		qsort(f->list, f->len, sizeof(*f->list), compare);
}

/* True if one of the lines says the same. */
static bool
is_said(char *const *lines, size_t len, const char *line)
{
	/* A mistake in `defaults` is found again with each app. */
	while (len > 0) {
		if (strcmp(lines[--len], line) == 0)
			return true;
	}
	return false;
}

char **
findings_lines(
    const struct findings *f, bool mistakes, struct arena *out, size_t *len_out)
{
	char **lines = arena_alloc(out, FINDINGS_MAX + 2, sizeof(*lines));
	size_t n = 0;

	for (size_t i = 0; i < f->len && !(mistakes && n == LINES_MAX); i++) {
		const struct finding *found = &f->list[i];
		char *line;

		if (found->mistake != mistakes)
			continue;
		line = arena_printf(out, "%s:%d: %s", found->where.source->path,
		    found->where.line, found->text);
		if (!is_said(lines, n, line))
			lines[n++] = line;
	}
	if (n == LINES_MAX && mistakes)
		lines[n++] = arena_printf(
		    out, "only the first %d mistakes are shown", LINES_MAX);
	*len_out = n;
	return lines;
}
