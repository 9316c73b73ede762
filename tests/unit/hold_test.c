/* An app that an operator has stopped, and starts again. */

#include <netinet/in.h>

#include "daemon/group.h"

#include "fixture.h"

static struct conf_listen where = { .kind = CONF_LISTEN_TCP,
	.text = (char[]){ "*:0" },
	.addr_len = sizeof(struct sockaddr_in) };

/* Whether the app listens when its start is over. */
static bool
listens(void)
{
	const struct app_listener *l;

	while (fixture.group->hold.starting != NULL)
		fixture_collect();
	CHECK_EQ(0, fixture.group->hold.error);
	l = TAILQ_FIRST(&fixture.group->listeners);
	return l != NULL && l->acceptor.listener.fd != -1 && !l->leaving;
}

TEST(a_listener_that_closes_during_a_start_is_opened_anew)
{
	where.addr.ss_family = AF_INET;
	fixture_defaults();
	fixture.web.listen.list = &where;
	fixture.web.listen.len = 1;
	fixture_begin();
	hold_begin(fixture.group, END_STOPPED, fixture.now);
	hold_resume(fixture.group, fixture.now);
	CHECK(listens());
	/* Of another app, say: the stopped one has no listener left. */
	hold_begin(fixture.group, END_STOPPED, fixture.now);
	pool_app_drained(&sup.pool, fixture.group->app, fixture.now);
	hold_resume(fixture.group, fixture.now);
	listeners_close_all(&fixture.group->listeners);
	CHECK(listens());
	listeners_close_all(&fixture.group->listeners);
	fixture_end();
}

TESTS(NULL, NULL)
