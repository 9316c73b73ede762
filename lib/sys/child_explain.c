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
	[CHILD_NEXT] = "cannot execute",
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

/* The file or the like that the step was about; NULL: there is none. */
static const char *
subject(const struct child_spec *spec, const struct child_result *r)
{
	switch (r->stage) {
	case CHILD_LIMITS:
		return limit_name(r->limit);
	case CHILD_CHROOT:
		return spec->chroot;
	case CHILD_DIRECTORY:
		return spec->directory != NULL ? spec->directory : "/";
	case CHILD_NEXT:
		return spec->next;
	case CHILD_EXEC:
		return spec->path;
	default:
		return NULL;
	}
}

const char *
child_explain(const struct child_spec *spec, const struct child_result *r,
    char *buf, size_t size)
{
	const char *failed = failures[r->stage];
	const char *error = strerror(r->error);
	const char *what = subject(spec, r);

	if (r->stage == CHILD_IDENTITY)
		(void)snprintf(buf, size, "%s user %u and group %u: %s", failed,
		    (unsigned)spec->uid, (unsigned)spec->gid, error);
	else if (r->interpreter[0] != '\0')
		(void)snprintf(buf, size, "%s %s: its interpreter %s: %s",
		    failed, what, r->interpreter, error);
	else if (what != NULL)
		(void)snprintf(buf, size, "%s %s: %s", failed, what, error);
	else
		(void)snprintf(buf, size, "%s: %s", failed, error);
	return buf;
}
