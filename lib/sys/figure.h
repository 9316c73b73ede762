#ifndef SYS_FIGURE_H
#define SYS_FIGURE_H

/* Times and sizes for people, of a few characters each. */

#include <stddef.h>
#include <stdint.h>

#include "core/tstamp.h"

/* Room for any of them. */
#define FIGURE_SIZE 32

/* "0", "350us", "12.5ms", "3.2s", "5m12s", "4d05h", in buf, which it returns.
 */
const char *figure_span(tspan span, char *buf, size_t size);

/* Likewise, of bytes: "512", "64.0K", "1.5G". */
const char *figure_size(int64_t bytes, char *buf, size_t size);

#endif
