/* Builds a struct conf from statements. */

#include <string.h>

#include "conf/build.h"
#include "conf/options.h"

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

/* ---- settings ---- */

static struct setting **
slot(const struct section *s, const struct option *o)
{
	return &s->settings[options_index(o)];
}

static void
add_values(struct build *b, struct setting *s, const struct stmt *stmt)
{
	for (size_t i = 0; i < stmt->len; i++) {
		s->values = arena_grow(
		    b->findings->arena, s->values, s->len, sizeof(*s->values));
		s->values[s->len++] = stmt->values[i];
	}
	s->where = stmt->where;
}

static void
add_setting(
    struct build *b, const struct section *section, const struct stmt *stmt)
{
	struct setting **at = slot(section, stmt->option);
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
	add_values(b, s, stmt);
	if (before != NULL && !stmt->append)
		findings_mistake(b->findings, s->where,
		    "option '%s' is given twice (first at %s:%d)",
		    s->option->name, s->first.source->path, s->first.line);
}

static struct section *
add_section(struct build *b, const struct stmt *stmt)
{
	struct section *s = &b->sections[b->sections_len++];

	s->stmt = stmt;
	s->settings = arena_alloc(
	    b->findings->arena, options_app_len, sizeof(struct setting *));
	return s;
}

/*
 * Sorts all statements by section and option. False, and reported: too many
 * apps.
 */
static bool
sort_statements(struct build *b)
{
	const struct section *section = NULL;
	const struct stmt *stmt;
	size_t n = 0;

	STAILQ_FOREACH(stmt, &b->parse->stmts, next) {
		if (stmt->option == NULL && ++n > CONF_APPS_MAX + 1) {
			findings_mistake(b->findings, stmt->where,
			    "more than %d apps", CONF_APPS_MAX);
			return false;
		}
	}
	b->sections =
	    arena_alloc(b->findings->arena, n + 1, sizeof(*b->sections));
	b->global.settings = arena_alloc(
	    b->findings->arena, options_global_len, sizeof(struct setting *));
	STAILQ_FOREACH(stmt, &b->parse->stmts, next) {
		if (stmt->option == NULL)
			section = add_section(b, stmt);
		else
			add_setting(b,
			    stmt->section != NULL ? section : &b->global, stmt);
	}
	return true;
}

/* ---- values ---- */

/*
 * Sets the field to the value of s, added to that of under if s extends it.
 * False: a mistake.
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
	if (len > PRESCAN_ELEMENTS)
		return type_bad(&in, "more than %d elements", PRESCAN_ELEMENTS);
	return s->option->type->parse(&in, base);
}

/* The same for s; checks the values that s replaces, too. */
static bool
set(struct build *b, const struct setting *s, const struct setting *under,
    void *base)
{
	for (const struct setting *t = s->before; t != NULL; t = t->before)
		(void)convert(b, t, NULL, base);
	return convert(b, s, under, base);
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

static void
set_app_option(struct build *b, const struct section *section,
    const struct option *o, struct conf_app *app)
{
	struct setting *own = *slot(section, o);
	const struct setting *under =
	    b->defaults != NULL ? *slot(b->defaults, o) : NULL;
	bool allowed = options_allowed(o, app->handoff);

	if (own == NULL) {
		if (under != NULL && allowed)
			(void)set(b, under, NULL, app);
		return;
	}
	own->failed = !set(b, own, under, app);
	/* The part of the file that was not read may set another handoff. */
	if (allowed || b->parse->stopped)
		return;
	findings_mistake(b->findings, own->where,
	    "option '%s' cannot be used with handoff = %s", o->name,
	    conf_handoff_name(app->handoff));
	own->failed = true;
}

static void
build_app(struct build *b, const struct section *section)
{
	struct conf_app *app = &b->conf->apps[b->conf->apps_len];
	const struct option *handoff = options_find(true, "handoff");
	struct where where;

	options_preset(true, app, b->arena);
	app->listen.uid = (uid_t)-1;
	app->listen.gid = (gid_t)-1;
	app->name = arena_strdup(b->arena, section->stmt->values[0]);
	app->file = arena_strdup(b->arena, section->stmt->where.source->path);
	app->line = section->stmt->where.line;
	b->app_sections[b->conf->apps_len++] = section;

	/* The handoff decides which other options are allowed. */
	set_app_option(b, section, handoff, app);
	for (size_t i = 0; i < options_app_len; i++) {
		if (&options_app[i] != handoff)
			set_app_option(b, section, &options_app[i], app);
	}
	where = build_where(b, app, "listen");
	app->listen.file = arena_strdup(b->arena, where.source->path);
	app->listen.line = where.line;
}

/* ---- sections ---- */

static void
check_title(struct build *b, const struct section *s)
{
	static const char valid[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz"
				    "0123456789_.-";
	const char *title = s->stmt->values[0];

	if (*title == '\0' || title[strspn(title, valid)] != '\0')
		findings_mistake(b->findings, s->stmt->where,
		    "app '%s': a name is made of letters, digits and '_.-'",
		    title);
	for (size_t i = 0; i < b->conf->apps_len; i++) {
		const struct stmt *first = b->app_sections[i]->stmt;

		if (strcmp(first->values[0], title) != 0)
			continue;
		findings_mistake(b->findings, s->stmt->where,
		    "app '%s' is defined twice (first at %s:%d)", title,
		    first->where.source->path, first->where.line);
		break;
	}
}

/* Checks the values of `defaults` even if no app uses them. */
static void
build_defaults(struct build *b, const struct section *s)
{
	struct conf_app scratch;

	memset(&scratch, 0, sizeof(scratch));
	options_preset(true, &scratch, b->findings->arena);
	if (b->defaults == NULL)
		b->defaults = s;
	else
		findings_mistake(b->findings, s->stmt->where,
		    "section 'defaults' is given twice (first at %s:%d)",
		    b->defaults->stmt->where.source->path,
		    b->defaults->stmt->where.line);
	set_section(b, s, options_app_len, &scratch);
}

bool
build_conf(struct build *b)
{
	const struct source *source = b->parse->sources;
	const char *slash = strrchr(source->path, '/');

	if (!sort_statements(b))
		return false;
	options_preset(false, b->conf, b->arena);
	b->conf->control_gid = (gid_t)-1;
	b->conf->file = source_join(
	    b->arena, source->dir, slash != NULL ? slash + 1 : source->path);
	b->conf->apps =
	    arena_alloc(b->arena, b->sections_len + 1, sizeof(*b->conf->apps));
	b->app_sections = arena_alloc(
	    b->findings->arena, b->sections_len + 1, sizeof(*b->app_sections));

	set_section(b, &b->global, options_global_len, b->conf);
	for (size_t i = 0; i < b->sections_len; i++) {
		if (!b->sections[i].stmt->titled)
			build_defaults(b, &b->sections[i]);
	}
	for (size_t i = 0; i < b->sections_len; i++) {
		if (b->sections[i].stmt->titled) {
			check_title(b, &b->sections[i]);
			build_app(b, &b->sections[i]);
		}
	}
	return true;
}

/* ---- where from ---- */

static const struct stmt *
stmt_of(const struct build *b, const struct conf_app *app)
{
	return b->app_sections[app - b->conf->apps]->stmt;
}

/* NULL: the option is not set. */
static const struct setting *
find_setting(
    const struct build *b, const struct conf_app *app, const char *option)
{
	const struct option *o = options_find(app != NULL, option);
	const struct setting *own;

	if (app == NULL)
		return *slot(&b->global, o);
	own = *slot(b->app_sections[app - b->conf->apps], o);
	return own != NULL || b->defaults == NULL ? own : *slot(b->defaults, o);
}

bool
build_sets(
    const struct build *b, const struct conf_app *app, const char *option)
{
	return find_setting(b, app, option) != NULL;
}

bool
build_sets_itself(
    const struct build *b, const struct conf_app *app, const char *option)
{
	const struct section *own = b->app_sections[app - b->conf->apps];

	return *slot(own, options_find(true, option)) != NULL;
}

struct where
build_where(
    const struct build *b, const struct conf_app *app, const char *option)
{
	const struct setting *s = find_setting(b, app, option);

	if (s != NULL)
		return s->where;
	return app != NULL ? stmt_of(b, app)->where
			   : (struct where){ b->parse->sources, 1 };
}

bool
build_sound(
    const struct build *b, const struct conf_app *app, const char *option)
{
	const struct setting *s = find_setting(b, app, option);

	if (s != NULL)
		return !s->failed;
	return app == NULL || !stmt_of(b, app)->gaps;
}
