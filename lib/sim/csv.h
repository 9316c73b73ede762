#ifndef SIM_CSV_H
#define SIM_CSV_H

/*
 * Rows of comma-separated values, in a file of any size that is read a piece
 * at a time.  Blank lines and comments (#) are no rows.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CSV_FIELDS 3
#define CSV_LONGEST 1000
#define CSV_PIECE 65536

/* Part of the row, without quotes and blanks around it; no NUL follows. */
struct csv_field {
	const char *at;
	size_t len;
};

struct csv {
	int fd;
	uint64_t size; /* of the file; 0: unknown */
	uint64_t read; /* of it, so far */
	bool ended; /* nothing more can be read */
	int error; /* errno of a read that failed, which ends it too */
	uint64_t line; /* number of the latest; 1: the first */
	struct csv_field fields[CSV_FIELDS]; /* good until the next call */
	unsigned count; /* fields there are, be it more than these */
	size_t from, to; /* what is left of the piece */
	char piece[CSV_PIECE];
};

enum csv_got {
	CSV_ROW,
	CSV_TOO_LONG, /* a line over CSV_LONGEST; all of it has been read */
	CSV_END, /* and look at `error` */
};

/* file: "-" is standard input. -1 and errno. */
int csv_open(struct csv *c, const char *file);
void csv_close(struct csv *c);

enum csv_got csv_next(struct csv *c);

/* The caller reads no more rows. */
void csv_stop(struct csv *c);

/* True once the end has been seen and the last line been read. */
static inline bool
csv_is_over(const struct csv *c)
{
	return c->ended && c->from == c->to;
}

#endif
