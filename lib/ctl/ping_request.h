#ifndef CTL_PING_REQUEST_H
#define CTL_PING_REQUEST_H

#include "conf/conf.h"
#include "sys/text.h"

/* Writes the request of a health check for path; raw: nothing. */
void ping_request(
    enum conf_protocol protocol, const char *path, struct text *out);

#endif
