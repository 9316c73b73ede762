/* Starting and ending the servers that are compared. */

#include <sys/stat.h>
#include <sys/wait.h>

#include <assert.h>
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "clients.h"
#include "proc.h"
#include "server.h"

#define START_LIMIT TSPAN_SECONDS(120)
#define STOP_LIMIT TSPAN_SECONDS(60)

enum {
	ARGUMENTS = 8,
	PATHS = SERVER_PATH + 16
};

/* A command line, with room for the words that are made. */
struct command {
	const char *argv[ARGUMENTS];
	char program[PATHS], worker[PATHS], number[PATHS];
};

struct server_kind {
	const char *title;
	bool ours; /* a program of the benches, not apppoold */
	const char *mode; /* of `worker` */
	void (*command)(const struct server *s, const struct server_plan *plan,
	    struct command *c);
	bool (*ready)(const struct server *s);
};

static const struct server_kind kinds[SERVER_KINDS];

const char *
server_title(enum server_name name)
{
	return kinds[name].title;
}

static void
server_program(bool ours, const char *name, char out[PATHS])
{
	if (ours)
		bench_program(name, out, PATHS);
	else
		bench_product(name, out, PATHS);
}

/* nginx as it is installed, or as contrib/peers unpacked it. */
static void
server_nginx_program(char out[PATHS])
{
	(void)strlcpy(out, "/usr/sbin/nginx", PATHS);
	if (access(out, X_OK) == -1)
		(void)strlcpy(out, "build/peers/usr/sbin/nginx", PATHS);
}

bool
server_exists(enum server_name name)
{
	char path[PATHS];

	if (name == SERVER_NGINX)
		server_nginx_program(path);
	else
		server_program(kinds[name].ours, kinds[name].title, path);
	return access(path, X_OK) == 0;
}

static void
server_baseline(
    const struct server *s, const struct server_plan *plan, struct command *c)
{
	const struct server_kind *k = &kinds[s->name];

	assert(!plan->idle);
	server_program(true, k->title, c->program);
	server_program(true, "worker", c->worker);
	(void)snprintf(c->number, sizeof(c->number), "%d", plan->workers);
	c->argv[0] = c->program;
	c->argv[1] = plan->address;
	c->argv[2] = c->number;
	c->argv[3] = c->worker;
	c->argv[4] = k->mode;
}

static void
server_pool(
    const struct server *s, const struct server_plan *plan, struct command *c)
{
	FILE *f;

	if (plan->worker != NULL)
		(void)strlcpy(c->worker, plan->worker, sizeof(c->worker));
	else
		server_program(true, plan->idle ? "idle" : "worker", c->worker);
	(void)snprintf(c->number, sizeof(c->number), "%s/pool.conf", s->folder);
	f = fopen(c->number, "we");
	if (f == NULL)
		err(EX_CANTCREAT, "%s", c->number);
	(void)fprintf(f,
	    "control = \"%s/control\"\n"
	    "max_processes = %d\n"
	    "app \"bench\" {\n"
	    "\tlisten = {\"%s\"}\n"
	    "\tcommand = {\"%s\", \"%s\", \"%d\"}\n"
	    "%s"
	    "\tmin_processes = %d\n"
	    "\tmax_processes = %d\n"
	    "\t%s\n"
	    "}\n",
	    s->folder, plan->workers, plan->address, c->worker,
	    kinds[s->name].mode, plan->start_usec,
	    geteuid() == 0 ? "\tuser = \"root\"\n" : "",
	    plan->first > 0 ? plan->first : plan->workers, plan->workers,
	    plan->options != NULL ? plan->options : "");
	if (fclose(f) != 0)
		err(EX_CANTCREAT, "%s", c->number);

	server_program(false, "apppoold", c->program);
	c->argv[0] = c->program;
	c->argv[1] = "-c";
	c->argv[2] = c->number;
}

/* A page of some 100 bytes; connections are kept whatever happens. */
static void
server_nginx(
    const struct server *s, const struct server_plan *plan, struct command *c)
{
	FILE *f;

	server_nginx_program(c->program);
	(void)snprintf(
	    c->number, sizeof(c->number), "%s/nginx.conf", s->folder);
	(void)snprintf(c->worker, sizeof(c->worker), "%s/log", s->folder);
	f = fopen(c->number, "we");
	if (f == NULL)
		err(EX_CANTCREAT, "%s", c->number);
	(void)fprintf(f,
	    "daemon off; worker_processes %d; pid %s/pid; error_log %s;\n"
	    "events { worker_connections 19000; }\n"
	    "http { access_log off; default_type text/plain;\n"
	    "keepalive_timeout 1h; keepalive_requests 1000000000;\n"
	    "client_body_temp_path %s; proxy_temp_path %s;\n"
	    "fastcgi_temp_path %s; uwsgi_temp_path %s; scgi_temp_path %s;\n"
	    "server { listen %s backlog=1024; location / { return 200 \"%s\"; } }\n"
	    "}\n",
	    plan->workers, s->folder, c->worker, s->folder, s->folder,
	    s->folder, s->folder, s->folder, plan->address,
	    "Hello from web\nslot 0\nid 1\npid 1234567\n"
	    "requests served 123456\nwaited 123 us\n");
	if (fclose(f) != 0)
		err(EX_CANTCREAT, "%s", c->number);
	c->argv[0] = c->program;
	c->argv[1] = "-c";
	c->argv[2] = c->number;
	c->argv[3] = "-e";
	c->argv[4] = c->worker;
}

/* Prints the last lines of the server's log. */
static void
server_failed(const struct server *s, const char *what)
{
	char path[PATHS], line[256];
	FILE *log;

	(void)snprintf(path, sizeof(path), "%s/log", s->folder);
	log = fopen(path, "re");
	while (log != NULL && fgets(line, sizeof(line), log) != NULL)
		(void)fputs(line, stderr);
	if (log != NULL)
		(void)fclose(log);
	errx(EX_UNAVAILABLE, "%s: %s", server_title(s->name), what);
}

static bool
server_connects(const struct server *s)
{
	int fd = endpoint_connect(&s->at);

	if (fd != -1)
		(void)close(fd);
	return fd != -1;
}

static bool
server_baseline_ready(const struct server *s)
{
	return proc_children(s->pid) >= s->workers && server_connects(s);
}

static void
server_nap(void)
{
	const struct timespec nap = { .tv_nsec = TSPAN_MSECONDS(1) };

	(void)nanosleep(&nap, NULL);
}

/* Runs `apppoolctl wait` once, which may be too early. */
static bool
server_pool_ready(const struct server *s)
{
	struct command c = { .argv = { c.program, "-s", c.number, "wait" } };
	pid_t pid;
	int status;

	server_program(false, "apppoolctl", c.program);
	(void)snprintf(c.number, sizeof(c.number), "%s/control", s->folder);
	if (access(c.number, F_OK) == -1)
		return false;
	pid = bench_spawn(s->folder, c.argv, -1);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static const struct server_kind kinds[SERVER_KINDS] = {
	[SERVER_SHARED] = { "shared", true, "shared", server_baseline,
	    server_baseline_ready },
	[SERVER_PASS] = { "pass", true, "passed", server_baseline,
	    server_baseline_ready },
	[SERVER_APPPOOLD] = { "apppoold", false, "passed", server_pool,
	    server_pool_ready },
	[SERVER_NGINX] = { "nginx", false, NULL, server_nginx,
	    server_connects },
};

void
server_start(struct server *s, enum server_name name, const char *parent,
    const struct server_plan *plan)
{
	struct command c = { 0 };
	const tstamp limit = tstamp_add(client_now(), START_LIMIT);

	s->name = name;
	s->workers = plan->workers;
	if (endpoint_parse(plan->address, &s->at) == -1)
		errx(EX_SOFTWARE, "%s: not an address", plan->address);
	(void)snprintf(s->folder, sizeof(s->folder), "%s/%s.XXXXXX", parent,
	    server_title(name));
	if (mkdtemp(s->folder) == NULL)
		err(EX_CANTCREAT, "%s", s->folder);

	kinds[name].command(s, plan, &c);
	s->pid = bench_spawn(s->folder, c.argv, plan->cpu);
	while (!kinds[name].ready(s)) {
		if (waitpid(s->pid, NULL, WNOHANG) == s->pid)
			server_failed(s, "ended at once");
		if (client_now() > limit)
			server_failed(s, "not ready");
		server_nap();
	}
}

void
server_stop(struct server *s)
{
	const tstamp limit = tstamp_add(client_now(), STOP_LIMIT);

	(void)kill(s->pid, SIGTERM);
	while (waitpid(s->pid, NULL, WNOHANG) == 0) {
		if (client_now() > limit) {
			warnx(
			    "%s: does not stop: killed", server_title(s->name));
			(void)kill(s->pid, SIGKILL);
			(void)waitpid(s->pid, NULL, 0);
			break;
		}
		server_nap();
	}
	s->pid = -1;
}
