#ifndef SYS_LOGWRITER_H
#define SYS_LOGWRITER_H

/*
 * The thread behind the log; log.h says what its functions promise. All keep
 * errno where they do not fail, and may be called from any thread.
 */

#include <stdbool.h>

#include "core/tstamp.h"
#include "sys/log.h"
#include "sys/logline.h"

int logwriter_open(const struct log_spec *spec);
int logwriter_start(void);
void logwriter_reopen(void);
bool logwriter_flush(tspan limit);
void logwriter_stop(tspan limit);

/* Writes the line, or, while the thread runs, leaves it a copy. */
void logwriter_put(const struct logline *line);

#endif
