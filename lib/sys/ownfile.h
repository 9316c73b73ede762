#ifndef SYS_OWNFILE_H
#define SYS_OWNFILE_H

/*
 * Files that the daemon writes by a name: pid file, log, dump. Whoever may
 * change a folder on the way could put a link there, and have root write where
 * it leads. So each step of the path is looked at, from the root directory on.
 *
 * Own are the users root, ours, and the owner of the root directory. A folder
 * is guarded if an own user has it and nobody else may write it (the group may
 * be root's or ours). It is shared if others may write it, but an own user has
 * it and it is sticky, as /tmp, or only its group may write it: what lies there
 * must be own, and a file must be regular and have no second name. Any other
 * folder is refused. Links are followed in guarded folders alone, and if they
 * are own.
 */

enum ownfile_kind {
	OWNFILE_ANY, /* in a guarded folder also a device, a link to one, ... */
	/* Everywhere as in a shared folder, and not everybody's to write. */
	OWNFILE_REGULAR,
};

#include <sys/types.h>

#include <limits.h>

/* Bytes for why a file was refused: what is wrong, and what would be right. */
#define OWNFILE_WHY (PATH_MAX + 256)

/* In place of flags: opens nothing, and the file need not be there. */
#define OWNFILE_LOOK (-1)

/*
 * As open(2), for an absolute path; 0 for OWNFILE_LOOK. Where the file or a
 * folder is refused: -1, EPERM, and why has a text; else why is "".
 */
int ownfile_open(const char *path, enum ownfile_kind kind, int flags,
    mode_t mode, char *why);

#endif
