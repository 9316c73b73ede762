/* Unix listeners that a lane opens for a change. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sys/acceptor.h"
#include "sys/openings.h"

struct opening {
	STAILQ_ENTRY(opening) next;
	struct listener_spec spec;
	struct listener_file unless; /* of spec */
	struct listener listener;
	const char *why;
	int error; /* of opening it; 0: none */
	bool opened; /* whether it was tried */
};

void
openings_init(struct openings *all)
{
	STAILQ_INIT(&all->list);
	all->planned = false;
}

/* A listener opened for this spec that nobody has taken; NULL: none. */
static struct opening *
find(const struct openings *all, const struct listener_spec *spec)
{
	struct opening *o;

	STAILQ_FOREACH(o, &all->list, next)
		if (o->opened && strcmp(o->spec.path, spec->path) == 0)
			return o;
	return NULL;
}

/* Returns the errno. */
static int
note(struct openings *all, const struct listener_spec *spec)
{
	struct opening *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return ENOMEM;
	o->spec = *spec;
	if (spec->unless != NULL) {
		o->unless = *spec->unless;
		o->spec.unless = &o->unless;
	}
	STAILQ_INSERT_TAIL(&all->list, o, next);
	return EINPROGRESS;
}

/* Returns its errno, 0: *l is open. */
static int
take(struct openings *all, struct opening *o, struct listener *l,
    const char **why_out)
{
	int error = o->error;

	*why_out = o->why;
	if (error == 0)
		*l = o->listener;
	STAILQ_REMOVE(&all->list, o, opening, next);
	free(o);
	return error;
}

int
openings_open(struct openings *all, struct listener *l,
    const struct listener_spec *spec, const char **why_out)
{
	struct opening *o;

	if (all == NULL || (all->planned && spec->path == NULL))
		return listener_open(l, spec, why_out);
	*why_out = "open it in a lane";
	if (spec->path == NULL) {
		errno = EINPROGRESS;
		return -1;
	}
	o = find(all, spec);
	errno = o == NULL ? note(all, spec) : take(all, o, l, why_out);
	return errno == 0 ? 0 : -1;
}

void
openings_work(struct openings *all)
{
	struct opening *o;

	all->planned = true;
	STAILQ_FOREACH(o, &all->list, next) {
		if (o->opened)
			continue;
		o->opened = true;
		if (listener_open(&o->listener, &o->spec, &o->why) == -1)
			o->error = errno;
	}
}

void
openings_fini(struct openings *all, struct lane *lane)
{
	struct opening *o;

	while ((o = STAILQ_FIRST(&all->list)) != NULL) {
		STAILQ_REMOVE_HEAD(&all->list, next);
		if (o->opened && o->error == 0)
			acceptor_discard(lane, &o->listener);
		free(o);
	}
}
