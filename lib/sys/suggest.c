/* The known name nearest to a mistyped word. */

#include <string.h>

#include "sys/suggest.h"

/* Longer than any name we know by more than any distance we accept. */
#define WORD_MAX_LEN 64

static unsigned
min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

unsigned
suggest_distance(const char *a, const char *b)
{
	unsigned rows[3][WORD_MAX_LEN + 1];
	size_t a_len = strlen(a);
	size_t b_len = strlen(b);
	unsigned *before = rows[0];
	unsigned *above = rows[1];
	unsigned *row = rows[2];

	if (a_len > WORD_MAX_LEN || b_len > WORD_MAX_LEN)
		return WORD_MAX_LEN;
	for (unsigned j = 0; j <= b_len; j++)
		above[j] = j;
	for (unsigned i = 1; i <= a_len; i++) {
		unsigned *spare = before;

		row[0] = i;
		for (unsigned j = 1; j <= b_len; j++) {
			row[j] = min3(above[j] + 1, row[j - 1] + 1,
			    above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		before = above;
		above = row;
		row = spare;
	}
	return above[b_len];
}

const char *
suggest_nearest(const char *word, const char *const *names)
{
	/* A short word resembles too much to be far off. */
	unsigned best = strlen(word) < 4 ? 2 : strlen(word) < 8 ? 3 : 4;
	const char *nearest = NULL;

	for (; *names != NULL; names++) {
		unsigned distance = suggest_distance(word, *names);

		if (distance < best) {
			best = distance;
			nearest = *names;
		}
	}
	return nearest;
}
