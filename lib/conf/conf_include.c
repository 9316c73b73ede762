/*
 * Which files the argument of include() means. libconfuse's own include
 * knows no patterns, starts at the working directory, and a mistake in an
 * included file costs it a level of nesting for ever.
 */

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_private.h"

static bool
is_pattern(const char *text)
{
	return strpbrk(text, "*?[{") != NULL;
}

/* The folder of source as it is shown, with its own special signs quoted. */
static char *
escaped_folder(const struct conf_source *source)
{
	const char *slash = strrchr(source->path, '/');
	size_t len = slash != NULL ? (size_t)(slash - source->path) + 1 : 0;
	char *out = conf_calloc(2 * len + 1, 1);
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (strchr("*?[]{},\\~", source->path[i]) != NULL)
			out[n++] = '\\';
		out[n++] = source->path[i];
	}
	return out;
}

/* A folder that is not there has no files; one that is closed may have. */
static int
is_trouble(const char *path, int error)
{
	(void)path;
	errno = error;
	return error != ENOENT && error != ENOTDIR;
}

static bool
expand_pattern(const struct conf_source *source, const char *pattern,
    struct conf_include *out, char **why_out)
{
	char *folder = escaped_folder(source);
	char *whole =
	    conf_printf("%s%s", pattern[0] == '/' ? "" : folder, pattern);
	glob_t found;
	int rc;

	free(folder);
	rc = glob(whole, GLOB_BRACE, is_trouble, &found);
	free(whole);
	if (rc == GLOB_NOMATCH)
		return true;
	if (rc != 0) {
		*why_out = conf_strdup(
		    rc == GLOB_NOSPACE ? "out of memory" : strerror(errno));
		return false;
	}
	/* glob() has sorted them, by the bytes of their names in the C locale.
	 */
	for (size_t i = 0; i < found.gl_pathc; i++) {
		out->paths =
		    conf_grow(out->paths, out->len, sizeof(*out->paths));
		out->paths[out->len++] = conf_strdup(found.gl_pathv[i]);
	}
	globfree(&found);
	return true;
}

bool
conf_include_expand(const struct conf_source *source, const char *pattern,
    struct conf_include *out, char **why_out)
{
	const char *slash = strrchr(source->path, '/');
	int len = slash != NULL ? (int)(slash - source->path) + 1 : 0;

	memset(out, 0, sizeof(*out));
	if (is_pattern(pattern))
		return expand_pattern(source, pattern, out, why_out);
	if (pattern[0] == '\0') {
		*why_out = conf_strdup("no file is named");
		return false;
	}
	out->paths = conf_grow(NULL, 0, sizeof(*out->paths));
	out->paths[out->len++] = pattern[0] == '/'
	    ? conf_strdup(pattern)
	    : conf_printf("%.*s%s", len, source->path, pattern);
	return true;
}

void
conf_include_fini(struct conf_include *include)
{
	for (size_t i = 0; i < include->len; i++)
		free(include->paths[i]);
	free(include->paths);
	memset(include, 0, sizeof(*include));
}
