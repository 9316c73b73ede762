#ifndef SIM_TRACE_H
#define SIM_TRACE_H

/*
 * A trace of connections, a file of lines
 *
 *	arrival,app,service time
 *
 * both times bare seconds or with a unit of pool.conf(5), arrivals in order;
 * the app may be left empty if there is but one.  A first line of titles,
 * empty lines and those that begin with # say nothing.  Arrivals that are
 * times of day (seconds since 1970) count from the first of them.  The file is
 * read as it is needed, in bounded memory, whatever its size.
 */

#include "sim/load_spec.h"

struct trace;

/* The name of the file in messages: "-" is standard input. */
const char *trace_name(const char *file);

/* The spec must outlive the trace. NULL and errno. */
struct trace *trace_open(const struct load_spec *spec);
void trace_close(struct trace *t);

/* The same as load_next(), load_mistake() and load_read(). */
enum load_got trace_next(struct trace *t, struct arrival *out);
const char *trace_mistake(const struct trace *t);
double trace_read(const struct trace *t);

#endif
