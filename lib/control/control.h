#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

/*
 * The control socket: a line in, an answer out, for many clients at a time.
 * See apppoolctl(8).
 */

#include <stdbool.h>

#include "daemon/supervisor.h"

struct control;

/*
 * Opens the control socket that the configuration in force names. NULL if it
 * names none, with *ok_out true; or on failure, logged, with *ok_out false.
 */
struct control *control_open(struct supervisor *s, bool *ok_out);

/* Answers that are still under way are cut; those who wait for an end get it.
 */
void control_close(struct control *c);

/*
 * Once in each turn, after the settling: whoever waits for something. c may be
 * NULL, also of control_deadline().
 */
void control_tick(struct control *c, tstamp now);

/* When control_tick() is due, if nothing happens before. */
tstamp control_deadline(const struct control *c);

/*
 * After a reload that changed control, control_mode or control_group: puts a
 * new socket in place of s->control, or takes it away. Clients stay. false:
 * it could not be opened, which was logged, and the former one stays.
 */
bool control_reconfigure(struct supervisor *s);

#endif
