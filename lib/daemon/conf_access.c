/*
 * Whether somebody else than we may search a folder or run a program: by the
 * permission bits of the path, as far as these tell.
 */

#include <sys/stat.h>
#include <sys/xattr.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/conf_private.h"

static bool
is_member(const struct conf_identity *id, gid_t gid)
{
	if (id->gid == gid)
		return true;
	for (size_t i = 0; i < id->groups_len; i++) {
		if (id->groups[i] == gid)
			return true;
	}
	return false;
}

/* The execute, or search, bit; an access control list may know better. */
static bool
may_execute(
    const struct conf_identity *id, const char *path, const struct stat *st)
{
	mode_t bit = S_IXOTH;

	if (!id->change)
		return access(path, X_OK) == 0;
	if (getxattr(path, "system.posix_acl_access", NULL, 0) > 0)
		return true;
	if (id->uid == 0)
		return S_ISDIR(st->st_mode) || (st->st_mode & 0111) != 0;
	if (st->st_uid == id->uid)
		bit = S_IXUSR;
	else if (is_member(id, st->st_gid))
		bit = S_IXGRP;
	return (st->st_mode & bit) != 0;
}

/* Looks at one step of the way: path up to the slash at len. */
static char *
step_denied(const struct conf_identity *id, const char *path, size_t len)
{
	char *step = conf_strndup(path, len > 0 ? len : 1);
	struct stat st;
	char *why = NULL;

	if (stat(step, &st) == -1)
		why = conf_printf("%s: %s", step, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		why = conf_printf("%s: is not a directory", step);
	else if (!may_execute(id, step, &st))
		why = conf_printf(
		    "%s: user '%s' may not enter it", step, id->user);
	free(step);
	return why;
}

char *
conf_denied(const struct conf_identity *id, const char *path, bool is_directory)
{
	struct stat st;
	char *why = NULL;

	for (const char *p = strchr(path, '/'); p != NULL && why == NULL;
	     p = strchr(p + 1, '/'))
		why = step_denied(id, path, (size_t)(p - path));
	if (why != NULL)
		return why;
	if (stat(path, &st) == -1)
		return conf_printf("%s: %s", path, strerror(errno));
	if (is_directory)
		return step_denied(id, path, strlen(path));
	if (!S_ISREG(st.st_mode))
		return conf_printf("%s: is not a regular file", path);
	if ((st.st_mode & 0111) == 0)
		return conf_printf("%s: is not executable", path);
	if (!may_execute(id, path, &st))
		return conf_printf(
		    "%s: user '%s' may not execute it", path, id->user);
	return NULL;
}
