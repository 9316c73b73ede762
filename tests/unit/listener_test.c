/* Listening sockets, and shutting them without losing a connection. */

#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "sys/address.h"
#include "sys/listener.h"

#include "../hostile/absent.h"
#include "../support/nodiag.h"
#include "check.h"

static char path[64];
static struct sockaddr_in loopback;

enum where {
	TCP,
	UNIX,
	WHERES
};

static struct listener_spec
spec_of(enum where where)
{
	struct listener_spec spec = {
		.name = "test",
		.inherited_fd = -1,
		.backlog = 100,
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
		.mode = 0640,
	};

	if (where == TCP) {
		spec.addr = (const void *)&loopback;
		spec.addrlen = sizeof(loopback);
	} else {
		spec.path = path;
	}
	return spec;
}

/* Opens a listener, or ends the test program. */
static struct listener
opened_as(const struct listener_spec *spec)
{
	const char *why = "";
	struct listener l;

	if (listener_open(&l, spec, &why) == -1)
		err(1, "%s", why);
	return l;
}

static struct listener
opened(enum where where)
{
	struct listener_spec spec = spec_of(where);

	return opened_as(&spec);
}

/* Returns 0 or an errno; *out is the connected socket, or -1. */
static int
connect_to(
    const struct sockaddr_storage *addr, socklen_t len, int flags, int *out)
{
	int fd = socket(addr->ss_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	int error = 0;

	*out = -1;
	if (fd == -1)
		return errno;
	if (connect(fd, (const void *)addr, len) == -1)
		error = errno;
	if (error == 0 || error == EINPROGRESS)
		*out = fd;
	else
		close(fd);
	return error;
}

/* -1 and errno, or a connected socket. */
static int
client_of(const struct listener *l)
{
	int fd;

	errno = connect_to(&l->addr, l->addrlen, 0, &fd);
	return fd;
}

static bool
is_file(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

/* The listener accepts the client, which has connected. */
static void
check_accepted(struct listener *l, int client)
{
	int conn = listener_accept(l, 0);

	CHECK(client != -1);
	CHECK(conn >= 0);
	close(conn);
	close(client);
}

/* Opens it, connects, is accepted and answered, and leaves the queue empty. */
static void
check_accepts(const struct listener_spec *spec)
{
	struct listener l = opened_as(spec);
	int client, conn;

	CHECK_EQ(LISTENER_EMPTY, listener_accept(&l, 0));
	client = client_of(&l);
	NEED(client != -1);
	conn = listener_accept(&l, 0);
	NEED(conn >= 0);
	CHECK(send(conn, "x", 1, MSG_NOSIGNAL) == 1);
	close(conn);
	close(client);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(LISTENER_EMPTY, listener_accept(&l, 0));
	listener_fini(&l);
}

TEST(an_ipv6_listener_accepts_and_ipv4_unless_v6only)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 };
	struct listener_spec spec = spec_of(TCP);
	const char *why;
	struct listener l;

	spec.addr = (const void *)&any;
	spec.addrlen = sizeof(any);
	for (int v6only = 0; v6only <= 1; v6only++) {
		struct sockaddr_storage to = { 0 };
		struct sockaddr_in in = loopback;
		int fd;

		spec.v6only = v6only;
		SKIP_IF(listener_open(&l, &spec, &why) == -1, "no IPv6 here");
		check_accepted(&l, client_of(&l));
		memcpy(&in.sin_port, (char *)&l.addr + 2, 2);
		memcpy(&to, &in, sizeof(in));
		CHECK_EQ(v6only ? ECONNREFUSED : 0,
		    connect_to(&to, sizeof(in), 0, &fd));
		close(fd);
		listener_fini(&l);
	}
}

TEST(the_listener_is_nonblocking_and_the_connection_is_not)
{
	struct listener l = opened(TCP);
	int client = client_of(&l);
	int conn = listener_accept(&l, 0);

	NEED(client != -1);
	NEED(conn >= 0);
	CHECK((fcntl(l.fd, F_GETFL) & O_NONBLOCK) != 0);
	CHECK((fcntl(l.fd, F_GETFD) & FD_CLOEXEC) != 0);
	CHECK((fcntl(conn, F_GETFL) & O_NONBLOCK) == 0);
	CHECK((fcntl(conn, F_GETFD) & FD_CLOEXEC) != 0);
	close(conn);
	close(client);
	listener_fini(&l);
}

TEST(a_probe_finds_any_address_in_the_way_of_one)
{
	struct listener_spec spec = spec_of(TCP);
	struct sockaddr_in any = loopback;
	struct listener l;
	const char *why;

	any.sin_addr.s_addr = htonl(INADDR_ANY);
	spec.addr = (const void *)&any;
	l = opened_as(&spec);
	memcpy(&any, &l.addr, sizeof(any));
	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_EQ(-1, listener_probe(&spec, &why));
	listener_fini(&l);
}

/* ------------------------------------------------------- Unix sockets */

TEST(owner_mode_and_backlog_change_in_place)
{
	struct listener_spec spec = spec_of(UNIX);
	struct listener l = opened(UNIX);
	struct acceptor a = { .listener = l };
	int client = client_of(&l);
	const char *why = "";
	struct stat st;

	spec.mode = 0606;
	spec.backlog = 7;
	if (geteuid() == 0)
		spec.uid = 65534;
	CHECK_EQ(0, acceptor_update(&a, &spec, &why));
	NEED(stat(path, &st) == 0);
	CHECK_EQ(S_IFSOCK | 0606, st.st_mode);
	CHECK_EQ(geteuid() == 0 ? 65534 : geteuid(), st.st_uid);
	check_accepted(&l, client);
	listener_fini(&l);
}

/* A file that somebody who may write the folder exchanges for the socket. */
static char beside[sizeof(path) + 8];
static atomic_bool exchanging;

static void *
exchange(void *arg)
{
	while (atomic_load(&exchanging))
		(void)renameat2(
		    AT_FDCWD, path, AT_FDCWD, beside, RENAME_EXCHANGE);
	return arg;
}

TEST(a_file_that_takes_the_place_of_the_socket_is_never_changed)
{
	struct listener_spec spec = spec_of(UNIX);
	struct listener l = opened(UNIX);
	unsigned changed = 0;
	pthread_t thread;
	const char *why;
	struct stat st;
	int fd;

	(void)snprintf(beside, sizeof(beside), "%s.beside", path);
	fd = open(beside, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	NEED(fd != -1);
	atomic_store(&exchanging, true);
	NEED(pthread_create(&thread, NULL, exchange, NULL) == 0);
	for (int i = 0; i < 100000; i++) {
		(void)listener_protect(
		    path, &l.file, spec.uid, spec.gid, spec.mode, &why);
		changed +=
		    fstat(fd, &st) == 0 && st.st_mode != (S_IFREG | 0600);
	}
	atomic_store(&exchanging, false);
	pthread_join(thread, NULL);
	CHECK_EQ(0, changed);
	close(fd);
	listener_fini(&l);
	unlink(path);
	unlink(beside);
}

TEST(a_stale_socket_is_replaced)
{
	struct listener_spec spec = spec_of(UNIX);
	struct listener l = opened(UNIX);
	const char *why;

	/* Leaves a socket file behind, as a daemon that was killed does. */
	close(l.fd);
	l.fd = -1;
	free(l.path);
	l.path = NULL;
	listener_fini(&l);
	NEED(is_file(path));

	CHECK_EQ(0, listener_probe(&spec, &why));
	check_accepts(&spec);
}

TEST(a_file_that_is_no_socket_is_refused_and_kept)
{
	struct listener_spec spec = spec_of(UNIX);
	struct listener l;
	const char *why;
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	NEED(fd != -1);
	close(fd);
	CHECK_ERRNO(ENOTSOCK, listener_open(&l, &spec, &why));
	CHECK_ERRNO(ENOTSOCK, listener_probe(&spec, &why));
	CHECK(is_file(path));
	unlink(path);
}

TEST(a_failure_leaves_no_file_behind)
{
	struct listener_spec spec = spec_of(UNIX);
	struct listener l;
	const char *why;

	SKIP_IF(geteuid() == 0, "root may give files away");
	spec.uid = 0;
	CHECK_ERRNO(EPERM, listener_open(&l, &spec, &why));
	CHECK_STR("change the owner of the socket", why);
	CHECK(!is_file(path));
}

TEST(a_folder_that_somebody_has_locked_can_be_listened_in)
{
	struct listener_spec spec = spec_of(UNIX);
	int fd = open(check.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	NEED(flock(fd, LOCK_EX) == 0);
	check_accepts(&spec);
	close(fd);
}

/* ---------------------------------------------------------- inherited */

TEST(an_inherited_listener_is_used_and_left_open)
{
	struct listener_spec spec = { .name = "fd" };
	struct listener theirs = opened(TCP), l;

	fcntl(theirs.fd, F_SETFL, 0);
	fcntl(theirs.fd, F_SETFD, 0);
	spec.inherited_fd = theirs.fd;
	l = opened_as(&spec);
	CHECK_EQ(LISTENER_TCP, l.kind);
	CHECK((fcntl(l.fd, F_GETFL) & O_NONBLOCK) != 0);
	CHECK((fcntl(l.fd, F_GETFD) & FD_CLOEXEC) != 0);
	CHECK_EQ(0, listener_shut(&l));
	check_accepted(&l, client_of(&l));
	listener_fini(&l);
	check_accepted(&theirs, client_of(&theirs));
	listener_fini(&theirs);
}

/* -------------------------------------------------- trouble with accept */

/* No further descriptor can be opened until this is undone with -1. */
static void
limit_descriptors(int most)
{
	static struct rlimit before;
	struct rlimit limit;

	if (most == -1) {
		setrlimit(RLIMIT_NOFILE, &before);
		return;
	}
	getrlimit(RLIMIT_NOFILE, &before);
	limit = before;
	limit.rlim_cur = (rlim_t)most;
	setrlimit(RLIMIT_NOFILE, &limit);
}

TEST(a_listener_without_descriptors_rests_and_loses_no_connection)
{
	struct listener l = opened(TCP);
	tstamp now = TSPAN_SECONDS(1000);
	int client = client_of(&l);
	int conn;

	NEED(client != -1);
	limit_descriptors(client + 1);
	CHECK_EQ(LISTENER_RESTING, listener_accept(&l, now));
	CHECK_EQ(now + LISTENER_REST, l.rest_until);
	limit_descriptors(-1);

	CHECK_EQ(LISTENER_RESTING, listener_accept(&l, now + 1));
	conn = listener_accept(&l, l.rest_until);
	CHECK(conn >= 0);
	close(conn);
	close(client);
	listener_fini(&l);
}

TEST(a_listener_that_was_shut_down_is_broken)
{
	for (enum where i = 0; i < WHERES; i++) {
		struct listener l = opened(i);

		CHECK(!listener_is_broken(&l));
		NEED(shutdown(l.fd, SHUT_RDWR) == 0);
		CHECK(listener_is_broken(&l));
		(void)listener_accept(&l, 0);
		CHECK_EQ(LISTENER_BROKEN, listener_accept(&l, 0));
		listener_fini(&l);
	}
}

/* ---------------------------------------------------------- the queue */

TEST(the_depth_is_the_length_of_the_queue)
{
	for (enum where i = 0; i < WHERES; i++) {
		struct listener l = opened(i);
		int client[3];

		CHECK_EQ(0, listener_depth(&l));
		for (int k = 0; k < 3; k++)
			client[k] = client_of(&l);
		CHECK_EQ(3, listener_depth(&l));
		close(listener_accept(&l, 0));
		CHECK_EQ(2, listener_depth(&l));
		for (int k = 0; k < 3; k++)
			close(client[k]);
		listener_fini(&l);
	}
}

/* Packets to the client are dropped; or pass again. */
static void
deafen(int fd, bool on)
{
	int ttl = on ? 255 : 0;

	setsockopt(fd, IPPROTO_IP, IP_MINTTL, &ttl, sizeof(ttl));
}

static void
pause_for(int milliseconds)
{
	(void)poll(NULL, 0, milliseconds);
}

/*
 * The client does not hear our half of the handshake until the
 * listener is shut; then it still gets in, and until then it is counted.
 */
TEST(a_handshake_under_way_is_counted_and_completes)
{
	struct listener l = opened(TCP);
	int client =
	    socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int conn = LISTENER_EMPTY;
	char c;

	if (listener_half_open(&l) == -1) {
		close(client);
		listener_fini(&l);
		SKIP_IF(
		    true, "too many sockets to look through without sock_diag");
	}
	deafen(client, true);
	CHECK(connect(client, (void *)&l.addr, l.addrlen) == -1);
	for (int i = 0; i < 100 && listener_half_open(&l) != 1; i++)
		pause_for(10);
	CHECK_EQ(1, listener_half_open(&l));

	CHECK_EQ(0, listener_shut(&l));
	deafen(client, false);
	for (int i = 0; i < 1000 && conn == LISTENER_EMPTY; i++) {
		pause_for(10);
		conn = listener_accept(&l, 0);
	}
	CHECK(conn >= 0);
	CHECK_EQ(0, listener_half_open(&l));
	CHECK(send(client, "x", 1, 0) == 1);
	CHECK(recv(conn, &c, 1, 0) == 1);
	close(conn);
	close(client);
	listener_fini(&l);
}

/* ------------------------------------------------------- interrupted */

static void
nothing(int sig)
{
	(void)sig;
}

/* A process with a copy of the socket may change the flag. */
TEST_ALONE(a_listener_that_was_made_to_block_is_empty_when_interrupted)
{
	const struct sigaction action = { .sa_handler = nothing };
	const struct itimerval soon = { .it_value.tv_usec = 20000 };
	struct listener l = opened(TCP);

	CHECK_EQ(0, sigaction(SIGALRM, &action, NULL));
	CHECK_EQ(0, fcntl(l.fd, F_SETFL, 0));
	setitimer(ITIMER_REAL, &soon, NULL);
	CHECK_EQ(LISTENER_EMPTY, listener_accept(&l, 0));
	/* From then on it is seen to. */
	CHECK_EQ(0, fcntl(l.fd, F_SETFL, 0));
	CHECK_EQ(LISTENER_EMPTY, listener_accept(&l, 0));
	listener_fini(&l);
}

/* ----------------------------------------------------------- shutting */

TEST(a_shut_unix_listener_refuses_newcomers_at_once)
{
	struct listener l = opened(UNIX);

	CHECK_EQ(0, listener_shut(&l));
	CHECK_ERRNO(ECONNREFUSED, client_of(&l));
	listener_fini(&l);
}

TEST(a_shut_tcp_listener_refuses_newcomers_in_the_end)
{
	struct listener l = opened(TCP);
	struct pollfd pfd = { .events = POLLOUT };
	int error = 0;

	CHECK_EQ(0, listener_shut(&l));
	NEED(connect_to(&l.addr, l.addrlen, SOCK_NONBLOCK, &pfd.fd) ==
	    EINPROGRESS);
	CHECK_EQ(0, poll(&pfd, 1, 100));
	CHECK_EQ(LISTENER_EMPTY, listener_accept(&l, 0));
	listener_fini(&l);
	CHECK_EQ(1, poll(&pfd, 1, 20000));
	getsockopt(pfd.fd, SOL_SOCKET, SO_ERROR, &error,
	    &(socklen_t){ sizeof(error) });
	CHECK_EQ(ECONNREFUSED, error);
	close(pfd.fd);
}

struct crowd {
	const struct listener *at;
	atomic_long served;
	atomic_long lost;
	atomic_long refused;
};

/* Connects as fast as it can, until it is refused. */
static void *
come(void *arg)
{
	struct crowd *crowd = arg;
	int fd;
	char c;

	while (connect_to(&crowd->at->addr, crowd->at->addrlen, 0, &fd) == 0) {
		if (recv(fd, &c, 1, 0) == 1)
			atomic_fetch_add(&crowd->served, 1);
		else
			atomic_fetch_add(&crowd->lost, 1);
		close(fd);
	}
	atomic_fetch_add(&crowd->refused, 1);
	return NULL;
}

static void
serve(struct listener *l)
{
	int conn;

	while ((conn = listener_accept(l, 0)) >= 0) {
		(void)send(conn, "x", 1, MSG_NOSIGNAL);
		close(conn);
	}
}

enum {
	CROWD = 4
};

static void
shutting_one_loses_none(enum where where)
{
	struct listener l = opened(where);
	struct crowd crowd = { .at = &l };
	pthread_t thread[CROWD];

	for (int i = 0; i < CROWD; i++)
		NEED(pthread_create(&thread[i], NULL, come, &crowd) == 0);
	while (atomic_load(&crowd.served) < 2000)
		serve(&l);

	CHECK_EQ(0, listener_shut(&l));
	serve(&l);
	for (int i = 0; i < 200 && listener_half_open(&l) > 0; i++)
		pause_for(10);
	serve(&l);
	listener_fini(&l);
	for (int i = 0; i < CROWD; i++)
		pthread_join(thread[i], NULL);
	CHECK_EQ(0, crowd.lost);
	CHECK_EQ(CROWD, crowd.refused);
}

TEST(shutting_a_listener_loses_no_connection)
{
	shutting_one_loses_none(TCP);
	shutting_one_loses_none(UNIX);
}

/* ----------------------------------- sockets that programs have, too */

/* A program that still has the socket may make it block again. */
TEST(a_listener_blocks_if_wanted_while_it_is_shared_and_not_afterwards)
{
	struct listener l = opened(TCP);

	CHECK_EQ(0, listener_share(&l, true, true));
	CHECK_EQ(0, fcntl(l.fd, F_GETFL) & O_NONBLOCK);
	CHECK_EQ(0, listener_share(&l, true, false));
	CHECK_EQ(O_NONBLOCK, fcntl(l.fd, F_GETFL) & O_NONBLOCK);
	CHECK_EQ(0, listener_share(&l, true, true));
	CHECK_EQ(0, listener_share(&l, false, true));
	CHECK_EQ(O_NONBLOCK, fcntl(l.fd, F_GETFL) & O_NONBLOCK);
	CHECK_EQ(0, fcntl(l.fd, F_SETFL, 0));
	CHECK_EQ(LISTENER_EMPTY, listener_accept(&l, 0));
	listener_fini(&l);
}

/*
 * A process that holds the lock of the socket for as long as it lives: it
 * never gets the memory that setsockopt(2) is to read. 0: there is no such
 * memory here.
 */
static pid_t
hold_lock(const struct listener *l)
{
	struct sock_fprog program = { .len = 1 };
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		program.filter = (struct sock_filter *)(void *)absent_page();
		(void)setsockopt(l->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
		    sizeof(program));
		_exit(1);
	}
	if (absent_awaited(pid))
		return pid;
	CHECK_EQ(pid, waitpid(pid, &status, 0));
	CHECK_EQ(77, WEXITSTATUS(status));
	return 0;
}

/*
 * All that is done to a shared socket, while another process holds its lock;
 * shut: somebody shut it down since it was found sound.
 */
static void
check_held(enum where where, bool shut)
{
	struct listener_spec spec = spec_of(where);
	struct listener l = opened(where);
	struct acceptor a = { .listener = l };
	const char *why;
	pid_t holder;

	CHECK_EQ(0, listener_share(&l, true, true));
	a.listener.shared = true;
	if (shut)
		CHECK_EQ(0, shutdown(l.fd, SHUT_RDWR));
	holder = hold_lock(&l);
	/* A wait for the lock does not end by a signal, but with the holder. */
	CHECK(listener_depth(&l) >= (shut ? -1 : 0));
	CHECK(listener_depth(&l) <= 0);
	if (!shut) {
		CHECK(listener_half_open(&l) >= 0);
		CHECK(!listener_is_broken(&l));
		CHECK_EQ(0, acceptor_update(&a, &spec, &why));
	}
	CHECK_EQ(0, listener_share(&l, true, true));
	listener_fini(&l);
	if (holder == 0)
		return;
	CHECK_EQ(0, waitpid(holder, NULL, WNOHANG));
	kill(holder, SIGKILL);
	(void)waitpid(holder, NULL, 0);
}

TEST_ALONE(a_held_lock_of_a_shared_socket_holds_up_nothing)
{
	pid_t guard = getpid(), watch;

	(void)setpgid(0, 0);
	watch = fork();
	if (watch == 0) {
		/* Ends the holder, too, which would else keep us for ever. */
		sleep(10);
		(void)kill(-guard, SIGKILL);
		_exit(1);
	}
	for (enum where i = 0; i < WHERES; i++) {
		check_held(i, false);
		check_held(i, true);
	}
	kill(watch, SIGKILL);
	(void)waitpid(watch, NULL, 0);
}

int
main(int argc, char **argv)
{
	CHECK_FILE(path, "sock");
	loopback.sin_family = AF_INET;
	loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);

	check_start(argc, argv);
	check_all();
	/* Once more, without the kernel's monitor of sockets. */
	if (nodiag_begin()) {
		RUN(the_depth_is_the_length_of_the_queue);
		RUN(a_handshake_under_way_is_counted_and_completes);
		RUN(shutting_a_listener_loses_no_connection);
	}

	return check_finish();
}
