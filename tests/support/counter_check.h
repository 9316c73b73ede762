#ifndef SUPPORT_COUNTER_CHECK_H
#define SUPPORT_COUNTER_CHECK_H

#include "counter/counter.h"

/* Asserts every invariant of the counter: O(size of it). */
void counter_check(const struct counter *c);

#endif
