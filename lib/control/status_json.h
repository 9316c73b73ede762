#ifndef CONTROL_STATUS_JSON_H
#define CONTROL_STATUS_JSON_H

#include "control/status.h"

/* The snapshot as JSON; the keys are explained in apppoolctl(8). */
extern const struct status_writer status_json;

/* The same without the workers. */
extern const struct status_writer status_json_apps;

#endif
