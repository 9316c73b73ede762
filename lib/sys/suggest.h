#ifndef SYS_SUGGEST_H
#define SYS_SUGGEST_H

/* "Is X meant?": the known name nearest to a mistyped word. */

/*
 * How many letters have to be changed, added, left out or swapped with their
 * neighbour to make b of a; 64 if one of them is longer than that.
 */
unsigned suggest_distance(const char *a, const char *b);

/* The nearest of the names, which end with NULL; NULL: none is near. */
const char *suggest_nearest(const char *word, const char *const *names);

#endif
