/* Descriptors closed by the daemon, and by a keeper. */

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <arpa/inet.h>
#include <libgen.h>
#include <limits.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>

#include "daemon/keeping.h"

#include "fixture.h"

static void
begin(void)
{
	static char keeper[PATH_MAX + 64];
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	(void)snprintf(keeper, sizeof(keeper),
	    "%s/../../libexec/apppool-keeper", dirname(path));
	fixture_defaults();
	fixture_begin();
	fixture.conf.keeper = keeper;
	sup.keeper_ops = &keeping_ops;
	outputs_init(&sup.outputs, &sup.loop);
	NEED(lane_start(&sup.spawner, &sup.loop, "spawner", NULL) == 0);
}

static void
end(void)
{
	tstamp limit = fixture_monotonic() + TSPAN_SECONDS(FIXTURE_SECONDS);
	struct keeper *k = TAILQ_FIRST(&sup.keepers);
	pid_t pid;

	CHECK_EQ(0, lane_stop(&sup.spawner, limit));
	pid = k == NULL ? 0 : k->result.pid;
	closing_fini(fixture.group);
	keeper_free_all(&sup);
	if (pid != 0)
		CHECK_EQ(pid, waitpid(pid, NULL, 0));
	fixture_end();
}

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) != -1;
}

/* Whether the other end of the pipe is closed everywhere. */
static bool
is_hung_up(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0;
}

/* Makes a connected socket with unsent data that lingers for this long. */
static int
lingering(int *client, int seconds)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct linger linger = { .l_onoff = 1, .l_linger = seconds };
	static char data[65536];
	socklen_t len = sizeof(addr);
	int listener, server;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	*client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) == -1 ||
	    listen(listener, 1) == -1 ||
	    getsockname(listener, (struct sockaddr *)&addr, &len) == -1 ||
	    connect(*client, (struct sockaddr *)&addr, len) == -1)
		return -1;
	server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close(listener);
	while (send(server, data, sizeof(data), MSG_DONTWAIT) > 0)
		continue;
	(void)setsockopt(
	    server, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	return server;
}

/* Sends from a page that nobody ever provides, and so has the socket locked. */
static _Noreturn void
sit_in_send(int fd)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	reg.range.start = (uintptr_t)page;
	reg.range.len = 4096;
	if (uffd == -1 || page == MAP_FAILED ||
	    ioctl(uffd, UFFDIO_API, &api) == -1 ||
	    ioctl(uffd, UFFDIO_REGISTER, &reg) == -1)
		_exit(1);
	/* Our end gives the lock back. */
	(void)alarm(10);
	(void)!syscall(SYS_sendto, fd, page, 64, 0, NULL, 0);
	_exit(0);
}

/* Waits until the process is in that page; false: it has ended. */
static bool
sits(pid_t pid)
{
	char path[64], place[64];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/wchan", (int)pid);
	do {
		place[0] = '\0';
		f = fopen(path, "re");
		if (f != NULL) {
			(void)!fgets(place, sizeof(place), f);
			fclose(f);
		}
		if (strcmp(place, "handle_userfault") == 0)
			return true;
	} while (waitpid(pid, NULL, WNOHANG) == 0);
	return false;
}

static void
a_connection_that_does_not_linger_is_closed_here(void)
{
	const struct linger off = { 0 };
	int client, server;

	begin();
	server = lingering(&client, 20);
	NEED(server != -1);
	(void)setsockopt(server, SOL_SOCKET, SO_LINGER, &off, sizeof(off));
	closing_give_conn(fixture.group, server, true, false);
	CHECK(!is_open(server));
	close(client);
	end();
}

static void
a_connection_that_somebody_has_locked_holds_nobody_up(void)
{
	int client, server;
	tstamp begun;
	pid_t sitter;

	begin();
	server = lingering(&client, 20);
	NEED(server != -1);
	sitter = fork();
	if (sitter == 0)
		sit_in_send(client);
	if (!sits(sitter)) {
		end();
		SKIP("userfaultfd is not for us here");
	}
	begun = fixture_monotonic();
	closing_give_conn(fixture.group, client, true, false);
	CHECK(fixture_monotonic() - begun < TSPAN_SECONDS(5));
	CHECK(!is_open(client));
	kill(sitter, SIGKILL);
	CHECK_EQ(sitter, waitpid(sitter, NULL, 0));
	close(server);
	end();
}

static void
one_that_lingers_is_closed_by_a_keeper(void)
{
	tstamp begun = fixture_monotonic();
	int client, server;
	char bytes[65536];

	begin();
	server = lingering(&client, 20);
	NEED(server != -1);
	closing_give_conn(fixture.group, server, true, false);
	CHECK(is_open(server));
	while (fixture.group->nclosings > 0)
		(void)loop_turn(&sup.loop, fixture.now);
	/* All that was sent arrives. */
	while (recv(client, bytes, sizeof(bytes), 0) > 0)
		continue;
	CHECK(fixture_monotonic() - begun < TSPAN_SECONDS(5));
	close(client);
	end();
}

static void
an_empty_unix_socket_is_closed_here(void)
{
	int pair[2];
	char byte;

	begin();
	CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	closing_give_conn(fixture.group, pair[0], false, true);
	CHECK(!is_open(pair[0]));
	CHECK_EQ(0, recv(pair[1], &byte, 1, 0));
	close(pair[1]);
	end();
}

/* The client sees the end, and no reset, before its socket is closed. */
static void
descriptors_in_a_unix_socket_are_closed_by_a_keeper(void)
{
	int pair[2], ends[2];
	char byte;

	begin();
	CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	CHECK_EQ(0, pipe(ends));
	CHECK_EQ(1, fdpass_send(pair[1], "x", 1, ends[1]));
	close(ends[1]);
	closing_give_conn(fixture.group, pair[0], false, true);
	CHECK(is_open(pair[0]));
	CHECK_EQ(0, recv(pair[1], &byte, 1, 0));
	CHECK(!is_hung_up(ends[0]));
	while (fixture.group->nclosings > 0)
		(void)loop_turn(&sup.loop, fixture.now);
	for (int i = 0; i < 1000 && !is_hung_up(ends[0]); i++)
		(void)loop_turn(&sup.loop, fixture.now);
	CHECK(is_hung_up(ends[0]));
	CHECK_EQ(0, recv(pair[1], &byte, 1, 0));
	close(pair[1]);
	close(ends[0]);
	end();
}

static void
thousands_are_closed_by_one_keeper(void)
{
	int pair[2], before;

	begin();
	before = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	close(before);
	for (int i = 0; i < 3000; i++) {
		CHECK_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
		CHECK_EQ(1, write(pair[1], "x", 1));
		closing_give_conn(fixture.group, pair[0], false, true);
		close(pair[1]);
		if (i % 100 == 0)
			(void)loop_turn(&sup.loop, fixture.now);
	}
	while (fixture.group->nclosings > 0)
		(void)loop_turn(&sup.loop, fixture.now += TSPAN_MSECONDS(10));
	CHECK(!closing_is_full(fixture.group));
	end();
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(a_connection_that_does_not_linger_is_closed_here);
	RUN(a_connection_that_somebody_has_locked_holds_nobody_up);
	RUN(one_that_lingers_is_closed_by_a_keeper);
	RUN(an_empty_unix_socket_is_closed_here);
	RUN(descriptors_in_a_unix_socket_are_closed_by_a_keeper);
	RUN(thousands_are_closed_by_one_keeper);
	return check_finish();
}
