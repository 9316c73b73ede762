/* The start of a program. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/start.h"

/* In the lane. */
static void
start_work(struct lane_job *job)
{
	struct start *t = LOOP_OWNER(job, struct start, job);

	if (t->keeper != NULL && !keeper_start(t->keeper))
		t->keeper_failed = true;
	else if (environment_open(&t->environment, &t->unopened) == -1)
		t->open_error = errno;
	else
		(void)child_spawn(&t->environment.spec, &t->result);
	environment_close(&t->environment);
}

struct start *
start_new(const struct environment_of *of, void *owner,
    void (*done)(struct lane_job *, tstamp now))
{
	struct start *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	if (environment_init(&t->environment, of) == -1) {
		int error = errno;

		free(t);
		errno = error;
		return NULL;
	}
	t->job.work = start_work;
	t->job.done = done;
	t->owner = owner;
	t->keeper = keeper_new_one(of->group);
	child_result_init(&t->result);
	return t;
}

void
start_free(struct start *t, struct supervisor *s, tstamp now)
{
	if (t->keeper != NULL)
		keeper_started(t->keeper, now);
	environment_fini(&t->environment);
	free(t);
	if (!s->reaping_waits)
		return;
	s->reaping_waits = false;
	timer_set(&s->loop.timers, &s->reaping, now);
}

bool
start_failed(const struct start *t)
{
	return t->keeper_failed || t->open_error != 0 || t->result.error != 0;
}

bool
start_lacked_room(const struct start *t)
{
	if (t->keeper_failed)
		return child_no_room(&t->keeper->result);
	switch (t->open_error) {
	case 0:
		return child_no_room(&t->result);
	case EMFILE:
	case ENFILE:
	case ENOMEM:
		return true;
	default:
		return false;
	}
}

void
start_explain(const struct start *t, char *buf, size_t size)
{
	if (t->keeper_failed)
		(void)child_explain(
		    &t->keeper->spec, &t->keeper->result, buf, size);
	else if (t->open_error == 0)
		(void)child_explain(
		    &t->environment.spec, &t->result, buf, size);
	else
		(void)snprintf(buf, size, "cannot open %s: %s", t->unopened,
		    strerror(t->open_error));
}
