/* libapppool, whose state is the process's, with the test for the daemon. */

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sys/fdpass.h"
#include "worker/apppool.h"

#include "check.h"

/* The daemon's end of the pair. */
static int daemon_end = -1;

/* Sets a process up as the daemon does. Returns the process's end. */
static int
prepare(void)
{
	struct timeval limit = { .tv_sec = 20 };
	char text[16];
	int pair[2];

	CHECK_EQ(
	    0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	daemon_end = pair[0];
	setsockopt(daemon_end, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	fcntl(pair[1], F_SETFD, 0);
	snprintf(text, sizeof(text), "%d", pair[1]);
	setenv("APPPOOL_PROTOCOL", "1", 1);
	setenv("APPPOOL_FD", text, 1);
	setenv("APPPOOL_APP", "web", 1);
	setenv("APPPOOL_ID", "42", 1);
	setenv("APPPOOL_SLOT", "3", 1);
	return pair[1];
}

/* Returns the next message, "" at the end of file, or the error. */
static const char *
heard(void)
{
	static char text[8192];
	ssize_t n = recv(daemon_end, text, sizeof(text) - 1, 0);

	if (n == -1)
		return strerror(errno);
	text[n] = '\0';
	return text;
}

static bool
silent(void)
{
	char c;

	return recv(daemon_end, &c, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN;
}

static void
start(void)
{
	prepare();
	CHECK_EQ(0, apppool_open());
	CHECK_EQ(0, apppool_ready());
	CHECK_STR("READY", heard());
}

static void
send_text(const char *text, int fd)
{
	CHECK_EQ((ssize_t)strlen(text),
	    fdpass_send(daemon_end, text, strlen(text), fd));
}

/* Hands over a new connection and returns the client's end of it. */
static int
hand(unsigned serial)
{
	int pair[2];
	char text[64];

	CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	snprintf(text, sizeof(text), "CONN %u %u", serial, serial * 10);
	send_text(text, pair[0]);
	close(pair[0]);
	return pair[1];
}

static bool
at_end_of_file(int client)
{
	char c;

	return recv(client, &c, 1, MSG_DONTWAIT) == 0;
}

TEST_ALONE(opening_keeps_the_values_of_variables_that_are_taken_away)
{
	static const char *const names[] = { "APPPOOL_PROTOCOL", "APPPOOL_FD",
		"APPPOOL_APP", "APPPOOL_ID", "APPPOOL_SLOT" };
	int fd = prepare();

	CHECK_EQ(0, apppool_open());
	for (size_t i = 0; i < 5; i++)
		CHECK_STR(NULL, getenv(names[i]));
	CHECK_EQ(fd, apppool_fd());
	CHECK_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	CHECK_STR("web", apppool_app());
	CHECK_STR("42", apppool_id());
	CHECK_EQ(3, apppool_slot());
}

TEST_ALONE(opening_and_being_ready_happen_once)
{
	start();
	CHECK_ERRNO(EALREADY, apppool_ready());
	CHECK(silent());
	prepare();
	CHECK_ERRNO(EALREADY, apppool_open());
}

TEST_ALONE(opening_without_a_daemon_is_ENOENT)
{
	prepare();
	unsetenv("APPPOOL_PROTOCOL");
	CHECK_ERRNO(ENOENT, apppool_open());
}

TEST_ALONE(another_version_is_EPROTONOSUPPORT)
{
	prepare();
	setenv("APPPOOL_PROTOCOL", "2", 1);
	CHECK_ERRNO(EPROTONOSUPPORT, apppool_open());
	CHECK_STR("2", getenv("APPPOOL_PROTOCOL"));
}

TEST_ALONE(senseless_variables_are_EINVAL)
{
	static const char *const bad[] = { "", " 3", "+3", "-1", "3x", "0x3",
		"2147483648", "18446744073709551616", "99999999999999999999" };

	prepare();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setenv("APPPOOL_FD", bad[i], 1);
		CHECK_ERRNO(EINVAL, apppool_open());
	}
	prepare();
	unsetenv("APPPOOL_ID");
	CHECK_ERRNO(EINVAL, apppool_open());
	prepare();
	unsetenv("APPPOOL_SLOT");
	CHECK_ERRNO(EINVAL, apppool_open());
}

TEST_ALONE(a_wrong_descriptor_has_an_errno_of_its_own)
{
	int pair[2];
	char text[16];
	int fd = prepare();

	close(fd);
	CHECK_ERRNO(EBADF, apppool_open());
	CHECK_EQ(fd, open("/dev/null", O_RDONLY));
	CHECK_ERRNO(ENOTSOCK, apppool_open());
	CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	snprintf(text, sizeof(text), "%d", pair[0]);
	setenv("APPPOOL_FD", text, 1);
	CHECK_ERRNO(EPROTOTYPE, apppool_open());
}

TEST_ALONE(every_call_before_open_is_ENOTCONN)
{
	CHECK_ERRNO(ENOTCONN, apppool_ready());
	CHECK_ERRNO(ENOTCONN, apppool_accept());
	CHECK_ERRNO(ENOTCONN, apppool_fail("text"));
	CHECK_EQ(-1, apppool_fd());
	CHECK_EQ(-1, apppool_slot());
	CHECK_STR(NULL, apppool_app());
	CHECK_STR(NULL, apppool_id());
}

TEST_ALONE(only_a_failure_may_be_said_before_ready)
{
	prepare();
	CHECK_EQ(0, apppool_open());
	CHECK_ERRNO(ENOTCONN, apppool_event("text"));
	CHECK_EQ(-1, apppool_status("text"));
	CHECK_EQ(-1, apppool_retire());
	CHECK_EQ(-1, apppool_accept());
	CHECK(silent());
	CHECK_EQ(0, apppool_fail("no database on port %d", 5432));
	CHECK_STR("FAIL no database on port 5432", heard());
}

TEST_ALONE(a_connection_arrives_blocking_cloexec_and_alive)
{
	char text[8] = "";
	int client;
	int fd;

	start();
	client = hand(1);
	fd = apppool_accept();
	CHECK_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	CHECK_EQ(0, fcntl(fd, F_GETFL) & O_NONBLOCK);
	CHECK_EQ(2, write(fd, "hi", 2));
	CHECK_EQ(2, read(client, text, sizeof(text)));
	CHECK_STR("hi", text);
}

TEST_ALONE(done_closes_the_connection_and_names_its_serial)
{
	int client, fd;

	start();
	client = hand(17);
	fd = apppool_accept();
	CHECK_EQ(170, apppool_waited(fd));
	CHECK_EQ(0, apppool_done(fd));
	CHECK(at_end_of_file(client));
	CHECK_STR("DONE 17", heard());
}

TEST_ALONE(the_load_of_the_app_comes_with_a_connection)
{
	int pair[2], fd;

	start();
	CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	send_text("CONN 17 170 1250", pair[0]);
	close(pair[0]);
	fd = apppool_accept();
	CHECK_EQ(1250, apppool_load(fd));
	CHECK_EQ(170, apppool_waited(fd));
	CHECK_EQ(0, apppool_done(fd));
	CHECK_ERRNO(EBADF, apppool_load(fd));
}

TEST_ALONE(without_load_report_no_load_is_known)
{
	start();
	hand(1);
	CHECK_ERRNO(ENODATA, apppool_load(apppool_accept()));
}

/* As start(), in an app with keep_alive = true. */
static void
start_with_keep_alive(void)
{
	setenv("APPPOOL_KEEP_ALIVE", "1", 1);
	start();
}

TEST_ALONE(park_hands_the_connection_back_blocking_and_names_its_serial)
{
	int client, fd, copy;

	start_with_keep_alive();
	CHECK_EQ(1, apppool_keep_alive());
	CHECK_STR(NULL, getenv("APPPOOL_KEEP_ALIVE"));
	client = hand(18);
	fd = apppool_accept();
	copy = dup(fd);
	CHECK_EQ(0, fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
	CHECK_EQ(0, apppool_park(fd));
	CHECK_EQ(0, fcntl(copy, F_GETFL) & O_NONBLOCK);
	close(copy);
	CHECK(at_end_of_file(client));
	CHECK_STR("PARK 18", heard());
}

TEST_ALONE(park_without_keep_alive_is_done)
{
	start();
	hand(18);
	CHECK_EQ(0, apppool_keep_alive());
	CHECK_EQ(0, apppool_park(apppool_accept()));
	CHECK_STR("DONE 18", heard());
}

TEST_ALONE(a_connection_not_held_is_EBADF)
{
	int fd;

	start();
	hand(1);
	fd = apppool_accept();
	CHECK_EQ(0, apppool_done(fd));
	CHECK_STR("DONE 1", heard());

	CHECK_ERRNO(EBADF, apppool_done(fd));
	CHECK_ERRNO(EBADF, apppool_park(daemon_end));
	CHECK_EQ(-1, apppool_done(-1));
	CHECK_EQ(-1, apppool_done(INT32_MAX));
	CHECK_EQ(-1, apppool_waited(fd));
	CHECK(silent());
	CHECK(fcntl(daemon_end, F_GETFD) != -1);
}

TEST_ALONE(several_connections_end_in_any_order)
{
	int fds[4];

	start_with_keep_alive();
	for (unsigned i = 1; i <= 4; i++)
		hand(i);
	for (unsigned i = 0; i < 4; i++)
		fds[i] = apppool_accept();
	CHECK_EQ(0, apppool_done(fds[2]));
	CHECK_STR("DONE 3", heard());
	CHECK_EQ(0, apppool_done(fds[0]));
	CHECK_STR("DONE 1", heard());
	CHECK_EQ(0, apppool_park(fds[3]));
	CHECK_STR("PARK 4", heard());
	CHECK_EQ(0, apppool_done(fds[1]));
	CHECK_STR("DONE 2", heard());
}

TEST_ALONE(descriptors_may_have_any_number)
{
	struct rlimit limit;
	int fds[2];

	start();
	CHECK_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	SKIP_IF(limit.rlim_cur < 700, "needs 700 descriptors");
	hand(1);
	hand(2);
	fds[0] = apppool_accept();
	while (dup(STDIN_FILENO) < 600)
		continue;
	fds[1] = apppool_accept();
	CHECK(fds[1] > 600);
	CHECK_EQ(0, apppool_done(fds[1]));
	CHECK_STR("DONE 2", heard());
	CHECK_EQ(0, apppool_done(fds[0]));
	CHECK_STR("DONE 1", heard());
}

TEST_ALONE(a_connection_closed_without_a_word_is_done_when_its_number_returns)
{
	int fd;

	start();
	hand(1);
	fd = apppool_accept();
	close(fd);
	close(hand(2));
	hand(3);
	CHECK_EQ(fd, apppool_accept());
	CHECK_STR("DONE 1", heard());
	CHECK_EQ(20, apppool_waited(fd));
}

TEST_ALONE(a_connection_without_its_descriptor_is_lost_and_the_next_waited_for)
{
	start();
	send_text("CONN 5 0", -1);
	hand(6);
	CHECK_EQ(60, apppool_waited(apppool_accept()));
	CHECK_STR("LOST 5", heard());
}

TEST_ALONE(a_connection_beyond_the_limit_is_lost)
{
	struct rlimit limit;
	struct rlimit none = { .rlim_cur = 0 };
	int client;

	start();
	client = hand(1);
	send_text("STOP", -1);
	CHECK_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	none.rlim_max = limit.rlim_max;
	CHECK_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	CHECK_ERRNO(ESHUTDOWN, apppool_accept());
	CHECK_STR("LOST 1", heard());
	CHECK(at_end_of_file(client));
}

TEST_ALONE(connections_handed_before_stop_are_served_and_none_after_it)
{
	int fd;

	start();
	hand(1);
	send_text("STOP", -1);
	fd = apppool_accept();
	CHECK_EQ(10, apppool_waited(fd));
	for (int i = 0; i < 3; i++)
		CHECK_ERRNO(ESHUTDOWN, apppool_accept());
	CHECK_EQ(0, apppool_done(fd));
	CHECK_STR("DONE 1", heard());
}

TEST_ALONE(a_daemon_that_is_gone_is_ESHUTDOWN)
{
	int fd;

	start();
	hand(1);
	fd = apppool_accept();
	CHECK_EQ(0, apppool_event("unread"));
	close(daemon_end);
	CHECK_ERRNO(ESHUTDOWN, apppool_accept());
	CHECK_ERRNO(ESHUTDOWN, apppool_done(fd));
	CHECK_EQ(-1, fcntl(fd, F_GETFD));
}

TEST_ALONE(an_unknown_message_is_EPROTO_and_keeps_no_descriptor)
{
	static const char *const bad[] = { "DANCE", "CONN", "CONN 1",
		"CONN x 1", "CONN 1 1 ", "CONN 1 1 x", "CONN 1 1 1 1",
		"CONN 1 1 2147483648", "CONN  1 1", "CONN 1 -1", "CONNECT 1 1",
		"STOPP", "CONN 99999999999999999999 1" };

	start();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int pair[2];

		CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
		send_text(bad[i], pair[0]);
		close(pair[0]);
		CHECK_ERRNO(EPROTO, apppool_accept());
		CHECK(at_end_of_file(pair[1]));
	}
	hand(3);
	CHECK_EQ(30, apppool_waited(apppool_accept()));
}

TEST_ALONE(retire_is_said_once_and_connections_under_way_are_served)
{
	start();
	CHECK_EQ(0, apppool_retire());
	CHECK_EQ(0, apppool_retire());
	CHECK_STR("RETIRE", heard());
	CHECK(silent());
	hand(1);
	CHECK_EQ(0, apppool_done(apppool_accept()));
}

TEST_ALONE(texts_are_one_line_of_ascii)
{
	start();
	CHECK_EQ(0,
	    apppool_event("a\nb\tc\x7f"
			  "d %d\xc3\xa9",
		5));
	CHECK_STR("EVENT a b c d 5??", heard());
	CHECK_EQ(0, apppool_status("%s", "as it is 100% fine"));
	CHECK_STR("STATUS as it is 100% fine", heard());
}

TEST_ALONE(texts_are_sent_whole_or_not_at_all)
{
	char text[4097];
	size_t fits = 4096 - strlen("EVENT ");

	start();
	memset(text, 'x', sizeof(text));
	CHECK_EQ(0, apppool_event("%.*s", (int)fits, text));
	CHECK_EQ(4096, strlen(heard()));
	CHECK_ERRNO(EMSGSIZE, apppool_event("%.*s", (int)fits + 1, text));
	CHECK(silent());
}

TEST_ALONE(only_a_status_may_be_empty)
{
	start();
	CHECK_ERRNO(EINVAL, apppool_event("%s", ""));
	CHECK_EQ(-1, apppool_fail("%s", ""));
	CHECK(silent());
	CHECK_EQ(0, apppool_status("%s", ""));
	CHECK_STR("STATUS", heard());
}

static void
note(int sig)
{
	(void)sig;
}

TEST_ALONE(a_signal_ends_the_wait_as_it_does_in_accept)
{
	struct sigaction sa = { .sa_handler = note };
	struct itimerval often = { { 0, 20000 }, { 0, 20000 } };

	start();
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	CHECK_ERRNO(EINTR, apppool_accept());
}

TEST_ALONE(a_nonblocking_socket_gives_EAGAIN)
{
	start();
	CHECK_EQ(0, fcntl(apppool_fd(), F_SETFL, O_NONBLOCK));
	CHECK_ERRNO(EAGAIN, apppool_accept());
	hand(1);
	CHECK(apppool_accept() != -1);
}

#define MANY 3000

static void *
read_slowly(void *wrong)
{
	char expected[32];

	for (int i = 0; i < MANY; i++) {
		if (i % 100 == 0)
			usleep(1000);
		snprintf(expected, sizeof(expected), "EVENT %d", i);
		if (strcmp(expected, heard()) != 0)
			++*(int *)wrong;
	}
	return NULL;
}

/* Whether the socket blocks or not. */
TEST_ALONE(messages_wait_for_a_slow_daemon)
{
	pthread_t reader;
	int wrong = 0;

	start();
	CHECK_EQ(0, pthread_create(&reader, NULL, read_slowly, &wrong));
	for (int i = 0; i < MANY; i++) {
		if (i == MANY / 2)
			CHECK_EQ(0, fcntl(apppool_fd(), F_SETFL, O_NONBLOCK));
		CHECK_EQ(0, apppool_event("%d", i));
	}
	pthread_join(reader, NULL);
	CHECK_EQ(0, wrong);
}

#define THREADS 4

static void *
serve(void *count)
{
	int fd;

	while ((fd = apppool_accept()) != -1) {
		++*(int *)count;
		if (apppool_done(fd) == -1)
			return NULL;
	}
	return errno == ESHUTDOWN ? count : NULL;
}

TEST_ALONE(threads_share_the_work_and_all_hear_stop)
{
	pthread_t threads[THREADS];
	int served[THREADS] = { 0 };
	static bool done[MANY + 1];
	int total = 0;

	start();
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(
		    0, pthread_create(&threads[i], NULL, serve, &served[i]));
	for (unsigned i = 1; i <= MANY; i++) {
		unsigned serial = 0;

		close(hand(i));
		if (i < 8)
			continue;
		CHECK_EQ(1, sscanf(heard(), "DONE %u", &serial));
		CHECK(serial <= MANY && !done[serial]);
		done[serial % (MANY + 1)] = true;
	}
	for (int i = 1; i < 8; i++)
		CHECK_EQ(0, strncmp("DONE ", heard(), 5));
	send_text("STOP", -1);
	for (int i = 0; i < THREADS; i++) {
		void *well = NULL;

		pthread_join(threads[i], &well);
		CHECK(well != NULL);
		total += served[i];
	}
	CHECK_EQ(MANY, total);
	CHECK(silent());
}

/* --- templates ---------------------------------------------------------- */

/* Answers each connection with its identifier, slot and process. */
static void
serve_names(void)
{
	int fd;

	while ((fd = apppool_accept()) != -1) {
		dprintf(fd, "%s %d %ld%s", apppool_id(), apppool_slot(),
		    (long)getpid(), fd > STDERR_FILENO ? "" : " low");
		apppool_done(fd);
	}
	_exit(errno == ESHUTDOWN ? 0 : 1);
}

/* after_fork() begins a child. */
static bool has_child;

static void
print_slot(void)
{
	printf("slot %d", apppool_slot());
	fflush(stdout);
	(void)dprintf(STDERR_FILENO, "!");
	if (has_child && fork() == 0)
		for (;;)
			(void)pause();
}

/* A bit for each standard descriptor that a program has closed. */
static unsigned closed;

/* Starts a program in the place of a template, or of a worker. */
static pid_t
start_program(bool template)
{
	int end = prepare();
	pid_t pid;

	CHECK_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	if (template) {
		setenv("APPPOOL_TEMPLATE", "1", 1);
		unsetenv("APPPOOL_SLOT");
	}
	pid = fork();
	if (pid == 0) {
		close(daemon_end);
		(void)setsid();
		for (int i = 0; i < 3; i++)
			if (closed & 1u << i)
				close(i);
		if (apppool_open() == -1 || apppool_template(print_slot) == -1)
			_exit(2);
		if (apppool_ready() == -1)
			_exit(3);
		serve_names();
	}
	close(end);
	return pid;
}

/* The process that a FORK has made. */
struct forked {
	int channel; /* our end */
	int output; /* read end of its standard output */
};

/* Says "FORK serial id slot" to the process behind daemon_end. */
static struct forked
order(const char *text)
{
	int channel[2], pipe[2], fds[3];
	struct forked f;

	CHECK_EQ(
	    0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel));
	CHECK_EQ(0, pipe2(pipe, O_CLOEXEC));
	fds[0] = channel[1];
	fds[1] = fds[2] = pipe[1];
	CHECK_EQ((ssize_t)strlen(text),
	    fdpass_send_many(daemon_end, text, strlen(text), fds, 3));
	close(channel[1]);
	close(pipe[1]);
	f.channel = channel[0];
	f.output = pipe[0];
	return f;
}

/* Waits for the FORKED of a serial. Returns its pid. */
static pid_t
heard_forked(const char *serial)
{
	char begin[64];
	const char *text = heard();

	snprintf(begin, sizeof(begin), "FORKED %s ", serial);
	CHECK_EQ(0, strncmp(begin, text, strlen(begin)));
	return atoi(text + strlen(begin));
}

/* Makes the process of f the one that is spoken with. */
static void
turn_to(const struct forked *f)
{
	struct timeval limit = { .tv_sec = 20 };

	daemon_end = f->channel;
	setsockopt(daemon_end, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

/* Orders a process, and turns to it when it is ready. Returns its pid. */
static pid_t
order_ready(const char *text, const char *serial, struct forked *f_out)
{
	pid_t pid;

	*f_out = order(text);
	pid = heard_forked(serial);
	turn_to(f_out);
	CHECK_STR("READY", heard());
	return pid;
}

/* Whether the process answers a session with its name and slot. */
static void
check_answer(const char *name, pid_t pid)
{
	char text[64] = "", expected[64];
	int client = hand(1);

	(void)snprintf(expected, sizeof(expected), "%s %ld", name, (long)pid);
	CHECK_STR("DONE 1", heard());
	CHECK(recv(client, text, sizeof(text) - 1, 0) > 0);
	CHECK_STR(expected, text);
	close(client);
}

static void
check_ends(pid_t pid)
{
	int status = -1;

	send_text("STOP", -1);
	CHECK_EQ(pid, waitpid(pid, &status, 0));
	CHECK_EQ(0, status);
}

TEST_ALONE(a_template_forks_our_children_with_a_name_and_a_group_of_their_own)
{
	pid_t template = start_program(true), pid;
	int template_end = daemon_end;
	siginfo_t info = { 0 };
	struct forked f;

	CHECK_STR("READY", heard());
	pid = order_ready("FORK 7 ab 5", "7", &f);
	CHECK_EQ(
	    0, waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT));
	check_answer("ab 5", pid);
	CHECK_EQ(pid, getpgid(pid));
	CHECK_EQ(pid, getsid(pid));
	check_ends(pid);
	daemon_end = template_end;
	check_ends(template);
}

/* The daemon ends it with its group, and the template without it. */
TEST_ALONE(a_worker_that_has_a_child_when_it_is_ready_leads_its_group)
{
	pid_t template, pid;
	struct forked f;

	has_child = true;
	template = start_program(true);
	CHECK_STR("READY", heard());
	pid = order_ready("FORK 7 ab 5", "7", &f);
	check_answer("ab 5", pid);
	CHECK_EQ(pid, getpgid(pid));
	CHECK_EQ(0, kill(-pid, SIGKILL));
	CHECK_EQ(0, kill(template, SIGKILL));
}

/* Of the three, those that a template has closed are open in its workers. */
TEST_ALONE(after_fork_prints_in_the_worker_whatever_its_template_has_closed)
{
	for (closed = 0; closed < 8; closed++) {
		pid_t template = start_program(true), pid;
		struct forked f;
		char text[64] = "";

		CHECK_STR("READY", heard());
		pid = order_ready("FORK 7 ab 5", "7", &f);
		CHECK_EQ(7, read(f.output, text, sizeof(text) - 1));
		CHECK_STR("slot 5!", text);
		check_answer("ab 5", pid);
		check_ends(pid);
		CHECK_EQ(0, kill(template, SIGKILL));
	}
}

TEST_ALONE(a_template_ends_well_when_the_daemon_is_gone)
{
	pid_t template = start_program(true);
	int status = -1;

	CHECK_STR("READY", heard());
	close(daemon_end);
	CHECK_EQ(template, waitpid(template, &status, 0));
	CHECK_EQ(0, status);
}

TEST_ALONE(a_worker_becomes_a_template_and_goes_on)
{
	pid_t worker = start_program(false), template, pid;
	int worker_end = daemon_end;
	struct forked first, second;

	CHECK_STR("READY", heard());
	first = order("FORK 8 cd template");
	template = heard_forked("8");
	check_answer("42 3", worker);
	turn_to(&first);
	CHECK_STR("READY", heard());
	pid = order_ready("FORK 9 ef 6", "9", &second);
	check_answer("ef 6", pid);
	check_ends(pid);
	daemon_end = worker_end;
	check_ends(worker);
	turn_to(&first);
	check_ends(template);
}

TEST_ALONE(a_process_without_a_template_goes_on_at_once)
{
	prepare();
	CHECK_EQ(0, apppool_open());
	CHECK_EQ(0, apppool_template(NULL));
	CHECK_EQ(3, apppool_slot());
	CHECK_EQ(0, apppool_ready());
	CHECK_ERRNO(EALREADY, apppool_template(NULL));
}

TESTS(NULL, NULL)
