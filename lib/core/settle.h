#ifndef CORE_SETTLE_H
#define CORE_SETTLE_H

/*
 * Settling, above all policies.  A fact begins with settle_at(), notes what
 * happened, and ends with settle_app() for the app it concerns.
 */

#include "core/policy.h"

/* Time has come to `now`; it never goes back. */
void settle_at(struct pool *p, tstamp now);

/* Does all that the marks of the app call for. */
void settle_app(struct pool *p, uint32_t app);

/* The app ends at once: refuses what waits, terminates its processes. */
void settle_end_app(struct pool *p, uint32_t app, enum process_end why);

/* Gives places that became free to the apps that wait for them. */
void settle_places(struct pool *p);

/* Resumes an app that is pending for want of a connection's number. */
void settle_numbers(struct pool *p);

/* Does what is due in the life of the process, and settles its app. */
void settle_process(struct pool *p, uint32_t process);

/* When the app must be settled if nothing happens to it before. */
tstamp settle_deadline(const struct pool *p, uint32_t app);

/* Makes the app's deadline earlier, if a mark calls for that. */
void settle_arm(struct pool *p, uint32_t app);

#endif
