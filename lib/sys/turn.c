/* The turns of the loop, as they are seen from beside it. */

#include <sys/syscall.h>

#include <linux/futex.h>

#include <limits.h>
#include <unistd.h>

#include "sys/turn.h"

static struct turn own = { .app = TURN_NO_APP };

struct turn *turn_now = &own;

void
turn_share(struct turn *shared)
{
	turn_now = shared != NULL ? shared : &own;
}

static void
wake(void)
{
	atomic_store(&turn_now->dozing, 0);
	(void)syscall(
	    SYS_futex, &turn_now->dozing, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void
turn_begins(tstamp now)
{
	struct turn *t = turn_now;

	turn_for(TURN_NO_APP);
	atomic_store_explicit(&t->began, now, memory_order_relaxed);
	/* In this order for all: so either we see that it dozes, or it us. */
	atomic_store(&t->busy, 1);
	if (atomic_load(&t->dozing) != 0)
		wake();
}

void
turn_ends(void)
{
	atomic_store_explicit(&turn_now->busy, 0, memory_order_release);
}
