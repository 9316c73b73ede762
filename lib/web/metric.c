/* Samples of OpenMetrics. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "web/metric.h"

static const char prefix[] = "apppool_";

#define PREFIX_LEN (sizeof(prefix) - 1)

static bool
parse_line(const char *line, struct metric *out)
{
	const char *rest;
	char *end;

	if (strncmp(line, prefix, PREFIX_LEN) != 0)
		return false;
	*out = (struct metric){ .name = line + PREFIX_LEN };
	out->name_len = strcspn(out->name, "{ \n");
	rest = out->name + out->name_len;
	if (*rest == '{') {
		out->labels = rest + 1;
		/* No value of ours has a brace. */
		out->labels_len = strcspn(out->labels, "}\n");
		rest = out->labels + out->labels_len;
		if (*rest++ != '}')
			return false;
	}
	if (*rest != ' ')
		return false;
	out->value = strtod(rest + 1, &end);
	return end != rest + 1 && *end == '\n';
}

bool
metric_next(const char **text, struct metric *out)
{
	while (**text != '\0') {
		const char *line = *text;

		*text += strcspn(line, "\n");
		*text += **text == '\n';
		if (parse_line(line, out))
			return true;
	}
	return false;
}

bool
metric_is(const struct metric *m, const char *name)
{
	return m->name_len == strlen(name) &&
	    memcmp(m->name, name, m->name_len) == 0;
}

/* The value of a label, of len_out bytes; NULL: it has no such label. */
static const char *
find_label(const struct metric *m, const char *label, size_t *len_out)
{
	const char *at = m->labels, *end = at + m->labels_len;
	const size_t len = strlen(label);

	while (at != NULL && at < end) {
		const char *value = memchr(at, '"', (size_t)(end - at));
		const char *close = value == NULL
		    ? NULL
		    : memchr(value + 1, '"', (size_t)(end - value - 1));

		if (close == NULL)
			return NULL;
		if ((size_t)(value - at) == len + 1 &&
		    memcmp(at, label, len) == 0) {
			*len_out = (size_t)(close - value - 1);
			return value + 1;
		}
		at = close + 2; /* and a comma */
	}
	return NULL;
}

bool
metric_has(const struct metric *m, const char *label, const char *value)
{
	size_t len;
	const char *found = find_label(m, label, &len);

	return found != NULL && len == strlen(value) &&
	    memcmp(found, value, len) == 0;
}

bool
metric_app(const struct metric *m, char *buf, size_t size)
{
	size_t len;
	const char *app = find_label(m, "app", &len);

	if (app == NULL)
		return false;
	(void)snprintf(buf, size, "%.*s", (int)len, app);
	return true;
}
