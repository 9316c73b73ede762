/*
 * What is wrong with a configuration: collected in any order, told by file
 * and line.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/conf_private.h"

/* A file can be wrong in more ways than anybody reads. */
#define FINDINGS_MAX 1000

void
conf_report_init(struct conf_report *report)
{
	memset(report, 0, sizeof(*report));
}

void
conf_report_fini(struct conf_report *report)
{
	conf_strings_free(report->mistakes);
	conf_strings_free(report->warnings);
	memset(report, 0, sizeof(*report));
}

void
conf_findings_init(struct conf_findings *f, unsigned flags)
{
	memset(f, 0, sizeof(*f));
	f->flags = flags;
}

void
conf_findings_fini(struct conf_findings *f)
{
	for (size_t i = 0; i < f->len; i++)
		free(f->list[i].text);
	free(f->list);
	memset(f, 0, sizeof(*f));
}

static void __attribute__((format(printf, 4, 0))) add(struct conf_findings *f,
    bool mistake, struct conf_where where, const char *fmt, va_list ap)
{
	struct conf_finding *finding;
	char *text;

	if (mistake)
		f->mistakes++;
	if (f->len >= FINDINGS_MAX)
		return;
	if (vasprintf(&text, fmt, ap) == -1)
		text = conf_strdup(fmt);

	f->list = conf_grow(f->list, f->len, sizeof(*f->list));
	finding = &f->list[f->len];
	finding->where = where;
	finding->seq = f->len;
	finding->mistake = mistake;
	finding->text = text;
	f->len++;
}

void
conf_mistake(
    struct conf_findings *f, struct conf_where where, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(f, true, where, fmt, ap);
	va_end(ap);
}

void
conf_warning(
    struct conf_findings *f, struct conf_where where, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(f, false, where, fmt, ap);
	va_end(ap);
}

void
conf_outside_note(
    struct conf_findings *f, struct conf_where where, const char *fmt, ...)
{
	va_list ap;

	if ((f->flags & (CONF_OUTSIDE_WARN | CONF_OUTSIDE_STRICT)) == 0)
		return;
	va_start(ap, fmt);
	add(f, (f->flags & CONF_OUTSIDE_STRICT) != 0, where, fmt, ap);
	va_end(ap);
}

static int
compare(const void *left, const void *right)
{
	const struct conf_finding *a = left;
	const struct conf_finding *b = right;
	size_t a_order = a->where.source != NULL ? a->where.source->order : 0;
	size_t b_order = b->where.source != NULL ? b->where.source->order : 0;

	if (a_order != b_order)
		return a_order < b_order ? -1 : 1;
	if (a->where.line != b->where.line)
		return a->where.line < b->where.line ? -1 : 1;
	return a->seq < b->seq ? -1 : 1;
}

static void
append(char ***list, size_t *len, char *line)
{
	/* What `defaults` says wrongly is found again with each app. */
	for (size_t i = *len; i > 0; i--) {
		if (strcmp((*list)[i - 1], line) == 0) {
			free(line);
			return;
		}
	}
	*list = conf_realloc(*list, *len + 2, sizeof(**list));
	(*list)[(*len)++] = line;
	(*list)[*len] = NULL;
}

void
conf_findings_report(struct conf_findings *f, struct conf_report *report)
{
	if (f->len > 0)
		qsort(f->list, f->len, sizeof(*f->list), compare);
	for (size_t i = 0; i < f->len; i++) {
		struct conf_finding *finding = &f->list[i];
		struct conf_where where = finding->where;
		char *line;

		if (where.source == NULL)
			line = conf_strdup(finding->text);
		else
			line = conf_printf("%s:%d: %s", where.source->path,
			    where.line, finding->text);
		if (finding->mistake)
			append(&report->mistakes, &report->mistakes_len, line);
		else
			append(&report->warnings, &report->warnings_len, line);
	}
	if (report->mistakes == NULL)
		report->mistakes = conf_calloc(1, sizeof(char *));
	if (report->warnings == NULL)
		report->warnings = conf_calloc(1, sizeof(char *));
}
