#ifndef CONF_PRESCAN_H
#define CONF_PRESCAN_H

/*
 * One look at a file before libconfuse has it, which stops at its first
 * mistake, miscounts lines behind comments and takes a missing '}' for the end
 * of the file. The prescan finds the statements
 *
 *	NAME = VALUE, NAME += { VALUE, ... }, NAME(VALUE, ...),
 *	NAME { ... }, NAME "TITLE" { ... }
 *
 * tells which names are unknown or in the wrong place and what cannot be a
 * statement at all, and makes a copy for libconfuse of the others.
 */

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>

#include "conf/copy.h"
#include "conf/findings.h"
#include "conf/source.h"
#include "conf/type.h"

/*
 * A statement of the copy, without its values until libconfuse has parsed it.
 */
struct stmt {
	STAILQ_ENTRY(stmt) next; /* for the caller */
	const char *name;
	struct where where; /* of its name */
	const struct option *option; /* NULL: a section or a call */
	struct stmt *section; /* the section around it, or NULL */
	bool append; /* "+=" */
	bool titled; /* of a section: it has a title, and so is an app */
	bool gaps; /* of a section: a statement in it was wrong and is left out
		    */

	char **values; /* room for size values and a NULL */
	size_t size;
	size_t len;
	bool empty; /* "= {}": the value in the copy stands for no value */
};

STAILQ_HEAD(stmts, stmt);

/*
 * Each section of the copy begins with an option of this name, whose value is
 * the title. No name of a file can be this one.
 */
#define PRESCAN_TITLE ":title"

/* Elements of the longest list; a longer one is a mistake. */
#define PRESCAN_ELEMENTS 4096

/*
 * Makes the copy of a file, in memory of findings. With only, leaves out,
 * without a word, all statements but those of that global option and the
 * includes.
 */
void prescan(struct source *source, const struct option *only,
    struct findings *findings, struct copy *out);

#endif
