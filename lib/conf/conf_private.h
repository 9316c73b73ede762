#ifndef CONF_CONF_PRIVATE_H
#define CONF_CONF_PRIVATE_H

/*
 * What the files conf_*.c share. A file goes this way: conf_source (bytes) ->
 * conf_scan (tokens) -> conf_stmt (statements) -> conf_load (libconfuse, which
 * yields settings) -> conf_build (one struct conf, by the tables of
 * conf_options and the types of conf_number, conf_text, conf_word and
 * conf_address) -> conf_identity, conf_check, conf_outside. Each of them adds
 * what it finds wrong to the same struct conf_findings and goes on.
 */

#include <sys/stat.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "conf/conf.h"

/* ---- conf_report.c: what was found ---- */

struct conf_source;

/* A place in a file; line 0 if it is nowhere in particular. */
struct conf_where {
	const struct conf_source *source;
	int line;
};

struct conf_finding {
	struct conf_where where;
	size_t seq; /* findings of one line stay in the order they came */
	bool mistake;
	char *text;
};

struct conf_findings {
	struct conf_finding *list;
	size_t len;
	size_t mistakes;
	unsigned flags; /* CONF_OUTSIDE_* of this load */
};

void conf_findings_init(struct conf_findings *, unsigned flags);
void conf_findings_fini(struct conf_findings *);
void conf_mistake(struct conf_findings *, struct conf_where, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));

/* Something of the outside: a mistake, a warning or nothing, by the flags. */
void conf_outside_note(struct conf_findings *, struct conf_where,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Sorts, drops what was said twice, and moves all into report. */
void conf_findings_report(struct conf_findings *, struct conf_report *report);

/* ---- conf_alloc.c: memory; out of memory ends the process ---- */

void *conf_calloc(size_t n, size_t size);
void *conf_realloc(void *, size_t n, size_t size);
char *conf_strdup(const char *);
char *conf_strndup(const char *, size_t len);
char *conf_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Makes room for one more behind len elements of size; grows by doubling. */
void *conf_grow(void *, size_t len, size_t size);

void conf_strings_free(char **);

/* ---- conf_source.c: the bytes of a file ---- */

#define CONF_FILE_MAX (1024 * 1024)

enum conf_token_kind {
	CONF_TOKEN_WORD,
	CONF_TOKEN_STRING,
	CONF_TOKEN_OPEN,
	CONF_TOKEN_CLOSE,
	CONF_TOKEN_LPAREN,
	CONF_TOKEN_RPAREN,
	CONF_TOKEN_EQUALS,
	CONF_TOKEN_APPEND,
	CONF_TOKEN_COMMA,
	CONF_TOKEN_END /* behind the last one */
};

struct conf_token {
	unsigned offset;
	unsigned len;
	int line;
	unsigned stmt; /* the innermost statement it belongs to */
	unsigned char kind;
	bool bad; /* already complained of */
	bool blank; /* not to be seen by libconfuse */
};

#define CONF_STMT_NONE UINT32_MAX

/* An option, a call or a section with all that is in it. */
struct conf_stmt {
	unsigned first; /* token: the name */
	unsigned last; /* token, inclusive */
	unsigned value; /* token at which its value ends; junk may follow */
	unsigned parent; /* the section around it, or CONF_STMT_NONE */
	bool append; /* "+=" */
	bool title; /* a section with a title */
};

struct conf_source {
	struct conf_source *next;
	char *path; /* as it is shown in messages */
	char *dir; /* absolute folder; relative paths start here */
	size_t order;
	dev_t dev;
	ino_t ino;

	char *text;
	size_t len;
	int lines;
	struct conf_token *tokens; /* one CONF_TOKEN_END behind the last */
	unsigned tokens_len;
	struct conf_stmt *stmts;
	unsigned stmts_len;
};

/*
 * Reads a regular file of at most max bytes; there is room for a NUL behind
 * them. NULL and errno, which conf_file_why() puts in words (allocated).
 */
char *conf_file_read(
    const char *path, size_t max, struct stat *st_out, size_t *len_out);
char *conf_file_why(size_t max);

/* Likewise a source with text, of at most CONF_FILE_MAX bytes. */
struct conf_source *conf_source_open(const char *path);
void conf_source_free(struct conf_source *);

/* The absolute form of path, seen from dir; "//" and "/./" are taken out. */
char *conf_path_join(const char *dir, const char *path);
char *conf_path_dir(const char *path);

/* ---- conf_scan.c, conf_stmt.c ---- */

void conf_scan(struct conf_source *, struct conf_findings *);
void conf_stmt_scan(struct conf_source *, struct conf_findings *);

/*
 * The text for libconfuse, allocated: each token on a line of its own, so that
 * the line it complains of names the token; nothing where a token is blank.
 */
char *conf_copy(const struct conf_source *, size_t *len_out);

/*
 * Stands in the copy for "no element": libconfuse calls no validator for an
 * empty list.
 */
#define CONF_EMPTY_LIST "\001"

/* Ends the title of a section in the copy; its place follows. */
#define CONF_TITLE_MARK '\001'

/* Tells what libconfuse found at that token, and blanks the statement. */
void conf_judge(struct conf_source *, unsigned token, const char *text,
    struct conf_findings *);

/* Hides a statement, with all that is in it, from libconfuse. */
void conf_stmt_blank(struct conf_source *, unsigned stmt);
bool conf_token_is(
    const struct conf_source *, unsigned token, const char *word);

/* ---- conf_options.c: the tables ---- */

struct conf_option;

/* One setting, about to become a value. */
struct conf_input {
	const struct conf_option *option;
	struct conf_where where;
	const char *dir; /* relative paths start here */
	char *const *values;
	size_t len;
	struct conf_findings *findings;
};

struct conf_type {
	bool list;

	/* Returns false after a mistake was noted; the field is then unchanged.
	 */
	bool (*parse)(const struct conf_input *, void *base);
	bool (*equal)(const struct conf_option *, const void *a, const void *b);

	/* The value as it would be written; false: leave the option out. */
	bool (*print)(const struct conf_option *, const void *base, FILE *);
	void (*fini)(const struct conf_option *, void *base); /* or NULL */
};

enum conf_word_form {
	CONF_WORD_PLAIN, /* the word itself */
	CONF_WORD_PREFIX, /* the word, ':' and a file */
	CONF_WORD_PATH /* any path with a '/' in it */
};

/* A word of an enumeration. The list ends with a NULL name. */
struct conf_word {
	const char *name;
	unsigned value;
	enum conf_word_form form;
	bool not_in_force;
};

#define CONF_BIT(handoff) (1U << (handoff))

struct conf_option {
	const char *name;
	const struct conf_type *type;
	size_t offset; /* of the field in struct conf or struct conf_app */
	size_t extra; /* of the field's companion (a length, a file), or 0 */
	const char *preset; /* the default as it would be written, or NULL */
	double min; /* numbers, durations (seconds), sizes */
	double max;
	const struct conf_word *words;
	unsigned change; /* CONF_CHANGED_* */
	unsigned handoffs; /* bits: which handoffs honour it; 0: all */
	bool in_app; /* an option of struct conf_app */
	bool not_in_force;
};

extern const struct conf_option conf_global_options[];
extern const size_t conf_global_options_len;
extern const struct conf_option conf_app_options[];
extern const size_t conf_app_options_len;

/* NULL if there is none. */
const struct conf_option *conf_option_find(bool in_app, const char *name);
bool conf_option_honoured(const struct conf_option *, enum conf_handoff);

/* What base->option is, and its companion. */
#define CONF_FIELD(option, base) \
	((void *)((char *)(uintptr_t)(base) + (option)->offset))
#define CONF_EXTRA(option, base) \
	((void *)((char *)(uintptr_t)(base) + (option)->extra))

extern const struct conf_type conf_type_bool;
extern const struct conf_type conf_type_uint;
extern const struct conf_type conf_type_span;
extern const struct conf_type conf_type_size;
extern const struct conf_type conf_type_real;
extern const struct conf_type conf_type_mode;
extern const struct conf_type conf_type_umask;
extern const struct conf_type conf_type_nice;
extern const struct conf_type conf_type_rlimit;
extern const struct conf_type conf_type_rlimit_size;
extern const struct conf_type conf_type_rlimit_span;
extern const struct conf_type conf_type_string;
extern const struct conf_type conf_type_path;
extern const struct conf_type conf_type_paths;
extern const struct conf_type conf_type_command;
extern const struct conf_type conf_type_environment;
extern const struct conf_type conf_type_limit;
void conf_limit_fini(struct conf_limit *);
extern const struct conf_type conf_type_word;
extern const struct conf_type conf_type_log;
extern const struct conf_type conf_type_listen;

extern const struct conf_word conf_handoff_words[];
extern const struct conf_word conf_on_full_words[];
extern const struct conf_word conf_protocol_words[];
extern const struct conf_word conf_queue_words[];
extern const struct conf_word conf_limit_fail_words[];
extern const struct conf_word conf_output_words[];
extern const struct conf_word conf_log_level_words[];
extern const struct conf_word conf_log_format_words[];

const char *conf_word_name(const struct conf_word *, unsigned value);

/* "'WORD' is not one of a, b or c", as a mistake. Returns false. */
bool conf_bad_word(
    const struct conf_input *, const struct conf_word *, const char *word);

/* "option 'NAME': text" as a mistake. Returns false, for the caller to. */
bool conf_bad(const struct conf_input *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* conf_number.c: the texts of numbers; false if text is not one. */
bool conf_parse_size(const char *text, uint64_t *out);
bool conf_parse_uint(const char *text, uint64_t *out);
void conf_print_span(tspan, FILE *);
void conf_print_size(uint64_t, FILE *);

/* conf_text.c: text in double quotes that conf_load() reads back. */
void conf_print_quoted(const char *text, FILE *);

/* The absolute path, or NULL after a mistake was noted. */
char *conf_path_of(const struct conf_input *, const char *text);

/* conf_address.c: adds what one address means; false after a mistake. */
struct conf_listens {
	struct conf_listen *list;
	size_t len;
};

bool conf_address_parse(const struct conf_input *, void *base, const char *text,
    struct conf_listens *out);

/* True if one of both could not be bound while the other listens. */
bool conf_listen_overlaps(
    const struct conf_listen *, const struct conf_listen *);

/* ---- conf_load.c, conf_include.c: what the files say ---- */

#define CONF_SECTION_GLOBAL SIZE_MAX

struct conf_setting {
	const struct conf_option *option;
	struct conf_source *source;
	unsigned stmt;
	size_t section; /* of conf_text.sections, or CONF_SECTION_GLOBAL */
	bool append;
	bool extends; /* "+=" from the start: comes on top of `defaults` */
	const struct conf_setting *first; /* of the same option, or NULL */
	const struct conf_setting *before; /* likewise: the last before this */
	char **values;
	size_t len;
};

struct conf_section {
	struct conf_source *source;
	unsigned stmt;
	char *title; /* of an app; NULL: defaults */
};

struct conf_text {
	struct conf_source *sources; /* in the order they were read */
	struct conf_setting *settings;
	size_t settings_len;
	struct conf_section *sections;
	size_t sections_len;
};

/*
 * Reads file and what it includes. False if the settings are not all that the
 * files say, so that looking further would only find what is not so.
 */
bool conf_text_read(
    struct conf_text *, const char *file, struct conf_findings *);
void conf_text_fini(struct conf_text *);

/* Adds a setting, whose values it takes over, or a section that has ended. */
void conf_text_setting(struct conf_text *, const struct conf_option *,
    struct conf_source *, unsigned stmt, char **values, size_t len);
void conf_text_section(
    struct conf_text *, struct conf_source *, unsigned stmt, const char *title);

/* Forgets settings and sections; the files are kept. */
void conf_text_clear(struct conf_text *);

struct conf_where conf_setting_where(const struct conf_setting *);
struct conf_where conf_section_where(const struct conf_section *);

/* True if a statement of that section was wrong and left out. */
bool conf_section_has_gaps(const struct conf_section *);

/* The files named by one argument of include(), seen from source. */
struct conf_include {
	char **paths;
	size_t len;
};

/* False, and why in why_out (allocated), if there is none to read. */
bool conf_include_expand(const struct conf_source *source, const char *pattern,
    struct conf_include *out, char **why_out);
void conf_include_fini(struct conf_include *);

/* ---- conf_build.c: from settings to values ---- */

/* What is known of one option in one place. */
struct conf_slot {
	const struct conf_setting *setting; /* NULL: not set there */
	bool failed; /* the value was wrong, so the field has the default */
};

struct conf_build {
	struct conf *conf;
	struct conf_text *text;
	struct conf_findings *findings;

	struct conf_slot *global; /* one for each global option */
	struct conf_slot *slots; /* one for each app option of each section */
	const struct conf_section **app_sections; /* one for each app */
	size_t defaults; /* the section `defaults`, or CONF_SECTION_GLOBAL */
};

void conf_build_init(
    struct conf_build *, struct conf_text *, struct conf_findings *);
void conf_build_fini(struct conf_build *);

/* Makes the values of all options; what is wrong is in the findings. */
void conf_build(struct conf_build *);

/*
 * Sets the field of base to what setting says, on top of what under (or NULL)
 * says if it adds to that. Returns false after a mistake.
 */
bool conf_convert(struct conf_build *, const struct conf_setting *setting,
    const struct conf_setting *under, void *base);

/* Of what is not in force yet only the default may be set; false if not. */
bool conf_in_force(struct conf_build *, const struct conf_setting *,
    const void *base, const void *presets);

/*
 * The slot of an option: that of the app, else that of `defaults` if it is set
 * there, else the app's.
 */
const struct conf_slot *conf_app_slot(
    const struct conf_build *, const struct conf_app *, const char *option);
const struct conf_slot *conf_global_slot(
    const struct conf_build *, const char *option);

/* Where an option was set; the app's own place, or line 1, if nowhere. */
struct conf_where conf_app_where(
    const struct conf_build *, const struct conf_app *, const char *option);
struct conf_where conf_global_where(
    const struct conf_build *, const char *option);

/* False if the value is a default only because something was wrong. */
bool conf_app_sound(
    const struct conf_build *, const struct conf_app *, const char *option);

/* Marks the app as one that cannot run; the first reason is kept. */
void conf_app_break(struct conf_app *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- conf.c ---- */

/* Gives every field its default / releases what the fields hold. */
void conf_globals_init(struct conf *);
void conf_app_init(struct conf_app *);
void conf_app_fini(struct conf_app *);

/* ---- conf_account.c: users and groups ---- */

struct conf_user {
	uid_t uid;
	gid_t gid;
	char *name;
	char *home;
	char *shell;
};

/* By name or number. False: none; then errno is 0, or why we cannot know. */
bool conf_user_find(const char *name, struct conf_user *out);
void conf_user_fini(struct conf_user *);

/* A user whose number has no name; false if text is no number. */
bool conf_user_of_number(const char *text, struct conf_user *out);

/* Likewise; a number does not need to have a name. */
bool conf_group_find(const char *name, gid_t *out);

/* The name of a group, or its number; allocated. */
char *conf_group_name(gid_t gid);

/* ---- the rest ---- */

/* Users and groups become numbers. */
void conf_identity_resolve(struct conf_build *);

/* directory, restart_dir and command[0] become absolute. */
void conf_place_resolve(struct conf_build *);

/* What on_full = reply:FILE sends is read. */
void conf_reply_read(struct conf_build *);

/* Where the handoff needs one, it is found. */
void conf_adapter_find(struct conf_build *);

/* The path of an adapter of that name (allocated), or NULL: it is not there. */
char *conf_adapter_search(const char *name);

/* What contradicts what, within an app and between them. */
void conf_check(struct conf_build *);

/* Programs, directories, limits and addresses of this machine. */
void conf_outside_check(
    struct conf_build *, bool (*is_ours)(const struct conf_listen *));

/*
 * Why that identity cannot use path, an absolute path of a program or of a
 * directory, in words (allocated); or NULL.
 */
char *conf_denied(
    const struct conf_identity *, const char *path, bool is_directory);

#endif
