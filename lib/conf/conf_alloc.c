/*
 * Memory for the configuration. It is read at start and at a reload, in
 * bounded amounts; libconfuse itself ends the process where none is left.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_private.h"
#include "sys/log.h"

void *
conf_calloc(size_t n, size_t size)
{
	void *p = calloc(n != 0 ? n : 1, size);

	if (p == NULL)
		fatal("configuration");
	return p;
}

void *
conf_realloc(void *old, size_t n, size_t size)
{
	void *p = reallocarray(old, n != 0 ? n : 1, size);

	if (p == NULL)
		fatal("configuration");
	return p;
}

char *
conf_strdup(const char *text)
{
	return conf_strndup(text, strlen(text));
}

char *
conf_strndup(const char *text, size_t len)
{
	char *p = conf_calloc(len + 1, 1);

	memcpy(p, text, len);
	return p;
}

char *
conf_printf(const char *fmt, ...)
{
	va_list ap;
	char *p;
	int rc;

	va_start(ap, fmt);
	rc = vasprintf(&p, fmt, ap);
	va_end(ap);
	if (rc == -1)
		fatal("configuration");
	return p;
}

void *
conf_grow(void *old, size_t len, size_t size)
{
	/* Full exactly when len is 0 or a power of two from 8 on. */
	if (len == 0)
		return conf_realloc(old, 8, size);
	if (len < 8 || (len & (len - 1)) != 0)
		return old;
	return conf_realloc(old, len * 2, size);
}

void
conf_strings_free(char **strings)
{
	if (strings == NULL)
		return;
	for (char **s = strings; *s != NULL; s++)
		free(*s);
	free(strings);
}
