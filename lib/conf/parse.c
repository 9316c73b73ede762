/*
 * libconfuse parses the copies that the prescan makes of files, and so meets no
 * unknown name. Each value goes to its statement; libconfuse keeps none. An
 * escape that means nothing stops it: what follows is not read.
 *
 * libconfuse and its scanner end the process when they get no memory. So the
 * most that they can use is reserved before they run: see reserve().
 */

#include <assert.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <confuse.h>

#include "conf/options.h"
#include "conf/parse.h"

#define INCLUDE_DEPTH_MAX 8
#define INCLUDE_FILES_MAX 2000

/* A file that is being parsed. */
struct open_file {
	struct source *source;
	struct copy copy;
};

struct parser {
	struct parse *out;
	struct findings *findings;
	const struct option *only;
	struct open_file open[INCLUDE_DEPTH_MAX];
	unsigned depth;
	unsigned files;
	bool no_memory; /* found in a callback, which has to return first */
	const struct copy_line
	    *error_line; /* likewise: what stopped libconfuse */
	char error[512];
};

/* Callbacks of libconfuse are given no pointer of ours. */
static struct parser *parser;

/* The line of the copy that libconfuse has read last. */
static const struct copy_line *
line_now(const cfg_t *cfg)
{
	const struct copy *c = &parser->open[parser->depth - 1].copy;
	size_t i = cfg->line > 0 ? (size_t)cfg->line - 1 : 0;

	return &c->lines[i < c->lines_len ? i : c->lines_len - 1];
}

/* ---- memory ---- */

/* Bytes that an allocation takes beyond its size, at most. */
#define CHUNK 32

/*
 * Less than what malloc(3) takes from the kernel and returns to it each time.
 */
#define PIECE ((size_t)32 * 1024)

/* The most that the tables take: those of an app are there four times. */
static size_t
need_of_tables(void)
{
	size_t options = options_global_len + 4 * (options_app_len + 1) + 8;

	return options * (sizeof(cfg_opt_t) + 64 + 3 * CHUNK) + 8192;
}

/*
 * The most that parsing a file takes: buffers of the scanner and of a stream,
 * the longest value while it grows and is copied, each variable in it as long
 * as the longest there is, and the longest list with its elements.
 */
static size_t
need_of_file(const struct copy *c)
{
	size_t value = c->longest + 1;
	size_t variable = 0;

	for (char **e = environ; e != NULL && *e != NULL; e++)
		variable = strlen(*e) > variable ? strlen(*e) : variable;
	value += c->variables * variable;
	return 4 * 16384 + 4 * value +
	    c->elements * (sizeof(cfg_value_t) + 2 * CHUNK + 16);
}

/*
 * Makes sure that malloc(3) has size bytes free for this thread: allocates them
 * in pieces and frees these. Returns a last piece, which keeps the free ones
 * below it from being returned to the kernel, and is to be freed after use;
 * NULL: no memory.
 */
static void *
reserve(size_t size)
{
	void **pieces = NULL; /* each begins with the address of the next */
	void *last = NULL;

	for (size_t got = 0; got < size + PIECE; got += PIECE) {
		void **p = last;

		last = malloc(PIECE);
		if (p != NULL) {
			*p = pieces;
			pieces = p;
		}
		if (last == NULL)
			break;
	}
	while (pieces != NULL) {
		void **next = *pieces;

		free(pieces);
		pieces = next;
	}
	return last;
}

/* ---- what libconfuse says ---- */

static void on_error(cfg_t *cfg, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

/* libconfuse stops after an error, and with it each of its callers. */
static void
on_error(cfg_t *cfg, const char *fmt, va_list ap)
{
	const struct copy_line *line = line_now(cfg);

	if (parser->error_line != NULL || line->stmt == NULL)
		return;
	parser->error_line = line;
	(void)vsnprintf(parser->error, sizeof(parser->error), fmt, ap);
}

/* Reports the error; the statement may have some of its values already. */
static void
report_error(struct parse *out)
{
	const struct copy_line *line = parser->error_line;

	out->stopped = line != NULL;
	if (line == NULL)
		return;
	if (line->stmt->len > 0)
		STAILQ_REMOVE(&out->stmts, line->stmt, stmt, next);
	findings_mistake(parser->findings,
	    (struct where){ line->stmt->where.source, line->line },
	    "option '%s': %s", line->stmt->name, parser->error);
}

/* Called with each value, and with the title of each section. */
static int
on_value(cfg_t *cfg, cfg_opt_t *opt, const char *value, void *result)
{
	struct stmt *s = line_now(cfg)->stmt;

	(void)opt;
	assert(s != NULL && (s->len < s->size || s->empty));
	/* libconfuse keeps a copy of this instead of the value. */
	*(const char **)result = "";
	if (s->len == 0)
		STAILQ_INSERT_TAIL(&parser->out->stmts, s, next);
	if (s->empty)
		return 0;
	s->values[s->len] =
	    arena_try(parser->findings->arena, strlen(value) + 1);
	if (s->values[s->len] == NULL) {
		parser->no_memory = true;
		return -1;
	}
	strcpy(s->values[s->len++], value);
	return 0;
}

/* ---- includes ---- */

struct paths {
	char **list;
	size_t len;
};

/* The folder of source as it is shown, with its own special signs quoted. */
static char *
escaped_folder(const struct source *source, struct arena *a)
{
	const char *slash = strrchr(source->path, '/');
	size_t len = slash != NULL ? (size_t)(slash - source->path) + 1 : 0;
	char *out = arena_alloc(a, 2 * len + 1, 1);
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (strchr("*?[]{},\\~", source->path[i]) != NULL)
			out[n++] = '\\';
		out[n++] = source->path[i];
	}
	return out;
}

/* A missing folder has no files; a closed one may have some. */
static int
is_trouble(const char *path, int error)
{
	(void)path;
	errno = error;
	return error != ENOENT && error != ENOTDIR;
}

/* Copies the paths of a glob_t and frees it. NULL: no memory. */
static char **
take_found(glob_t *found, struct arena *a)
{
	char **list;
	char *end;
	size_t size = 1;

	for (size_t i = 0; i < found->gl_pathc; i++)
		size += sizeof(*list) + strlen(found->gl_pathv[i]) + 1;
	list = arena_try(a, size);
	end = (char *)(list + found->gl_pathc);
	for (size_t i = 0; list != NULL && i < found->gl_pathc; i++) {
		list[i] = end;
		end = stpcpy(end, found->gl_pathv[i]) + 1;
	}
	globfree(found);
	return list;
}

/*
 * Finds the files of a pattern, seen from source, in the order of their names.
 * Returns NULL, or why that is not possible.
 */
static const char *
expand(const struct source *source, const char *pattern, struct arena *a,
    struct paths *out)
{
	const char *folder = pattern[0] == '/' ? "" : escaped_folder(source, a);
	const char *whole = arena_printf(a, "%s%s", folder, pattern);
	glob_t found = { 0 };
	int rc = glob(whole, GLOB_BRACE, is_trouble, &found);

	if (rc == GLOB_NOMATCH)
		return NULL;
	if (rc != 0 && rc != GLOB_NOSPACE)
		return arena_strdup(a, strerror(errno));
	out->len = found.gl_pathc;
	out->list = rc == 0 ? take_found(&found, a) : NULL;
	if (out->list == NULL)
		arena_exhausted(a);
	return NULL;
}

/*
 * Finds the files that an argument of include() means. Returns NULL, or why
 * not.
 */
static const char *
included(const struct source *source, const char *text, struct arena *a,
    struct paths *out)
{
	const char *slash = strrchr(source->path, '/');
	int len = slash != NULL ? (int)(slash - source->path) + 1 : 0;

	if (text[0] == '\0')
		return "no file is named";
	if (strpbrk(text, "*?[{") != NULL)
		return expand(source, text, a, out);
	out->list = arena_alloc(a, 1, sizeof(*out->list));
	out->list[out->len++] = text[0] == '/'
	    ? arena_strdup(a, text)
	    : arena_printf(a, "%.*s%s", len, source->path, text);
	return NULL;
}

/* Why the file cannot be included now, or NULL. */
static const char *
refused(const struct source *source)
{
	for (unsigned i = 0; i < parser->depth; i++) {
		if (parser->open[i].source->dev == source->dev &&
		    parser->open[i].source->ino == source->ino)
			return "the file includes itself";
	}
	if (parser->depth == INCLUDE_DEPTH_MAX)
		return arena_printf(parser->findings->arena,
		    "includes are nested more than %d deep", INCLUDE_DEPTH_MAX);
	if (++parser->files > INCLUDE_FILES_MAX)
		return arena_printf(parser->findings->arena,
		    "more than %d files are included", INCLUDE_FILES_MAX);
	return NULL;
}

static void
include_wrong(const struct stmt *s, const char *path, const char *why)
{
	findings_mistake(parser->findings, s->where, "include: %s%s%s", path,
	    path[0] != '\0' ? ": " : "", why);
}

/*
 * The source of that path, read if it is new. NULL and errno: it cannot be
 * read.
 */
static struct source *
source_get(const char *path)
{
	struct source **end = &parser->out->sources;
	size_t order = 0;

	for (; *end != NULL; end = &(*end)->next) {
		if (strcmp((*end)->path, path) == 0)
			return *end;
		order++;
	}
	*end = source_read(parser->findings->arena, path);
	if (*end != NULL)
		(*end)->order = order;
	return *end;
}

/* ---- files ---- */

/* Prescans a file and makes it the innermost one being parsed. */
static void
open_file(struct source *source)
{
	struct open_file *f = &parser->open[parser->depth];

	f->source = source;
	prescan(source, parser->only, parser->findings, &f->copy);
	parser->depth++;
}

/*
 * Parses and closes the innermost file. Returns 0, or -1: libconfuse stopped.
 */
static int
parse_open_file(cfg_t *cfg)
{
	const struct copy *c = &parser->open[parser->depth - 1].copy;
	void *lid = reserve(need_of_file(c));
	FILE *fp = lid != NULL ? fmemopen(c->text, c->len, "r") : NULL;
	int line = cfg->line;
	int rc = -1;

	if (fp != NULL) {
		rc = cfg_parse_fp(cfg, fp) == CFG_SUCCESS ? 0 : -1;
		(void)fclose(fp);
	}
	free(lid);
	cfg->line = line;
	parser->depth--;
	/* Only without memory libconfuse stops and reports nothing. */
	if (rc == -1 && parser->error_line == NULL)
		parser->no_memory = true;
	return rc;
}

static int
include(cfg_t *cfg, const struct stmt *s, const char *path)
{
	struct source *source = source_get(path);
	const char *why;

	if (source == NULL)
		why = source_why(parser->findings->arena, SOURCE_MAX);
	else
		why = refused(source);
	if (why != NULL) {
		include_wrong(s, path, why);
		return 0;
	}
	open_file(source);
	return parse_open_file(cfg);
}

/* A file that cannot be included is reported; the parse goes on. */
static int
include_all(cfg_t *cfg, const struct stmt *s, int argc, const char **argv)
{
	const struct source *from = parser->open[parser->depth - 1].source;
	int rc = 0;

	if (argc == 0)
		include_wrong(s, "", "no file is named");
	for (int i = 0; i < argc && rc == 0; i++) {
		struct paths files = { NULL, 0 };
		const char *why =
		    included(from, argv[i], parser->findings->arena, &files);

		if (why != NULL)
			include_wrong(s, argv[i], why);
		for (size_t n = 0; n < files.len && rc == 0; n++)
			rc = include(cfg, s, files.list[n]);
	}
	return rc;
}

/* The jump of an exhausted arena ends here: libconfuse has memory to free. */
static int
on_include(cfg_t *cfg, cfg_opt_t *opt, int argc, const char **argv)
{
	const struct stmt *s = line_now(cfg)->stmt;
	struct arena *a = parser->findings->arena;
	jmp_buf *outer = a->exhausted;
	jmp_buf here;
	volatile int rc = -1;

	(void)opt;
	a->exhausted = &here;
	if (setjmp(here) == 0)
		rc = include_all(cfg, s, argc, argv);
	else
		parser->no_memory = true;
	a->exhausted = outer;
	return rc;
}

/* ---- the whole ---- */

static void
library_options(const struct option *options, size_t len, cfg_opt_t *out)
{
	for (size_t i = 0; i < len; i++) {
		const cfg_opt_t scalar =
		    CFG_STR_CB(options[i].name, NULL, CFGF_NODEFAULT, on_value);
		const cfg_opt_t list = CFG_STR_LIST_CB(
		    options[i].name, NULL, CFGF_NODEFAULT, on_value);

		out[i] = options[i].type->list ? list : scalar;
	}
}

/*
 * The options for libconfuse. All apps are one section without a title to it,
 * which it uses again for the next: so its memory has a bound, whatever a file
 * says. Titles are options in the copy.
 */
static cfg_opt_t *
library_table(struct arena *a)
{
	const cfg_opt_t title =
	    CFG_STR_CB(PRESCAN_TITLE, NULL, CFGF_NODEFAULT, on_value);
	size_t n = options_global_len;
	cfg_opt_t *in_app =
	    arena_alloc(a, options_app_len + 2, sizeof(*in_app));
	cfg_opt_t *opts = arena_alloc(a, n + 4, sizeof(*opts));
	const cfg_opt_t app = CFG_SEC("app", in_app, CFGF_NONE);
	const cfg_opt_t defaults = CFG_SEC("defaults", in_app, CFGF_NONE);
	const cfg_opt_t include = CFG_FUNC("include", on_include);

	/* Each table ends with an element that is all zero. */
	library_options(options_app, options_app_len, in_app);
	in_app[options_app_len] = title;
	library_options(options_global, n, opts);
	opts[n] = app;
	opts[n + 1] = defaults;
	opts[n + 2] = include;
	return opts;
}

static void
parse_all(struct source *source)
{
	cfg_opt_t *opts = library_table(parser->findings->arena);
	void *lid;
	cfg_t *cfg;

	open_file(source);
	lid = reserve(need_of_tables());
	cfg = lid != NULL ? cfg_init(opts, CFGF_NONE) : NULL;
	if (cfg != NULL) {
		cfg_set_error_function(cfg, on_error);
		(void)parse_open_file(cfg);
		cfg_free(cfg);
	}
	free(lid);
	if (cfg == NULL || parser->no_memory)
		arena_exhausted(parser->findings->arena);
	report_error(parser->out);
}

/* Adds a source without text, as the place of the mistake. */
static void
unreadable(struct parse *out, const char *file, struct findings *findings)
{
	struct source *source;
	const char *why;

	out->error = errno;
	why = source_why(findings->arena, SOURCE_MAX);
	source = arena_alloc(findings->arena, 1, sizeof(*source));
	source->path = arena_strdup(findings->arena, file);
	source->dir = source_dir(findings->arena, file);
	out->sources = source;
	out->stopped = true;
	findings_mistake(
	    findings, (struct where){ source, 1 }, "cannot be read: %s", why);
}

void
parse_file(struct parse *out, const char *file, const struct option *only,
    struct findings *findings)
{
	struct parser p = { .out = out, .findings = findings, .only = only };
	struct source *source;

	memset(out, 0, sizeof(*out));
	STAILQ_INIT(&out->stmts);
	parser = &p;
	source = source_get(file);
	if (source != NULL)
		parse_all(source);
	else
		unreadable(out, file, findings);
}
