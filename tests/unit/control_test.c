/*
 * The control socket, over real sockets and in virtual time, with a
 * supervisor that only writes down what it is asked for.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <sysexits.h>

#include "check.h"
#include "control/room.h"
#include "daemon/state.h"
#include "standing.h"
#include "still.h"
#include "sys/fdpass.h"

/* As control.c has them. */
#define CLIENTS_MAX 256
#define CLIENTS_SURE 32
#define WAITERS (CLIENTS_MAX / 4 * 3)
#define STRANGERS_MAX (CLIENTS_MAX / 8 * 7)
#define EACH_MAX (CLIENTS_MAX / 4)
#define STRANGER 65534

/* The answer to `version`. */
#define VERSION "apppoold " APPPOOL_VERSION "\n"

static char path[64], other_path[64];

static unsigned stops;
static uint32_t spare;
static struct control *clients;
static struct reload_answer reload;

/* --- the supervisor ----------------------------------------------------- */

void
supervisor_stop(struct supervisor *s, bool at_once, tstamp at)
{
	(void)at_once;
	(void)at;
	stops++;
	s->stopping = true;
}

struct group *
group_find(const struct supervisor *s, const char *name)
{
	struct group *g = s->groups[0];

	return g != NULL && strcmp(g->conf->name, name) == 0 ? g : NULL;
}

const char *
group_failure(const struct group *g, char buf[GROUP_FAILURE_MAX])
{
	return memcpy(buf, g->failure.why, sizeof(g->failure.why));
}

struct reload_answer *
reload_request(struct supervisor *s, tstamp at)
{
	(void)s;
	(void)at;
	reload = (struct reload_answer){ .refs = reload.refs + 1 };
	return &reload;
}

void
reload_forget(struct reload_answer *a)
{
	if (a != NULL)
		a->refs--;
}

static void
reload_ends(char *text)
{
	reload.ok = reload.over = true;
	reload.text = text;
	now += TSPAN_MSECONDS(5);
}

/* Puts conf into force. 0, or an errno. */
static int
reconfigure(struct supervisor *s)
{
	struct openings openings;
	int status;

	openings_init(&openings, NULL);
	s->control->prepare(s->control_arg, &conf, spare, &openings);
	status = openings_now(&openings) ? 0 : opening_status(openings.error);
	if (status == 0)
		s->control->commit(s->control_arg, &conf);
	return status;
}

static void
close_control(struct supervisor *s)
{
	if (s->control != NULL)
		s->control->close(s->control_arg);
	s->control = NULL;
}

static void
control_turns(void)
{
	if (sup.control != NULL)
		sup.control->turn(sup.control_arg, now);
}

static int dialled[1024]; /* connections; -1: closed */
static size_t ndialled;

static void
begin(void)
{
	now = TSPAN_SECONDS(1000);
	standing_begin(4, now);
	CHECK_FILE(path, "sock");
	CHECK_FILE(other_path, "other");
	CHECK_EQ(0, chmod(check.folder, 0755));
	stops = 0;
	spare = UINT32_MAX;
	reload.refs = 0;
	conf.control = path;
	conf.control_mode = 0666;
	conf.control_gid = (gid_t)-1;
	(void)loop_init(&sup.loop, &still_clock);
	sup.events = (struct events){ .mem = malloc(EVENTS_SIZE) };
	NEED(lane_start(&sup.looker, &sup.loop, "looker", NULL) == 0);
	web.pool.min_processes = 1;
	web.pool.max_processes = 2;
	web.pool.max_queue = 1;
	web.pool.load.multi_threshold = 50;
	web.pool.start_limit = 1;
	web.pool.start_timeout = TSPAN_SECONDS(3600);
	web.pool.restart_delay_max = TSPAN_SECONDS(1);
	(void)standing_add(&web, now);
	(void)control_register(&sup, command_run);
	clients = sup.control_arg;
	CHECK_EQ(0, reconfigure(&sup));
}

/* Clients that a test has left are closed. */
static void
end(void)
{
	while (ndialled > 0)
		if (dialled[--ndialled] != -1)
			(void)close(dialled[ndialled]);
	close_control(&sup);
	(void)lane_stop(&sup.looker, TSTAMP_NEVER);
	loop_fini(&sup.loop);
	free(sup.events.mem);
	standing_end();
	(void)unlink(path);
	(void)unlink(other_path);
}

/* Turns the loop until three turns are idle. */
static void
turn(void)
{
	for (int quiet = 0; quiet < 3;) {
		quiet = loop_turn(&sup.loop, now) > 0 ? 0 : quiet + 1;
		control_turns();
	}
}

/* The app's process is ready, or cannot be started. */
static void
spawn(bool works)
{
	struct action a;

	while (pool_next_action(&sup.pool, &a)) {
		if (a.kind != ACTION_SPAWN)
			continue;
		if (!works) {
			(void)snprintf(groups[0]->failure.why,
			    sizeof(groups[0]->failure.why), "no such program");
			pool_spawn_failed(&sup.pool, a.process, false, now);
			return;
		}
		pool_spawned(&sup.pool, a.process, now);
		(void)pool_ready(&sup.pool, a.process, now);
	}
}

/* --- a client ----------------------------------------------------------- */

static int
dial_to(const char *to)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", to);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return dialled[ndialled++] = fd;
	(void)close(fd);
	return -1;
}

static int
dial(void)
{
	return dial_to(path);
}

static void
hang_up(int fd)
{
	for (size_t i = 0; i < ndialled; i++)
		if (dialled[i] == fd)
			dialled[i] = -1;
	(void)close(fd);
}

static void
say(int fd, const void *what, size_t len)
{
	(void)!send(fd, what, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A client that says this line. */
static int
ask(const char *line)
{
	int fd = dial();

	say(fd, line, strlen(line));
	return fd;
}

static char heard[1 << 20];
static bool ended; /* the answer that was heard */

/* Reads the answer so far. */
static const char *
hear(int fd)
{
	size_t len = 0;
	ssize_t n;

	turn();
	for (;;) {
		n = recv(
		    fd, heard + len, sizeof(heard) - 1 - len, MSG_DONTWAIT);
		if (n <= 0)
			break;
		len += (size_t)n;
		turn();
	}
	heard[len] = '\0';
	ended = n == 0;
	return heard;
}

/* What ends the answer; nothing yet, and the answer goes on. */
#define LAST(text, fd) CHECK(CHECK_STR(text, hear(fd)) && ended)
#define SILENT(fd) CHECK(CHECK_STR("", hear(fd)) && !ended)

/* The whole answer to what is said; NULL: it did not end. */
static const char *
answer_to(const void *what, size_t len)
{
	int fd = dial();

	say(fd, what, len);
	(void)hear(fd);
	hang_up(fd);
	turn();
	return ended ? heard : NULL;
}

static const char *
answer(const char *line)
{
	return answer_to(line, strlen(line));
}

/* A line, and what is answered. */
struct exchange {
	const char *line;
	const char *wanted;
};

static void
check_exchanges(const struct exchange *e, size_t n)
{
	for (; n > 0; e++, n--)
		CHECK_STR(e->wanted, answer(e->line));
}

#define EXCHANGES(table) \
	check_exchanges(table, sizeof(table) / sizeof(table[0]))

/* --- tests -------------------------------------------------------------- */

TEST(a_line_may_come_in_pieces)
{
	int fd = dial();
	for (const char *c = "version"; *c != '\0'; c++) {
		say(fd, c, 1);
		CHECK_STR("", hear(fd));
		CHECK(!ended);
	}
	say(fd, "\n", 1);
	LAST(VERSION, fd);
}

TEST(malformed_lines_are_errors)
{
	static char bytes[5000];
	int fd;

	CHECK_STR("error: a control character in the line\n",
	    answer_to("ver\0sion\n", 9));
	memset(bytes, 'x', sizeof(bytes));
	CHECK_STR("error: the line is longer than 4096 bytes\n",
	    answer_to(bytes, sizeof(bytes)));
	bytes[4097] = '\n';
	CHECK_STR("error: the line is longer than 4096 bytes\n",
	    answer_to(bytes, 4098));
	bytes[4096] = '\n';
	CHECK(strncmp(answer_to(bytes, 4097), "error: unknown command ", 23) ==
	    0);
	memset(bytes, ' ', sizeof(bytes));
	memcpy(bytes, "version", 7);
	bytes[4096] = '\n';
	CHECK_STR(VERSION, answer_to(bytes, 4097));

	fd = ask("status");
	(void)shutdown(fd, SHUT_WR);
	LAST("error: the line has no end\n", fd);
	hang_up(fd);
	CHECK_EQ(0, clients->n);
}

TEST(a_line_is_answered_or_its_error_is_said)
{
	static const struct exchange exchanges[] = {
		{ "version\n", VERSION },
		{ " \tversion \n", VERSION },
		{ "json version\n", "{\"version\":\"" APPPOOL_VERSION "\"}\n" },
		{ "\n", "error: no command\n" },
		{ "json \n", "error: no command\n" },
		{ "version\r\n", "error: a control character in the line\n" },
		{ "statsu\n",
		    "error: unknown command statsu; is status meant?\n" },
		{ "stpo\n", "error: unknown command stpo; see help\n" },
		{ "qwertz\n", "error: unknown command qwertz; see help\n" },
		{ "\377\302\2332J\n",
		    "error: unknown command \\xff\\xc2\\x9b2J; see help\n" },
		{ "reload now\n", "error: usage: reload\n" },
		{ "status a b\n", "error: usage: status [APP]\n" },
		{ "metrics x\n", "error: usage: metrics [openmetrics]\n" },
		{ "status 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6\n",
		    "error: too many words\n" },
		{ "status wep\n", "error: no app wep; is web meant?\n" },
	};

	EXCHANGES(exchanges);
}

TEST(a_client_without_a_line_is_closed_after_10_seconds)
{
	int fd = ask("vers");
	(void)hear(fd);
	CHECK_EQ(now + TSPAN_SECONDS(10), timers_first(&sup.loop.timers));
	now += TSPAN_SECONDS(9);
	say(fd, "i", 1);
	(void)hear(fd);
	CHECK(!ended);
	now += TSPAN_SECONDS(1);
	LAST("error: no command within 10 seconds\n", fd);
	CHECK_EQ(0, clients->n);
}

/* Makes the status too long for the buffer of a socket. */
static void
grow_status(void)
{
	char address[160];

	memset(address, 'a', sizeof(address) - 1);
	address[sizeof(address) - 1] = '\0';
	for (unsigned i = 0; i < 5000; i++)
		standing_listen(groups[0], address);
}

TEST(a_slow_reader_is_cut_off)
{
	int fd;

	grow_status();
	fd = ask("status\n");
	turn();
	CHECK_EQ(1, clients->n);
	CHECK(clients->status_bytes > 0);
	now += TSPAN_SECONDS(29);
	turn();
	CHECK_EQ(1, clients->n);
	now += TSPAN_SECONDS(1);
	turn();
	CHECK_EQ(0, clients->n);
	CHECK_EQ(0, clients->status_bytes);
	(void)hear(fd);
	CHECK(ended);
}

TEST(a_reader_of_a_little_now_and_then_is_cut_off_too)
{
	char few[4096];
	int fd;

	grow_status();
	fd = ask("status\n");
	for (unsigned i = 0; i < 30; i++) {
		turn();
		(void)!recv(fd, few, sizeof(few), MSG_DONTWAIT);
		now += TSPAN_SECONDS(10);
	}
	turn();
	CHECK_EQ(0, clients->n);
}

TEST(snapshots_beyond_the_bound_wait_for_each_other)
{
	int fds[40];
	unsigned waiting = 0;
	struct client *cl;

	grow_status();
	for (unsigned i = 0; i < 40; i++) {
		fds[i] = ask("status\n");
		turn();
	}
	CHECK(clients->status_bytes <
	    (16 * 1024 * 1024) + (16 * 1024 * 1024) / 8);
	TAILQ_FOREACH(cl, &clients->list, next) {
		waiting += cl->waits == WAIT_MEMORY;
	}
	CHECK(waiting > 0);
	for (unsigned i = 0; i < 40; i++) {
		CHECK(strlen(hear(fds[i])) > 5000 * 159);
		CHECK(ended);
		hang_up(fds[i]);
	}
	CHECK_EQ(0, clients->status_bytes);
}

TEST(idle_clients_give_way_to_one_that_asks)
{
	static int fds[CLIENTS_MAX + 100];
	int asks;

	fds[0] = ask("wait\n");
	turn();
	for (unsigned i = 1; i < CLIENTS_MAX + 100; i++)
		fds[i] = dial();
	asks = ask("version\n");
	CHECK_STR("", hear(asks));
	now += TSPAN_MSECONDS(100);
	CHECK_STR(VERSION, hear(asks));
	LAST("error: there are too many connections\n", fds[1]);
	SILENT(fds[0]);
}

TEST(the_limit_of_clients_leaves_descriptors_to_connections)
{
	static int fds[50];

	spare = 1;
	CHECK_EQ(0, reconfigure(&sup));
	for (unsigned i = 0; i < 50; i++)
		fds[i] = dial();
	turn();
	CHECK_EQ(CLIENTS_SURE + 1, clients->n);
	for (unsigned i = 0; i < 50; i++) {
		say(fds[i], "version\n", 8);
		CHECK_STR(VERSION, hear(fds[i]));
		hang_up(fds[i]);
	}
}

TEST(waiting_clients_leave_room_for_others)
{
	static int fds[WAITERS + 1];

	for (unsigned i = 0; i <= WAITERS; i++) {
		fds[i] = ask("wait\n");
		turn();
	}
	CHECK_EQ(WAITERS, clients->nwaiting);
	CHECK_STR("error: too many clients wait already\n", hear(fds[WAITERS]));
	CHECK_STR(VERSION, answer("version\n"));
	for (unsigned i = 0; i <= WAITERS; i++)
		hang_up(fds[i]);
	turn();
	CHECK_EQ(0, clients->nwaiting);
}

TEST(wait_ends_when_the_apps_are_ready)
{
	int fd = ask("wait web\n");
	SILENT(fd);
	/* While nothing happens, nobody looks. */
	now += TSPAN_SECONDS(1);
	(void)loop_turn(&sup.loop, now);
	control_turns();
	CHECK_EQ(TSTAMP_NEVER, timers_first(&sup.loop.timers));
	spawn(true);
	now += TSPAN_MSECONDS(5);
	LAST("ready\n", fd);
	hang_up(fd);
	CHECK_STR("ready\n", answer("wait\n"));
	CHECK_EQ(0, clients->nwaiting);
}

TEST(reload_answers_when_the_reload_is_over)
{
	static char changes[] = "web: changed\njob: new\n", lines[] = "a\nb";
	int fd = ask("reload\n");

	CHECK_STR("", hear(fd));
	NEED(reload.refs == 1);
	reload_ends(changes);
	LAST("web: changed\njob: new\n", fd);
	hang_up(fd);

	fd = ask("json reload\n");
	(void)hear(fd);
	reload_ends(lines);
	CHECK_STR("{\"message\":\"a\\nb\"}\n", hear(fd));
}

TEST(a_client_that_left_is_not_told_of_the_reload)
{
	int fd = ask("reload\n");
	turn();
	CHECK_EQ(1, reload.refs);
	hang_up(fd);
	turn();
	CHECK_EQ(0, reload.refs);
	CHECK_EQ(0, clients->n);
}

/* A client that has waited for the reload waits on, whoever else does. */
TEST(a_reload_among_many_that_wait_is_answered_when_its_rollouts_are_over)
{
	static char changes[] = "web: changed\n";
	static int fds[WAITERS];

	spawn(true);
	fds[0] = ask("reload\n");
	turn();
	NEED(reload.refs == 1);
	pool_app_restart(&sup.pool, groups[0]->app, now);
	for (unsigned i = 1; i < WAITERS; i++) {
		fds[i] = ask("wait\n");
		turn();
	}
	CHECK_EQ(WAITERS, clients->nwaiting);
	reload_ends(changes);
	CHECK_STR("", hear(fds[0]));
	sup.stopping = true;
	now += TSPAN_MSECONDS(20);
	LAST("web: changed\n", fds[0]);
}

/* The log may be no file any more, when the client is answered. */
TEST(a_reopen_that_a_reload_overtakes_is_answered)
{
	static char log[] = "/dev/null";
	int fd;

	conf.log.dest = LOG_DEST_FILE;
	conf.log.path = log;
	fd = ask("reopen\n");
	while (clients->nwaiting == 0 || sup.reopening.config != NULL)
		turn();
	conf.log.dest = LOG_DEST_STDERR;
	conf.log.path = NULL;
	now += TSPAN_MSECONDS(20);
	CHECK_STR("the log: opened anew\n", hear(fd));
}

TEST(stop_ends_with_the_daemon)
{
	int fd, again;

	fd = ask("stop\n");
	CHECK_STR("stopping\n", hear(fd));
	CHECK(!ended);
	CHECK_EQ(1, stops);
	again = ask("stop\n");
	CHECK_STR("stopping\n", hear(again));
	CHECK_EQ(1, stops);
	CHECK_STR("error: the daemon is stopping\n", answer("wait\n"));
	CHECK_STR("error: the daemon is stopping\n", answer("reload\n"));

	close_control(&sup);
	LAST("", fd);
	LAST("", again);
}

TEST(waiting_clients_learn_of_the_end_of_the_daemon)
{
	int fd = ask("wait\n");
	(void)hear(fd);
	close_control(&sup);
	CHECK_STR("error: the daemon has stopped\n", hear(fd));
}

/* A connection of this user. */
static int
dial_as(uid_t uid)
{
	int fd = -1;

	if (seteuid(uid) == 0)
		fd = dial();
	CHECK_EQ(0, seteuid(0));
	turn();
	return fd;
}

TEST(a_strangers_silent_connections_keep_nobody_out)
{
	int fds[CLIENTS_MAX + 100], other;

	SKIP_IF(getuid() != 0, "needs root");
	for (int i = 0; i < CLIENTS_MAX + 100; i++)
		fds[i] = dial_as(STRANGER);
	CHECK_EQ(EACH_MAX, clients->n);
	LAST("error: this user has too many connections\n", fds[0]);

	CHECK_STR(VERSION, answer("version\n"));
	other = dial_as(STRANGER - 1);
	say(other, "version\n", 8);
	CHECK_STR(VERSION, hear(other));
	hang_up(other);
	/* The newest one has not been told anything, and is served. */
	say(fds[CLIENTS_MAX + 99], "version\n", 8);
	CHECK_STR(VERSION, hear(fds[CLIENTS_MAX + 99]));
	for (int i = 0; i < CLIENTS_MAX + 100; i++)
		hang_up(fds[i]);
	turn();
	CHECK_EQ(0, clients->n);
}

TEST(many_strangers_leave_places_for_root)
{
	int fds[CLIENTS_MAX];

	SKIP_IF(getuid() != 0, "needs root");
	for (unsigned i = 0; i < CLIENTS_MAX; i++)
		fds[i] = dial_as(STRANGER - i / EACH_MAX);
	CHECK_EQ(STRANGERS_MAX, clients->n);
	CHECK_STR("error: there are too many connections\n", hear(fds[0]));
	CHECK_STR(VERSION, answer("version\n"));
}

TEST(a_stranger_whose_connections_all_wait_is_refused_another)
{
	int fds[EACH_MAX + 1];

	SKIP_IF(getuid() != 0, "needs root");
	for (int i = 0; i < EACH_MAX; i++) {
		fds[i] = dial_as(STRANGER);
		say(fds[i], "wait\n", 5);
		turn();
	}
	fds[EACH_MAX] = dial_as(STRANGER);
	CHECK_STR(
	    "error: this user has too many connections\n", hear(fds[EACH_MAX]));
	CHECK_EQ(EACH_MAX, clients->nwaiting);
}

/* Waits for a lane to give the file that mode, 0: to remove it. */
static bool
gets_mode(const char *name, mode_t mode)
{
	struct stat st;

	for (int ms = 0; ms < 5000; ms++) {
		if (stat(name, &st) == -1)
			st.st_mode = 0;
		if ((st.st_mode & 07777) == mode)
			return true;
		(void)usleep(1000);
	}
	return false;
}

TEST(the_socket_has_its_mode)
{
	CHECK(gets_mode(path, 0666));
	conf.control_mode = 0600;
	CHECK_EQ(0, reconfigure(&sup));
	CHECK(gets_mode(path, 0600));
	close_control(&sup);
	CHECK(gets_mode(path, 0));
}

TEST(a_socket_that_cannot_be_opened_leaves_the_former_open)
{
	static char nowhere[] = "/nonexistent/control.sock";

	conf.control = nowhere;
	CHECK_EQ(EX_CANTCREAT, reconfigure(&sup));
	CHECK_STR(VERSION, answer("version\n"));
}

/* Prepares a change and aborts it, as if another service had failed. */
static void
give_up_a_change(void)
{
	struct openings openings;

	openings_init(&openings, NULL);
	sup.control->prepare(sup.control_arg, &conf, spare, &openings);
	CHECK(openings_now(&openings));
	sup.control->abort(sup.control_arg);
}

TEST(an_aborted_change_leaves_the_socket_with_its_place_and_mode)
{
	struct stat st;

	conf.control = other_path;
	give_up_a_change();
	CHECK(gets_mode(other_path, 0));
	conf.control = path;
	conf.control_mode = 0600;
	give_up_a_change();
	CHECK_EQ(0, stat(path, &st));
	CHECK_EQ(0666, st.st_mode & 07777);
	conf.control = NULL;
	give_up_a_change();
	CHECK_STR(VERSION, answer("version\n"));
	conf.control = path;
}

TEST(a_reload_brings_a_removed_socket_back)
{
	(void)unlink(path);
	CHECK_EQ(-1, dial());
	CHECK_EQ(0, reconfigure(&sup));
	CHECK_STR(VERSION, answer("version\n"));
}

/* --- events ------------------------------------------------------------- */

/* Events of this app, whose texts are numbers. */
static void
happen(const char *name, unsigned first, unsigned count)
{
	char text[16];
	struct event event = {
		.kind = EVENT_RESTART,
		.level = LOG_LEVEL_INFO,
		.app = name,
		.id = "",
		.text = text,
	};

	for (unsigned i = first; i < first + count; i++) {
		event.len = (size_t)snprintf(text, sizeof(text), "%u", i);
		events_put(&sup.events, &event);
	}
}

/* Followers are looked after now and then. */
static void
pass(void)
{
	now += TSPAN_MSECONDS(20);
	turn();
}

#define AT "1970-01-01T00:00:00.000Z restart  "

TEST(the_newest_events_are_shown_in_their_order)
{
	CHECK_STR("no events\n", answer("events\n"));
	CHECK_STR("\n", answer("json events\n"));
	happen("web", 1, 30);
	happen("gone", 31, 1);
	CHECK_STR(AT "30\n" AT "31\n", answer("events -n 2\n"));
	CHECK_STR(AT "29\n" AT "30\n", answer("events -n 2 web\n"));
	CHECK_STR(AT "31\n", answer("events gone\n"));
	CHECK_STR("no events\n", answer("events -n 0\n"));
	CHECK(strncmp(answer("events\n"), AT "12\n", strlen(AT "12\n")) == 0);
	CHECK(strncmp(answer("events -n 1000\n"), AT "1\n", strlen(AT "1\n")) ==
	    0);
	CHECK_STR("{\"number\":31,\"time\":\"1970-01-01T00:00:00.000Z\","
		  "\"event\":\"restart\",\"level\":\"info\","
		  "\"app\":\"gone\",\"id\":null,\"pid\":null,"
		  "\"reason\":null,\"text\":\"31\"}\n",
	    answer("json events -n 1\n"));
}

TEST(malformed_questions_for_events_are_errors)
{
#define USAGE "error: usage: events [APP|ID] [-n N] [-f]; "
	static const struct exchange exchanges[] = {
		{ "events -n\n", USAGE "-n wants a number\n" },
		{ "events -n -1\n", USAGE "what follows -n is no number\n" },
		{ "events -n 99999999999999999999\n",
		    USAGE "what follows -n is no number\n" },
		{ "events web web\n", USAGE "one app or worker at most\n" },
		{ "events --follow\n", USAGE "there are no other options\n" },
		{ "events wep\n",
		    "error: no app or worker wep; is web meant?\n" },
	};

	EXCHANGES(exchanges);
	CHECK_EQ(0, clients->n);
}

TEST(a_follower_is_given_what_happens_later)
{
	int fd;

	happen("web", 1, 2);
	fd = ask("events web -f -n 1\n");
	CHECK_STR(AT "2\n", hear(fd));
	happen("api", 3, 1);
	happen("web", 4, 1);
	pass();
	CHECK_STR(AT "4\n", hear(fd));
	now += TSPAN_SECONDS(3600);
	SILENT(fd);
	happen("web", 5, 1);
	close_control(&sup);
	LAST(AT "5\nerror: the daemon has stopped\n", fd);
}

/* The numbers of all events heard, from first on, with those told as lost. */
static unsigned
count_events(const char *text, unsigned first)
{
	const char *line = text;
	unsigned lost, number;

	while (*line != '\0') {
		if (sscanf(line, AT "%u\n", &number) == 1)
			CHECK_EQ(first++, number);
		else if (sscanf(line, "%u events lost", &lost) == 1)
			first += lost;
		else
			CHECK_STR("an event", line);
		line = strchr(line, '\n') + 1;
	}
	return first;
}

TEST(a_slow_follower_loses_events_and_is_told_how_many)
{
	unsigned number;
	int fd;

	fd = ask("events -f\n");
	turn();
	for (unsigned i = 0; i < 600; i++) {
		happen("web", 100 * i, 100);
		pass();
		now += TSPAN_SECONDS(1);
	}
	CHECK_STR(VERSION, answer("version\n"));
	number = count_events(hear(fd), 0);
	CHECK(strstr(heard, "events lost: ") != NULL);
	CHECK(!ended);
	happen("web", 60000, 1);
	pass();
	CHECK_EQ(60001, count_events(hear(fd), number));
}

/* The number of the lines and of those told as lost. */
static unsigned
count_lines(const char *text)
{
	unsigned n = 0, lost;
	char s[2];

	for (; *text != '\0'; text = strchr(text, '\n') + 1)
		n +=
		    sscanf(text, "%u lines lo%1[s]t", &lost, s) == 2 ? lost : 1;
	return n;
}

/* So many lines of 1,000 bytes each. */
static void
print(const char *name, unsigned count)
{
	char text[1000];
	struct event event = { .kind = EVENT_STDOUT,
		.app = name,
		.id = "ab12cd34",
		.text = memset(text, 'x', sizeof(text)),
		.len = sizeof(text) };

	while (count-- > 0)
		events_put(&sup.events, &event);
}

TEST(lines_that_are_forgotten_before_they_are_told_are_counted)
{
	int fd;

	print("web", 100);
	print("api", 150);
	fd = ask("logs -n 300\n");
	turn();
	print("web", 1000);
	CHECK_EQ(250, count_lines(hear(fd)));
	CHECK(strstr(heard, " lines lost: ") != NULL);
	CHECK(ended);
}

TEST(lines_of_an_app_are_numbered_in_json_beside_those_of_others)
{
	const char line[] =
	    "{\"number\":2,\"time\":\"1970-01-01T00:00:00.000Z\","
	    "\"app\":\"web\",\"id\":\"ab12cd34\",\"stream\":\"stdout\","
	    "\"line\":\"xxx";

	print("api", 1);
	print("web", 1);
	CHECK(strncmp(answer("json logs web\n"), line, strlen(line)) == 0);
	CHECK_STR("no lines\n", answer("logs -n 0\n"));
	CHECK_STR("error: no app or worker wep; is web meant?\n",
	    answer("logs wep\n"));
}

TEST(a_follower_who_does_not_read_still_counts_as_one_that_waits)
{
	int fd = ask("events -f\n");
	turn();
	for (unsigned i = 0; i < 600; i++) {
		happen("web", 100 * i, 100);
		pass();
	}
	CHECK_EQ(1, clients->nwaiting);
	hang_up(fd);
	turn();
	CHECK_EQ(0, clients->nwaiting);
}

TESTS(begin, end)
