/*
 * Users and groups of this machine. They may come from a directory server, so
 * each call may wait for it.
 */

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_private.h"

/* An entry of passwd(5) or group(5) of any sane size. */
#define ENTRY_MAX (1024 * 1024)

void
conf_user_fini(struct conf_user *u)
{
	free(u->name);
	free(u->home);
	free(u->shell);
}

static void
user_take(const struct passwd *pw, struct conf_user *out)
{
	out->uid = pw->pw_uid;
	out->gid = pw->pw_gid;
	out->name = conf_strdup(pw->pw_name);
	out->home = conf_strdup(pw->pw_dir);
	out->shell =
	    conf_strdup(pw->pw_shell[0] != '\0' ? pw->pw_shell : "/bin/sh");
}

bool
conf_user_find(const char *name, struct conf_user *out)
{
	struct passwd *found = NULL;
	struct passwd pw;
	size_t size = 4096;
	char *buf = conf_calloc(size, 1);
	uint64_t number;
	int rc;

	for (;;) {
		if (conf_parse_uint(name, &number) && number < (uid_t)-1)
			rc = getpwuid_r((uid_t)number, &pw, buf, size, &found);
		else
			rc = getpwnam_r(name, &pw, buf, size, &found);
		if (rc != ERANGE || size >= ENTRY_MAX)
			break;
		size *= 2;
		buf = conf_realloc(buf, size, 1);
	}
	if (found != NULL)
		user_take(found, out);
	free(buf);
	errno = rc == ENOENT || rc == ESRCH ? 0 : rc;
	return found != NULL;
}

bool
conf_group_find(const char *name, gid_t *out)
{
	struct group *found = NULL;
	struct group gr;
	size_t size = 4096;
	char *buf = conf_calloc(size, 1);
	uint64_t number;
	int rc;

	for (;;) {
		rc = getgrnam_r(name, &gr, buf, size, &found);
		if (rc != ERANGE || size >= ENTRY_MAX)
			break;
		size *= 2;
		buf = conf_realloc(buf, size, 1);
	}
	if (found != NULL)
		*out = gr.gr_gid;
	free(buf);
	/* A group needs no name to be used. */
	if (found == NULL && conf_parse_uint(name, &number) &&
	    number < (gid_t)-1) {
		*out = (gid_t)number;
		return true;
	}
	errno = rc == ENOENT || rc == ESRCH ? 0 : rc;
	return found != NULL;
}

bool
conf_user_of_number(const char *text, struct conf_user *out)
{
	uint64_t number;

	if (!conf_parse_uint(text, &number) || number >= (uid_t)-1)
		return false;
	out->uid = (uid_t)number;
	out->gid = (gid_t)-1;
	out->name = conf_strdup(text);
	out->home = conf_strdup("/");
	out->shell = conf_strdup("/bin/sh");
	return true;
}

char *
conf_group_name(gid_t gid)
{
	struct group *found = NULL;
	struct group gr;
	char buf[16384];

	if (getgrgid_r(gid, &gr, buf, sizeof(buf), &found) == 0 &&
	    found != NULL)
		return conf_strdup(gr.gr_name);
	return conf_printf("%u", (unsigned)gid);
}
