#ifndef SYS_SERVERLIST_H
#define SYS_SERVERLIST_H

/*
 * The servers of a PoolCounter service that is spread over several machines,
 * as one text: "a:7531,b:7531". Clients that know the same servers, in whatever
 * order, ask for a key at the same one: the order is that of MediaWiki's
 * connection manager. No system calls: for the daemon and libapppool.
 */

#include <stdbool.h>

/* Servers of a service at most. */
#define SERVERLIST_MAX 16

struct serverlist {
	unsigned len; /* 1 to SERVERLIST_MAX */
	const char *names[SERVERLIST_MAX]; /* all different, none empty */
};

/*
 * Takes text apart at its commas, which become NULs; the names lie in it.
 * Returns false, text changed, for more servers than that, an empty name, or a
 * name that is there twice.
 */
bool serverlist_split(char *text, struct serverlist *out);

/*
 * Writes to order the indices of the names, list->len of them, in the order in
 * which a client tries them for the key: ascending by the MD5 sum of the name
 * as it is written with the key behind it.
 */
void serverlist_order(
    const struct serverlist *list, const char *key, unsigned *order);

#endif
