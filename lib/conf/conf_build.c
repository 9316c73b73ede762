/*
 * From settings, which are text with a place, to the fields of struct conf. An
 * app has what it says itself, else what `defaults` says, wherever that stands,
 * else the preset.
 */

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_private.h"

static size_t
option_index(const struct conf_option *o)
{
	return (
	    size_t)(o - (o->in_app ? conf_app_options : conf_global_options));
}

static struct conf_slot *
section_slot(
    const struct conf_build *b, size_t section, const struct conf_option *o)
{
	if (!o->in_app)
		return &b->global[option_index(o)];
	return &b->slots[section * conf_app_options_len + option_index(o)];
}

static void
say_twice(struct conf_build *b, const struct conf_setting *s)
{
	struct conf_where first = conf_setting_where(s->first);

	conf_mistake(b->findings, conf_setting_where(s),
	    "option '%s' is given twice (first at %s:%d)", s->option->name,
	    first.source->path, first.line);
}

/* Puts each setting in its slot; one that is there already is a mistake. */
static void
sort_settings(struct conf_build *b)
{
	for (size_t i = 0; i < b->text->settings_len; i++) {
		struct conf_setting *s = &b->text->settings[i];
		struct conf_slot *slot = section_slot(b, s->section, s->option);
		const struct conf_setting *before = slot->setting;

		slot->setting = s;
		s->extends = s->append;
		if (before == NULL)
			continue;
		s->before = before;
		s->first = before->first != NULL ? before->first : before;
		s->extends = s->append && before->extends;
		if (!s->append)
			say_twice(b, s);
	}
}

void
conf_build_init(struct conf_build *b, struct conf_text *text,
    struct conf_findings *findings)
{
	const struct conf_source *source = text->sources;
	const char *slash = strrchr(source->path, '/');

	memset(b, 0, sizeof(*b));
	b->text = text;
	b->findings = findings;
	b->defaults = CONF_SECTION_GLOBAL;
	b->global = conf_calloc(conf_global_options_len, sizeof(*b->global));
	b->slots = conf_calloc(
	    text->sections_len * conf_app_options_len, sizeof(*b->slots));
	b->app_sections =
	    conf_calloc(text->sections_len, sizeof(*b->app_sections));

	b->conf = conf_calloc(1, sizeof(*b->conf));
	conf_globals_init(b->conf);
	b->conf->file = conf_path_join(
	    source->dir, slash != NULL ? slash + 1 : source->path);
	b->conf->apps = conf_calloc(text->sections_len, sizeof(*b->conf->apps));
	sort_settings(b);
}

void
conf_build_fini(struct conf_build *b)
{
	free(b->global);
	free(b->slots);
	free(b->app_sections);
}

/* ---- values ---- */

static void
build_globals(struct conf_build *b)
{
	struct conf presets;

	conf_globals_init(&presets);
	for (size_t i = 0; i < conf_global_options_len; i++) {
		struct conf_slot *slot = &b->global[i];

		if (slot->setting != NULL)
			slot->failed =
			    !conf_convert(b, slot->setting, NULL, b->conf) ||
			    !conf_in_force(b, slot->setting, b->conf, &presets);
	}
	for (size_t i = 0; i < conf_global_options_len; i++) {
		const struct conf_option *o = &conf_global_options[i];

		if (o->type->fini != NULL)
			o->type->fini(o, &presets);
	}
}

/* All values of the section, one after the other, in app. */
static void
build_section(struct conf_build *b, size_t section, struct conf_app *app,
    const struct conf_app *presets)
{
	for (size_t i = 0; i < conf_app_options_len; i++) {
		const struct conf_option *o = &conf_app_options[i];
		struct conf_slot *slot = section_slot(b, section, o);

		if (slot->setting != NULL)
			slot->failed =
			    !conf_convert(b, slot->setting, NULL, app) ||
			    !conf_in_force(b, slot->setting, app, presets);
	}
}

static const struct conf_setting *
default_setting(const struct conf_build *b, const struct conf_option *o)
{
	if (b->defaults == CONF_SECTION_GLOBAL)
		return NULL;
	return section_slot(b, b->defaults, o)->setting;
}

static void
build_option(struct conf_build *b, size_t section, const struct conf_option *o,
    struct conf_app *app, const struct conf_app *presets)
{
	struct conf_slot *slot = section_slot(b, section, o);
	const struct conf_setting *under = default_setting(b, o);
	bool honoured = conf_option_honoured(o, app->handoff);

	if (slot->setting == NULL) {
		if (honoured && under != NULL)
			(void)conf_convert(b, under, NULL, app);
		return;
	}
	slot->failed = !conf_convert(b, slot->setting, under, app) ||
	    !conf_in_force(b, slot->setting, app, presets);
	if (honoured)
		return;
	conf_mistake(b->findings, conf_setting_where(slot->setting),
	    "option '%s' cannot be used with handoff = %s", o->name,
	    conf_handoff_name(app->handoff));
	slot->failed = true;
}

static void
build_app(struct conf_build *b, size_t section, const struct conf_app *presets)
{
	const struct conf_section *s = &b->text->sections[section];
	struct conf_app *app = &b->conf->apps[b->conf->apps_len];
	struct conf_where where = conf_section_where(s);
	const struct conf_option *handoff = conf_option_find(true, "handoff");

	conf_app_init(app);
	app->name = conf_strdup(s->title);
	app->file = conf_strdup(where.source->path);
	app->line = where.line;
	b->app_sections[b->conf->apps_len++] = s;

	/* It decides about the others. */
	build_option(b, section, handoff, app, presets);
	for (size_t i = 0; i < conf_app_options_len; i++) {
		if (&conf_app_options[i] != handoff)
			build_option(
			    b, section, &conf_app_options[i], app, presets);
	}
}

/* ---- sections ---- */

static void
check_title(struct conf_build *b, const struct conf_section *s)
{
	static const char valid[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz"
				    "0123456789_.-";
	const struct conf_section *first = b->text->sections;

	if (*s->title == '\0' || s->title[strspn(s->title, valid)] != '\0')
		conf_mistake(b->findings, conf_section_where(s),
		    "app '%s': a name is made of letters, digits and '_.-'",
		    s->title);
	while (first->title == NULL || strcmp(first->title, s->title) != 0)
		first++;
	if (first != s)
		conf_mistake(b->findings, conf_section_where(s),
		    "app '%s' is defined twice (first at %s:%d)", s->title,
		    first->source->path, conf_section_where(first).line);
}

static void
take_defaults(struct conf_build *b, size_t section)
{
	struct conf_where first;

	if (b->defaults == CONF_SECTION_GLOBAL) {
		b->defaults = section;
		return;
	}
	first = conf_section_where(&b->text->sections[b->defaults]);
	conf_mistake(b->findings,
	    conf_section_where(&b->text->sections[section]),
	    "section 'defaults' is given twice (first at %s:%d)",
	    first.source->path, first.line);
}

void
conf_build(struct conf_build *b)
{
	struct conf_app presets;
	struct conf_app scratch;

	conf_app_init(&presets);
	build_globals(b);
	for (size_t i = 0; i < b->text->sections_len; i++) {
		if (b->text->sections[i].title != NULL)
			continue;
		take_defaults(b, i);
		/* Also if there is no app to use them. */
		conf_app_init(&scratch);
		build_section(b, i, &scratch, &presets);
		conf_app_fini(&scratch);
	}
	for (size_t i = 0; i < b->text->sections_len; i++) {
		if (b->text->sections[i].title == NULL)
			continue;
		check_title(b, &b->text->sections[i]);
		build_app(b, i, &presets);
	}
	conf_app_fini(&presets);
}

/* ---- where from ---- */

const struct conf_slot *
conf_app_slot(
    const struct conf_build *b, const struct conf_app *app, const char *option)
{
	const struct conf_option *o = conf_option_find(true, option);
	const struct conf_section *s = b->app_sections[app - b->conf->apps];
	const struct conf_slot *slot =
	    section_slot(b, (size_t)(s - b->text->sections), o);

	if (slot->setting == NULL && b->defaults != CONF_SECTION_GLOBAL &&
	    section_slot(b, b->defaults, o)->setting != NULL)
		return section_slot(b, b->defaults, o);
	return slot;
}

const struct conf_slot *
conf_global_slot(const struct conf_build *b, const char *option)
{
	return section_slot(b, 0, conf_option_find(false, option));
}

struct conf_where
conf_app_where(
    const struct conf_build *b, const struct conf_app *app, const char *option)
{
	const struct conf_slot *slot = conf_app_slot(b, app, option);

	if (slot->setting != NULL)
		return conf_setting_where(slot->setting);
	return conf_section_where(b->app_sections[app - b->conf->apps]);
}

struct conf_where
conf_global_where(const struct conf_build *b, const char *option)
{
	const struct conf_slot *slot = conf_global_slot(b, option);

	if (slot->setting != NULL)
		return conf_setting_where(slot->setting);
	return (struct conf_where){ b->text->sources, 1 };
}

bool
conf_app_sound(
    const struct conf_build *b, const struct conf_app *app, const char *option)
{
	const struct conf_slot *slot = conf_app_slot(b, app, option);

	if (slot->setting != NULL)
		return !slot->failed;
	return !conf_section_has_gaps(b->app_sections[app - b->conf->apps]);
}

void
conf_app_break(struct conf_app *app, const char *fmt, ...)
{
	va_list ap;

	if (app->broken != NULL)
		return;
	va_start(ap, fmt);
	if (vasprintf(&app->broken, fmt, ap) == -1)
		app->broken = conf_strdup(fmt);
	va_end(ap);
}
