/* Questions of the status page to the control socket. */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "web/web.h"

static char path[64];
static int listener = -1; /* the daemon */
static int peer; /* its end of a connection */
static struct question q = { .fd = -1 };

/* A daemon and a question, in the place of those before. */
static void
begin(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	CHECK_FILE(path, "control.sock");
	(void)strlcpy(addr.sun_path, path, sizeof(addr.sun_path));
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	NEED(bind(listener, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	NEED(listen(listener, 8) == 0);
	q = (struct question){ .path = path,
		.line = "metrics\n",
		.end = "# EOF\n",
		.fd = -1,
		.answered = -1 };
}

static void
end(void)
{
	question_fini(&q);
	(void)close(listener);
	(void)unlink(path);
}

/* The daemon takes the question, and says this. */
static void
answer(const char *text)
{
	char line[64] = "";

	peer = accept(listener, NULL, NULL);
	NEED(peer != -1);
	NEED(read(peer, line, sizeof(line) - 1) > 0);
	CHECK_STR("metrics\n", line);
	NEED(write(peer, text, strlen(text)) == (ssize_t)strlen(text));
}

/* The whole of a question and its answer, at time 1000. */
static void
ask_for(const char *text)
{
	question_ask(&q, 1000);
	answer(text);
	(void)close(peer);
	while (q.fd != -1) {
		struct pollfd p = { .fd = q.fd, .events = POLLIN };

		NEED(poll(&p, 1, -1) == 1);
		question_go_on(&q, 1000);
	}
}

/* Without an answer the reason is there, and has these words. */
static void
check_why(const char *words)
{
	CHECK(question_is_answered(&q, 1000));
	CHECK_EQ(-1, q.fd);
	if (!CHECK(strstr(q.why, words) != NULL))
		fprintf(stderr, "no %s in %s\n", words, q.why);
}

TEST(a_whole_answer_is_kept)
{
	CHECK(!question_is_answered(&q, 0));
	ask_for("apppool_x 1\n# EOF\n");
	CHECK(question_is_answered(&q, 1000));
	CHECK(!question_is_answered(&q, 1001));
	CHECK_STR("", q.why);
	CHECK_STR("apppool_x 1\n# EOF\n", q.answer);
	CHECK_EQ(strlen(q.answer), q.answer_len);
}

TEST(an_answer_that_was_cut_is_none)
{
	ask_for("apppool_x 1\n# EO");
	check_why("cut its answer off");
	CHECK(q.answer == NULL);
	ask_for("");
	check_why("cut its answer off");
}

TEST(a_refusal_is_told_in_the_words_of_the_daemon)
{
	ask_for("something\nerror: there are too many connections\n");
	CHECK_STR("there are too many connections", q.why);
}

TEST(the_answer_before_stays_while_there_is_no_newer_one)
{
	ask_for("# EOF\n");
	ask_for("error: no\n");
	CHECK_STR("no", q.why);
	CHECK_STR("# EOF\n", q.answer);
	ask_for("again\n# EOF\n");
	CHECK_STR("", q.why);
	CHECK_STR("again\n# EOF\n", q.answer);
}

TEST(a_question_under_way_is_not_asked_twice)
{
	int fd;

	question_ask(&q, 1000);
	fd = q.fd;
	question_ask(&q, 1001);
	CHECK_EQ(fd, q.fd);
}

TEST(a_daemon_that_is_silent_is_given_up_after_five_seconds)
{
	question_ask(&q, 1000);
	answer("apppool_x 1\n");
	question_go_on(&q, 5999);
	CHECK(!question_is_answered(&q, 0));
	question_go_on(&q, 6000);
	check_why("does not answer");
	(void)close(peer);
}

TEST(without_a_daemon_the_reason_is_there_at_once)
{
	(void)unlink(path);
	question_ask(&q, 1000);
	check_why("No such file");
}

TEST(a_missing_right_names_the_option_that_gives_it)
{
	bool root = geteuid() == 0;

	NEED(chmod(path, 0) == 0);
	NEED(!root || seteuid(65534) == 0);
	question_ask(&q, 1000);
	NEED(!root || seteuid(0) == 0);
	check_why("control_mode = 0666");
}

TEST(a_path_that_no_socket_can_have_is_told)
{
	static char long_path[200];

	memset(long_path, 'x', sizeof(long_path) - 1);
	q.path = long_path;
	question_ask(&q, 1000);
	check_why("xxx");
}

TESTS(begin, end)
