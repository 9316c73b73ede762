/* Builds a struct conf from statements. */

#include <assert.h>

#include "conf/room.h"

/* Elements of the longest list. */
#define ELEMENTS_MAX 4096

/*
 * A value of an option: its '=' and each '+=' that follows. Of an option that
 * is given twice both values are checked: removing one of them shall not bring
 * up the next mistake.
 */
struct setting {
	const struct option *option;
	struct where where; /* of the last statement */
	struct where first; /* of the first statement about the option */
	bool extends; /* begins with '+=': is added to that of `defaults` */
	char **values;
	size_t len;
	struct setting *before; /* the value given before this one, or NULL */
	bool failed; /* the value is wrong; the field has the default */
};

/* The options of an app, of `defaults`, or those outside of sections. */
struct section {
	const struct stmt *stmt; /* NULL: outside of sections */
	struct setting **settings; /* by place in the table; NULL: not set */
};

/* ---- settings ---- */

static struct setting **
setting_at(const struct section *s, const struct option *o)
{
	return &s->settings[o - (o->in_app ? options_app : options_global)];
}

static void
add_setting(
    struct build *b, const struct section *section, const struct stmt *stmt)
{
	struct setting **at = setting_at(section, stmt->option);
	struct setting *before = *at;
	struct setting *s = before;

	if (before == NULL || !stmt->append) {
		s = arena_alloc(b->findings->arena, 1, sizeof(*s));
		s->option = stmt->option;
		s->first = before != NULL ? before->first : stmt->where;
		s->extends = stmt->append;
		s->before = before;
		*at = s;
	}
	for (size_t i = 0; i < stmt->len; i++) {
		s->values = arena_grow(
		    b->findings->arena, s->values, s->len, sizeof(*s->values));
		s->values[s->len++] = stmt->values[i];
	}
	s->where = stmt->where;
	if (before != NULL && !stmt->append)
		findings_mistake(b->findings, s->where,
		    "option '%s' is given twice (first at %s)", s->option->name,
		    where_text(b->findings->arena, s->first));
}

static struct section *
new_section(struct build *b, const struct stmt *stmt, size_t len)
{
	struct section *s = arena_alloc(b->findings->arena, 1, sizeof(*s));

	s->stmt = stmt;
	s->settings =
	    arena_alloc(b->findings->arena, len, sizeof(struct setting *));
	return s;
}

/* ---- values ---- */

/*
 * Sets the field to the value of s, added to that of under if s extends it; and
 * checks the values that s replaces, too. False: a mistake.
 */
static bool
convert(struct build *b, const struct setting *s, const struct setting *under,
    void *base)
{
	size_t below = s->extends && under != NULL ? under->len : 0;
	size_t len = below + s->len;
	char **values =
	    arena_alloc(b->findings->arena, len + 1, sizeof(*values));
	struct input in = { .option = s->option,
		.where = s->where,
		.dir = s->where.source->dir,
		.values = values,
		.len = len,
		.arena = b->arena,
		.findings = b->findings };

	if (below > 0)
		memcpy(values, under->values, below * sizeof(*values));
	if (s->len > 0)
		memcpy(values + below, s->values, s->len * sizeof(*values));
	if (len > ELEMENTS_MAX)
		return type_bad(&in, "more than %d elements", ELEMENTS_MAX);
	return s->option->type->parse(&in, base);
}

static bool
set(struct build *b, const struct setting *s, const struct setting *under,
    void *base)
{
	for (const struct setting *t = s->before; t != NULL; t = t->before)
		(void)convert(b, t, NULL, base);
	return convert(b, s, under, base);
}

/* Sets all fields of base, a conf_app or a conf, to their defaults. */
static void
preset(bool in_app, void *base, struct arena *a)
{
	const struct option *options = in_app ? options_app : options_global;
	size_t len = in_app ? options_app_len : options_global_len;
	struct findings none = { .arena = a };

	for (size_t i = 0; i < len; i++) {
		char *value = (char *)(uintptr_t)options[i].preset;
		struct input in = { .option = &options[i],
			.dir = "/",
			.values = &value,
			.len = value != NULL ? 1 : 0,
			.arena = a,
			.findings = &none };

		if (value != NULL || options[i].type->list)
			(void)options[i].type->parse(&in, base);
	}
	assert(none.len == 0);
}

/* Sets all options of a section, without those of `defaults`. */
static void
set_section(
    struct build *b, const struct section *section, size_t len, void *base)
{
	for (size_t i = 0; i < len; i++) {
		struct setting *s = section->settings[i];

		if (s != NULL)
			s->failed = !set(b, s, NULL, base);
	}
}

/* ---- sections ---- */

static void
set_app_option(struct build *b, const struct section *section,
    const struct option *o, struct conf_app *app)
{
	struct setting *own = *setting_at(section, o);
	const struct setting *under =
	    b->defaults != NULL ? *setting_at(b->defaults, o) : NULL;
	bool allowed = options_allowed(o, app->handoff);

	if (own == NULL) {
		if (under != NULL && allowed)
			(void)set(b, under, NULL, app);
		return;
	}
	own->failed = !set(b, own, under, app);
	if (allowed)
		return;
	findings_mistake(b->findings, own->where,
	    "option '%s' cannot be used with handoff = %s", o->name,
	    conf_handoff_names[app->handoff]);
	own->failed = true;
}

static void
build_app(struct build *b, struct section *section)
{
	struct conf_app *app = &b->conf->apps[b->conf->apps_len];
	const struct option *handoff = options_find(true, "handoff");
	const struct stmt *stmt = section->stmt, *first = NULL;
	const char *title = stmt->values[0];

	if (*title == '\0' || title[strspn(title, NAME_BYTES)] != '\0')
		findings_mistake(b->findings, stmt->where,
		    "app '%s': a name is made of letters, digits and '_.-'",
		    title);
	for (size_t i = b->conf->apps_len; i > 0; i--)
		if (strcmp(b->apps[i - 1]->stmt->values[0], title) == 0)
			first = b->apps[i - 1]->stmt;
	if (first != NULL)
		findings_mistake(b->findings, stmt->where,
		    "app '%s' is defined twice (first at %s)", title,
		    where_text(b->findings->arena, first->where));
	preset(true, app, b->arena);
	app->listen.uid = (uid_t)-1;
	app->listen.gid = (gid_t)-1;
	app->name = arena_strdup(b->arena, title);
	b->apps[b->conf->apps_len++] = section;

	/* The handoff decides which other options are allowed. */
	set_app_option(b, section, handoff, app);
	for (size_t i = 0; i < options_app_len; i++)
		if (&options_app[i] != handoff)
			set_app_option(b, section, &options_app[i], app);
	app->listen.where = where_text(b->arena, build_where(b, app, "listen"));
}

/* Checks the values of `defaults` even if no app uses them. */
static void
build_defaults(struct build *b, struct section *s)
{
	struct conf_app scratch;

	memset(&scratch, 0, sizeof(scratch));
	preset(true, &scratch, b->findings->arena);
	if (b->defaults == NULL)
		b->defaults = s;
	else
		findings_mistake(b->findings, s->stmt->where,
		    "section 'defaults' is given twice (first at %s)",
		    where_text(b->findings->arena, b->defaults->stmt->where));
	set_section(b, s, options_app_len, &scratch);
}

bool
build_conf(struct build *b)
{
	const struct source *source = b->parse->sources;
	const char *name = basename(source->path);
	struct arena *work = b->findings->arena;
	struct section **sections = NULL;
	struct section *section;
	const struct stmt *stmt;
	size_t len = 0;

	b->global = section = new_section(b, NULL, options_global_len);
	STAILQ_FOREACH(stmt, &b->parse->stmts, next) {
		if (stmt->option != NULL) {
			add_setting(b,
			    stmt->section != NULL ? section : b->global, stmt);
			continue;
		}
		if (len > CONF_APPS_MAX) {
			findings_mistake(b->findings, stmt->where,
			    "more than %d apps", CONF_APPS_MAX);
			return false;
		}
		section = new_section(b, stmt, options_app_len);
		sections = arena_grow(work, sections, len, sizeof(*sections));
		sections[len++] = section;
	}

	preset(false, b->conf, b->arena);
	b->conf->control_gid = (gid_t)-1;
	b->conf->file = source->choice != NULL
	    ? arena_strdup(b->arena, name)
	    : source_join(b->arena, source->dir, name);
	if (source->choice != NULL)
		b->conf->choice = arena_strdup(b->arena, source->choice);
	b->conf->apps = arena_alloc(b->arena, len + 1, sizeof(*b->conf->apps));
	b->apps = arena_alloc(work, len + 1, sizeof(*b->apps));
	set_section(b, b->global, options_global_len, b->conf);
	for (size_t i = 0; i < len; i++)
		if (sections[i]->stmt->form == FORM_SECTION)
			build_defaults(b, sections[i]);
	for (size_t i = 0; i < len; i++)
		if (sections[i]->stmt->form == FORM_TITLED)
			build_app(b, sections[i]);
	return true;
}

/* ---- where from ---- */

/* NULL: the option is not set. */
static const struct setting *
find_setting(
    const struct build *b, const struct conf_app *app, const char *option)
{
	const struct option *o = options_find(app != NULL, option);
	const struct section *own =
	    app != NULL ? b->apps[app - b->conf->apps] : b->global;
	const struct setting *s = *setting_at(own, o);

	return s != NULL || app == NULL || b->defaults == NULL
	    ? s
	    : *setting_at(b->defaults, o);
}

enum build_level
build_level(
    const struct build *b, const struct conf_app *app, const char *option)
{
	const struct setting *s = find_setting(b, app, option);

	if (s == NULL)
		return LEVEL_PRESET;
	return app != NULL && b->defaults != NULL &&
		s == *setting_at(b->defaults, s->option)
	    ? LEVEL_DEFAULTS
	    : LEVEL_OWN;
}

struct where
build_where(
    const struct build *b, const struct conf_app *app, const char *option)
{
	const struct setting *s = find_setting(b, app, option);

	if (s != NULL)
		return s->where;
	return app != NULL ? b->apps[app - b->conf->apps]->stmt->where
			   : (struct where){ b->parse->sources, 1 };
}

void
build_tell(const struct build *b, const struct conf_app *app, enum said said,
    const char *option, const char *text)
{
	struct where where = build_where(b, app, option);
	const char *what = app != NULL ? "app" : "option";
	const char *name = app != NULL ? app->name : option;

	findings_say(b->findings, said, where, "%s '%s': %s", what, name, text);
}

void
build_fail(const struct build *b, struct conf_app *app, struct where where,
    const char *why)
{
	findings_say(
	    b->findings, SAID_OUTSIDE, where, "app '%s': %s", app->name, why);
	type_break(app, b->arena, why);
}

bool
build_sound(
    const struct build *b, const struct conf_app *app, const char *option)
{
	const struct setting *s = find_setting(b, app, option);

	if (s != NULL)
		return !s->failed;
	return app == NULL || !b->apps[app - b->conf->apps]->stmt->gaps;
}
