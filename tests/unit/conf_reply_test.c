/*
 * The answer to clients that are turned away: on_full = reply:FILE, protocol.
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

static void
a_reply_is_read_with_the_configuration(void)
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

static void
a_reply_may_come_from_the_defaults(void)
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

static void
a_missing_reply_is_a_mistake(void)
{
	remove(in_folder("answer"));
	MISTAKES("pool.conf:2: option 'on_full': answer: "
		 "No such file or directory\n",
	    "\n" REPLY);
}

static void
a_missing_reply_of_the_defaults_is_reported_once(void)
{
	remove(in_folder("answer"));
	MISTAKES("pool.conf:1: option 'on_full': answer: "
		 "No such file or directory\n",
	    "defaults { on_full = \"reply:answer\" }\n" APP(
		"") "app b { listen = \"fd:b\" command = /bin/true }\n");
}

static void
an_unreadable_reply_is_a_mistake(void)
{
	if (geteuid() == 0)
		SKIP("root may read everything");
	conf_write("answer", "busy");
	chmod(in_folder("answer"), 0);
	MISTAKES("pool.conf:1: option 'on_full': answer: Permission denied\n",
	    REPLY);
	remove(in_folder("answer"));
}

static void
a_folder_and_a_device_are_mistakes(void)
{
	mkdir(in_folder("folder"), 0700);
	MISTAKES("pool.conf:1: option 'on_full': folder: is a directory\n",
	    APP("on_full = \"reply:folder\""));
	MISTAKES("pool.conf:1: option 'on_full': /dev/zero: is not a regular "
		 "file\n",
	    APP("on_full = \"reply:/dev/zero\""));
}

static void
a_reply_holds_from_1_to_65536_bytes(void)
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

static void
reply_without_a_file_is_a_mistake(void)
{
	MISTAKE("'reply' is not one of wait, close, refuse or reply:FILE",
	    APP("on_full = reply"));
	MISTAKE("'reply:' is not one of wait, close, refuse or reply:FILE",
	    APP("on_full = \"reply:\""));
}

static void
other_bytes_in_the_same_file_are_a_change(void)
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

static void
a_printed_configuration_is_read_back(void)
{
	struct conf *conf, *again;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	conf_write("answer", "busy");
	conf = conf_right(
	    APP("protocol = fastcgi") "app b { listen = \"fd:b\" command = "
				      "/bin/true on_full = \"reply:answer\" "
				      "protocol = http }\n"
				      "app c { listen = \"fd:c\" command = "
				      "/bin/true on_full = refuse }\n");
	NEED(conf != NULL);
	conf_print(conf, out);
	fclose(out);
	again = conf_right(text);
	NEED(again != NULL);
	for (size_t i = 0; i < 3; i++)
		CHECK_EQ(0, conf_app_changes(&conf->apps[i], &again->apps[i]));
	CHECK_EQ(CONF_PROTOCOL_FASTCGI, again->apps[0].refusal.protocol);
	CHECK_EQ(CONF_PROTOCOL_HTTP, again->apps[1].refusal.protocol);
	CHECK_EQ(4, again->apps[1].refusal.reply_len);
	CHECK_EQ(CONF_ON_FULL_REFUSE, again->apps[2].refusal.on_full);
	CHECK_EQ(CONF_PROTOCOL_RAW, again->apps[2].refusal.protocol);
	free(text);
	conf_free(conf);
	conf_free(again);
}

static void
a_protocol_with_handoff_none_is_a_mistake(void)
{
	MISTAKES("pool.conf:1: option 'protocol' cannot be used with handoff = "
		 "none\n",
	    "app a { handoff = none command = a protocol = http }\n");
}

static void
no_descriptor_stays_open(void)
{
	unsigned before = descriptors();

	conf_write("answer", "busy");
	conf_free(conf_right(REPLY));
	fill_answer(CONF_REPLY_MAX + 1);
	free(mistakes_with(0, REPLY));
	CHECK_EQ(before, descriptors());
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	conf_folder_make();
	RUN(a_reply_is_read_with_the_configuration);
	RUN(a_reply_may_come_from_the_defaults);
	RUN(a_missing_reply_is_a_mistake);
	RUN(a_missing_reply_of_the_defaults_is_reported_once);
	RUN(an_unreadable_reply_is_a_mistake);
	RUN(a_folder_and_a_device_are_mistakes);
	RUN(a_reply_holds_from_1_to_65536_bytes);
	RUN(reply_without_a_file_is_a_mistake);
	RUN(other_bytes_in_the_same_file_are_a_change);
	RUN(a_printed_configuration_is_read_back);
	RUN(a_protocol_with_handoff_none_is_a_mistake);
	RUN(no_descriptor_stays_open);
	return check_finish();
}
