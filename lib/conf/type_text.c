/* Options that are text, or lists of it: names, paths, programs, variables. */

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "conf/placeholder.h"
#include "conf/source.h"
#include "conf/type.h"

bool
type_bad(const struct input *in, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = arena_vprintf(in->findings->arena, fmt, ap);
	va_end(ap);
	findings_mistake(
	    in->findings, in->where, "option '%s': %s", in->option->name, text);
	return false;
}

void
type_break(struct conf_app *app, struct arena *a, const char *fmt, ...)
{
	va_list ap;

	if (app->broken != NULL)
		return;
	va_start(ap, fmt);
	app->broken = arena_vprintf(a, fmt, ap);
	va_end(ap);
}

/* ---- quotes ---- */

/* Bytes that quote() writes at most. */
#define QUOTED(text) (4 * strlen(text) + 2)

/* Returns the end of what it has written, without a NUL. */
static char *
quote(const char *text, char *out)
{
	static const char digits[] = "0123456789abcdef";

	*out++ = '"';
	for (const char *p = text; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;

		/* "\$" keeps libconfuse from looking for a variable. */
		if (c == '"' || c == '\\' || c == '$' || iscntrl(c))
			*out++ = '\\';
		if (iscntrl(c)) {
			*out++ = 'x';
			*out++ = digits[c >> 4];
			*out++ = digits[c & 15];
		} else {
			*out++ = (char)c;
		}
	}
	*out++ = '"';
	return out;
}

char *
type_quote(struct arena *a, const char *text)
{
	char *out = arena_alloc(a, QUOTED(text) + 1, 1);

	*quote(text, out) = '\0';
	return out;
}

char *
type_quote_list(struct arena *a, const char *const *list, size_t len)
{
	size_t size = sizeof("{ }");
	char *out, *end;

	for (size_t i = 0; i < len; i++)
		size += QUOTED(list[i]) + 2;
	out = end = arena_alloc(a, size, 1);
	*end++ = '{';
	for (size_t i = 0; i < len; i++) {
		if (i > 0)
			*end++ = ',';
		*end++ = ' ';
		end = quote(list[i], end);
	}
	strcpy(end, len > 0 ? " }" : "}");
	return out;
}

/* ---- one string; "" is none ---- */

static bool
has_control_byte(const char *text)
{
	while (*text != '\0' && !iscntrl((unsigned char)*text))
		text++;
	return *text != '\0';
}

static bool
string_parse(const struct input *in, void *base)
{
	char **field = TYPE_FIELD(in->option, base);
	const char *text = in->values[0];

	if (has_control_byte(text))
		return type_bad(in, "control characters are not valid here");
	*field = *text != '\0' ? arena_strdup(in->arena, text) : NULL;
	return true;
}

static char *
string_print(const struct option *o, const void *base, struct arena *a)
{
	const char *text = *(char *const *)TYPE_FIELD(o, base);

	return type_quote(a, text != NULL ? text : "");
}

const struct type type_string = { .parse = string_parse,
	.print = string_print };

/* ---- one path; "" is none ---- */

/* The absolute path, or NULL: a mistake. */
static char *
path_of(const struct input *in, const char *text)
{
	char *path;

	if (has_control_byte(text)) {
		(void)type_bad(in, "a path cannot hold control characters");
		return NULL;
	}
	if (strncmp(text, "unix:", strlen("unix:")) == 0) {
		(void)type_bad(in, "a path stands here without 'unix:'");
		return NULL;
	}
	path = source_join(in->arena, in->dir, text);
	if (strlen(path) < PATH_MAX)
		return path;
	(void)type_bad(in, "path of over %d bytes", PATH_MAX - 1);
	return NULL;
}

static bool
path_parse(const struct input *in, void *base)
{
	char **field = TYPE_FIELD(in->option, base);
	char *path = NULL;

	if (in->values[0][0] != '\0') {
		path = path_of(in, in->values[0]);
		if (path == NULL)
			return false;
	}
	*field = path;
	return true;
}

const struct type type_path = { .parse = path_parse, .print = string_print };

/* ---- lists ---- */

static char *
list_print(const struct option *o, const void *base, struct arena *a)
{
	char *const *list = *(char **const *)TYPE_FIELD(o, base);
	size_t len = 0;

	while (list[len] != NULL)
		len++;
	return type_quote_list(a, (const char *const *)list, len);
}

static bool
paths_parse(const struct input *in, void *base)
{
	char ***field = TYPE_FIELD(in->option, base);
	char **list = arena_alloc(in->arena, in->len + 1, sizeof(*list));

	for (size_t i = 0; i < in->len; i++) {
		if (in->values[i][0] == '\0')
			return type_bad(in, "an empty path names no file");
		list[i] = path_of(in, in->values[i]);
		if (list[i] == NULL)
			return false;
	}
	*field = list;
	return true;
}

const struct type type_paths = {
	.list = true, .parse = paths_parse, .print = list_print
};

/* The program is looked for when directory and chroot are known. */
static bool
command_parse(const struct input *in, void *base)
{
	char ***field = TYPE_FIELD(in->option, base);
	char **list;

	if (in->len > 0 && in->values[0][0] == '\0')
		return type_bad(in, "the first element names no program");
	if (in->len > 0 && placeholder_has_slot(in->values[0]))
		return type_bad(in,
		    "the program is one for all slots: {slot} stands in "
		    "arguments");
	list = arena_alloc(in->arena, in->len + 1, sizeof(*list));
	for (size_t i = 0; i < in->len; i++)
		list[i] = arena_strdup(in->arena, in->values[i]);
	*field = list;
	return true;
}

const struct type type_command = {
	.list = true, .parse = command_parse, .print = list_print
};

static bool
variable_check(const struct input *in, const char *text)
{
	size_t name = strcspn(text, "=");

	if (name == 0 || text[name] == '\0')
		return type_bad(in, "'%s' is not of the form NAME=VALUE", text);
	for (size_t i = 0; i < name; i++) {
		if (isspace((unsigned char)text[i]) ||
		    iscntrl((unsigned char)text[i]))
			return type_bad(in,
			    "'%.*s' is not the name of a variable", (int)name,
			    text);
	}
	/* The service of another machine may be the one to use. */
	if (strncmp(text, "APPPOOL_", 8) == 0 &&
	    strncmp(text, "APPPOOL_COUNTER=", 16) != 0)
		return type_bad(
		    in, "%.*s is set by apppoold itself", (int)name, text);
	return true;
}

/* Of several values of one variable the last counts. */
static bool
is_set_later(const struct input *in, size_t i)
{
	size_t name = strcspn(in->values[i], "=") + 1;

	for (size_t j = i + 1; j < in->len; j++) {
		if (strncmp(in->values[i], in->values[j], name) == 0)
			return true;
	}
	return false;
}

static bool
environment_parse(const struct input *in, void *base)
{
	char ***field = TYPE_FIELD(in->option, base);
	char **list = arena_alloc(in->arena, in->len + 1, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < in->len; i++) {
		if (!variable_check(in, in->values[i]))
			return false;
		if (!is_set_later(in, i))
			list[n++] = arena_strdup(in->arena, in->values[i]);
	}
	*field = list;
	return true;
}

const struct type type_environment = {
	.list = true, .parse = environment_parse, .print = list_print
};
