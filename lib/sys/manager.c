/* The service manager: sd_listen_fds(3) and sd_notify(3). */

#include <sys/prctl.h>

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "sys/address.h"
#include "sys/fdpass.h"
#include "sys/log.h"
#include "sys/manager.h"
#include "sys/number.h"

/* --- sockets that it gave us ------------------------------------------ */

/* The first descriptor that can be given; the others follow. */
#define FIRST_FD 3

/* A variable that is set for the program that the guardian executes. */
#define BY_GUARDIAN "APPPOOLD_BY_GUARDIAN"

/* The name of a descriptor without one: sd_listen_fds_with_names(3). */
#define NO_NAME "unknown"

static struct {
	size_t count;
	char *text; /* the names, each ended by NUL */
	const char **names; /* count of them, in text */
} given;

static int
activation_read(const char *pid, const char *fds, const char *names)
{
	uint64_t count, owner;
	char *rest;

	if (pid == NULL || fds == NULL)
		return 0;
	if (!number_parse(pid, strlen(pid), &owner) || owner > INT_MAX ||
	    !number_parse(fds, strlen(fds), &count) ||
	    count > INT_MAX - FIRST_FD) {
		errno = EINVAL;
		return -1;
	}
	if ((pid_t)owner != getpid() || count == 0)
		return 0;
	for (int fd = FIRST_FD; fd < FIRST_FD + (int)count; fd++) {
		int flags = fcntl(fd, F_GETFD);

		if (flags == -1 || fcntl(fd, F_SETFD, flags | FD_CLOEXEC) == -1)
			return -1;
	}
	/* Missing names become NO_NAME; names too many are passed over. */
	rest = given.text = strdup(names == NULL ? "" : names);
	given.names = calloc(count, sizeof(*given.names));
	if (given.text == NULL || given.names == NULL) {
		errno = ENOMEM;
		return -1;
	}
	for (size_t i = 0; i < count; i++) {
		const char *name = strsep(&rest, ":");

		given.names[i] = name == NULL || *name == '\0' ? NO_NAME : name;
	}
	given.count = count;
	return (int)count;
}

void
activation_keep(bool keep)
{
	for (size_t i = 0; i < given.count; i++)
		if (given.names[i][0] != '\0')
			(void)fcntl(
			    FIRST_FD + (int)i, F_SETFD, keep ? 0 : FD_CLOEXEC);
}

char *
activation_list(void)
{
	char *list = NULL;
	size_t len;
	FILE *out = open_memstream(&list, &len);

	for (size_t i = 0; out != NULL && i < given.count; i++)
		(void)fprintf(out, "%s:", given.names[i]);
	if (out != NULL)
		(void)fclose(out);
	return list;
}

int
activation_inherit(const char *list)
{
	char *rest = given.text = strdup(list);
	size_t count = 0;

	for (const char *c = list; (c = strchr(c, ':')) != NULL; c++)
		count++;
	given.names = calloc(count + 1, sizeof(*given.names));
	if (rest == NULL || given.names == NULL)
		return -1;
	for (given.count = 0; given.count < count; given.count++)
		given.names[given.count] = strsep(&rest, ":");
	return 0;
}

size_t
activation_find(const char *name, size_t max, int *out)
{
	size_t found = 0;

	for (size_t i = 0; i < given.count; i++) {
		if (strcmp(given.names[i], name) != 0)
			continue;
		if (found < max)
			out[found] = FIRST_FD + (int)i;
		found++;
	}
	if (found <= max)
		return found;
	log_warnx("the service manager gave %zu sockets of the name %s: %zu "
		  "of them are used",
	    found, name, max);
	return max;
}

int
activation_take(const char *name)
{
	for (size_t i = 0; i < given.count; i++)
		if (strcmp(given.names[i], name) == 0) {
			given.names[i] = "";
			return FIRST_FD + (int)i;
		}
	return -1;
}

void
activation_drop(void)
{
	for (size_t i = 0; i < given.count; i++)
		if (strncmp(given.names[i], STORE_PREFIX,
			sizeof(STORE_PREFIX) - 1) == 0) {
			notify_unstore(given.names[i]);
			(void)close(FIRST_FD + (int)i);
			given.names[i] = "";
		}
}

/* --- in its place ------------------------------------------------------- */

/*
 * The life of the guardian, from fork(2) on. The process it was forked from may
 * have threads: so it makes system calls only.
 */
static _Noreturn void
be_guardian(int pipe, int exe, char *const *argv, char **envp, int *fds, int n)
{
	const int after = FIRST_FD + n, high = after + 2;
	char variable[] = "LISTEN_PID="
			  "12345678901234567890",
	     byte;
	sigset_t set;

	/* Signals to the daemon's group must not end the guardian. */
	sigfillset(&set);
	(void)sigprocmask(SIG_SETMASK, &set, NULL);
	(void)prctl(PR_SET_NAME, "apppool-guard");
	exe = fcntl(exe, F_DUPFD, high);
	pipe = fcntl(pipe, F_DUPFD, high);
	for (int i = 0; i < n; i++)
		fds[i] = fcntl(fds[i], F_DUPFD, high);
	for (int i = 0; i < n; i++)
		if (dup2(fds[i], FIRST_FD + i) == -1)
			_exit(EXIT_FAILURE);
	if (dup3(exe, after, O_CLOEXEC) == -1 ||
	    dup3(pipe, after + 1, O_CLOEXEC) == -1)
		_exit(EXIT_FAILURE);
	(void)close_range((unsigned)high, ~0U, 0);
	if (read(after + 1, &byte, 1) != 0)
		_exit(EXIT_SUCCESS);
	(void)snprintf(variable + strlen("LISTEN_PID="),
	    sizeof(variable) - strlen("LISTEN_PID="), "%ld", (long)getpid());
	envp[0] = variable;
	sigemptyset(&set);
	(void)sigprocmask(SIG_SETMASK, &set, NULL);
	(void)syscall(SYS_execveat, after, "", argv, envp, AT_EMPTY_PATH);
	_exit(EXIT_FAILURE);
}

int
guardian_start(int pipe, int exe, char *const *argv, char *const *envp,
    const struct kept_socket *kept, size_t nkept)
{
	size_t vars = 0, len, count = 0;
	char *names = NULL, number[40], **env;
	FILE *out = open_memstream(&names, &len);
	int *fds;
	pid_t pid = -1;

	while (envp[vars] != NULL)
		vars++;
	env = calloc(vars + 5, sizeof(*env));
	fds = calloc(given.count + nkept + 1, sizeof(*fds));
	if (out == NULL || env == NULL || fds == NULL)
		goto out;
	(void)fputs("LISTEN_FDNAMES=", out);
	for (size_t i = 0; i < given.count + nkept; i++) {
		bool gave = i < given.count;
		const char *name =
		    gave ? given.names[i] : kept[i - given.count].name;

		if (name[0] == '\0')
			continue;
		(void)fprintf(out, "%s%s", count == 0 ? "" : ":", name);
		fds[count++] =
		    gave ? FIRST_FD + (int)i : kept[i - given.count].fd;
	}
	if (fflush(out) != 0)
		goto out;
	(void)snprintf(number, sizeof(number), "LISTEN_FDS=%zu", count);
	env[1] = number;
	env[2] = names;
	env[3] = (char *)BY_GUARDIAN "=1";
	memcpy(env + 4, envp, vars * sizeof(*env));
	pid = fork();
	if (pid == 0)
		be_guardian(pipe, exe, argv, env, fds, (int)count);
out:
	if (out != NULL)
		(void)fclose(out);
	free(names);
	free(env);
	free(fds);
	return pid == -1 ? -1 : 0;
}

/* --- messages to it --------------------------------------------------- */

#define STATE_SIZE 4096

static struct {
	int fd; /* -1: there is none */
	struct sockaddr_un addr;
	socklen_t addrlen;
	tspan watchdog; /* 0: it has none for us */
} manager = { .fd = -1 };

/* The number in a variable of the environment; 0: there is none. */
static uint64_t
notify_number(const char *variable)
{
	const char *text = getenv(variable);
	uint64_t n = 0;

	if (text != NULL)
		(void)number_parse(text, strlen(text), &n);
	return n;
}

int
manager_open(bool *by_guardian_out)
{
	static const char *const taken[] = { BY_GUARDIAN, "LISTEN_PID",
		"LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_PID",
		"WATCHDOG_USEC" };
	const char *where = getenv("NOTIFY_SOCKET");
	uint64_t usec = notify_number("WATCHDOG_USEC");
	int rc = activation_read(getenv("LISTEN_PID"), getenv("LISTEN_FDS"),
	    getenv("LISTEN_FDNAMES"));
	int error = errno;

	if (manager.fd != -1)
		(void)close(manager.fd);
	manager.fd = -1;
	manager.watchdog = 0;
	/* A path, or '@' and an abstract name. */
	if (where != NULL && (where[0] == '/' || where[0] == '@') &&
	    where[1] != '\0' &&
	    (manager.addrlen = address_of_name(where, &manager.addr)) != 0)
		manager.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	/* The variable may be meant for a process whose environment we got. */
	if (manager.fd != -1 && usec <= TSTAMP_NEVER / 1000 &&
	    (getenv("WATCHDOG_PID") == NULL ||
		notify_number("WATCHDOG_PID") == (uint64_t)getpid()))
		manager.watchdog = TSPAN_USECONDS(usec);
	if (by_guardian_out != NULL)
		*by_guardian_out = getenv(BY_GUARDIAN) != NULL;
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		(void)unsetenv(taken[i]);
	errno = error;
	return rc;
}

tspan
notify_watchdog(void)
{
	return manager.fd == -1 ? -1 : manager.watchdog;
}

/* With a copy of the descriptor, unless that is -1. */
static int
notify_text(int fd, const char *text)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .header = {
			  CMSG_LEN(sizeof(fd)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec part = { (void *)(uintptr_t)text, strlen(text) };
	struct msghdr message = {
		.msg_name = &manager.addr,
		.msg_namelen = manager.addrlen,
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = fd == -1 ? NULL : &control,
		.msg_controllen = fd == -1 ? 0 : sizeof(control),
	};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	if (manager.fd == -1 ||
	    sendmsg(manager.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) != -1)
		return 0;
	/* Else the manager is gone, or was not at that address. */
	return fdpass_is_later(errno) ? -1 : 0;
}

int
notify_send(const char *fmt, ...)
{
	char text[STATE_SIZE];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return notify_text(-1, text);
}

bool
notify_store(int fd, const char *name)
{
	char text[STATE_SIZE];

	(void)snprintf(
	    text, sizeof(text), "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", name);
	return notify_text(fd, text) == 0;
}

void
notify_unstore(const char *name)
{
	(void)notify_send("FDSTOREREMOVE=1\nFDNAME=%s", name);
}
