#ifndef CTL_CTL_ANSWER_H
#define CTL_CTL_ANSWER_H

/*
 * An answer on its way to a stream, in any pieces and of any length. Only a
 * last line that begins "error: " is kept back.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum ctl_end {
	CTL_END_DONE,
	CTL_END_REFUSED, /* error holds why */
	CTL_END_CUT, /* it is not whole */
};

struct ctl_answer {
	FILE *to;
	bool json;
	char line[8192]; /* of which the first len may be an error */
	size_t len;
	bool passing; /* the line under way is none */
	bool whole; /* the kept one has ended; it is the last so far */
	char last[2]; /* the last two bytes; 0: there are none */
};

void ctl_answer_init(struct ctl_answer *a, FILE *to, bool json);
void ctl_answer_put(struct ctl_answer *a, const char *s, size_t len);

/* That was all. error_out: the text of a refusal; it stays in *a. */
enum ctl_end ctl_answer_end(struct ctl_answer *a, const char **error_out);

#endif
