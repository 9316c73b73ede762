/*
 * What libconfuse accepted: settings and sections, each with its place.
 */

#include <stdlib.h>
#include <string.h>

#include "conf/conf_private.h"

struct conf_where
conf_setting_where(const struct conf_setting *s)
{
	const struct conf_source *source = s->source;

	return (struct conf_where){ source,
		source->tokens[source->stmts[s->stmt].first].line };
}

struct conf_where
conf_section_where(const struct conf_section *s)
{
	const struct conf_source *source = s->source;

	return (struct conf_where){ source,
		source->tokens[source->stmts[s->stmt].first].line };
}

bool
conf_section_has_gaps(const struct conf_section *section)
{
	const struct conf_source *source = section->source;
	const struct conf_stmt *s = &source->stmts[section->stmt];

	for (unsigned i = s->first; i <= s->last; i++) {
		if (source->tokens[i].blank)
			return true;
	}
	return false;
}

void
conf_text_setting(struct conf_text *text, const struct conf_option *option,
    struct conf_source *source, unsigned stmt, char **values, size_t len)
{
	struct conf_setting *s;

	text->settings = conf_grow(
	    text->settings, text->settings_len, sizeof(*text->settings));
	s = &text->settings[text->settings_len++];
	memset(s, 0, sizeof(*s));
	s->option = option;
	s->source = source;
	s->stmt = stmt;
	s->section = CONF_SECTION_GLOBAL;
	s->append = source->stmts[stmt].append;
	s->values = values;
	s->len = len;
}

/* The settings of a section are those that came just before its end. */
void
conf_text_section(struct conf_text *text, struct conf_source *source,
    unsigned stmt, const char *title)
{
	const char *mark =
	    title != NULL ? strrchr(title, CONF_TITLE_MARK) : NULL;
	struct conf_section *s;

	text->sections = conf_grow(
	    text->sections, text->sections_len, sizeof(*text->sections));
	s = &text->sections[text->sections_len];
	s->source = source;
	s->stmt = stmt;
	s->title =
	    mark != NULL ? conf_strndup(title, (size_t)(mark - title)) : NULL;
	for (size_t i = text->settings_len; i > 0; i--) {
		struct conf_setting *setting = &text->settings[i - 1];

		if (setting->source != source ||
		    source->stmts[setting->stmt].parent != stmt)
			break;
		setting->section = text->sections_len;
	}
	text->sections_len++;
}

void
conf_text_clear(struct conf_text *text)
{
	for (size_t i = 0; i < text->settings_len; i++)
		conf_strings_free(text->settings[i].values);
	for (size_t i = 0; i < text->sections_len; i++)
		free(text->sections[i].title);
	free(text->settings);
	free(text->sections);
	text->settings = NULL;
	text->settings_len = 0;
	text->sections = NULL;
	text->sections_len = 0;
}

void
conf_text_fini(struct conf_text *text)
{
	conf_text_clear(text);
	while (text->sources != NULL) {
		struct conf_source *source = text->sources;

		text->sources = source->next;
		conf_source_free(source);
	}
}
