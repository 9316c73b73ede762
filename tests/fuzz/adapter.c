/*
 * Any program behind apppool-accept: its calls of accept() with any arguments,
 * its memory and descriptors as it likes, its threads gone at any moment; and
 * any messages of a daemon. The kernel's answers about the program are made
 * up; sockets are real.
 *
 * No connection is given twice, each has one end, nothing is written but where
 * accept() was told to, and no descriptor is left.
 *
 * The input is a list of steps from its front, and of answers of the kernel
 * from its back.
 */

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <linux/seccomp.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter/accept.h"
#include "sys/fdpass.h"
#include "sys/number.h"
#include "sys/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No number that a process here can have. */
#define PROGRAM 0x40000000
#define THREADS 4

/* Numbers that no descriptor has. */
#define NOTIFY 5000
#define PIDFD 5001
#define MEMORY 5002

#define STEPS_MAX 48
#define CALLS STEPS_MAX
#define CONNS STEPS_MAX

enum step {
	STEP_CALL,
	STEP_CONNECT, /* the daemon hands a connection out */
	STEP_SAY, /* it says anything */
	STEP_LEAVE, /* it is gone */
	STEP_WAIT,
	STEP_SIGNAL,
	STEP_VANISH, /* a call is interrupted */
	STEP_SHUT,
	STEP_BLOCK, /* the program changes O_NONBLOCK of its socket */
	STEP_END,
	STEPS
};

enum conn_end {
	CONN_SENT,
	CONN_GIVEN,
	CONN_OVER,
};

enum peer {
	PEER_NAMED,
	PEER_NONE, /* not connected */
	PEER_NO_SOCKET,
	PEERS
};

static struct {
	const uint8_t *data;
	size_t size;
} in;

static struct {
	bool runs; /* else the functions below are the real ones */
	bool receiving; /* a call is to be received */
	struct seccomp_notif call;
	bool waits[CALLS + 1]; /* by its id */
	struct call calls[CALLS + 1]; /* likewise, as the kernel has them */
	size_t ncalls;
	enum conn_end conns[CONNS + 1]; /* by its serial */
	size_t nconns;
	bool ready, retired;
	bool left; /* the daemon is gone */
} world;

static struct adapter a;
static jmp_buf exited;
static struct listener listeners[2]; /* of a Unix app, and of a TCP app */
static int peers[PEERS];
static int channel[2]; /* ours, and the adapter's */

static uint8_t
next(void)
{
	if (in.size == 0)
		return 0;
	in.size--;
	return *in.data++;
}

/* The next event of the kernel; 0 at the end. */
static uint8_t
mood(void)
{
	return in.size == 0 ? 0 : in.data[--in.size];
}

/* --- the kernel --------------------------------------------------------- */

int __wrap_ioctl(int fd, unsigned long request, void *arg);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, size_t n,
    const struct iovec *there, size_t m, size_t flags);
ssize_t __wrap_process_vm_writev(pid_t pid, const struct iovec *here, size_t n,
    const struct iovec *there, size_t m, size_t flags);
ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t at);
ssize_t __real_pread(int fd, void *buf, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *buf, size_t size, off_t at);
ssize_t __real_pwrite(int fd, const void *buf, size_t size, off_t at);
long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);
int __wrap_stat(const char *path, struct stat *out);
int __real_stat(const char *path, struct stat *out);
int __wrap_access(const char *path, int mode);
int __real_access(const char *path, int mode);
int __wrap_kill(pid_t pid, int sig);
int __real_kill(pid_t pid, int sig);
_Noreturn void __wrap__exit(int status);
_Noreturn void __real__exit(int status);

static int
fail(int error)
{
	errno = error;
	return -1;
}

/* A thread may be interrupted at any moment. */
static bool
waits(uint64_t id)
{
	assert(id >= 1 && id <= world.ncalls);
	if (world.waits[id] && mood() == 255)
		world.waits[id] = false;
	return world.waits[id];
}

static int
give(const struct seccomp_notif_addfd *addfd)
{
	uint64_t serial = a.received.serial;

	assert(addfd->flags == SECCOMP_ADDFD_FLAG_SEND);
	assert((int)addfd->srcfd == a.received.fd);
	if (!waits(addfd->id))
		return fail(ENOENT);
	if (mood() == 254)
		return fail(EMFILE);
	assert(world.conns[serial] == CONN_SENT);
	world.conns[serial] = CONN_GIVEN;
	world.waits[addfd->id] = false;
	return mood();
}

int
__wrap_ioctl(int fd, unsigned long request, void *arg)
{
	const struct seccomp_notif_resp *r = arg;

	assert(fd == NOTIFY);
	switch (request) {
	case SECCOMP_IOCTL_NOTIF_RECV:
		if (!world.receiving)
			return fail(ENOENT);
		world.receiving = false;
		memcpy(arg, &world.call, sizeof(world.call));
		return 0;
	case SECCOMP_IOCTL_NOTIF_ADDFD:
		return give(arg);
	case SECCOMP_IOCTL_NOTIF_SEND:
		assert(r->val == 0 && r->error <= 0);
		if (!waits(r->id))
			return fail(ENOENT);
		world.waits[r->id] = false;
		return 0;
	default:
		assert(request == SECCOMP_IOCTL_NOTIF_ID_VALID);
		return waits(*(uint64_t *)arg) ? 0 : fail(ENOENT);
	}
}

/* How much of so many bytes can be copied; or -1. */
static ssize_t
copied(size_t len)
{
	uint8_t m = mood();

	switch (m) {
	case 255:
		return fail(EFAULT);
	case 254:
		return fail(EPERM);
	case 253:
		return fail(ESRCH);
	case 252:
		return fail(ENOSYS);
	case 251:
		return fail(EIO);
	case 250:
		return 0;
	case 249:
		return (ssize_t)len / 2;
	default:
		return (ssize_t)len;
	}
}

static void
room(void *out, size_t len)
{
	const uint8_t bytes[4] = { mood(), 0, mood() / 255, mood() };

	assert(len == sizeof(bytes));
	memcpy(out, bytes, len);
}

ssize_t
__wrap_process_vm_readv(pid_t pid, const struct iovec *here, size_t n,
    const struct iovec *there, size_t m, size_t flags)
{
	assert(n == 1 && m == 1 && flags == 0 && pid > 0);
	assert(here->iov_len == there->iov_len);
	room(here->iov_base, here->iov_len);
	return copied(here->iov_len);
}

/* Whether a call that waits wants so many bytes there, or fewer than given. */
static void
check_write(uint64_t to, const void *from, size_t len)
{
	static char written[sizeof(struct sockaddr_storage)];
	bool wanted = len == 0;

	for (size_t i = 0; i < a.calls.len; i++) {
		const struct call *c = &a.calls.list[i];

		if (to == c->address && c->address != 0 && len <= c->room)
			wanted = true;
		if (to == c->length && c->address != 0 &&
		    len == sizeof(socklen_t))
			wanted = true;
	}
	assert(wanted && len <= sizeof(written));
	memcpy(written, from, len);
}

ssize_t
__wrap_process_vm_writev(pid_t pid, const struct iovec *here, size_t n,
    const struct iovec *there, size_t m, size_t flags)
{
	size_t len = 0;

	assert(n == 2 && m == 2 && flags == 0 && pid > 0);
	for (size_t i = 0; i < n; i++) {
		assert(here[i].iov_len == there[i].iov_len);
		check_write((uintptr_t)there[i].iov_base, here[i].iov_base,
		    here[i].iov_len);
		len += here[i].iov_len;
	}
	return copied(len);
}

ssize_t
__wrap_pread(int fd, void *buf, size_t size, off_t at)
{
	if (!world.runs)
		return __real_pread(fd, buf, size, at);
	assert(fd == MEMORY);
	room(buf, size);
	return copied(size);
}

ssize_t
__wrap_pwrite(int fd, const void *buf, size_t size, off_t at)
{
	if (!world.runs)
		return __real_pwrite(fd, buf, size, at);
	assert(fd == MEMORY);
	check_write((uint64_t)at, buf, size);
	return copied(size);
}

/* Calls of sockets, which are real. */
static bool
is_real(long number)
{
	return number == SYS_accept4 || number == SYS_sendmsg ||
	    number == SYS_recvmsg || number == SYS_close;
}

long
__wrap_syscall(long number, ...)
{
	static const int compared[] = { 0, 1, 2, -EBADF, -EPERM, -ESRCH };
	va_list ap;
	long args[5], last = 0;
	int result;

	va_start(ap, number);
	for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++)
		args[i] = va_arg(ap, long);
	if (number == SYS_accept4)
		last = va_arg(ap, long);
	va_end(ap);
	if (!world.runs || is_real(number))
		return __real_syscall(
		    number, args[0], args[1], args[2], args[3], args[4], last);
	switch (number) {
	case SYS_kcmp:
		result =
		    compared[mood() % (sizeof(compared) / sizeof(compared[0]))];
		return result < 0 ? fail(-result) : result;
	case SYS_tkill:
		return mood() > 127 ? fail(ESRCH) : 0;
	case SYS_pidfd_open:
		return mood() > 127 ? fail(ESRCH) : dup(peers[PEER_NO_SOCKET]);
	default:
		/* process_mrelease(2) */
		return mood() > 250 ? 0 : fail(EINVAL);
	}
}

int
__wrap_stat(const char *path, struct stat *out)
{
	uint8_t m;

	if (!world.runs)
		return __real_stat(path, out);
	m = mood();
	if (m > 250)
		return fail(EACCES);
	if (m > 127)
		return fail(ENOENT);
	return fstat(peers[m % PEERS], out);
}

int
__wrap_access(const char *path, int mode)
{
	if (!world.runs || strcmp(path, "/proc/self/fd") == 0)
		return __real_access(path, mode);
	return mood() > 127 ? fail(ENOENT) : 0;
}

int
__wrap_kill(pid_t pid, int sig)
{
	if (!world.runs)
		return __real_kill(pid, sig);
	assert(pid == PROGRAM && (sig == SIGTERM || sig == SIGKILL));
	return 0;
}

_Noreturn void
__wrap__exit(int status)
{
	if (world.runs)
		longjmp(exited, 1);
	__real__exit(status);
}

/* --- the daemon --------------------------------------------------------- */

/* A connection is over, by DONE or LOST. */
static void
hear_end(const char *text, size_t len, bool lost)
{
	uint64_t serial;
	bool sound = number_parse(text, len, &serial);

	assert(sound && serial >= 1 && serial <= world.nconns);
	assert(world.conns[serial] != CONN_OVER);
	assert(!lost || world.conns[serial] == CONN_SENT);
	world.conns[serial] = CONN_OVER;
}

static void
hear_message(const char *message, size_t len)
{
	if (len > 5 && memcmp(message, WIRE_DONE " ", 5) == 0) {
		hear_end(message + 5, len - 5, false);
	} else if (len > 5 && memcmp(message, WIRE_LOST " ", 5) == 0) {
		hear_end(message + 5, len - 5, true);
	} else if (len == 5 && memcmp(message, WIRE_READY, 5) == 0) {
		assert(!world.ready);
		world.ready = true;
	} else if (len == 6 && memcmp(message, WIRE_RETIRE, 6) == 0) {
		assert(world.ready && !world.retired);
		world.retired = true;
	} else if (len > 5 && memcmp(message, WIRE_FAIL " ", 5) == 0) {
		return;
	} else {
		assert((len == 5 && memcmp(message, WIRE_BLIND, 5) == 0) ||
		    memcmp(message, WIRE_STATUS " ", 7) == 0);
	}
}

static void
hear(void)
{
	char message[WIRE_MAX];
	ssize_t n;

	while (
	    (n = recv(channel[0], message, sizeof(message), MSG_DONTWAIT)) > 0)
		hear_message(message, (size_t)n);
}

static void
connect_client(uint8_t how)
{
	char text[64];
	int fd = peers[how / 4 % PEERS];
	size_t serial;

	if (world.nconns == CONNS)
		return;
	serial = world.nconns + 1;
	(void)snprintf(text, sizeof(text), WIRE_CONN " %zu %d", serial, how);
	/* A descriptor can be lost on its way. */
	if (fdpass_send(
		channel[0], text, strlen(text), how % 4 == 3 ? -1 : fd) == -1)
		return;
	world.nconns = serial;
	world.conns[serial] = CONN_SENT;
}

/* --- beginning and end -------------------------------------------------- */

/* A connected socket whose peer has a name as long as can be. */
static int
named_peer(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memset(un.sun_path + 1, 'a', sizeof(un.sun_path) - 1);
	(void)snprintf(
	    un.sun_path + 1, sizeof(un.sun_path) - 1, "%ld", (long)getpid());
	if (bind(server, (struct sockaddr *)&un, sizeof(un)) == -1 ||
	    listen(server, 1) == -1 ||
	    connect(client, (struct sockaddr *)&un, sizeof(un)) == -1)
		abort();
	close(server);
	return client;
}

static void
open_channel(void)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) ==
	    -1)
		abort();
}

static void
start(void)
{
	peers[PEER_NAMED] = named_peer();
	peers[PEER_NONE] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	peers[PEER_NO_SOCKET] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (listener_make(&listeners[0], AF_UNIX) == -1 ||
	    listener_make(&listeners[1], AF_INET) == -1)
		abort();
	open_channel();
}

static void
begin(uint8_t options)
{
	memset(&world, 0, sizeof(world));
	a = (struct adapter){
		.channel = channel[1],
		.listener = listeners[options & 1],
		.program = { .pid = PROGRAM, .notify = NOTIFY },
		.received.fd = -1,
		.memory.fd = -1,
		.raced = (options & 2) != 0,
		.stop_signal = SIGTERM,
		.warned = true,
		.now = TSPAN_MSECONDS(1000),
	};
	a.program.pidfd = (options & 4) != 0 ? PIDFD : -1;
	if ((options & 8) != 0)
		a.memory = (struct view_memory){ .pid = PROGRAM, .fd = MEMORY };
	if ((options & 16) != 0)
		listener_ring(&a.listener);
	world.runs = true;
}

/* The messages of connections that nobody was given are still there. */
static void
check_unread(void)
{
	char message[WIRE_MAX + 1];
	size_t unread = 0, sent = 0;
	ssize_t n;
	int fd;

	while ((n = fdpass_recv_one(
		    channel[1], message, WIRE_MAX, MSG_DONTWAIT, &fd)) > 0) {
		if (fd != -1)
			close(fd);
		message[n] = '\0';
		/* Other answers were not meant well. */
		if (strchr(message, ' ') != strrchr(message, ' '))
			unread++;
	}
	if (a.received.fd != -1 && !a.received.stays)
		unread++;
	for (size_t i = 1; i <= world.nconns; i++)
		sent += world.conns[i] == CONN_SENT;
	assert(unread == sent);
}

static void
end(void)
{
	world.runs = false;
	hear();
	if (!world.left)
		check_unread();
	if (a.received.fd != -1)
		close(a.received.fd);
	listener_silence(&a.listener);
	(void)fcntl(a.listener.fd, F_SETFL, 0);
	free(a.calls.list);
	free(a.sessions.list);
	if (world.left) {
		close(channel[0]);
		close(channel[1]);
		open_channel();
	}
}

/* --- steps -------------------------------------------------------------- */

static void
call(uint8_t who)
{
	static const int numbers[] = { SYS_accept4, SYS_accept4, SYS_accept,
		SYS_prctl };
	struct seccomp_notif *c = &world.call;
	uint8_t what = next();
	/* A thread has one call: the former was interrupted. */
	pid_t tid = PROGRAM + who % THREADS;

	for (size_t i = 1; i <= world.ncalls; i++)
		if (world.calls[i].tid == tid)
			world.waits[i] = false;
	*c = (struct seccomp_notif){ .id = ++world.ncalls,
		.pid = (__u32)tid,
		.data.nr = numbers[what % 4] };
	world.calls[c->id].tid = tid;
	world.waits[c->id] = true;
	c->data.args[0] = who / THREADS;
	if (what & 4)
		c->data.args[1] = UINT64_C(0x7f0000001000) + what;
	c->data.args[2] = (what & 8) != 0 ? UINT64_MAX - what : what * 1000u;
	if (what & 16)
		c->data.args[3] = (what & 32) != 0
		    ? SOCK_NONBLOCK
		    : (__u64)SOCK_CLOEXEC << (what >> 7);
	world.receiving = true;
	serve_call(&a);
}

/* Time goes on to when something is due, or less far. */
static void
wait_for(uint8_t how)
{
	tstamp due = serve_next(&a);

	if (how < 128 && due != TSTAMP_NEVER && due > a.now)
		a.now = due;
	else
		a.now += TSPAN_MSECONDS(1) << how % 8;
	if (serve_next(&a) <= a.now)
		serve_tick(&a);
}

/* Returns whether the program goes on. */
static bool
step(void)
{
	uint8_t what = next(), how = what / STEPS;

	switch ((enum step)(what % STEPS)) {
	case STEP_CALL:
		call(how);
		break;
	case STEP_CONNECT:
		connect_client(how);
		break;
	case STEP_SAY:
		(void)fdpass_send(channel[0],
		    how % 2 == 0 ? WIRE_STOP : WIRE_CONN " 1",
		    how % 2 == 0 ? 4 : 6, how < 20 ? -1 : peers[how % PEERS]);
		break;
	case STEP_LEAVE:
		(void)shutdown(channel[0], SHUT_RDWR);
		world.left = true;
		break;
	case STEP_WAIT:
		wait_for(next());
		return true;
	case STEP_SIGNAL:
		serve_signal(&a, how % 2 == 0 ? SIGTERM : SIGHUP);
		return true;
	case STEP_VANISH:
		if (world.ncalls > 0)
			world.waits[1 + how % world.ncalls] = false;
		return true;
	case STEP_SHUT:
		serve_shut(&a);
		return true;
	case STEP_BLOCK:
		(void)fcntl(
		    a.listener.fd, F_SETFL, how % 2 == 0 ? 0 : O_NONBLOCK);
		return true;
	default:
		serve_ended(&a, how == 0 ? 0 : 256);
		return false;
	}
	/* There may be something in the channel. */
	a.maybe = true;
	serve(&a);
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int before, after;

	in.data = data;
	in.size = size;
	if (peers[PEER_NAMED] == 0)
		start();
	before = dup(channel[0]);
	close(before);
	begin(next());
	if (setjmp(exited) == 0)
		for (int left = STEPS_MAX; in.size > 0 && left > 0; left--) {
			if (!step())
				break;
			hear();
		}
	end();
	after = dup(channel[0]);
	close(after);
	assert(before == after);
	return 0;
}
