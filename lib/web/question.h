#ifndef WEB_QUESTION_H
#define WEB_QUESTION_H

/*
 * A command that is said to the control socket again and again. No call waits
 * for the daemon, and one answer is for all requests that came meanwhile.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct question {
	const char *path; /* of the control socket; outlives the question */
	const char *line; /* with its newline; likewise */
	const char *end; /* the last line of a whole answer, with newlines */
	int fd; /* the daemon is being asked; -1: not now */
	int64_t deadline; /* of that, in milliseconds */
	char *coming; /* what has come, len of size bytes */
	size_t len;
	size_t size;
	char *answer; /* the latest that is whole, with a NUL; or NULL */
	size_t answer_len;
	char why[160]; /* there is no newer one; "": there is */
	int64_t answered; /* when either came, in milliseconds; -1: never */
};

void question_init(
    struct question *q, const char *path, const char *line, const char *end);
void question_fini(struct question *q);

/* Asks, unless that is under way. Without a daemon the answer is why, at once.
 */
void question_ask(struct question *q, int64_t now);

/* Its descriptor is readable, or its deadline may be over. */
void question_go_on(struct question *q, int64_t now);

/* Whether an answer, or why there is none, has come since then. */
bool question_is_answered(const struct question *q, int64_t since);

#endif
