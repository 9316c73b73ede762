/* Changes of a file, told by its inode and its time. */

#include <sys/stat.h>

#include <errno.h>

#include "sys/filemark.h"

void
filemark_look(const char *path, struct filemark *out)
{
	struct stat st;

	*out = (struct filemark){ .state = FILEMARK_UNKNOWN };
	if (stat(path, &st) == 0) {
		out->state = FILEMARK_THERE;
		out->device = st.st_dev;
		out->inode = st.st_ino;
		out->mtime = st.st_mtim;
	} else if (errno == ENOENT || errno == ENOTDIR) {
		out->state = FILEMARK_ABSENT;
	} else {
		out->error = errno;
	}
}

static bool
same(const struct filemark *a, const struct filemark *b)
{
	return a->device == b->device && a->inode == b->inode &&
	    a->mtime.tv_sec == b->mtime.tv_sec &&
	    a->mtime.tv_nsec == b->mtime.tv_nsec;
}

bool
filemark_update(struct filemark *known, const struct filemark *seen)
{
	const struct filemark before = *known;

	if (seen->state == FILEMARK_UNKNOWN) {
		known->error = seen->error;
		return false;
	}
	*known = *seen;
	if (before.state == FILEMARK_UNKNOWN || seen->state == FILEMARK_ABSENT)
		return false;
	return before.state == FILEMARK_ABSENT || !same(&before, seen);
}
