#ifndef SYS_FOLDERWATCH_H
#define SYS_FOLDERWATCH_H

/*
 * Changes in folders, as inotify(7) tells them at once: of files that are made,
 * written, renamed, removed, or get another time.  Changes by other machines on
 * a file server are not told.
 *
 * A folder is known by a number, which several users of it share: the number
 * is gone for all of them when one drops it.
 */

#include <stdbool.h>

#include "core/tstamp.h"
#include "sys/loop.h"

enum folderwatch_what {
	FOLDERWATCH_THERE, /* the file is there now */
	FOLDERWATCH_CHANGED, /* written, or its time or its mode */
	FOLDERWATCH_GONE, /* the file is */
	FOLDERWATCH_LOST, /* the folder is, or (-1) what was told of all */
};

struct folderwatch {
	struct loop *loop;
	struct loop_io io; /* fd: -1: the kernel gives none */
	void (*told)(struct folderwatch *w, int folder, const char *name,
	    enum folderwatch_what what, tstamp now);
};

/* 0; or -1 and errno: nothing will be told. */
int folderwatch_init(struct folderwatch *w, struct loop *l,
    void (*told)(struct folderwatch *, int, const char *, enum folderwatch_what,
	tstamp));
void folderwatch_fini(struct folderwatch *w);

/*
 * For a lane: a look at a path may block.  The number of the folder; -1: there
 * is no such folder, or it cannot be watched.
 */
int folderwatch_add(const struct folderwatch *w, const char *path);
void folderwatch_drop(const struct folderwatch *w, int folder);

/*
 * Tells what has happened up to now, without waiting for its turn in the loop;
 * of very much only a part.
 */
void folderwatch_read(struct folderwatch *w, tstamp now);

#endif
