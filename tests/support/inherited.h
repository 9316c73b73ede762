#ifndef TESTS_SUPPORT_INHERITED_H
#define TESTS_SUPPORT_INHERITED_H

/* A supervisor that reads the state of another daemon, as in a dry run. */

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "control/room.h"
#include "daemon/carry.h"
#include "daemon/counter.h"
#include "daemon/group.h"
#include "daemon/keeper.h"

static struct supervisor inherited;

/* The configuration that the states of tests/fuzz/state are of. */
static inline struct conf *
inherited_conf(void)
{
	static const char text[] =
	    "app \"web\" {\nlisten = \"unix:/run/web.sock\"\n"
	    "command = { \"/bin/cat\" }\nmax_processes = 1\nprefetch = 1\n}\n"
	    "app \"parked\" {\nlisten = \"unix:/run/parked.sock\"\n"
	    "command = { \"/bin/cat\" }\nkeep_alive = true\n}\n"
	    "app \"held\" {\nlisten = \"unix:/run/held.sock\"\n"
	    "command = { \"/bin/cat\" }\n}\n";
	struct conf_report report;
	struct conf *conf =
	    conf_load_text("/run/pool.conf", NULL, text, &report);

	assert(conf != NULL);
	conf_report_fini(&report);
	return conf;
}

/* Whether the text is a state; c, for carry_fini(), has why it is none. */
static inline bool
inherited_read(struct conf *conf, const char *text, size_t len, struct carry *c)
{
	bool good = supervisor_init(&inherited, conf, true) == EX_OK &&
	    control_register(&inherited, command_run);

	assert(good);
	carry_init(c, &inherited, clock_now());
	c->dry = true;
	return carry_read(c, text, len);
}

static inline void
inherited_free(void)
{
	for (uint32_t n = 0; n < inherited.pool.limits.apps; n++)
		if (inherited.groups != NULL && inherited.groups[n] != NULL)
			group_free(inherited.groups[n]);
	inherited.control->close(inherited.control_arg);
	keeper_fini(&inherited);
	poolcounter_fini(&inherited);
	loop_fini(&inherited.loop);
	free(inherited.pool_memory);
}

#endif
