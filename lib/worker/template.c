/* The answer to a FORK. */

#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/wire.h"
#include "worker/template.h"

/* The message of the process in the middle. */
struct birth {
	pid_t pid; /* -1: it could not fork */
	int error;
};

/* The process in the middle, which ends when it has forked, or the child. */
static bool
is_child(int tell)
{
	struct birth b = { .pid = fork() };

	if (b.pid == 0)
		return true;
	b.error = errno;
	(void)!write(tell, &b, sizeof(b));
	_exit(0);
}

/* Waits for the end of the process in the middle: the child is orphaned. */
static void
hear_birth(int from, pid_t middle, struct birth *out)
{
	struct birth b = { .pid = -1, .error = ECHILD };
	ssize_t n;

	do {
		n = read(from, &b, sizeof(b));
	} while (n == -1 && errno == EINTR);
	while (waitpid(middle, NULL, 0) == -1 && errno == EINTR)
		;
	*out = b;
}

/* Returns true in the child; else what has become of it. */
static bool
fork_twice(struct birth *out)
{
	int ends[2];
	pid_t middle = -1;

	out->pid = -1;
	/* Otherwise the child would print what lies there once more. */
	(void)fflush(NULL);
	if (pipe2(ends, O_CLOEXEC) == 0)
		middle = fork();
	out->error = errno;
	if (middle == 0 && is_child(ends[1])) {
		(void)close(ends[0]);
		(void)close(ends[1]);
		return true;
	}
	if (middle == -1)
		return false;
	(void)close(ends[1]);
	hear_birth(ends[0], middle, out);
	(void)close(ends[0]);
	return false;
}

static void
close_descriptors(const struct channel_message *m)
{
	(void)close(m->fd);
	for (int i = 0; i < 2; i++)
		if (m->output[i] != -1)
			(void)close(m->output[i]);
}

/* Makes the descriptors of the message those of this process. */
static bool
take_descriptors(int sock, const struct channel_message *m)
{
	static const int standard[2] = { STDOUT_FILENO, STDERR_FILENO };

	for (int i = 0; i < 2; i++)
		if (m->output[i] != -1 && dup2(m->output[i], standard[i]) == -1)
			return false;
	if (dup3(m->fd, sock, O_CLOEXEC) == -1)
		return false;
	close_descriptors(m);
	/* The rest of the group is killed when the process has ended. */
	return setpgid(0, 0) == 0;
}

static int
say_forked(int sock, uint64_t serial, pid_t pid)
{
	char text[64];
	int len = snprintf(text, sizeof(text), WIRE_FORKED " %ju %ld",
	    (uintmax_t)serial, (long)pid);

	return channel_say(sock, text, (size_t)len);
}

static void
say_failed(int sock, int error)
{
	char text[128];
	int len = snprintf(
	    text, sizeof(text), WIRE_FAIL " cannot fork: %s", strerror(error));

	(void)channel_say(sock, text, (size_t)len);
}

int
template_fork(int sock, const struct channel_message *message, bool is_template)
{
	struct birth b;

	if (fork_twice(&b)) {
		if (!take_descriptors(sock, message))
			_exit(1);
		return 1;
	}
	close_descriptors(message);
	if (b.pid != -1 || !is_template)
		return say_forked(
		    sock, message->serial, b.pid == -1 ? 0 : b.pid);
	say_failed(sock, b.error);
	errno = b.error;
	return -1;
}
