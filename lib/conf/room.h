#ifndef CONF_ROOM_H
#define CONF_ROOM_H

/*
 * The room of the configuration, by the file that defines each function; a file
 * calls those before it, and none after it. A load goes through the files
 * upwards: statements of a file, values, what they mean on this machine, what
 * is wrong with them together.
 */

#include <sys/queue.h>
#include <sys/stat.h>

#include <stdarg.h>

#include "conf/conf.h"

#define NAME_BYTES CONF_NAME_BYTES

/* The longest file of configuration. */
#define SOURCE_MAX (1024 * 1024)

/* --- arena.c: memory that is freed as a whole ---------------------------- */

/*
 * The memory of one configuration, or of the work of loading one. It is zeroed.
 * Without memory the process ends: see source_affordable().
 */
struct arena {
	struct arena_block *blocks; /* the newest first, or NULL */
};

void arena_fini(struct arena *a);

void *arena_alloc(struct arena *a, size_t n, size_t size);

/*
 * Returns the list of len elements of size bytes with room for one more. Only
 * this function may have allocated it; NULL is the empty list.
 */
void *arena_grow(struct arena *a, void *list, size_t len, size_t size);

char *arena_strdup(struct arena *a, const char *text);
char *arena_strndup(struct arena *a, const char *text, size_t len);
char *arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* --- source.c: files that are read as a whole, and paths ------------------ */

struct source {
	struct source *next;
	const char *path; /* as it is shown in messages */
	/* Of a command line: what was typed for each line; and the choice. */
	const char *const *typed;
	const char *choice;
	const char *dir; /* absolute; relative paths in the file start here */
	size_t order; /* in which files were read, from 0 */
	dev_t dev;
	ino_t ino;
	int error; /* errno: it could not be read, and has no text; or 0 */
	const char *text;
	size_t len;
};

/*
 * A load ends the process when it gets no memory. So none is begun, and no file
 * is read, while there is less than one of that length could take.
 */
bool source_affordable(size_t len);

/* Reads a regular file of at most max bytes; never waits, as for a FIFO. */
struct source *source_read(struct arena *a, const char *path, size_t max);

/* Explains an errno of reading a file of at most max bytes. */
const char *source_why(struct arena *a, int error, size_t max);

/* The absolute form of path seen from dir, without "//" and "/./". */
char *source_join(struct arena *a, const char *dir, const char *path);

struct where {
	const struct source *source;
	int line;
};

/* "FILE:LINE", or what was typed for the line. */
char *where_text(struct arena *a, struct where where);

struct findings {
	struct arena *arena; /* freed at the end of the load */
	unsigned flags; /* CONF_OUTSIDE_*, CONF_INSIDE of this load */
	struct finding *list;
	size_t len;
	size_t mistakes;
};

/*
 * The kinds of findings: a mistake in the file; a fault outside of the file,
 * which the flags make a mistake, a warning or nothing; and a doubt, for which
 * the load never fails.
 */
enum said {
	SAID_MISTAKE,
	SAID_OUTSIDE,
	SAID_DOUBT,
};

void findings_say(struct findings *f, enum said said, struct where where,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#define findings_mistake(f, where, ...) \
	findings_say(f, SAID_MISTAKE, where, __VA_ARGS__)

/* Writes all to the report, each once, sorted by file and line. */
void findings_report(
    struct findings *f, struct arena *out, struct conf_report *report);

/* --- type_*.c: the types of options -------------------------------------- */

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
	/*
	 * The words of an enumeration of conf.h, in the order of its values;
	 * NULL ends them. "word:" stands before a file, "/" for any path with a
	 * '/' in it, and "=word" is another word for the value before.
	 */
	const char *const *words;
	unsigned cost; /* CONF_CHANGED_*: what a change of it does to an app */
	unsigned handoffs; /* bits: which handoffs allow it; 0: all */
	bool in_app; /* an option of struct conf_app */
};

/* The field of the option in base, and its companion. */
#define TYPE_FIELD(option, base) \
	((void *)((char *)(uintptr_t)(base) + (option)->offset))
#define TYPE_EXTRA(option, base) \
	((void *)((char *)(uintptr_t)(base) + (option)->extra))

/* type_number.c */
extern const struct type type_uint, type_uint_auto, type_span, type_span_auto,
    type_size, type_real, type_mode, type_umask, type_nice, type_rlimit,
    type_rlimit_size, type_rlimit_span;

/* Digits and nothing else. False, and out untouched, if text is not that. */
bool type_parse_uint(const char *text, uint64_t *out);

/* type_text.c */
extern const struct type type_string, type_path, type_paths, type_names,
    type_command, type_environment, type_flag, type_word, type_log;

/* The words of enumerations of conf.h, as option.words has them. */
extern const char *const type_level_words[];
extern const char *const type_signal_words[]; /* see conf_signal() */

/* Whether there is a "{slot}" or "{slot+N}" in it: see placeholder_fill(). */
bool placeholder_has_slot(const char *text);
bool placeholder_in_list(char *const *list);

/* Tells "option 'NAME': text" as a mistake. Returns false. */
#define type_bad(in, ...) \
	(findings_mistake((in)->findings, (in)->where, "option '%s': %s", \
	     (in)->option->name, \
	     arena_printf((in)->findings->arena, __VA_ARGS__)), \
	    false)

/* Marks an app that cannot run, and why; the first reason is kept. */
void type_break(struct conf_app *app, struct arena *a, const char *why);

/* type_address.c */
extern const struct type type_listen, type_limit;

/* --- options.c: all options, in the order in which they are printed ------- */

extern const struct option options_global[];
extern const size_t options_global_len;

extern const struct option options_app[];
extern const size_t options_app_len;

/* NULL: none has that name. */
const struct option *options_find(bool in_app, const char *name);

/* Whether it is one of apps, or, misspelt, nearest to one. */
bool options_is_for_app(const char *name);

bool options_allowed(const struct option *o, enum conf_handoff handoff);

/* The words and signs of a file. */
enum token_kind {
	TOKEN_WORD,
	TOKEN_STRING, /* its quotes are part of the text */
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_LPAREN,
	TOKEN_RPAREN,
	TOKEN_EQUALS,
	TOKEN_APPEND, /* "+=" */
	TOKEN_COMMA,
	TOKEN_END /* of the file */
};

struct token {
	enum token_kind kind;
	bool bad; /* a mistake in it has been told */
	int line;
	const char *text;
	size_t len;
};

/* The text of a token for "%.*s", cut where it is long. */
#define TOKEN_SHOW_MAX 60
#define TOKEN_SHOW(t) \
	((t)->len < TOKEN_SHOW_MAX ? (int)(t)->len : TOKEN_SHOW_MAX), (t)->text

static inline bool
token_is_text(const struct token *t)
{
	return t->kind == TOKEN_WORD || t->kind == TOKEN_STRING;
}

/* The form of a statement, by the tokens behind its name. */
enum form {
	FORM_NONE, /* none of them: no statement */
	FORM_OPTION,
	FORM_CALL,
	FORM_SECTION,
	FORM_TITLED
};

struct stmt {
	STAILQ_ENTRY(stmt) next;
	const char *name;
	struct where where; /* of its name */
	enum form form;
	const struct option *option; /* NULL: the name is that of none */
	struct stmt *section; /* the section around it, or NULL */
	bool append; /* "+=" */
	/* Of a section: left out with all in it; lacks wrong statements. */
	bool blank;
	bool gaps;
	char **values; /* of a section: its title */
	size_t len;
};

STAILQ_HEAD(stmts, stmt);

/*
 * True if the name, which is the token t, is known and used as it should be;
 * reports it otherwise, and what to write.
 */
bool names_check(
    struct findings *f, const struct stmt *s, const struct token *t);

/* --- prescan.c: the statements of a file ---------------------------------- */

/* Adds the statements of a file, with their values, to out. */
void prescan(
    const struct source *source, struct findings *findings, struct stmts *out);

/* --- parse.c: a file, and what it includes -------------------------------- */

struct parse {
	struct source *sources; /* in the order they were read */
	struct stmts stmts; /* options and sections, in their order */
};

/*
 * Parses source and all it includes, in memory of findings. For one thread at a
 * time: libconfuse has one scanner for the whole process.
 */
void parse_source(
    struct parse *out, struct source *source, struct findings *findings);

/* --- build.c: a struct conf from statements ------------------------------- */

struct build {
	struct conf *conf;
	struct arena *arena; /* of conf; that of findings is temporary */
	struct findings *findings;
	struct parse *parse;
	struct section *global;
	struct section **apps; /* one for each app of conf */
	struct section *defaults; /* NULL: there are none */
	bool (*is_ours)(const struct conf_listen *); /* see conf_load() */
};

/*
 * Converts the values of all options. An option of an app has the value that
 * the app sets, else that of `defaults`, wherever that section stands, else its
 * default. False: there are too many apps, and none was checked.
 */
bool build_conf(struct build *b);

/* The place that sets an option of an app (app NULL: a global one). */
enum build_level {
	LEVEL_PRESET, /* nobody */
	LEVEL_DEFAULTS,
	LEVEL_OWN,
};

enum build_level build_level(
    const struct build *b, const struct conf_app *app, const char *option);

/* Where it is set, or, if it is not, where the app begins or line 1. */
struct where build_where(
    const struct build *b, const struct conf_app *app, const char *option);

/* Reports it there, behind "app 'NAME': " or "option 'NAME': ". */
#define build_say(b, app, said, option, ...) \
	build_tell(b, app, said, option, \
	    arena_printf((b)->findings->arena, __VA_ARGS__))
void build_tell(const struct build *b, const struct conf_app *app,
    enum said said, const char *option, const char *text);

/* Reports what is wrong outside of the file, and breaks the app for it. */
#define build_break(b, app, where, ...) \
	build_fail(b, app, where, arena_printf((b)->arena, __VA_ARGS__))
void build_fail(const struct build *b, struct conf_app *app, struct where where,
    const char *why);

/* Whether it is a value to rely on: false if a mistake made it the default. */
bool build_sound(
    const struct build *b, const struct conf_app *app, const char *option);

/* --- resolve.c: what values mean on this machine -------------------------- */

void resolve_conf(struct build *b);

/* The path of the app seen from outside of its root directory. */
const char *resolve_outside(
    struct arena *a, const struct conf_app *app, const char *path);

/* The absolute path of a program in PATH, or NULL. */
char *resolve_search(
    struct arena *a, const struct conf_app *app, const char *name);

/* --- check.c: values together, and what they refer to on this machine --- */

/*
 * A value that is the default only because of a mistake is compared with none.
 * What is not there or cannot be used is reported by the flags of the load.
 * Binds, connects to and writes nothing.
 */
void check_conf(struct build *b);

/* --- run.c: a command line as the text of a file ------------------------- */

struct source *run_source(
    struct arena *a, const struct conf_run *run, struct findings *findings);

#endif
