/* A file, and the files that it includes. */

#include <errno.h>
#include <glob.h>

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

	prescan(source, p->findings, &stmts);
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
		if (s->len == 0)
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
