#ifndef CTL_CTL_ANSWER_H
#define CTL_CTL_ANSWER_H

/*
 * An answer on its way to a stream, in any pieces and of any length. Only a
 * last line that begins "error: " is kept back, and lines of progress, which
 * are shown in passing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum ctl_end {
	CTL_END_DONE,
	CTL_END_REFUSED, /* the daemon said why */
	CTL_END_CUT, /* the answer is not whole */
};

struct ctl_answer {
	FILE *to;
	FILE *terminal; /* for progress; NULL: it was not asked for */
	bool json;
	char line[8192]; /* the first len bytes may begin an error */
	size_t len;
	int shown; /* columns of progress that the terminal shows */
	bool passing; /* the line under way is neither error nor progress */
	bool whole; /* the kept line has ended, and is the last so far */
	char last[2]; /* the last two bytes; 0: there are none */
};

void ctl_answer_init(struct ctl_answer *a, FILE *to, bool json, FILE *terminal);
void ctl_answer_put(struct ctl_answer *a, const char *s, size_t len);

/* The answer has ended. error_out: the text of a refusal, which lies in *a. */
enum ctl_end ctl_answer_end(struct ctl_answer *a, const char **error_out);

#endif
