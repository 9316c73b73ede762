/*
 * From a setting, with those it adds to, to a field.
 */

#include <stdlib.h>

#include "conf/conf_private.h"

/* Beyond that it is no list but a mistake; some checks compare all pairs. */
#define LIST_MAX 4096

/* The settings that setting adds to with "+=", itself included. */
static size_t
values_len(const struct conf_setting *setting)
{
	size_t len = 0;

	for (const struct conf_setting *s = setting; s != NULL;
	     s = s->append ? s->before : NULL)
		len += s->len;
	return len;
}

/* Copies them so that they end before end; returns the first. */
static char **
values_copy(const struct conf_setting *setting, char **end)
{
	for (const struct conf_setting *s = setting; s != NULL;
	     s = s->append ? s->before : NULL) {
		for (size_t i = s->len; i > 0; i--)
			*--end = s->values[i - 1];
	}
	return end;
}

static bool
convert(struct conf_build *b, const struct conf_setting *setting,
    const struct conf_setting *under, void *base)
{
	size_t len =
	    values_len(setting) + (setting->extends ? values_len(under) : 0);
	char **values = conf_calloc(len + 1, sizeof(*values));
	struct conf_input in = {
		.option = setting->option,
		.where = conf_setting_where(setting),
		.dir = setting->source->dir,
		.values = values,
		.len = len,
		.findings = b->findings,
	};
	char **middle = values_copy(setting, values + len);
	bool good = false;

	if (setting->extends)
		(void)values_copy(under, middle);
	if (len > LIST_MAX)
		(void)conf_bad(&in, "more than %d elements", LIST_MAX);
	else
		good = setting->option->type->parse(&in, base);
	free(values);
	return good;
}

bool
conf_in_force(struct conf_build *b, const struct conf_setting *setting,
    const void *base, const void *presets)
{
	const struct conf_option *o = setting->option;

	if (!o->not_in_force || o->type->equal(o, base, presets))
		return true;
	conf_mistake(b->findings, conf_setting_where(setting),
	    "option '%s' is not in force yet in this version", o->name);
	return false;
}

/*
 * Looks also at those it took the place of: who takes one out of two should
 * not meet the next mistake then.
 */
bool
conf_convert(struct conf_build *b, const struct conf_setting *setting,
    const struct conf_setting *under, void *base)
{
	const struct conf_setting *s = setting;

	for (;;) {
		while (s->append && s->before != NULL)
			s = s->before;
		s = s->before;
		if (s == NULL)
			break;
		(void)convert(b, s, NULL, base);
	}
	return convert(b, setting, under, base);
}
