/* The state that a daemon leaves to another one: what that reads, and what not.
 */

#include <stdio.h>
#include <string.h>

#include "../support/inherited.h"
#include "check.h"

static char state[65536];
static struct conf *conf;
static char why[256];

/* The state of a release, which later ones can read. */
static void
read_state(void)
{
	FILE *file = fopen("tests/fuzz/state/0.1.0", "r");

	CHECK(file != NULL);
	CHECK(fread(state, 1, sizeof(state) - 1, file) > 0);
	(void)fclose(file);
	conf = inherited_conf();
}

static void
free_conf(void)
{
	conf_free(conf);
}

static bool
is_read(const char *text)
{
	struct carry c;
	bool good = inherited_read(conf, text, strlen(text), &c);

	memcpy(why, c.why, sizeof(why));
	carry_fini(&c);
	return good;
}

/* Whether the state is read with this in place of the first of that. */
static bool
is_read_with(const char *that, const char *this)
{
	static char text[sizeof(state) + 256];
	const char *at = strstr(state, that);
	bool good;

	CHECK(at != NULL);
	(void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - state), state,
	    this, at + strlen(that));
	good = is_read(text);
	inherited_free();
	return good;
}

TEST(the_state_of_the_first_release_is_read)
{
	const struct pool *p = &inherited.pool;

	CHECK(is_read(state));
	CHECK_EQ(3, p->napps);
	CHECK_EQ(3, p->count);
	CHECK_EQ(2, app_waiting(&p->apps[0]));
	CHECK_EQ(2, p->apps[0].figures.sessions);
	CHECK_EQ(1, p->apps[0].prefetched.count);
	CHECK_EQ(1, p->apps[1].figures.parked);
	CHECK_EQ(2, p->apps[1].options.min_processes);
	CHECK_EQ(4, p->apps[1].options.max_processes);
	CHECK_EQ(APP_HELD, p->apps[2].phase);
	inherited_free();
}

TEST(an_unknown_member_is_refused_by_name)
{
	CHECK(!is_read_with("worker 0 ", "worker 0 future=1 "));
	CHECK(strstr(why, "worker has future") != NULL);
}

TEST(an_unknown_kind_is_refused_by_name)
{
	CHECK(!is_read_with("\nkeeper 0", "\nfuture 0"));
	CHECK(strstr(why, "future") != NULL);
}

TEST(a_state_that_ends_early_is_refused)
{
	CHECK(!is_read_with("\nend 0\n", "\n"));
	CHECK(!is_read_with("\nend 0\n", "\nend 0"));
	CHECK(!is_read_with("\nend 0\n", "\nend 0\nend 0\n"));
}

TEST(what_contradicts_itself_is_refused)
{
	static const char *const changes[][2] = {
		/* figures */
		{ "figures.accepted=4", "figures.accepted=5" },
		{ "figures.parked=1 ", "" },
		/* a process that is there twice, or is of no app */
		{ "process 2 ", "process 1 " },
		{ "process 2 ", "process 99 " },
		{ " app=1 concurrency", " app=9 concurrency" },
		/* states and lists that do not exist */
		{ "state=3 launched", "state=7 launched" },
		{ "state=3 launched", "state=2 launched" },
		/* a process with sessions, and an idle one, without READY */
		{ "state=3 launched=1 ready=1", "state=3 launched=1" },
		{ "state=2 launched=1 ready=1", "state=2 launched=1" },
		{ "home=2 ", "home=200 " },
		/* a connection of another app's process, or of none */
		{ "state=3 process=0 seq=9", "state=3 process=1 seq=9" },
		{ "state=3 process=0 seq=9", "state=3 seq=9" },
		{ "state=1 seq=10", "state=1 process=0 seq=10" },
		{ "conn 4 ", "conn 2 " },
		{ "conn 4 ", "conn 4000000000 " },
		{ "ahead 1", "ahead 2" },
		/* an app that the configuration does not have */
		{ "name 0 name=3:web", "name 0 name=3:bew" },
		{ "name 1 name", "name 0 name" },
		/* tables that cannot be */
		{ "nconns=5", "nconns=4000000000" },
		{ "nprocesses=3", "nprocesses=4000000000" },
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		if (is_read_with(changes[i][0], changes[i][1]))
			(void)fprintf(stderr, "read: %s\n", changes[i][1]);
		CHECK(why[0] != '\0');
	}
}

TEST(a_value_that_is_none_is_refused)
{
	static const char *const changes[][2] = {
		{ "launched=1", "launched=2" },
		{ "launched=1", "launched=-1" },
		{ "launched=1", "launched=" },
		{ "launched=1", "launched" },
		{ "launched=1", "launched=1x" },
		{ "concurrency=1", "concurrency=4294967296" },
		{ "figures.spawned=1 ", "figures.spawned=1,1 " },
		{ "figures.spawned=1 ", "figures.spawned=, " },
		{ "load.busy=4607182418800017408", /* infinite */
		    "load.busy=9218868437227405312" },
		{ "id=8:", "id=9:" },
		{ "id=8:", "id=7:" },
		{ "id=8:", "id=8" },
		{ "id=8:", "id=-8:" },
		{ "id=8:", "id=99999999:" },
		{ "id=8:879rwxnx", "id=12:879rwxnxtttt" },
		{ "name=3:web", "name=3:web name=3:web" },
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		if (is_read_with(changes[i][0], changes[i][1]))
			(void)fprintf(stderr, "read: %s\n", changes[i][1]);
		CHECK(why[0] != '\0');
	}
}

TESTS(read_state, free_conf)
