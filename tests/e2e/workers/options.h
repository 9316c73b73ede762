#ifndef TESTS_E2E_WORKERS_OPTIONS_H
#define TESTS_E2E_WORKERS_OPTIONS_H

/* A command line as a table of where each value goes; with no library. */

#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A length of time in microseconds. */
typedef int64_t useconds;

struct option_row {
	const char *name;
	enum {
		KIND_FLAG, /* a bool; has no value */
		KIND_NUMBER, /* a long */
		KIND_SPAN, /* useconds */
		KIND_TEXT
	} kind;
	void *place;
};

/* Parses a number with us, ms or s; a bare number is seconds. */
static inline bool
span_read(const char *text, useconds *out)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || n < 0)
		return false;
	if (strcmp(end, "us") == 0)
		*out = n;
	else if (strcmp(end, "ms") == 0)
		*out = (useconds)n * 1000;
	else if (*end == '\0' || strcmp(end, "s") == 0)
		*out = (useconds)n * 1000000;
	else
		return false;
	return true;
}

static inline bool
option_set(const struct option_row *row, const char *value)
{
	char *end;

	if (row->kind == KIND_FLAG) {
		*(bool *)row->place = true;
		return true;
	}
	if (value == NULL)
		return false;
	switch (row->kind) {
	case KIND_NUMBER:
		*(long *)row->place = strtol(value, &end, 10);
		return end != value && *end == '\0';
	case KIND_SPAN:
		return span_read(value, row->place);
	default:
		*(const char **)row->place = value;
		return true;
	}
}

/* The last row has no name. */
static inline void
options_read(const struct option_row *rows, char **argv)
{
	while (*++argv != NULL) {
		const struct option_row *row = rows;

		while (row->name != NULL && strcmp(*argv, row->name) != 0)
			row++;
		if (row->name == NULL || !option_set(row, argv[1]))
			errx(64, "%s: see the table of options", *argv);
		if (row->kind != KIND_FLAG)
			argv++;
	}
}

#endif
