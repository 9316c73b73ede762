#ifndef CONTROL_TARGET_H
#define CONTROL_TARGET_H

/*
 * The apps and workers that a command is about. They may end, and others have
 * their numbers, while the client waits.
 */

#include "core/pool.h"
#include "daemon/worker.h"

/* Room for why there is no such target. */
#define TARGET_WHY 384

struct target {
	uint32_t app; /* its number in the pool */
	uint64_t app_stamp; /* tells it from a later one of that number */
	uint32_t process; /* likewise; ILIST_NONE: the app as a whole */
	uint64_t stamp;
	uint32_t of; /* processes or sessions that the command waits for */
	pid_t pid; /* of the worker */
	char id[WORKER_ID_LEN + 1];
	char *name; /* of the app; owned */
};

struct targets {
	size_t len;
	struct target list[];
};

/* The group of this name, if need be one that is leaving; NULL: none. */
struct group *target_lookup(const struct supervisor *s, const char *name);

/* The same; NULL: why says so. */
struct group *target_group(
    const struct supervisor *s, const char *name, char why[TARGET_WHY]);

/*
 * The apps and workers of these words, each once; without a word all apps that
 * run. NULL: why says what is wrong.
 */
struct targets *target_find(
    const struct supervisor *s, char *const *words, char why[TARGET_WHY]);

/* The one app that these words, or workers among them, are of; else NULL. */
const struct group *target_subject(
    const struct supervisor *s, char *const *words);

/* all may be NULL. */
void target_free(struct targets *all);

/* Its app, and its process; NULL: gone. */
const struct app *target_app(const struct supervisor *s, const struct target *);
const struct process *target_process(
    const struct supervisor *s, const struct target *);

#endif
