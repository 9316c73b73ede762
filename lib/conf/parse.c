/*
 * libconfuse parses the values that the prescan has found in each file, and so
 * meets neither an unknown name nor a mistake. It ends the process when it gets
 * no memory: see source_affordable().
 */

#include <assert.h>
#include <errno.h>
#include <glob.h>

#include <confuse.h>

#include "conf/room.h"

#define INCLUDE_DEPTH_MAX 8
#define INCLUDE_FILES_MAX 2000

struct parser {
	struct parse *out;
	struct findings *findings;
	struct source *open[INCLUDE_DEPTH_MAX]; /* the innermost last */
	bool *given[INCLUDE_DEPTH_MAX]; /* by each: which global options */
	unsigned depth;
	unsigned files; /* that were included */
};

/* ---- one file ---- */

/*
 * Callbacks of libconfuse are given no pointer of ours. Values come in the
 * order of the file: so they are those of the first statement that lacks some.
 */
static struct {
	struct findings *findings;
	struct stmt *stmt;
} reading;

static int
on_value(cfg_t *cfg, cfg_opt_t *opt, const char *value, void *result)
{
	struct stmt *s = reading.stmt;

	(void)cfg;
	(void)opt;
	while (s != NULL && s->len == s->size)
		s = STAILQ_NEXT(s, next);
	assert(s != NULL);
	s->values[s->len++] = arena_strdup(reading.findings->arena, value);
	reading.stmt = s;
	/* libconfuse keeps a copy of this instead of the value. */
	*(const char **)result = "";
	return 0;
}

/* Something that the prescan does not know of: libconfuse stops here. */
static void __attribute__((format(printf, 2, 0)))
on_error(cfg_t *cfg, const char *fmt, va_list ap)
{
	(void)cfg;
	findings_mistake(reading.findings, reading.stmt->where, "%s: %s",
	    reading.stmt->name,
	    arena_vprintf(reading.findings->arena, fmt, ap));
}

/* Adds the statements of a file, with their values, to out. */
static void
parse_values(struct parser *p, struct source *source, struct stmts *out)
{
	cfg_opt_t options[] = { CFG_STR_CB(PRESCAN_VALUE, NULL, CFGF_NODEFAULT,
				    on_value),
		CFG_END() };
	const char *text = prescan(source, p->findings, out);
	cfg_t *cfg = cfg_init(options, CFGF_NONE);

	if (cfg == NULL)
		fatal("no memory for the configuration");
	reading.findings = p->findings;
	reading.stmt = STAILQ_FIRST(out);
	cfg_set_error_function(cfg, on_error);
	if (cfg_parse_buf(cfg, text) != CFG_SUCCESS)
		assert(p->findings->mistakes > 0);
	cfg_free(cfg);
}

/* ---- includes ---- */

/* The source of that path, read if it is new. */
static struct source *
source_get(struct parser *p, const char *path)
{
	struct source **end = &p->out->sources;
	size_t order = 0;

	for (; *end != NULL; end = &(*end)->next) {
		if (strcmp((*end)->path, path) == 0)
			return *end;
		order++;
	}
	*end = source_read(p->findings->arena, path, SOURCE_MAX);
	(*end)->order = order;
	return *end;
}

/* A missing folder has no files; a closed one may have some. */
static int
is_trouble(const char *path, int error)
{
	(void)path;
	errno = error;
	return error != ENOENT && error != ENOTDIR;
}

/*
 * Finds the files that an argument of include() means, in the order of their
 * names. Returns a list that ends with NULL; NULL and why_out: there is none.
 */
static char **
include_find(
    struct parser *p, const char *from, const char *text, const char **why_out)
{
	struct arena *a = p->findings->arena;
	const char *slash = strrchr(from, '/');
	size_t len =
	    text[0] != '/' && slash != NULL ? (size_t)(slash - from) + 1 : 0;
	bool pattern = strpbrk(text, "*?[{") != NULL;
	char *whole = arena_alloc(a, 2 * len + strlen(text) + 1, 1);
	char **list, *end = whole;
	glob_t found = { 0 };
	int rc;

	/* The folder of the file has no special signs, whatever its name. */
	for (size_t i = 0; i < len; i++) {
		if (pattern && strchr("*?[]{},\\~", from[i]) != NULL)
			*end++ = '\\';
		*end++ = from[i];
	}
	strcpy(end, text);
	if (!pattern) {
		list = arena_alloc(a, 2, sizeof(*list));
		list[0] = whole;
		*why_out = "no file is named";
		return text[0] != '\0' ? list : NULL;
	}
	rc = glob(whole, GLOB_BRACE, is_trouble, &found);
	if (rc != 0 && rc != GLOB_NOMATCH) {
		*why_out = strerror(rc == GLOB_NOSPACE ? ENOMEM : errno);
		return NULL;
	}
	list = arena_alloc(a, found.gl_pathc + 1, sizeof(*list));
	for (size_t i = 0; i < found.gl_pathc; i++)
		list[i] = arena_strdup(a, found.gl_pathv[i]);
	globfree(&found);
	return list;
}

/* Why the file cannot be included now, or NULL. */
static const char *
include_refused(struct parser *p, const struct source *source)
{
	struct arena *a = p->findings->arena;

	if (source->error != 0)
		return source_why(a, source->error, SOURCE_MAX);
	for (unsigned i = 0; i < p->depth; i++)
		if (p->open[i]->dev == source->dev &&
		    p->open[i]->ino == source->ino)
			return "the file includes itself";
	if (p->depth == INCLUDE_DEPTH_MAX)
		return arena_printf(a, "includes are nested more than %d deep",
		    INCLUDE_DEPTH_MAX);
	if (++p->files > INCLUDE_FILES_MAX)
		return arena_printf(
		    a, "more than %d files are included", INCLUDE_FILES_MAX);
	return NULL;
}

static void
include_wrong(
    struct parser *p, const struct stmt *s, const char *path, const char *why)
{
	findings_mistake(p->findings, s->where, "include: %s%s%s", path,
	    path[0] != '\0' ? ": " : "", why);
}

/* Whether one of the outermost files sets the global option of s. */
static bool
include_gives_way(const struct parser *p, unsigned depth, const struct stmt *s)
{
	bool given = false;

	if (s->option == NULL || s->section != NULL || s->append)
		return false;
	for (unsigned i = 0; i < depth; i++)
		given |= p->given[i][s->option - options_global];
	return given;
}

/*
 * Adds the statements of a file, and in their place those of the files that it
 * includes: as many levels as INCLUDE_DEPTH_MAX, and no more. A file that is
 * included may set global options for when it is used alone: the including file
 * decides, before or behind the include().
 */
static void
add_source(struct parser *p, struct source *source)
{
	struct stmts stmts = STAILQ_HEAD_INITIALIZER(stmts);
	const unsigned depth = p->depth++;
	struct stmt *s;

	parse_values(p, source, &stmts);
	p->open[depth] = source;
	p->given[depth] =
	    arena_alloc(p->findings->arena, options_global_len, sizeof(bool));
	STAILQ_FOREACH(s, &stmts, next)
		if (s->option != NULL && s->section == NULL && !s->append)
			p->given[depth][s->option - options_global] = true;
	while ((s = STAILQ_FIRST(&stmts)) != NULL) {
		STAILQ_REMOVE_HEAD(&stmts, next);
		if (s->form != FORM_CALL) {
			if (!include_gives_way(p, depth, s))
				STAILQ_INSERT_TAIL(&p->out->stmts, s, next);
			continue;
		}
		if (s->size == 0)
			include_wrong(p, s, "", "no file is named");
		for (size_t i = 0; i < s->len; i++) {
			const char *why = NULL;
			char **path =
			    include_find(p, source->path, s->values[i], &why);

			if (path == NULL)
				include_wrong(p, s, s->values[i], why);
			for (; path != NULL && *path != NULL; path++) {
				struct source *other = source_get(p, *path);

				why = include_refused(p, other);
				if (why != NULL)
					include_wrong(p, s, *path, why);
				else
					add_source(p, other);
			}
		}
	}
	p->depth--;
}

void
parse_source(
    struct parse *out, struct source *source, struct findings *findings)
{
	struct parser p = { .out = out, .findings = findings };

	out->sources = source;
	STAILQ_INIT(&out->stmts);
	if (source->error == 0)
		add_source(&p, source);
	else
		findings_mistake(findings, (struct where){ source, 1 },
		    "cannot be read: %s",
		    source_why(findings->arena, source->error, SOURCE_MAX));
}
