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

#include "conf/conf_private.h"

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

static char *
directory_denied(const struct conf_identity *id, const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1)
		return conf_strdup(strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return conf_strdup("is not a directory");
	if (!may_execute(id, path, &st))
		return conf_printf("user '%s' may not enter it", id->user);
	return NULL;
}

static char *
program_denied(const struct conf_identity *id, const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1)
		return conf_strdup(strerror(errno));
	if (!S_ISREG(st.st_mode))
		return conf_strdup("is not a regular file");
	if ((st.st_mode & 0111) == 0)
		return conf_strdup("is not executable");
	if (!may_execute(id, path, &st))
		return conf_printf("user '%s' may not execute it", id->user);
	return NULL;
}

/* Looks at one step of the way: path up to the slash at len. */
static char *
step_denied(const struct conf_identity *id, const char *path, size_t len)
{
	char *step = conf_strndup(path, len > 0 ? len : 1);
	char *why = directory_denied(id, step);
	char *text = why != NULL ? conf_printf("%s: %s", step, why) : NULL;

	free(why);
	free(step);
	return text;
}

char *
conf_denied(const struct conf_identity *id, const char *path, bool is_directory)
{
	char *why = NULL;

	for (const char *p = strchr(path, '/'); p != NULL && why == NULL;
	     p = strchr(p + 1, '/'))
		why = step_denied(id, path, (size_t)(p - path));
	if (why != NULL)
		return why;
	return is_directory ? directory_denied(id, path)
			    : program_denied(id, path);
}
