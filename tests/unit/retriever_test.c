/*
 * Taking back messages that a dead worker left unread. While a helper is asked
 * time stands still, so that a slow helper is not given up.
 */

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <linux/userfaultfd.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>

#include "sys/fdpass.h"
#include "sys/procinfo.h"
#include "sys/retriever.h"

#include "check.h"
#include "descriptors.h"

#define MANY 200

struct channel {
	struct retriever_take take; /* first */
	int ours;
	int child_end;
	int messages;
	int descriptors;
	bool in_order;
	bool ended;
	bool complete;
};

static struct loop loop;
static struct retriever retriever;
static int ends;
static tstamp virtual;

static tstamp
monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return TSPAN_SECONDS(ts.tv_sec) + ts.tv_nsec;
}

static tstamp
virtual_now(void *arg)
{
	(void)arg;
	return virtual;
}

static int
virtual_wait(
    void *arg, int epfd, struct epoll_event *events, int n, tspan timeout)
{
	int got = epoll_wait(epfd, events, n, 10);

	(void)arg;
	if (got == 0 && !retriever.asked && timeout != TSTAMP_NEVER)
		virtual = tstamp_add(virtual, timeout);
	return got;
}

static void
on_message(void *arg, struct retriever_take *take, const char *buf, size_t len,
    int fd, tstamp now)
{
	struct channel *c = (struct channel *)take;
	char wanted[32];

	CHECK(arg == &loop);
	CHECK_EQ(now, loop_now(&loop));
	(void)snprintf(wanted, sizeof(wanted), "CONN %d", c->messages);
	if (len != strlen(wanted) || memcmp(buf, wanted, len) != 0)
		c->in_order = false;
	c->messages++;
	if (fd != -1) {
		c->descriptors++;
		close(fd);
	}
}

static void
on_end(void *arg, struct retriever_take *take, bool complete, tstamp now)
{
	struct channel *c = (struct channel *)take;

	(void)arg;
	(void)now;
	CHECK(!c->ended);
	c->ended = true;
	c->complete = complete;
	ends++;
}

static const struct retriever_ops ops = {
	.message = on_message,
	.end = on_end,
};

/* Makes a channel with so many connections unread in it. */
static void
channel_init(struct channel *c, int messages)
{
	char buf[32];
	int sv[2], len;

	memset(c, 0, sizeof(*c));
	c->in_order = true;
	CHECK_EQ(0, fdpass_pair(sv));
	c->ours = sv[0];
	c->child_end = sv[1];
	for (int i = 0; i < messages; i++) {
		len = snprintf(buf, sizeof(buf), "CONN %d", i);
		CHECK_EQ(
		    len, fdpass_send(c->ours, buf, (size_t)len, STDIN_FILENO));
	}
}

static void
channel_fini(struct channel *c)
{
	close(c->ours);
	close(c->child_end);
}

static void
start(void)
{
	static const struct loop_clock clock = {
		.now = virtual_now,
		.wait = virtual_wait,
	};

	ends = 0;
	virtual = TSPAN_SECONDS(1000);
	CHECK_EQ(0, loop_init(&loop, &clock));
	CHECK_EQ(0, retriever_init(&retriever, &loop, &ops, &loop));
}

static void
stop(void)
{
	pid_t pid = retriever.pid;

	retriever_fini(&retriever);
	loop_fini(&loop);
	if (pid != 0)
		CHECK_EQ(pid, waitpid(pid, NULL, 0));
}

static void
turn(void)
{
	CHECK(loop_turn(&loop, TSTAMP_NEVER) != -1);
}

/* Turns the loop until so many takes have ended; gives up after 10 s. */
static void
turn_until_ended(int n)
{
	tstamp limit = monotonic() + TSPAN_SECONDS(10);

	while (ends < n && monotonic() < limit)
		turn();
	CHECK_EQ(n, ends);
}

/* Lets the time pass that an asked helper has. */
static void
lose_patience(tspan after)
{
	virtual += after - 1;
	turn();
	CHECK_EQ(0, ends);
	virtual += 1;
	turn();
	CHECK_EQ(1, ends);
}

static void
take(struct channel *c)
{
	retriever_take(&retriever, &c->take, c->child_end, loop_now(&loop));
}

static void
messages_come_back_in_their_order(void)
{
	struct channel c;

	start();
	channel_init(&c, MANY);
	take(&c);
	turn_until_ended(1);
	CHECK_EQ(MANY, c.messages);
	CHECK_EQ(MANY, c.descriptors);
	CHECK(c.in_order);
	CHECK(c.complete);
	CHECK_EQ(TSTAMP_NEVER, timers_first(&loop.timers));
	channel_fini(&c);
	stop();
}

static void
nothing_is_called_back_before_the_next_turn(void)
{
	struct channel c;

	start();
	channel_init(&c, 1);
	take(&c);
	CHECK_EQ(0, c.messages);
	CHECK(!c.ended);
	turn_until_ended(1);
	channel_fini(&c);
	stop();
}

static void
an_empty_channel_ends_at_once(void)
{
	struct channel c;

	start();
	channel_init(&c, 0);
	take(&c);
	turn_until_ended(1);
	CHECK_EQ(0, c.messages);
	CHECK(c.complete);
	channel_fini(&c);
	stop();
}

static void
a_channel_the_worker_shut_down_is_emptied(void)
{
	struct channel c;

	start();
	channel_init(&c, 3);
	shutdown(c.child_end, SHUT_RDWR);
	take(&c);
	turn_until_ended(1);
	CHECK_EQ(3, c.messages);
	CHECK(c.complete);
	channel_fini(&c);
	stop();
}

static void
credentials_the_worker_asked_for_do_no_harm(void)
{
	struct channel c;
	int on = 1;

	start();
	channel_init(&c, 0);
	CHECK_EQ(0,
	    setsockopt(c.child_end, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
	CHECK_EQ(6, fdpass_send(c.ours, "CONN 0", 6, STDIN_FILENO));
	take(&c);
	turn_until_ended(1);
	CHECK_EQ(1, c.descriptors);
	channel_fini(&c);
	stop();
}

static void
several_channels_are_emptied_one_after_another(void)
{
	static struct channel c[20];

	start();
	for (int i = 0; i < 20; i++) {
		channel_init(&c[i], i);
		take(&c[i]);
	}
	turn_until_ended(20);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(i, c[i].descriptors);
		CHECK(c[i].complete);
		channel_fini(&c[i]);
	}
	stop();
}

static void
no_descriptor_is_left_open(void)
{
	struct channel c;
	int before;

	start();
	before = descriptors();
	channel_init(&c, 10);
	take(&c);
	turn_until_ended(1);
	channel_fini(&c);
	CHECK_EQ(before, descriptors());
	stop();
}

static void
the_inquiry_counts_unread_bytes(void)
{
	struct channel c;

	channel_init(&c, 0);
	CHECK_EQ(0, retriever_inquire(c.child_end));
	CHECK_EQ(6, fdpass_send(c.ours, "CONN 0", 6, STDIN_FILENO));
	CHECK_EQ(6, retriever_inquire(c.child_end));
	channel_fini(&c);
}

static void
the_helper_keeps_only_its_own_descriptors(void)
{
	struct channel c;
	char path[64];
	struct dirent *e;
	DIR *dir;
	int n = 0;

	start();
	/* A helper that has answered has closed what it inherited. */
	channel_init(&c, 1);
	take(&c);
	turn_until_ended(1);
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", retriever.pid);
	dir = opendir(path);
	NEED(dir != NULL);
	while ((e = readdir(dir)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		CHECK(strlen(e->d_name) == 1 && e->d_name[0] <= '3');
		n++;
	}
	closedir(dir);
	CHECK_EQ(4, n);
	channel_fini(&c);
	stop();
}

static void
a_signal_to_our_group_leaves_the_helper_alone(void)
{
	struct channel c;
	pid_t pid;

	start();
	channel_init(&c, 1);
	take(&c);
	turn_until_ended(1);
	pid = retriever.pid;
	kill(pid, SIGTERM);
	kill(pid, SIGINT);
	memset(&c.take, 0, sizeof(c.take));
	c.ended = false;
	take(&c);
	turn_until_ended(2);
	CHECK_EQ(pid, retriever.pid);
	channel_fini(&c);
	stop();
}

static void
the_helper_ends_with_the_daemon(void)
{
	pid_t pid;

	start();
	pid = retriever.pid;
	/* The helper sees what it would see if we had died. */
	close(retriever.io.fd);
	CHECK_EQ(pid, waitpid(pid, NULL, 0));
	CHECK(retriever_exited(&retriever, pid));
	CHECK_EQ(0, retriever.pid);
	loop_fini(&loop);
}

static void
a_killed_helper_is_replaced(void)
{
	struct channel c;
	pid_t pid;

	start();
	pid = retriever.pid;
	kill(pid, SIGKILL);
	CHECK_EQ(pid, waitpid(pid, NULL, 0));
	CHECK(retriever_exited(&retriever, pid));
	CHECK(!retriever_exited(&retriever, pid));
	channel_init(&c, 5);
	take(&c);
	turn_until_ended(1);
	CHECK_EQ(5, c.descriptors);
	CHECK(c.complete);
	channel_fini(&c);
	stop();
}

static void
a_late_helper_is_waited_for(void)
{
	struct channel c;

	start();
	kill(retriever.pid, SIGSTOP);
	channel_init(&c, 5);
	take(&c);
	for (tspan late = 0; late < RETRIEVER_LIMIT - RETRIEVER_PATIENCE;
	     late += RETRIEVER_PATIENCE) {
		virtual += RETRIEVER_PATIENCE;
		turn();
	}
	CHECK_EQ(0, ends);
	kill(retriever.pid, SIGCONT);
	turn_until_ended(1);
	CHECK(c.complete);
	CHECK_EQ(5, c.descriptors);
	channel_fini(&c);
	stop();
}

static void
a_stopped_helper_is_given_up(void)
{
	struct channel a, b;
	pid_t pid;

	start();
	pid = retriever.pid;
	kill(pid, SIGSTOP);
	channel_init(&a, 5);
	channel_init(&b, 5);
	take(&a);
	take(&b);
	lose_patience(RETRIEVER_LIMIT);
	turn_until_ended(2);
	CHECK(!a.complete);
	CHECK_EQ(0, a.messages);
	CHECK(b.complete);
	CHECK_EQ(5, b.descriptors);
	CHECK(pid != retriever.pid);
	CHECK_EQ(pid, waitpid(pid, NULL, 0));
	channel_fini(&a);
	channel_fini(&b);
	stop();
}

/* Holds the socket's lock, in recv() on a page that never comes. */
static void
sit_in_recv(int fd)
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
	(void)!syscall(SYS_recvfrom, fd, page, 64, 0, NULL, NULL);
	_exit(0);
}

/* Starts a process that does; returns its number, or -1 where it may not. */
static pid_t
start_sitter(const struct channel *c)
{
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		/* waitpid(2) might take for ever. */
		alarm(60);
		close(c->ours);
		sit_in_recv(c->child_end);
	}
	/* The process has taken the message when the queue is empty. */
	for (int i = 0; i < 10000; i++) {
		if (retriever_inquire(c->child_end) == 0)
			return pid;
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return -1;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return -1;
}

static void
wait_until_stuck(pid_t helper)
{
	tstamp limit = monotonic() + TSPAN_SECONDS(10);
	struct procinfo info;

	do
		CHECK_EQ(0, procinfo_read(helper, &info));
	while (info.state != 'D' && monotonic() < limit);
	CHECK_EQ('D', info.state);
}

static void
a_descendant_stuck_in_recvmsg_stops_no_other_take(void)
{
	struct channel stuck, other;
	tstamp begun = monotonic();
	pid_t sitter, helper;

	start();
	channel_init(&stuck, 1);
	sitter = start_sitter(&stuck);
	if (sitter == -1) {
		channel_fini(&stuck);
		stop();
		SKIP("userfaultfd is not for us here");
	}
	CHECK_EQ(6, fdpass_send(stuck.ours, "CONN 1", 6, STDIN_FILENO));
	CHECK_EQ(6, retriever_inquire(stuck.child_end));
	channel_init(&other, 3);
	helper = retriever.pid;

	take(&stuck);
	take(&other);
	wait_until_stuck(helper);
	lose_patience(RETRIEVER_PATIENCE);
	turn_until_ended(2);
	CHECK(!stuck.complete);
	CHECK_EQ(0, stuck.messages);
	CHECK(other.complete);
	CHECK_EQ(3, other.descriptors);
	/* Closing does not wait for the stuck process either. */
	shutdown(stuck.ours, SHUT_RDWR);
	channel_fini(&stuck);
	CHECK(monotonic() - begun < TSPAN_SECONDS(30));

	kill(sitter, SIGKILL);
	CHECK_EQ(sitter, waitpid(sitter, NULL, 0));
	CHECK_EQ(helper, waitpid(helper, NULL, 0));
	channel_fini(&other);
	stop();
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(messages_come_back_in_their_order);
	RUN(nothing_is_called_back_before_the_next_turn);
	RUN(an_empty_channel_ends_at_once);
	RUN(a_channel_the_worker_shut_down_is_emptied);
	RUN(credentials_the_worker_asked_for_do_no_harm);
	RUN(several_channels_are_emptied_one_after_another);
	RUN(no_descriptor_is_left_open);
	RUN(the_inquiry_counts_unread_bytes);
	RUN(the_helper_keeps_only_its_own_descriptors);
	RUN(a_signal_to_our_group_leaves_the_helper_alone);
	RUN(the_helper_ends_with_the_daemon);
	RUN(a_killed_helper_is_replaced);
	RUN(a_late_helper_is_waited_for);
	RUN(a_stopped_helper_is_given_up);
	RUN(a_descendant_stuck_in_recvmsg_stops_no_other_take);
	return check_finish();
}
