/*
 * Options that are text: names, paths, and the words of `limit`.
 */

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_private.h"

void
conf_print_quoted(const char *text, FILE *out)
{
	fputc('"', out);
	for (const char *p = text; *p != '\0'; p++) {
		/* "\$" keeps libconfuse from looking for a variable. */
		if (*p == '"' || *p == '\\' || *p == '$')
			fprintf(out, "\\%c", *p);
		else if (iscntrl((unsigned char)*p))
			fprintf(out, "\\x%02x", (unsigned char)*p);
		else
			fputc(*p, out);
	}
	fputc('"', out);
}

static bool
has_control_byte(const char *text)
{
	for (; *text != '\0'; text++) {
		if (iscntrl((unsigned char)*text))
			return true;
	}
	return false;
}

/* ---- one string; "" is none ---- */

static void
replace(const struct conf_input *in, void *base, char *text)
{
	char **field = CONF_FIELD(in->option, base);

	free(*field);
	*field = text;
}

static bool
string_parse(const struct conf_input *in, void *base)
{
	const char *text = in->values[0];

	if (has_control_byte(text))
		return conf_bad(in, "control characters are not valid here");
	replace(in, base, *text != '\0' ? conf_strdup(text) : NULL);
	return true;
}

static bool
string_equal(const struct conf_option *o, const void *a, const void *b)
{
	const char *x = *(char *const *)CONF_FIELD(o, a);
	const char *y = *(char *const *)CONF_FIELD(o, b);

	return x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
}

static bool
string_print(const struct conf_option *o, const void *base, FILE *out)
{
	const char *text = *(char *const *)CONF_FIELD(o, base);

	conf_print_quoted(text != NULL ? text : "", out);
	return true;
}

static void
string_fini(const struct conf_option *o, void *base)
{
	free(*(char **)CONF_FIELD(o, base));
}

const struct conf_type conf_type_string = {
	.parse = string_parse,
	.equal = string_equal,
	.print = string_print,
	.fini = string_fini,
};

/* ---- one path; "" is none ---- */

char *
conf_path_of(const struct conf_input *in, const char *text)
{
	char *path;

	if (has_control_byte(text)) {
		(void)conf_bad(in, "a path cannot hold control characters");
		return NULL;
	}
	path = conf_path_join(in->dir, text);
	if (strlen(path) >= PATH_MAX) {
		(void)conf_bad(in, "path of over %d bytes", PATH_MAX - 1);
		free(path);
		return NULL;
	}
	return path;
}

static bool
path_parse(const struct conf_input *in, void *base)
{
	char *path = NULL;

	if (in->values[0][0] != '\0') {
		path = conf_path_of(in, in->values[0]);
		if (path == NULL)
			return false;
	}
	replace(in, base, path);
	return true;
}

const struct conf_type conf_type_path = {
	.parse = path_parse,
	.equal = string_equal,
	.print = string_print,
	.fini = string_fini,
};
