/* Options of an app, in the words of the core. */

#include <unistd.h>

#include "conf_help.h"

/* The options of the one app of this file. */
static struct app_options
options_of(const char *settings)
{
	char text[256];
	struct conf *conf;
	struct app_options o = { 0 };

	snprintf(text, sizeof(text), APP("%s"), settings);
	conf = conf_right(text);

	if (CHECK(conf != NULL))
		o = conf->apps[0].pool;
	conf_free(conf);
	return o;
}

TEST(prefetch_auto_is_one_for_our_own_user)
{
	const char *own = geteuid() == 0 ? "user = root" : "";
	struct app_options o = options_of(own);

	CHECK_EQ(1, o.prefetch);
	CHECK(o.prefetch_auto);
}

TEST(prefetch_auto_trusts_no_other_user)
{
	if (geteuid() == 0)
		CHECK_EQ(0, options_of("user = nobody").prefetch);
}

TEST(prefetch_auto_is_none_where_sessions_are_not_one_after_another)
{
	CHECK_EQ(0, options_of("concurrency = 2").prefetch);
	CHECK_EQ(0, options_of("handoff = accept").prefetch);
	CHECK_EQ(0, options_of("handoff = stdio").prefetch);
}

TEST(a_number_of_prefetch_is_for_any_user)
{
	struct app_options o = options_of("prefetch = 3");

	CHECK_EQ(3, o.prefetch);
	CHECK(!o.prefetch_auto);
}

TESTS(NULL, NULL)
