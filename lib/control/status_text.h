#ifndef CONTROL_STATUS_TEXT_H
#define CONTROL_STATUS_TEXT_H

#include "control/status.h"

/* The snapshot for people: limits beside use. */
extern const struct status_writer status_text;

#endif
