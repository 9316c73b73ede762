/* Names of options, sections and calls. */

#include <string.h>

#include "conf/names.h"
#include "conf/options.h"
#include "conf/peers.h"

/* Names outside of sections that are no options. */
static const struct {
	const char *name;
	enum form form;
	const char *misused;
} others[] = {
	{ "app", FORM_TITLED,
	    "section 'app' needs a name: app \"NAME\" { ... }" },
	{ "defaults", FORM_SECTION,
	    "'defaults' is a section: defaults { ... }" },
	{ "include", FORM_CALL, "'include' is a call: include(\"FILE\")" },
	{ NULL, 0, NULL },
};

static size_t
other_find(const char *name)
{
	size_t i = 0;

	while (others[i].name != NULL && strcmp(others[i].name, name) != 0)
		i++;
	return i;
}

static struct where
where(const struct name *n, int line)
{
	return (struct where){ n->source, line };
}

/* Where an option belongs, if it is not valid here; else "". */
static const char *
belongs(const struct name *n, const char *option)
{
	if (options_find(n->in_app, option) != NULL)
		return "";
	return n->in_app ? ", outside of sections" : ", in an app";
}

/* Reports a name of another program's files; false: it is none. */
static bool
name_of_peers(const struct name *n)
{
	static const struct token any = { .text = "VALUE", .len = 5 };
	const struct token *value = token_is_text(n->at + 2) ? n->at + 2 : &any;
	const char *ours = peers_option(n->text);

	if (ours == NULL)
		return false;
	findings_mistake(n->findings, where(n, n->at->line),
	    "unknown option '%s': write %s = %.*s%s", n->text, ours,
	    TOKEN_SHOW(value), belongs(n, ours));
	return true;
}

/* Reports a name that is unknown or in the wrong place. */
static void
unknown_name(const struct name *n, enum form form)
{
	bool in_app = n->in_app;
	const char *name = n->text;
	const char *what = form >= FORM_SECTION ? "section" : "option";
	const char *nearest = options_nearest(in_app, name);
	enum form other = others[other_find(name)].form;
	struct where here = where(n, n->at->line);
	struct findings *f = n->findings;

	if (other == FORM_CALL)
		findings_mistake(
		    f, here, "include() stands outside of sections");
	else if (other != FORM_OPTION)
		findings_mistake(f, here,
		    "section '%s' within another one: a '}' is missing before",
		    name);
	else if (!in_app && options_find(true, name) != NULL)
		findings_mistake(f, here,
		    "option '%s' belongs in an app or in defaults", name);
	else if (in_app && options_find(false, name) != NULL)
		findings_mistake(
		    f, here, "option '%s' belongs outside of sections", name);
	else if (form == FORM_OPTION && name_of_peers(n))
		return;
	else if (nearest != NULL)
		findings_mistake(f, here, "unknown %s '%s'; did you mean '%s'?",
		    what, name, nearest);
	else
		findings_mistake(f, here, "unknown %s '%s'", what, name);
}

/* True if an option is used as one; reports it otherwise. */
static bool
check_option(const struct name *n, const struct option *o, enum form form)
{
	const struct token *t = n->at;
	struct where here = where(n, t[1].line);

	if (form != FORM_OPTION)
		findings_mistake(n->findings, here,
		    "'%s' is an option: %s = VALUE", o->name, o->name);
	else if (t[1].kind == TOKEN_APPEND && !o->type->list)
		findings_mistake(n->findings, here,
		    "option '%s' is no list that '+=' could add to", o->name);
	else if (t[2].kind == TOKEN_OPEN && !o->type->list)
		findings_mistake(n->findings, here,
		    "option '%s' takes one value, no list", o->name);
	else
		return true;
	return false;
}

bool
names_is_call(const struct name *n)
{
	return !n->in_app && others[other_find(n->text)].form == FORM_CALL;
}

bool
names_check(const struct name *n, enum form form)
{
	const struct option *o = options_find(n->in_app, n->text);
	size_t other = n->in_app ? 0 : other_find(n->text);

	if (o != NULL)
		return check_option(n, o, form);
	if (n->in_app || others[other].name == NULL) {
		unknown_name(n, form);
		return false;
	}
	if (others[other].form != form)
		findings_mistake(n->findings, where(n, n->at[1].line), "%s",
		    others[other].misused);
	return others[other].form == form;
}

const char *
names_advice(const struct name *n)
{
	const struct token *value = n->at + 1;
	const char *quote = value->kind == TOKEN_WORD ? "\"" : "";
	const char *ours = n->text;

	if (!token_is_text(value) || value->line != n->at->line)
		return NULL;
	if (strcmp(n->text, "include") == 0)
		return arena_printf(n->findings->arena,
		    "'include' is a call: write include(%s%.*s%s)", quote,
		    TOKEN_SHOW(value), quote);
	if (options_find(n->in_app, ours) == NULL)
		ours = peers_option(n->text);
	if (ours == NULL)
		return NULL;
	return arena_printf(n->findings->arena,
	    "'%s' is not followed by '=': write %s = %.*s%s", n->text, ours,
	    TOKEN_SHOW(value), belongs(n, ours));
}
