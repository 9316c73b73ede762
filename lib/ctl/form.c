/* Texts with figures of a daemon in them. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl.h"
#include "sys/text.h"

/* Bytes of the longest text of a member. */
#define TEXT_MAX 8192

/*
 * The member of this path, which ends with ":", "}" or a NUL: KEY, KEY.KEY of
 * an object in it, or of PATH|PATH the first that is not null.
 */
static const json_t *
find_member(const json_t *object, const char *path)
{
	const json_t *at = object;
	char key[64];

	for (;;) {
		size_t len = strcspn(path, ".|:}");

		(void)snprintf(key, sizeof(key), "%.*s", (int)len, path);
		at = json_object_get(at, key);
		path += len;
		if (*path == '|' && (at == NULL || json_is_null(at)))
			at = object;
		else if (*path != '.')
			return at;
		path++;
	}
}

double
form_number(const json_t *object, const char *path)
{
	const json_t *n = find_member(object, path);

	return json_is_number(n) ? json_number_value(n) : NAN;
}

const char *
form_string(const json_t *object, const char *path)
{
	return json_string_value(find_member(object, path));
}

void
form_pad(struct text *out, const struct text *t, size_t width, bool left)
{
	const size_t is = form_width(t);

	for (size_t i = is; i < width && !left; i++)
		text_put(out, " ", 1);
	text_put(out, t->data, t->len);
	for (size_t i = is; i < width && left; i++)
		text_put(out, " ", 1);
}

static void
put_json_string(struct text *out, const json_t *s)
{
	if (json_is_string(s))
		text_escaped(out, json_string_value(s), json_string_length(s));
}

/* Puts a member, as what stands behind the colon wants it. */
static void
put_member(struct text *out, const json_t *value, const char *how)
{
	const bool left = *how == '-';
	char *type = NULL, buf[FIGURE_SIZE];
	size_t width = strtoul(how + left, &type, 10);
	double n = json_number_value(value);
	struct text t;

	text_init(&t, TEXT_MAX);
	if (json_is_array(value)) {
		for (size_t i = 0; i < json_array_size(value); i++) {
			text_puts(&t, i == 0 ? "" : ", ");
			put_json_string(&t, json_array_get(value, i));
		}
	} else if (json_is_string(value)) {
		put_json_string(&t, value);
	} else if (!json_is_number(value)) {
		text_puts(&t, width > 0 ? "-" : "");
	} else if (*type == 't') {
		text_puts(&t, figure_span((tspan)(n * 1e9), buf, sizeof(buf)));
	} else if (*type == 'b') {
		text_puts(&t, figure_size((int64_t)n, buf, sizeof(buf)));
	} else {
		text_printf(&t, "%.*f", *type == 'd', n);
	}
	form_pad(out, &t, width, left);
	text_fini(&t);
}

void
form_put(struct text *out, const json_t *object, const char *form)
{
	while (*form != '\0') {
		size_t len = strcspn(form, "{[]");

		text_put(out, form, len);
		form += len;
		if (*form == '{') {
			const char *how = form + strcspn(form, ":}");

			put_member(out, find_member(object, form + 1),
			    how + (*how == ':'));
			form = strchr(how, '}') + 1;
		} else if (*form == '[') {
			const json_t *v =
			    find_member(object, strchr(form, '{') + 1);

			if (v == NULL || json_is_null(v) || json_is_false(v) ||
			    (json_is_number(v) && json_number_value(v) <= 0) ||
			    (json_is_array(v) && json_array_size(v) == 0))
				form = strchr(form, ']');
			form++;
		} else if (*form == ']') {
			form++;
		}
	}
}
