/* What is said of a start that failed. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sys/child.h"

static const char *const failures[] = {
	[CHILD_CLONE] = "cannot create a process",
	[CHILD_SESSION] = "cannot begin a session",
	[CHILD_NULL] = "cannot open /dev/null",
	[CHILD_DESCRIPTORS] = "cannot arrange descriptors",
	[CHILD_LIMITS] = "cannot set",
	[CHILD_NICE] = "cannot set the nice value",
	[CHILD_CHROOT] = "cannot chroot to",
	[CHILD_DIRECTORY] = "cannot chdir to",
	[CHILD_IDENTITY] = "cannot become",
	[CHILD_NO_NEW_PRIVS] = "cannot set no_new_privs",
	[CHILD_EXEC] = "cannot execute",
};

bool
child_no_room(const struct child_result *r)
{
	return r->error == EAGAIN || r->error == ENOMEM || r->error == EMFILE ||
	    r->error == ENFILE;
}

static const char *
limit_name(int resource)
{
	switch (resource) {
	case RLIMIT_AS:
		return "RLIMIT_AS";
	case RLIMIT_CORE:
		return "RLIMIT_CORE";
	case RLIMIT_CPU:
		return "RLIMIT_CPU";
	case RLIMIT_NOFILE:
		return "RLIMIT_NOFILE";
	case RLIMIT_NPROC:
		return "RLIMIT_NPROC";
	default:
		return "a resource limit";
	}
}

const char *
child_explain(const struct child_spec *spec, const struct child_result *r,
    char *buf, size_t size)
{
	const char *failed = failures[r->stage];
	const char *error = strerror(r->error);
	const char *what = NULL;

	if (r->stage == CHILD_IDENTITY) {
		(void)snprintf(buf, size, "%s user %u and group %u: %s", failed,
		    (unsigned)spec->uid, (unsigned)spec->gid, error);
		return buf;
	}
	if (r->stage == CHILD_LIMITS)
		what = limit_name(r->limit);
	else if (r->stage == CHILD_CHROOT)
		what = spec->chroot;
	else if (r->stage == CHILD_DIRECTORY)
		what = spec->directory != NULL ? spec->directory : "/";
	else if (r->stage == CHILD_EXEC)
		what = spec->path;

	if (what != NULL)
		(void)snprintf(buf, size, "%s %s: %s", failed, what, error);
	else
		(void)snprintf(buf, size, "%s: %s", failed, error);
	return buf;
}
