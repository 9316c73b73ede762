#ifndef CONTROL_STATUS_METRICS_H
#define CONTROL_STATUS_METRICS_H

#include "control/status.h"

extern const struct status_writer status_metrics;

#endif
