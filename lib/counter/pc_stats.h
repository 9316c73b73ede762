#ifndef COUNTER_PC_STATS_H
#define COUNTER_PC_STATS_H

/* The answers to STATS. */

#include "core/counter.h"
#include "sys/text.h"

/*
 * Writes what the argument of STATS, which has len bytes, asks for. False,
 * and nothing is written: an unknown one.
 */
bool pc_stats_write(struct text *out, const struct counter_service_figures *f,
    const char *what, size_t len);

#endif
