/* Taking back while keepers die. */

#include <sys/socket.h>
#include <sys/wait.h>

#include "daemon/keeping.h"

#include "fixture.h"

static struct {
	bool over, complete;
	tstamp at;
} outcome;

static void
message(struct retake *r, const char *buf, size_t len, int fd, tstamp now)
{
	(void)r;
	(void)buf;
	(void)len;
	(void)now;
	if (fd != -1)
		close(fd);
}

static void
end(struct retake *r, bool complete, tstamp now)
{
	(void)r;
	outcome.over = true;
	outcome.complete = complete;
	outcome.at = now;
}

static void
keepers_that_die_one_after_another_end_it_after_a_while(void)
{
	static char dies[] = "/bin/false";
	struct retake r = { .id = "abcdefgh", .message = message, .end = end };
	tstamp begun, limit;
	struct keeper *k;
	int pair[2];

	fixture_defaults();
	fixture_begin();
	fixture.conf.keeper = dies;
	sup.keeper_ops = &keeping_ops;
	outputs_init(&sup.outputs, &sup.loop);
	NEED(lane_start(&sup.spawner, &sup.loop, "spawner", NULL) == 0);
	NEED(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	CHECK_EQ(1, send(pair[0], "x", 1, 0));
	r.child_end = pair[1];

	begun = fixture.now;
	limit = fixture_monotonic() + TSPAN_SECONDS(FIXTURE_SECONDS);
	retake_begin(fixture.group, &r, fixture.now);
	while (!outcome.over && fixture_monotonic() < limit) {
		k = TAILQ_FIRST(&sup.keepers);
		/* The keeper is seen dead when another one may start at once.
		 */
		if (k != NULL && k->its_end == -1) {
			CHECK_EQ(
			    k->result.pid, waitpid(k->result.pid, NULL, 0));
			fixture.now += TSPAN_SECONDS(2);
		}
		(void)loop_turn(&sup.loop, fixture.now);
	}
	CHECK(outcome.over);
	CHECK(!outcome.complete);
	CHECK(outcome.at - begun <= 2 * RETAKE_LIMIT);

	limit = fixture_monotonic() + TSPAN_SECONDS(FIXTURE_SECONDS);
	CHECK_EQ(0, lane_stop(&sup.spawner, limit));
	keeper_free_all(&sup);
	while (waitpid(-1, NULL, 0) > 0)
		continue;
	close(pair[0]);
	close(pair[1]);
	fixture_end();
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(keepers_that_die_one_after_another_end_it_after_a_while);
	return check_finish();
}
