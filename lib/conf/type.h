#ifndef CONF_TYPE_H
#define CONF_TYPE_H

/* The options of pool.conf, and the types of their values. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/arena.h"
#include "conf/conf.h"
#include "conf/findings.h"

struct option;

/* Values of a file, to be converted. */
struct input {
	const struct option *option;
	struct where where;
	const char *dir; /* relative paths start here */
	char *const *values; /* one, but of a list */
	size_t len;
	struct arena *arena; /* of what the value holds */
	struct findings *findings;
};

struct type {
	bool list;

	/* Sets the field in base. False, and the field as it was: a mistake. */
	bool (*parse)(const struct input *in, void *base);

	/*
	 * The value as it would be written; equal values have equal texts. NULL
	 * leaves the option out.
	 */
	char *(*print)(
	    const struct option *o, const void *base, struct arena *a);
};

struct option {
	const char *name;
	const struct type *type;
	size_t offset; /* of the field in struct conf or struct conf_app */
	size_t size; /* of the field */
	size_t extra; /* of the field's companion (a length, a file), or 0 */
	const char *preset; /* the default as it would be written, or NULL */
	double min; /* numbers, durations (seconds) */
	double max;
	const char *const *words; /* of an enumeration: see type_word.c */
	unsigned cost; /* CONF_CHANGED_*: what a change of it does to an app */
	unsigned handoffs; /* bits: which handoffs allow it; 0: all */
	bool in_app; /* an option of struct conf_app */
	const char *help; /* what it is, in a line */
};

/* The field of the option in base, and its companion. */
#define TYPE_FIELD(option, base) \
	((void *)((char *)(uintptr_t)(base) + (option)->offset))
#define TYPE_EXTRA(option, base) \
	((void *)((char *)(uintptr_t)(base) + (option)->extra))

/* Tells "option 'NAME': text" as a mistake. Returns false. */
bool type_bad(const struct input *in, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Marks an app that cannot run, and why; the first reason is kept. */
void type_break(struct conf_app *app, struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- type_number.c ---- */

extern const struct type type_uint;
extern const struct type type_prefetch;
extern const struct type type_span_auto;
extern const struct type type_span;
extern const struct type type_size;
extern const struct type type_real;
extern const struct type type_mode;
extern const struct type type_umask;
extern const struct type type_nice;
extern const struct type type_rlimit;
extern const struct type type_rlimit_size;
extern const struct type type_rlimit_span;

/* Digits and nothing else. False, and out untouched, if text is not that. */
bool type_parse_uint(const char *text, uint64_t *out);

/* Bytes: "65536", "64K". */
bool type_parse_size(const char *text, uint64_t *out);

/* The text that conf_parse_span() reads back. */
char *type_print_span(struct arena *a, tspan span);

/* ---- type_word.c ---- */

extern const struct type type_flag;
extern const struct type type_word;
extern const struct type type_log;

/*
 * The words of the enumerations of conf.h, in the order of their values; NULL
 * ends them. "word:" stands before a file, "/" for any path with a '/' in it,
 * and "=word" is another word for the value before.
 */
extern const char *const type_handoff_words[];
extern const char *const type_on_full_words[];
extern const char *const type_protocol_words[];
extern const char *const type_queue_words[];
extern const char *const type_limit_fail_words[];
extern const char *const type_wait_for_request_words[];
extern const char *const type_start_delay_step_words[];
extern const char *const type_output_words[];
extern const char *const type_log_level_words[];
extern const char *const type_log_format_words[];

/* ---- type_text.c ---- */

extern const struct type type_string;
extern const struct type type_path;
extern const struct type type_paths;
extern const struct type type_command;
extern const struct type type_environment;

/* Text in double quotes that a load reads back; likewise a list of it. */
char *type_quote(struct arena *a, const char *text);
char *type_quote_list(struct arena *a, const char *const *list, size_t len);

/* ---- type_address.c ---- */

extern const struct type type_listen;
extern const struct type type_limit;

#endif
