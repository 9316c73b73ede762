/* The apps of a load by their names. */

#include <stdlib.h>
#include <string.h>

#include "sim/load_names.h"

static int
order_of(const void *a, const void *b, void *arg)
{
	const struct names *n = arg;

	return strcmp(n->apps[*(const uint32_t *)a].name,
	    n->apps[*(const uint32_t *)b].name);
}

int
names_init(struct names *n, const struct load_app *apps, size_t len)
{
	*n = (struct names){ .apps = apps, .len = len };
	n->sorted = reallocarray(NULL, len, sizeof(*n->sorted));
	if (n->sorted == NULL)
		return -1;
	for (size_t i = 0; i < len; i++)
		n->sorted[i] = (uint32_t)i;
	qsort_r(n->sorted, len, sizeof(*n->sorted), order_of, n);
	return 0;
}

void
names_fini(struct names *n)
{
	free(n->sorted);
	n->sorted = NULL;
}

/* As strcmp() has it. */
static int
compare(const char *name, size_t len, const char *other)
{
	int order = strncmp(name, other, len);

	return order != 0 ? order : other[len] == '\0' ? 0 : -1;
}

bool
names_find(struct names *n, const char *name, size_t len, uint32_t *out)
{
	size_t low = 0, high = n->len;

	/* A NUL would pass for the end of both. */
	if (memchr(name, '\0', len) != NULL)
		return false;
	if (compare(name, len, n->apps[n->last].name) == 0) {
		*out = n->last;
		return true;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint32_t app = n->sorted[middle];
		int order = compare(name, len, n->apps[app].name);

		if (order == 0) {
			*out = n->last = app;
			return true;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}
