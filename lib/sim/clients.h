#ifndef SIM_CLIENTS_H
#define SIM_CLIENTS_H

/*
 * Clients in a closed loop, as load generators and front ends with a pool of
 * connections are: each connects, waits until it was served, thinks, and
 * connects again.  The slower the app, the fewer connections come.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/tstamp.h"
#include "sim/load_spec.h"

/* A client that was turned away does not come back at the same moment. */
#define CLIENTS_RETRY TSPAN_MSECONDS(1)

struct clients;

/*
 * The clients of all apps; their first connections are spread over one time of
 * thinking and service.  The spec must outlive them. NULL and errno: no memory.
 */
struct clients *clients_new(const struct load_spec *spec);
void clients_free(struct clients *c);

/* When the next one connects, since the start of the load; TSTAMP_NEVER. */
tstamp clients_due(const struct clients *c);

/* The client connects; there is one. */
struct arrival clients_connect(struct clients *c);

/* A connection has ended, now: its client thinks. */
void clients_leave(struct clients *c, uint32_t app, bool served, tstamp now);

#endif
