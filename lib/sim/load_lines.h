#ifndef SIM_LOAD_LINES_H
#define SIM_LOAD_LINES_H

/* The lines of a file of any size, which is read a piece at a time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINES_LONGEST 1000
#define LINES_PIECE 65536

struct lines {
	int fd;
	uint64_t size; /* of the file; 0: unknown */
	uint64_t read; /* of it, so far */
	bool ended; /* nothing more can be read */
	int error; /* errno of a read that failed, which ends it too */
	uint64_t number; /* of the latest line; 1: the first */
	size_t from, to; /* what is left of the piece */
	char piece[LINES_PIECE];
};

enum lines_got {
	LINES_LINE,
	LINES_TOO_LONG, /* over LINES_LONGEST; all of it has been read */
	LINES_END, /* and look at `error` */
};

/* file: "-" is standard input. -1 and errno. */
int lines_open(struct lines *l, const char *file);
void lines_close(struct lines *l);

/* Without its end, and good until the next call. */
enum lines_got lines_next(
    struct lines *l, const char **text_out, size_t *len_out);

/* What is left of it will not be read. */
void lines_stop(struct lines *l);

#endif
