/*
 * What libconfuse complained of, said in words that help; and the statement
 * that holds it is hidden from the next attempt.
 */

#include <stdlib.h>
#include <string.h>

#include "conf/conf_private.h"
#include "sys/suggest.h"

/* Ours, and what else may stand at the top of a file. */
static const char *const section_names[] = { "app", "defaults", "include",
	NULL };

static const char *
nearest_name(bool in_app, const char *name)
{
	const struct conf_option *options =
	    in_app ? conf_app_options : conf_global_options;
	size_t len = in_app ? conf_app_options_len : conf_global_options_len;
	const char **names = conf_calloc(len + 4, sizeof(*names));
	const char *nearest;
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		names[n++] = options[i].name;
	for (size_t i = 0; !in_app && section_names[i] != NULL; i++)
		names[n++] = section_names[i];
	nearest = suggest_nearest(name, names);
	free(names);
	return nearest;
}

static void
unknown_name(struct conf_findings *f, struct conf_where where, bool in_app,
    const char *what, const char *name)
{
	const char *nearest = nearest_name(in_app, name);

	if (in_app && strcmp(name, "include") == 0)
		conf_mistake(f, where, "include() stands outside of sections");
	else if (in_app &&
	    (strcmp(name, "app") == 0 || strcmp(name, "defaults") == 0))
		conf_mistake(f, where,
		    "section '%s' within another one: a '}' is missing before",
		    name);
	else if (!in_app && conf_option_find(true, name) != NULL)
		conf_mistake(f, where,
		    "option '%s' belongs in an app or in defaults", name);
	else if (in_app && conf_option_find(false, name) != NULL)
		conf_mistake(
		    f, where, "option '%s' belongs outside of sections", name);
	else if (nearest != NULL)
		conf_mistake(f, where, "unknown %s '%s'; did you mean '%s'?",
		    what, name, nearest);
	else
		conf_mistake(f, where, "unknown %s '%s'", what, name);
}

static bool
begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* The statement has a name that is known, and is wrong in another way. */
static void
wrong_form(struct conf_findings *f, struct conf_where where, bool at_value,
    const char *name, const char *text)
{
	if (begins(text, "missing title"))
		conf_mistake(f, where,
		    "section '%s' needs a name: %s \"NAME\" { ... }", name,
		    name);
	else if (begins(text, "missing opening brace"))
		conf_mistake(
		    f, where, "'%s' is a section: %s { ... }", name, name);
	else if (begins(text, "missing equal sign"))
		conf_mistake(
		    f, where, "'%s' is an option: %s = VALUE", name, name);
	else if (begins(text, "missing parenthesis"))
		conf_mistake(
		    f, where, "'%s' is a call: %s(\"FILE\")", name, name);
	else if (begins(text, "attempt to append"))
		conf_mistake(f, where,
		    "option '%s' is no list that '+=' could add to", name);
	else if (begins(text, "unexpected token '{'") && at_value)
		conf_mistake(
		    f, where, "option '%s' takes one value, no list", name);
	else
		conf_mistake(f, where, "option '%s': %s", name, text);
}

void
conf_judge(struct conf_source *source, unsigned token, const char *text,
    struct conf_findings *f)
{
	unsigned stmt = source->tokens[token].stmt;
	struct conf_stmt *s = &source->stmts[stmt];
	const struct conf_token *t = &source->tokens[s->first];
	struct conf_where where = { source, source->tokens[token].line };
	bool is_section = source->tokens[s->value].kind == CONF_TOKEN_OPEN;
	char *name;

	name = conf_strndup(source->text + t->offset, t->len);
	if (begins(text, "no such option"))
		unknown_name(f, where, s->parent != CONF_STMT_NONE,
		    is_section ? "section" : "option", name);
	else
		wrong_form(f, where, token == s->first + 2, name, text);
	free(name);
	conf_stmt_blank(source, stmt);
}
