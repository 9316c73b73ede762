/* Listening sockets that programs with a copy accept from. */

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

#include "sys/listener.h"

#include "check.h"

static char folder[] = "/tmp/apppoold-share-test.XXXXXX";
static char path[64];
static struct sockaddr_in loopback;
static const char *why = "";

static struct listener_spec
spec_of(bool tcp)
{
	struct listener_spec spec = {
		.name = "shared",
		.inherited_fd = -1,
		.backlog = 10,
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
		.mode = 0600,
	};

	if (tcp) {
		spec.addr = (const void *)&loopback;
		spec.addrlen = sizeof(loopback);
	} else {
		spec.path = path;
	}
	return spec;
}

static struct listener
opened(bool tcp)
{
	struct listener_spec spec = spec_of(tcp);
	struct listener l;

	if (listener_open(&l, &spec, &why) == -1 ||
	    listener_share(&l, true) == -1)
		err(1, "%s", why);
	return l;
}

static bool
blocks(int fd)
{
	return (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
}

/* A program that still has the socket may make it block again. */
static void
a_listener_blocks_while_it_is_shared_and_not_afterwards(void)
{
	struct listener l = opened(true);

	CHECK(blocks(l.fd));
	CHECK_EQ(0, listener_share(&l, false));
	CHECK(!blocks(l.fd));
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
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct sock_fprog program = { .len = 1 };
	int fault = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	area.range.start = (uintptr_t)page;
	area.range.len = 4096;
	if (fault == -1 || ioctl(fault, UFFDIO_API, &api) == -1)
		return 0;
	program.filter = page;
	pid = fork();
	if (pid == 0) {
		/* The first ioctl has told there what it knows. */
		api.features = 0;
		fault = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
		(void)ioctl(fault, UFFDIO_API, &api);
		(void)ioctl(fault, UFFDIO_REGISTER, &area);
		(void)setsockopt(l->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
		    sizeof(program));
		_exit(1);
	}
	close(fault);
	/* Until it sleeps there. */
	poll(NULL, 0, 100);
	return pid;
}

/* All that is done to a shared socket, while another process holds its lock. */
static void
check_held(bool tcp)
{
	struct listener l = opened(tcp);
	struct listener_spec spec = spec_of(tcp);
	struct acceptor a = { .listener = l };
	pid_t holder = hold_lock(&l);

	if (holder == 0) {
		printf("# skipped: no userfaultfd\n");
		listener_fini(&l);
		return;
	}
	/* A wait for the lock does not end by a signal, but with the holder. */
	CHECK(listener_depth(&l) >= 0);
	CHECK(listener_half_open(&l) >= 0);
	CHECK(!listener_is_broken(&l));
	CHECK_EQ(0, acceptor_update(&a, &spec, &why));
	CHECK_EQ(0, listener_share(&l, true));
	listener_fini(&l);
	CHECK_EQ(0, waitpid(holder, NULL, WNOHANG));
	kill(holder, SIGKILL);
	(void)waitpid(holder, NULL, 0);
}

/* The same of one that somebody shut down since it was found sound. */
static void
check_held_and_shut(bool tcp)
{
	struct listener l = opened(tcp);
	pid_t holder;

	NEED(shutdown(l.fd, SHUT_RDWR) == 0);
	holder = hold_lock(&l);
	CHECK(listener_depth(&l) <= 0);
	CHECK_EQ(0, listener_share(&l, true));
	listener_fini(&l);
	if (holder == 0)
		return;
	kill(holder, SIGKILL);
	(void)waitpid(holder, NULL, 0);
}

static void
a_held_lock_of_a_shared_socket_holds_up_nothing(void)
{
	pid_t guard = getpid(), watch = fork();

	if (watch == 0) {
		/* Ends the holder, too, which would else keep us for ever. */
		sleep(10);
		(void)kill(-guard, SIGKILL);
		_exit(1);
	}
	check_held(true);
	check_held(false);
	check_held_and_shut(true);
	check_held_and_shut(false);
	kill(watch, SIGKILL);
	(void)waitpid(watch, NULL, 0);
}

int
main(int argc, char **argv)
{
	loopback.sin_family = AF_INET;
	loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (mkdtemp(folder) == NULL)
		err(1, "%s", folder);
	(void)snprintf(path, sizeof(path), "%s/sock", folder);

	(void)setpgid(0, 0);
	check_start(argc, argv);
	RUN(a_listener_blocks_while_it_is_shared_and_not_afterwards);
	RUN(a_held_lock_of_a_shared_socket_holds_up_nothing);
	(void)rmdir(folder);
	return check_finish();
}
