/*
 * apppool-accept: an adapter for programs that call accept() on a listening
 * socket they are started with.
 *
 *	apppool-accept PROGRAM [ARGUMENT...]
 *
 * The program has a socket of its own to listen on.  With APPPOOL_LIBRARY it is
 * executed here, with that library loaded, which has it accept what the daemon
 * hands out.  Else it runs as our child, and its calls of accept() are answered
 * with the connections that the daemon hands to us; signals to us go to the
 * program, and its exit status becomes ours.  apppool-handoff(7) tells more.
 */

#include <sys/ioctl.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <assert.h>
#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "adapter/accept.h"
#include "sys/acceptfilter.h"
#include "sys/descriptors.h"
#include "sys/wire.h"
#include "worker/worker.h"

/*
 * The sources of events, in the order in which they are heard: a program that
 * has been sent a signal is given nothing before it has seen that.
 */
enum source {
	SOURCE_SIGNALS,
	SOURCE_CALLS,
	SOURCE_CHANNEL,
	SOURCE_LISTENER,
	SOURCES
};

/* Moves a new descriptor out of the program's way, CLOEXEC. */
static int
raise_descriptor(struct adapter *a, int fd)
{
	int high = fd == -1 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, HIGH);

	if (high == -1)
		daemon_fail(a, "limit_nofile is too low, 16 are needed: %s",
		    strerror(errno));
	(void)close(fd);
	return high;
}

/* --- with the library --------------------------------------------------- */

/* What is read of a program to see of what kind it is. */
#define BEGINNING 4096

/* Of this program, which is of the kind that the library is of. */
extern const ElfW(Ehdr) __ehdr_start;

/*
 * Why a program, or the one that runs it if it is a script, would not load the
 * library; NULL: it does. A file that we may execute and not read is believed
 * to load it.
 */
static const char *
program_find_fault(const char *path)
{
	char text[BEGINNING] = "", *name;
	const ElfW(Ehdr) *h = (const ElfW(Ehdr) *)text;
	const ElfW(Phdr) * p;
	bool loads = false, gains;
	struct stat st;
	ssize_t n = 0;

	for (int depth = 0; depth < 4; depth++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd == -1)
			return NULL;
		n = read(fd, text, sizeof(text) - 1);
		gains = fstat(fd, &st) == 0 &&
		    ((st.st_mode & (S_ISUID | S_ISGID)) != 0 ||
			fgetxattr(fd, "security.capability", NULL, 0) > 0);
		(void)close(fd);
		if (gains)
			return "it gains rights when it is executed";
		if (n < 2 || memcmp(text, "#!", 2) != 0)
			break;
		text[n] = '\0';
		name = text + 2 + strspn(text + 2, " \t");
		name[strcspn(name, " \t\n")] = '\0';
		path = name;
	}
	if (n < (ssize_t)sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
		return "it is no ELF program";
	if (h->e_ident[EI_CLASS] != __ehdr_start.e_ident[EI_CLASS] ||
	    h->e_machine != __ehdr_start.e_machine)
		return "it is for another architecture";
	for (unsigned i = 0;
	     i < h->e_phnum && h->e_phoff + (i + 1) * sizeof(*p) <= (size_t)n;
	     i++) {
		p = (const ElfW(Phdr) *)(text + h->e_phoff) + i;
		if (p->p_offset + p->p_filesz > (size_t)n)
			continue;
		/* Programs in Go make their system calls themselves. */
		if (p->p_type == PT_NOTE && p->p_filesz >= 16 &&
		    memcmp(text + p->p_offset + 12, "Go\0", 4) == 0)
			return "it is written in Go";
		loads |= p->p_type == PT_INTERP &&
		    memmem(text + p->p_offset, p->p_filesz, "/ld", 3) != NULL &&
		    memmem(text + p->p_offset, p->p_filesz, "musl", 4) == NULL;
	}
	return loads ? NULL : "it is linked statically, or not with glibc";
}

/* Becomes the program, or has the daemon start it without the library. */
static _Noreturn void
library_execute(struct adapter *a, char **argv, const char *library)
{
	const char *fault = access(library, R_OK) == -1
	    ? "the library is not in its root"
	    : program_find_fault(argv[0]);
	const char *others = getenv("LD_PRELOAD");
	char text[PATH_MAX + 128];

	if (fault != NULL) {
		(void)snprintf(text, sizeof(text), WIRE_UNFIT " %s", fault);
		(void)channel_say(a->channel, text);
		for (;;)
			(void)pause();
	}
	(void)snprintf(text, sizeof(text), "%s%s%s", library,
	    others == NULL ? "" : ":", others == NULL ? "" : others);
	if (setenv("LD_PRELOAD", text, 1) == -1)
		daemon_fail(a, "its environment: %s", strerror(errno));
	(void)snprintf(text, sizeof(text), "%d", a->channel);
	(void)setenv(WIRE_ENV_FD, text, 1);
	if (fcntl(a->channel, F_SETFD, 0) == -1 ||
	    !listener_inherit(&a->listener))
		daemon_fail(a, "its descriptors: %s", strerror(errno));
	(void)execv(argv[0], argv);
	daemon_fail(a, "cannot execute %s: %s", argv[0], strerror(errno));
}

/* --- while it runs ------------------------------------------------------ */

/*
 * Ends this process as the program has ended; by _exit(2), as all of the
 * adapter does: what a sanitizer does at exit() would be a call that we were to
 * answer.
 */
static _Noreturn void
program_end_likewise(int status)
{
	const struct rlimit none = { 0 };
	sigset_t set;
	int sig;

	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	sig = WTERMSIG(status);
	/* The program itself has dumped the core that is of use. */
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)signal(sig, SIG_DFL);
	(void)raise(sig);
	sigemptyset(&set);
	sigaddset(&set, sig);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	/* As shells report a signal. */
	_exit(128 + sig);
}

/* Passes signals that came to us on to the program, or ends with it. */
static void
pass_signals(struct adapter *a, int signals)
{
	struct signalfd_siginfo i;
	union sigval value;
	int status;

	while (read(signals, &i, sizeof(i)) == sizeof(i)) {
		if (i.ssi_signo == SIGCHLD &&
		    waitpid(a->program.pid, &status, WNOHANG) ==
			a->program.pid) {
			a->program.pid = 0;
			serve_ended(a, status);
			program_end_likewise(status);
		}
		/* The kernel tells us alone that the program has ended. */
		if ((i.ssi_signo == SIGCHLD && i.ssi_code > 0) ||
		    i.ssi_pid == (uint32_t)getpid())
			continue;
		assert(a->program.pid > 1);
		value.sival_ptr = (void *)(uintptr_t)i.ssi_ptr;
		if (i.ssi_code == SI_QUEUE)
			(void)sigqueue(a->program.pid, (int)i.ssi_signo, value);
		else
			(void)kill(a->program.pid, (int)i.ssi_signo);
		serve_signal(a, (int)i.ssi_signo);
	}
}

static _Noreturn void
run_loop(struct adapter *a, int signals)
{
	struct pollfd sources[SOURCES] = {
		[SOURCE_SIGNALS] = { signals, POLLIN, 0 },
		[SOURCE_CALLS] = { a->program.notify, POLLIN, 0 },
		[SOURCE_CHANNEL] = { -1, POLLIN, 0 },
		[SOURCE_LISTENER] = { a->listener.fd, POLLRDHUP, 0 },
	};
	tspan left;
	int n, wait;

	for (;;) {
		/* A message may have to lie there for long. */
		sources[SOURCE_CHANNEL].fd =
		    a->maybe || a->stopped ? -1 : a->channel;
		a->now = clock_now();
		/* Milliseconds, never too few. */
		wait = -1;
		if (serve_next(a) != TSTAMP_NEVER) {
			left = serve_next(a) - a->now + TSPAN_MSECONDS(1) - 1;
			left = MIN(MAX(left, 0), TSPAN_SECONDS(60));
			wait = (int)(left / TSPAN_MSECONDS(1));
		}
		n = poll(sources, SOURCES, wait);
		if (n == -1 && errno != EINTR)
			daemon_fail(a, "poll: %s", strerror(errno));
		a->now = clock_now();
		for (enum source i = 0; n > 0 && i < SOURCES; i++) {
			if (sources[i].revents == 0)
				continue;
			if (i == SOURCE_CHANNEL) {
				a->maybe = true;
				serve(a);
			} else if (i == SOURCE_SIGNALS) {
				pass_signals(a, signals);
			} else if (i == SOURCE_LISTENER) {
				sources[i].fd = -1;
				serve_shut(a);
			} else if ((sources[i].revents & POLLIN) != 0) {
				serve_call(a);
			} else {
				/* No process of the program is left to call. */
				sources[i].fd = -1;
			}
		}
		if (serve_next(a) <= a->now)
			serve_tick(a);
	}
}

int
main(int argc, char **argv)
{
	static struct adapter a = { .received.fd = -1, .memory.fd = -1 };
	const char *calls = getenv(WIRE_ENV_CALLS);
	const char *family = getenv(WIRE_ENV_FAMILY);
	const char *library = getenv(WIRE_ENV_LIBRARY);
	struct channel c;
	int number = AF_UNIX, notify = -1, signals;
	sigset_t all, before; /* blocked when we were started */

	if (argc < 2) {
		(void)fputs(
		    "usage: apppool-accept PROGRAM [ARGUMENT...]\n", stderr);
		return EX_USAGE;
	}
	/* Before anything of the program's is looked at. */
	if (calls != NULL && acceptfilter_hide() == -1)
		err(EX_OSERR, "cannot hide from the program");
	/* Executed by descriptor, we would be named by its number. */
	(void)prctl(PR_SET_NAME, "apppool-accept");
	/* A free number below 3 would become one of the program's. */
	(void)descriptors_fix();
	if (channel_find(&c) == -1) {
		if (errno == ENOENT)
			errx(EX_USAGE, "to be started by apppoold(8)");
		err(EX_OSERR, "the socket of the daemon");
	}
	if (c.slot == -1 && library == NULL)
		errx(EX_USAGE, "it cannot be a template");
	/* A failure to raise it is told there. */
	a.channel = c.fd;
	a.channel = raise_descriptor(&a, c.fd);
	a.stop_signal = c.stop_signal;
	a.raced = getenv(WIRE_ENV_UNREAD) == NULL;
	/* The program's socket is of the family of the app's first listener. */
	if (family != NULL && strcmp(family, "inet") == 0)
		number = AF_INET;
	else if (family != NULL && strcmp(family, "inet6") == 0)
		number = AF_INET6;
	if (listener_make(&a.listener, number) == -1)
		daemon_fail(&a, "cannot make a socket to listen on: %s",
		    strerror(errno));
	a.listener.fd = raise_descriptor(&a, a.listener.fd);
	if (library != NULL)
		library_execute(&a, argv + 1, library);
	/* A program that polls before its first accept() goes on to that. */
	listener_ring(&a.listener);
	/* All signals are the program's; a fault of our own ends us even so. */
	sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &before);
	signals = raise_descriptor(
	    &a, signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
	/* Calls of this process, and of its children, may be reported there. */
	if (calls != NULL)
		notify = (int)strtol(calls, NULL, 10);
	if (notify != -1 &&
	    (ioctl(notify, SECCOMP_IOCTL_NOTIF_ID_VALID, &(__u64){ 0 }) == 0 ||
		errno == ENOENT))
		notify = raise_descriptor(&a, notify);
	else
		notify = -1;
	program_start(&a, argv + 1, &before, notify);
	run_loop(&a, signals);
}
