/* Where the end of a process is the end of its session. */

#include <assert.h>
#include <stdio.h>

#include "daemon/stdio.h"
#include "daemon/supervisor.h"
#include "daemon/unread.h"
#include "sys/log.h"

/*
 * The connection it had received; ILIST_NONE: none. One that lies unread in
 * its socket will be taken back.
 */
static uint32_t
stdio_session(struct worker *w, tstamp now)
{
	const struct pool *p = &w->sup->pool;
	uint32_t conn = p->processes[w->process].conns.first;

	if (conn == ILIST_NONE || p->conns[conn].state != CONN_HANDED ||
	    unread_since(w, now) != TSTAMP_NEVER)
		return ILIST_NONE;
	return conn;
}

static void
stdio_tell_lost(struct worker *w, uint32_t conn, tstamp now)
{
	const struct pool *p = &w->sup->pool;
	const struct process *x = &p->processes[w->process];
	char how[64], name[96];

	(void)reap_explain(&w->death, how, sizeof(how));
	if (!x->asked)
		group_failure(w->group, "%s in a session", how);
	log_warnx("%s %s in a session of %.1f s%s%s%s",
	    worker_name(w, name, sizeof(name)), how,
	    (double)(now - p->conns[conn].handed) / 1e9, x->asked ? " (" : "",
	    x->asked ? process_end_name(x->end) : "", x->asked ? ")" : "");
}

void
stdio_died(struct worker *w, tstamp now)
{
	struct pool *p = &w->sup->pool;
	const struct process *x = &p->processes[w->process];
	uint32_t conn = stdio_session(w, now);
	bool sound;

	if (conn == ILIST_NONE)
		return;
	/* An adapter that says FAIL has not become the program. */
	if (w->death.signal == 0 && !(x->asked && x->end == END_FAIL)) {
		sound = pool_done(p, w->process, conn, now);
	} else {
		stdio_tell_lost(w, conn, now);
		sound = pool_lost(p, w->process, conn, now);
	}
	assert(sound);
}
