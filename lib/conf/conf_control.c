/*
 * Where the control socket is, for a client that must find its daemon although
 * the file is being edited: a look at the statements, without libconfuse.
 */

#include <stdlib.h>
#include <string.h>

#include "conf/conf_private.h"

/* Writes the value of the variable in "NAME}" or "NAME:-DEFAULT}". */
static const char *
copy_variable(const char *p, const char *end, FILE *out)
{
	const char *close = memchr(p, '}', (size_t)(end - p));
	char *name;
	char *preset;
	const char *value;

	if (close == NULL)
		return end;
	name = conf_strndup(p, (size_t)(close - p));
	preset = strchr(name, ':');
	if (preset != NULL && preset[1] == '-')
		*preset = '\0';
	else
		preset = NULL;
	value = getenv(name);
	if (value == NULL)
		value = preset != NULL ? preset + 2 : "";
	fputs(value, out);
	free(name);
	return close + 1;
}

/* The value of a word or string; of escapes only those a path needs. */
static char *
value_of(const struct conf_source *source, const struct conf_token *t)
{
	const char *p = source->text + t->offset;
	const char *end = p + t->len;
	char quote = t->kind == CONF_TOKEN_STRING ? *p : '\0';
	char *value = NULL;
	size_t len;
	FILE *out = open_memstream(&value, &len);

	if (out == NULL)
		return conf_strdup("");
	if (quote != '\0') {
		p++;
		end--;
	}
	while (p < end) {
		if (*p == '\\' && quote != '\0' && p + 1 < end)
			p++;
		else if (quote != '\'' && end - p > 2 && p[0] == '$' &&
		    p[1] == '{') {
			p = copy_variable(p + 2, end, out);
			continue;
		}
		fputc(*p++, out);
	}
	fclose(out);
	return value;
}

/* Files that were named and not yet looked at. */
struct search {
	char **files;
	size_t len;
	char *path; /* found so far, or NULL */
};

static void
search_include(struct search *search, const struct conf_source *source,
    const struct conf_stmt *s)
{
	for (unsigned i = s->first + 2; i < s->value; i++) {
		struct conf_include include;
		char *pattern;
		char *why = NULL;

		if (source->tokens[i].kind == CONF_TOKEN_COMMA)
			continue;
		pattern = value_of(source, &source->tokens[i]);
		if (!conf_include_expand(source, pattern, &include, &why))
			free(why);
		free(pattern);
		for (size_t n = 0; n < include.len; n++) {
			search->files = conf_grow(
			    search->files, search->len, sizeof(*search->files));
			search->files[search->len++] =
			    conf_strdup(include.paths[n]);
		}
		conf_include_fini(&include);
	}
}

static void
search_control(struct search *search, const struct conf_source *source,
    const struct conf_stmt *s)
{
	char *value = value_of(source, &source->tokens[s->value]);

	free(search->path);
	search->path = *value != '\0' ? conf_path_join(source->dir, value)
				      : conf_strdup("");
	free(value);
}

/* False, and errno, if the file cannot be read. */
static bool
search_file(struct search *search, const char *file)
{
	struct conf_findings ignored;
	struct conf_source *source = conf_source_open(file);

	if (source == NULL)
		return false;
	conf_findings_init(&ignored, 0);
	conf_scan(source, &ignored);
	conf_stmt_scan(source, &ignored);
	conf_findings_fini(&ignored);
	for (unsigned i = 0; i < source->stmts_len; i++) {
		const struct conf_stmt *s = &source->stmts[i];

		if (s->parent != CONF_STMT_NONE ||
		    source->tokens[s->first].blank || s->value < s->first + 2)
			continue;
		if (conf_token_is(source, s->first, "include"))
			search_include(search, source, s);
		if (conf_token_is(source, s->first, "control") &&
		    s->value == s->first + 2)
			search_control(search, source, s);
	}
	conf_source_free(source);
	return true;
}

/* Enough for any real configuration, and an end to one that has none. */
#define FILES_MAX 2000

char *
conf_control_path(const char *file)
{
	struct search search = { 0 };

	if (!search_file(&search, file))
		return NULL;
	for (size_t i = 0; i < search.len && i < FILES_MAX; i++)
		(void)search_file(&search, search.files[i]);
	for (size_t i = 0; i < search.len; i++)
		free(search.files[i]);
	free(search.files);
	return search.path != NULL ? search.path
				   : conf_strdup(CONF_DEFAULT_CONTROL);
}
