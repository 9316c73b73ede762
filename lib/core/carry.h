#ifndef CORE_CARRY_H
#define CORE_CARRY_H

/*
 * The pool in the state that a daemon hands to the program that replaces it:
 * which members of the tables are carried, by name, and how tables are filled
 * again. Sums, lists and deadlines are made anew from the rows.
 *
 * Enums are carried as numbers: a new value goes to the end of its list, or
 * CARRY_FORMAT is raised.
 */

#include "core/pool.h"

#define CARRY_FORMAT 1

enum carry_type {
	CARRY_BOOL,
	CARRY_UNSIGNED,
	CARRY_SIGNED,
	CARRY_DOUBLE,
	CARRY_DESCRIPTOR, /* an int; -1: none */
	CARRY_CHARS, /* an array, ended by a NUL */
	CARRY_STORED, /* likewise, the member of that name of a listener */
	CARRY_STRING, /* a char *, owned; NULL: none */
	CARRY_DEADLINE, /* of a timer, which is set when it is restored */
	CARRY_EVENTS, /* of a descriptor, which are waited for likewise */
};

/* A member of a struct, or an array of n numbers that is one. */
struct carry_field {
	const char *name;
	uint32_t offset;
	uint32_t size; /* of one number; of CARRY_CHARS, of all */
	uint32_t n;
	enum carry_type type;
	int64_t absent; /* the value that is not written */
};

#define CARRY_TYPE(x) \
	_Generic((x), bool \
		 : CARRY_BOOL, int \
		 : CARRY_SIGNED, long \
		 : CARRY_SIGNED, long long \
		 : CARRY_SIGNED, double \
		 : CARRY_DOUBLE, default \
		 : CARRY_UNSIGNED)
#define CARRY_AS(s, m, element, type, absent) \
	{ \
#m, offsetof(s, m), sizeof(((s *)0)->element), \
		    sizeof(((s *)0)->m) / sizeof(((s *)0)->element), type, \
		    absent \
	}
#define CARRY_ABSENT(s, m, absent) \
	CARRY_AS(s, m, m, CARRY_TYPE(((s *)0)->m), absent)
#define CARRY(s, m) CARRY_ABSENT(s, m, 0)
#define CARRY_NUMBER(s, m) CARRY_ABSENT(s, m, ILIST_NONE)
#define CARRY_TIME(s, m) CARRY_ABSENT(s, m, TSTAMP_NEVER)
#define CARRY_ARRAY(s, m) CARRY_AS(s, m, m[0], CARRY_TYPE(((s *)0)->m[0]), 0)
#define CARRY_FD(s, m) CARRY_AS(s, m, m, CARRY_DESCRIPTOR, -1)
#define CARRY_TEXT(s, m) CARRY_AS(s, m, m, CARRY_CHARS, 0)
#define CARRY_OWNED(s, m) CARRY_AS(s, m, m, CARRY_STRING, 0)

/* A table of fields of a struct, and how many there are. */
struct carry_fields {
	const struct carry_field *list;
	size_t len;
	size_t size; /* of the struct */
};

#define CARRY_FIELDS(s, table) \
	{ \
		table, sizeof(table) / sizeof((table)[0]), sizeof(s) \
	}

/*
 * The rows of the pool, which are restored in this order: the pool, after
 * pool_init() with limits for all numbers; apps, with their options in the
 * row; those in line for a place; processes, and connections, in the order of
 * their lists; prefetched ones once more.
 */
enum carry_row_id {
	CARRY_POOL,
	CARRY_APP,
	CARRY_PLACE,
	CARRY_PROCESS,
	CARRY_CONN,
	CARRY_AHEAD,
};

struct carry_row {
	struct carry_fields fields;
	/* False: the row of this number cannot be. */
	bool (*restore)(struct pool *p, uint32_t n, const void *row);
};

extern const struct carry_row carry_rows[];

/*
 * Whether nothing is under way that only memory knows: no action is to be
 * carried out, nothing is being taken back, and no process is dying.
 */
bool carry_is_quiet(const struct pool *p);

/* All rows are there. NULL; or an app whose figures contradict each other. */
const struct app *carry_check(const struct pool *p);

/* The pool goes on, and does what is due. */
void carry_go_on(struct pool *p, tstamp now);

#endif
