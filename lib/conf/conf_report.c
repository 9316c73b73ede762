/*
 * What is wrong with a configuration: collected in any order, told by file
 * and line.
 */

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_private.h"

/* A file can be wrong in more ways than anybody reads. */
#define FINDINGS_MAX 1000
#define MISTAKES_MAX 100
#define TEXT_MAX 500

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

/*
 * One line, of a length to be read: what is quoted from the file may have line
 * ends, signs that a terminal would take for commands, and no end.
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

static void add(struct conf_findings *f, bool mistake, struct conf_where where,
    const char *fmt, va_list ap) __attribute__((format(printf, 4, 0)));

static void
add(struct conf_findings *f, bool mistake, struct conf_where where,
    const char *fmt, va_list ap)
{
	struct conf_finding *finding;
	char *text;

	if (mistake)
		f->mistakes++;
	if (f->len >= FINDINGS_MAX)
		return;
	if (vasprintf(&text, fmt, ap) == -1)
		text = conf_strdup(fmt);
	tidy(text);

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

/* Adds line, which it takes over, but not one that is there already. */
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

static char *
line_of(const struct conf_finding *finding)
{
	struct conf_where where = finding->where;

	if (where.source == NULL)
		return conf_strdup(finding->text);
	return conf_printf(
	    "%s:%d: %s", where.source->path, where.line, finding->text);
}

void
conf_findings_report(struct conf_findings *f, struct conf_report *report)
{
	char **mistakes = conf_calloc(1, sizeof(*mistakes));
	char **warnings = conf_calloc(1, sizeof(*warnings));
	size_t n = 0;
	size_t w = 0;

	if (f->len > 0)
		qsort(f->list, f->len, sizeof(*f->list), compare);
	for (size_t i = 0; i < f->len && n < MISTAKES_MAX; i++) {
		if (f->list[i].mistake)
			append(&mistakes, &n, line_of(&f->list[i]));
		else
			append(&warnings, &w, line_of(&f->list[i]));
	}
	if (n == MISTAKES_MAX)
		append(&mistakes, &n,
		    conf_printf(
			"only the first %d mistakes are shown", MISTAKES_MAX));
	report->mistakes = mistakes;
	report->mistakes_len = n;
	report->warnings = warnings;
	report->warnings_len = w;
}
