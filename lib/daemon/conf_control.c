/*
 * Where the control socket is, for a client that must find its daemon although
 * the file is being edited: a look at the statements, without libconfuse.
 */

#include <stdlib.h>
#include <string.h>

#include "daemon/conf_private.h"

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

/* The value of `control`, or NULL if this file does not set it. */
static char *
control_of(const struct conf_source *source)
{
	char *path = NULL;

	for (unsigned i = 0; i < source->stmts_len; i++) {
		const struct conf_stmt *s = &source->stmts[i];
		char *value;

		if (s->parent != CONF_STMT_NONE || s->value != s->first + 2 ||
		    source->tokens[s->first].blank ||
		    !conf_token_is(source, s->first, "control"))
			continue;
		free(path);
		value = value_of(source, &source->tokens[s->value]);
		path = *value != '\0' ? conf_path_join(source->dir, value)
				      : conf_strdup("");
		free(value);
	}
	return path;
}

char *
conf_control_path(const char *file)
{
	struct conf_findings ignored;
	struct conf_source *source;
	char *path;

	source = conf_source_open(file);
	if (source == NULL)
		return NULL;
	conf_findings_init(&ignored, 0);
	conf_scan(source, &ignored);
	conf_stmt_scan(source, &ignored);
	path = control_of(source);
	conf_findings_fini(&ignored);
	conf_source_free(source);
	return path != NULL ? path : conf_strdup(CONF_DEFAULT_CONTROL);
}
