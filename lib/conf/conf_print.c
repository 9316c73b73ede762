/*
 * The configuration in force, as pool.conf would have it. Made from the struct:
 * libconfuse's own printing knows neither units nor what `defaults` gave.
 */

#include <stdlib.h>

#include "conf/conf_private.h"

static void
print_option(const struct conf_option *o, const void *base, FILE *out)
{
	const char *indent = o->in_app ? "\t" : "";
	char *text = NULL;
	size_t len;
	FILE *value = open_memstream(&text, &len);

	if (value == NULL)
		return;
	if (!o->type->print(o, base, value))
		len = 0;
	fclose(value);
	if (len > 0)
		fprintf(out, "%s%s = %s\n", indent, o->name, text);
	free(text);
}

static void
print_app(const struct conf_app *app, FILE *out)
{
	fprintf(out, "\napp \"%s\" {\n", app->name);
	for (size_t i = 0; i < conf_app_options_len; i++) {
		const struct conf_option *o = &conf_app_options[i];

		if (!o->not_in_force && conf_option_honoured(o, app->handoff))
			print_option(o, app, out);
	}
	fputs("}\n", out);
}

void
conf_print(const struct conf *conf, FILE *out)
{
	for (size_t i = 0; i < conf_global_options_len; i++) {
		if (!conf_global_options[i].not_in_force)
			print_option(&conf_global_options[i], conf, out);
	}
	for (size_t i = 0; i < conf->apps_len; i++)
		print_app(&conf->apps[i], out);
}
