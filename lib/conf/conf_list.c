/*
 * Options that are lists of text: programs, variables, files.
 */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_private.h"

static void
list_replace(const struct conf_input *in, void *base, char **list)
{
	char ***field = CONF_FIELD(in->option, base);

	conf_strings_free(*field);
	*field = list;
}

static bool
list_equal(const struct conf_option *o, const void *a, const void *b)
{
	char *const *x = *(char **const *)CONF_FIELD(o, a);
	char *const *y = *(char **const *)CONF_FIELD(o, b);

	while (*x != NULL && *y != NULL && strcmp(*x, *y) == 0) {
		x++;
		y++;
	}
	return *x == NULL && *y == NULL;
}

static bool
list_print(const struct conf_option *o, const void *base, FILE *out)
{
	char *const *list = *(char **const *)CONF_FIELD(o, base);

	fputc('{', out);
	for (size_t i = 0; list[i] != NULL; i++) {
		fputs(i > 0 ? ", " : " ", out);
		conf_print_quoted(list[i], out);
	}
	fputs(*list != NULL ? " }" : "}", out);
	return true;
}

static void
list_fini(const struct conf_option *o, void *base)
{
	conf_strings_free(*(char ***)CONF_FIELD(o, base));
}

static bool
paths_parse(const struct conf_input *in, void *base)
{
	char **list = conf_calloc(in->len + 1, sizeof(*list));

	for (size_t i = 0; i < in->len; i++) {
		if (in->values[i][0] != '\0')
			list[i] = conf_path_of(in, in->values[i]);
		else
			(void)conf_bad(in, "an empty path names no file");
		if (list[i] == NULL) {
			conf_strings_free(list);
			return false;
		}
	}
	list_replace(in, base, list);
	return true;
}

const struct conf_type conf_type_paths = {
	.list = true,
	.parse = paths_parse,
	.equal = list_equal,
	.print = list_print,
	.fini = list_fini,
};

/* The program is looked for when directory and chroot are known. */
static bool
command_parse(const struct conf_input *in, void *base)
{
	char **list;

	if (in->len > 0 && in->values[0][0] == '\0')
		return conf_bad(in, "the first element names no program");
	list = conf_calloc(in->len + 1, sizeof(*list));
	for (size_t i = 0; i < in->len; i++)
		list[i] = conf_strdup(in->values[i]);
	list_replace(in, base, list);
	return true;
}

const struct conf_type conf_type_command = {
	.list = true,
	.parse = command_parse,
	.equal = list_equal,
	.print = list_print,
	.fini = list_fini,
};

static bool
variable_check(const struct conf_input *in, const char *text)
{
	size_t name = strcspn(text, "=");

	if (name == 0 || text[name] == '\0')
		return conf_bad(in, "'%s' is not of the form NAME=VALUE", text);
	for (size_t i = 0; i < name; i++) {
		if (isspace((unsigned char)text[i]) ||
		    iscntrl((unsigned char)text[i]))
			return conf_bad(in,
			    "'%.*s' is not the name of a variable", (int)name,
			    text);
	}
	/* The service of another machine may be the one to use. */
	if (strncmp(text, "APPPOOL_", 8) == 0 &&
	    strncmp(text, "APPPOOL_COUNTER=", 16) != 0)
		return conf_bad(
		    in, "%.*s is set by apppoold itself", (int)name, text);
	return true;
}

/* The last of several values of one variable is the one that counts. */
static bool
is_set_later(const struct conf_input *in, size_t i)
{
	size_t name = strcspn(in->values[i], "=") + 1;

	for (size_t j = i + 1; j < in->len; j++) {
		if (strncmp(in->values[i], in->values[j], name) == 0)
			return true;
	}
	return false;
}

static bool
environment_parse(const struct conf_input *in, void *base)
{
	char **list = conf_calloc(in->len + 1, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < in->len; i++) {
		if (!variable_check(in, in->values[i])) {
			conf_strings_free(list);
			return false;
		}
		if (!is_set_later(in, i))
			list[n++] = conf_strdup(in->values[i]);
	}
	list_replace(in, base, list);
	return true;
}

const struct conf_type conf_type_environment = {
	.list = true,
	.parse = environment_parse,
	.equal = list_equal,
	.print = list_print,
	.fini = list_fini,
};
