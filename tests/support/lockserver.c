/* Starting and ending the servers of locks that are compared. */

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <err.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "lockserver.h"
#include "proc.h"

enum {
	PATHS = 512,
	START_TRIES = 500, /* of 10 ms */
	PATIENCE = 20, /* seconds for an answer */
	APP_WORKERS = 4
};

static const char *const titles[] = {
	[LOCKSERVER_ECHO] = "echo",
	[LOCKSERVER_ORIGINAL] = "poolcounterd",
	[LOCKSERVER_APPPOOLD] = "apppoold",
};

const char *
lockserver_title(enum lockserver_name name)
{
	return titles[name];
}

/* poolcounterd as it is installed, or as contrib/peers unpacked it. */
static bool
original_path(char out[PATHS])
{
	static const char *const places[] = { "/usr/bin/poolcounterd",
		"build/peers/usr/bin/poolcounterd" };
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		(void)strlcpy(out, places[i], PATHS);
		if (access(out, X_OK) == 0)
			return true;
	}
	return false;
}

static void
write_conf(struct lockserver *s, struct bench *b, const char *address,
    const char *path)
{
	char worker[PATHS];
	FILE *f = fopen(path, "we");

	if (f == NULL)
		err(EX_CANTCREAT, "%s", path);
	bench_program("worker", worker, sizeof(worker));
	(void)snprintf(s->app, sizeof(s->app), "unix:%s/app", b->folder);
	(void)fprintf(f,
	    "control = \"\"\n"
	    "counter = \"%s\"\n"
	    "max_processes = %d\n"
	    "app \"bench\" {\n"
	    "\tlisten = \"%s\"\n"
	    "\tcommand = {\"%s\", \"passed\"}\n"
	    "%s"
	    "\tmin_processes = %d\n"
	    "\tmax_processes = %d\n"
	    "}\n",
	    address, APP_WORKERS, s->app, worker,
	    geteuid() == 0 ? "\tuser = \"root\"\n" : "", APP_WORKERS,
	    APP_WORKERS);
	if (fclose(f) != 0)
		err(EX_CANTCREAT, "%s", path);
}

/* Notes the child if it is apppoold's counter. */
static void
lockserver_look(void *arg, pid_t child)
{
	struct lockserver *s = arg;
	char path[64], title[64] = "";
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)child);
	f = fopen(path, "re");
	if (f == NULL)
		return;
	if (fgets(title, sizeof(title), f) != NULL &&
	    strcmp(title, "apppoold: counter") == 0)
		s->server = child;
	(void)fclose(f);
}

static void
lockserver_await(struct lockserver *s)
{
	const struct timespec nap = { .tv_nsec = 10000000 };
	int i, fd;

	for (i = 0; i < START_TRIES; i++) {
		fd = endpoint_connect(&s->at);
		if (fd != -1) {
			(void)close(fd);
			s->server = s->pid;
			/* The counter may start after its listeners. */
			while (s->name == LOCKSERVER_APPPOOLD &&
			    s->server == s->pid && i++ < START_TRIES) {
				proc_each_child(s->pid, lockserver_look, s);
				(void)nanosleep(&nap, NULL);
			}
			return;
		}
		(void)nanosleep(&nap, NULL);
	}
	errx(EX_UNAVAILABLE, "%s does not start", titles[s->name]);
}

bool
lockserver_start(
    struct lockserver *s, enum lockserver_name name, struct bench *b)
{
	char address[128], host[64], program[PATHS], conf[PATHS];
	const char *argv[4] = { program, address };

	s->name = name;
	if (name != LOCKSERVER_ORIGINAL)
		bench_address(b, "tcp", address, sizeof(address));
	switch (name) {
	case LOCKSERVER_ECHO:
		bench_program("echo", program, sizeof(program));
		break;
	case LOCKSERVER_ORIGINAL:
		if (!original_path(program))
			return false;
		/*
		 * Its port is fixed, and stays in use for a minute after it
		 * has ended; its address is ours to choose.
		 */
		(void)snprintf(host, sizeof(host), "127.53.%d.%d",
		    getpid() / 250 % 250, 1 + getpid() % 250);
		(void)snprintf(address, sizeof(address), "%s:7531", host);
		argv[1] = "-l";
		argv[2] = host;
		break;
	default:
		bench_product("apppoold", program, sizeof(program));
		(void)snprintf(conf, sizeof(conf), "%s/pool.conf", b->folder);
		write_conf(s, b, address, conf);
		argv[1] = "-c";
		argv[2] = conf;
		break;
	}
	if (endpoint_parse(address, &s->at) == -1)
		errx(EX_SOFTWARE, "%s", address);
	(void)setenv("LD_LIBRARY_PATH",
	    "build/peers/usr/lib/x86_64-linux-gnu:"
	    "build/peers/usr/lib/aarch64-linux-gnu",
	    1);
	s->pid = bench_spawn(b->folder, argv, b->server_cpu);
	(void)unsetenv("LD_LIBRARY_PATH");
	lockserver_await(s);
	return true;
}

void
lockserver_stop(struct lockserver *s)
{
	(void)kill(s->pid, SIGTERM);
	(void)waitpid(s->pid, NULL, 0);
}

int
lockserver_connect(const struct lockserver *s)
{
	const struct timeval patience = { .tv_sec = PATIENCE };
	const int on = 1;
	int fd = endpoint_connect(&s->at);

	if (fd == -1)
		err(EX_UNAVAILABLE, "%s: connect", titles[s->name]);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(
	    fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}
