/* The parts of the daemon behind tables of functions. */

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sysexits.h>

#include "daemon/services.h"
#include "sys/acceptor.h"

void
services_add(struct services *all, const struct service_ops *ops, void *arg)
{
	assert(all->len < SERVICES_MAX);
	all->list[all->len].ops = ops;
	all->list[all->len++].arg = arg;
}

void
services_abort(struct services *all)
{
	for (size_t i = all->len; i-- > 0;)
		if (all->list[i].prepared)
			all->list[i].ops->abort(all->list[i].arg);
}

int
services_prepare(struct services *all, const struct conf *conf, uint32_t spare,
    struct openings *openings, const char **refusal_out)
{
	int result = 0;

	for (size_t i = 0; i < all->len; i++)
		all->list[i].prepared = false;
	for (size_t i = 0; i < all->len; i++) {
		const struct service_ops *ops = all->list[i].ops;
		int status =
		    ops->prepare(all->list[i].arg, conf, spare, openings);

		all->list[i].prepared = status == 0;
		if (status == 0)
			continue;
		result = status;
		*refusal_out = ops->refusal;
		if (status != OPENINGS_LATER)
			break;
	}
	if (result != 0)
		services_abort(all);
	return result;
}

void
services_commit(struct services *all, const struct conf *conf, tstamp now)
{
	for (size_t i = 0; i < all->len; i++)
		all->list[i].ops->commit(all->list[i].arg, conf, now);
}

void
services_turn(struct services *all, tstamp now)
{
	for (size_t i = 0; i < all->len; i++)
		if (all->list[i].ops->turn != NULL)
			all->list[i].ops->turn(all->list[i].arg, now);
}

void
services_close(struct services *all, tstamp now)
{
	while (all->len > 0) {
		all->len--;
		all->list[all->len].ops->close(all->list[all->len].arg, now);
	}
	memset(all, 0, sizeof(*all));
}

int
services_exit_status(int error)
{
	return error == EACCES || error == EPERM ? EX_NOPERM : EX_CANTCREAT;
}

bool
services_counter_figures(
    const struct services *all, tstamp now, struct counter_service_figures *out)
{
	return all->counter != NULL &&
	    all->counter->figures(all->counter_arg, now, out);
}

bool
services_counter_address(
    const struct services *all, size_t i, struct counter_address *out)
{
	return all->counter != NULL &&
	    all->counter->address(all->counter_arg, i, out);
}
