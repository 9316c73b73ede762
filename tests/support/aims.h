#ifndef SUPPORT_AIMS_H
#define SUPPORT_AIMS_H

/*
 * Figures with an aim.  They are noted in the file that BENCH_AIMS names, from
 * which tests/bench/run makes a table at the end; without it nowhere.
 */

/* A value that should be "<=" or ">=" its aim; `what` is its name. */
void aims_note(double value, const char *bound, double aim, const char *what,
    ...) __attribute__((format(printf, 4, 5)));

#endif
