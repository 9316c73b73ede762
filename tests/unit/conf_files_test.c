/*
 * Files that an app names: the answer to clients that are turned away, and
 * those that restart it.
 */

#include "conf_help.h"

#define REPLY APP("on_full = \"reply:answer\"")

static void
fill_answer(size_t len)
{
	char *bytes = malloc(len + 1);

	memset(bytes, 'x', len);
	conf_write_bytes("answer", bytes, len);
	free(bytes);
}

TEST(a_reply_is_read_with_the_configuration)
{
	static const char bytes[] = { 'a', 0, '\n', (char)0xff };
	struct conf *conf;

	conf_write_bytes("answer", bytes, sizeof(bytes));
	conf = conf_right(REPLY);
	NEED(conf != NULL);
	CHECK_EQ(CONF_ON_FULL_REPLY, conf->apps[0].refusal.on_full);
	CHECK_STR(in_folder("answer"), conf->apps[0].refusal.file);
	NEED(conf->apps[0].refusal.reply_len == sizeof(bytes));
	remove(in_folder("answer"));
	CHECK_EQ(0, memcmp(conf->apps[0].refusal.reply, bytes, sizeof(bytes)));
	conf_free(conf);
}

TEST(a_reply_may_come_from_the_defaults)
{
	struct conf *conf;

	conf_write("answer", "busy");
	conf = conf_right("defaults { on_full = \"reply:answer\" }\n" APP(
	    "") "app b { listen = \"fd:b\" command = /bin/true }\n" ANY_APP);
	NEED(conf != NULL && conf->apps_len == 3);
	CHECK_EQ(4, conf->apps[0].refusal.reply_len);
	CHECK_EQ(4, conf->apps[1].refusal.reply_len);
	CHECK_EQ(CONF_ON_FULL_WAIT, conf->apps[2].refusal.on_full);
	CHECK_EQ(0, conf->apps[2].refusal.reply_len);
	conf_free(conf);
}

TEST(a_reply_that_cannot_be_read_is_a_mistake)
{
	mkdir(in_folder("folder"), 0700);
	remove(in_folder("answer"));
	MISTAKES("pool.conf:1: option 'on_full': folder: is a directory\n",
	    APP("on_full = \"reply:folder\""));
	MISTAKES("pool.conf:1: option 'on_full': /dev/zero: is not a regular "
		 "file\n",
	    APP("on_full = \"reply:/dev/zero\""));
	/* Once, though two apps have it. */
	MISTAKES("pool.conf:1: option 'on_full': answer: "
		 "No such file or directory\n",
	    "defaults { on_full = \"reply:answer\" }\n" APP(
		"") "app b { listen = \"fd:b\" command = /bin/true }\n");
}

TEST(a_reply_holds_from_1_to_65536_bytes)
{
	struct conf *conf;

	fill_answer(CONF_REPLY_MAX);
	conf = conf_right(REPLY);
	NEED(conf != NULL);
	CHECK_EQ(65536, conf->apps[0].refusal.reply_len);
	conf_free(conf);
	fill_answer(CONF_REPLY_MAX + 1);
	MISTAKES("pool.conf:1: option 'on_full': answer: is larger than 65536 "
		 "bytes\n",
	    REPLY);
	fill_answer(0);
	MISTAKES("pool.conf:1: option 'on_full': answer: is empty; 'close' "
		 "sends nothing\n",
	    REPLY);
}

TEST(other_bytes_in_the_same_file_are_a_change)
{
	struct conf *old, *new;

	conf_write("answer", "busy");
	old = conf_right(REPLY);
	conf_write("answer", "late");
	new = conf_right(REPLY);
	NEED(old != NULL && new != NULL);
	CHECK_EQ(
	    CONF_CHANGED_SIZES, conf_app_changes(&old->apps[0], &new->apps[0]));
	conf_free(old);
	old = conf_right(REPLY);
	CHECK_EQ(0, conf_app_changes(&old->apps[0], &new->apps[0]));
	conf_free(old);
	conf_free(new);
}

/* ---- restart_dir and watch ---- */

#define RESTART_DIR(expected, options) \
	SHOWS("restart_dir = \"" expected "\"\n", APP(options))

TEST(restart_dir_is_within_the_directory)
{
	RESTART_DIR("tmp", "");
	RESTART_DIR("run", "restart_dir = run");
	RESTART_DIR("/srv/web/tmp", "directory = /srv/web");
	RESTART_DIR(
	    "/srv/web/run", "directory = /srv/web restart_dir = ./run/");
	RESTART_DIR("/run/web", "directory = /srv/web restart_dir = /run/web");
	RESTART_DIR("", "restart_dir = \"\"");
}

TEST(watched_files_start_at_the_folder_of_the_file)
{
	SHOWS("watch = { \"version\", \"/etc/web\" }\n",
	    APP("directory = /srv/web watch = { version, \"/etc/web\" }"));
}

TEST(an_empty_path_cannot_be_watched)
{
	MISTAKES("pool.conf:1: option 'watch': an empty path names no file\n",
	    APP("watch = { \"a\", \"\" }"));
}

TEST(a_printed_configuration_is_read_back)
{
	conf_read_back(APP("restart_dir = run watch = { a, b }"));
	conf_read_back(APP("directory = /srv"));
	conf_read_back(APP("restart_dir = \"\""));
	conf_write("answer", "busy");
	conf_read_back(APP("protocol = http on_full = \"reply:answer\""));
}

/* The path is printed as the processes see it. */
TEST(restart_dir_is_within_the_root_directory)
{
	SKIP_IF(geteuid() != 0, "needs root");
	RESTART_DIR("/tmp", "chroot = /srv");
	RESTART_DIR(
	    "/web/run", "chroot = /srv directory = web restart_dir = run");
	conf_read_back(APP("chroot = /srv directory = web restart_dir = run"));
}

TESTS(NULL, NULL)
