#ifndef TESTS_SUPPORT_POOL_CHECK_H
#define TESTS_SUPPORT_POOL_CHECK_H

#include "core/pool.h"

/* Asserts every invariant of the pool: O(size of the pool). */
void pool_check(struct pool *p);

#endif
