/* apppoold: options, configuration, background, run. */

#include <sys/socket.h>
#include <sys/time.h>

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "conf/conf.h"
#include "control/room.h"
#include "daemon/carry.h"
#include "daemon/state.h"
#include "sys/address.h"
#include "sys/background.h"
#include "sys/cgroup.h"
#include "sys/descriptors.h"
#include "sys/log.h"
#include "sys/manager.h"

struct options {
	const char *file;
	bool test;
	bool print;
	bool background;
	bool guarded; /* the guardian of an upgrade has started this program */
	bool exit_on_failed;
	struct conf_run run; /* its command is NULL: a file is used */
};

static void
usage(FILE *to)
{
	(void)fputs("usage: apppoold [-DhTtVv] [-c FILE] [--exit-on-failed]\n"
		    "       apppoold run [-v] [-l ADDRESS]... [-n MIN[:MAX]]\n"
		    "           [-o OPTION=VALUE]... [--print] [--] PROGRAM "
		    "[ARGUMENT...]\n",
	    to);
}

static void
help(void)
{
	usage(stdout);
	(void)fputs(
	    "\n"
	    "  -c FILE            the configuration (" CONF_DEFAULT_FILE ")\n"
	    "  -D                 go to the background when all apps are ready\n"
	    "  --exit-on-failed   exit with 69 when an app cannot start\n"
	    "  -h, --help         show this\n"
	    "  -T                 check the configuration, and print all "
	    "options\n"
	    "  -t                 check the configuration\n"
	    "  -V, --version      show the version\n"
	    "  -v                 log one level more (twice: two levels)\n"
	    "\n"
	    "run starts one app without a file, in the foreground:\n"
	    "  -l ADDRESS         where it listens (127.0.0.1:8080)\n"
	    "  -n MIN[:MAX]       min_processes and max_processes\n"
	    "  -o OPTION=VALUE    any option of pool.conf(5)\n"
	    "  --print            print a file that says the same\n"
	    "\n"
	    "See apppoold(8) and pool.conf(5).\n",
	    stdout);
}

static int
misused(const char *what, const char *word)
{
	(void)fprintf(stderr, "apppoold: %s%s\n", what, word);
	usage(stderr);
	return EX_USAGE;
}

static int
parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "exit-on-failed", no_argument, NULL, 'E' },
		{ "help", no_argument, NULL, 'h' },
		{ "print", no_argument, NULL, 'p' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	/* Kept for as long as the process lives. */
	static struct conf_word *words;
	const char *letters = "+c:DhTtVv";
	bool runs = false;
	int c;

	o->run.words = words = calloc((size_t)argc, sizeof(*words));
	if (words == NULL)
		return EX_OSERR;
	for (;;) {
		c = getopt_long(argc, argv, letters, longs, NULL);
		if (c == -1 && !runs && optind < argc &&
		    strcmp(argv[optind], "run") == 0) {
			runs = true;
			letters = "+hl:n:o:v";
			optind++;
			continue;
		}
		if (c == -1)
			break;
		switch (c) {
		case 'c':
			o->file = optarg;
			break;
		case 'D':
			o->background = true;
			break;
		case 'E':
			o->exit_on_failed = true;
			break;
		case 'h':
			help();
			exit(EX_OK);
		case 'l':
		case 'n':
		case 'o':
			words[o->run.words_len++] =
			    (struct conf_word){ (char)c, optarg };
			break;
		case 'p':
			o->run.print = true;
			break;
		case 'T':
			o->print = true;
			break;
		case 't':
			o->test = true;
			break;
		case 'V':
			(void)printf("apppoold %s\n", APPPOOL_VERSION);
			exit(EX_OK);
		case 'v':
			logging_verbose();
			break;
		default:
			usage(stderr);
			return EX_USAGE;
		}
	}
	if (!runs && o->run.print)
		return misused("--print is for run", "");
	if (!runs)
		return optind == argc
		    ? EX_OK
		    : misused("unexpected argument: ", argv[optind]);
	if (o->background || o->test || o->print ||
	    strcmp(o->file, CONF_DEFAULT_FILE) != 0)
		return misused("-c, -D, -T and -t are not for run", "");
	if (optind == argc || argv[optind][0] == '\0')
		return misused("run: no program is named", "");
	o->run.command = argv + optind;
	return EX_OK;
}

/*
 * The addresses of the daemon that answers on the control socket of this very
 * file, a line each: for -t, one that is in use by that is no mistake. Without
 * an answer within a second there are none.
 */
static char listeners[65536];

static void
ask_running_daemon(const char *file)
{
	static const char question[] = "listeners\n";
	const struct timeval patience = { .tv_sec = 1 };
	char *path = conf_control_path(file);
	struct sockaddr_un addr;
	socklen_t addr_len = path == NULL ? 0 : address_of_path(path, &addr);
	size_t len = 0;
	ssize_t n = -1;
	int fd;

	free(path);
	if (addr_len == 0)
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return;
	(void)setsockopt(
	    fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	(void)setsockopt(
	    fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&addr, addr_len) == 0)
		n = send(fd, question, sizeof(question) - 1, MSG_NOSIGNAL);
	while (n > 0 && len < sizeof(listeners) - 1) {
		n = recv(fd, listeners + len, sizeof(listeners) - 1 - len, 0);
		if (n > 0)
			len += (size_t)n;
	}
	listeners[len] = '\0';
	(void)close(fd);
}

static bool
is_held_by_it(const struct conf_listen *where)
{
	size_t len = strlen(where->text);

	for (const char *at = listeners; (at = strstr(at, where->text)) != NULL;
	     at += len)
		if ((at == listeners || at[-1] == '\n') && at[len] == '\n')
			return true;
	return false;
}

/*
 * Reads the file or the command line and shows its warnings and mistakes; NULL:
 * there are some.
 */
static struct conf *
load(const struct options *o, unsigned flags)
{
	bool runs = o->run.command != NULL;
	struct conf_report report;
	struct conf *conf;

	conf = runs ? conf_run(&o->run, &report)
		    : conf_load(o->file, flags, is_held_by_it, &report);
	for (size_t i = 0; i < report.warnings_len; i++)
		(void)fprintf(stderr, "%s (warning)\n", report.warnings[i]);
	for (size_t i = 0; i < report.mistakes_len; i++)
		(void)fprintf(stderr, "%s\n", report.mistakes[i]);
	conf_report_fini(&report);
	if (conf == NULL && !runs && strcmp(o->file, CONF_DEFAULT_FILE) == 0 &&
	    access(o->file, F_OK) == -1)
		(void)fprintf(stderr,
		    "apppoold: copy an example of %s there, name another file "
		    "by -c, or start a program by apppoold run PROGRAM\n",
		    access(CONF_EXAMPLES, F_OK) == 0 ? CONF_EXAMPLES
						     : "etc/examples");
	return conf;
}

/* -t, -T, and --print of run. */
static int
check(const struct options *o)
{
	struct conf *conf;

	if (!o->run.print)
		ask_running_daemon(o->file);
	conf = load(o, CONF_OUTSIDE_STRICT);
	if (conf == NULL)
		return EX_CONFIG;
	if (o->print || o->run.print)
		conf_print(conf, stdout);
	else
		(void)fprintf(stderr, "%s: no mistakes\n", conf->file);
	conf_free(conf);
	if (fflush(stdout) == 0)
		return EX_OK;
	perror("apppoold: standard output");
	return EX_IOERR;
}

/* Signals that come before the loop runs wait for it, and do not kill us. */
static void
hold_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Locks the pid file, if one is wanted. Returns 0, or an exit status. */
static int
lock_pid_file(struct pidfile *p, const struct conf *conf)
{
	char why[OWNFILE_WHY];
	pid_t other;
	int status;

	if (conf->pid_file == NULL ||
	    pidfile_lock(p, conf->pid_file, why, &other) == 0)
		return EX_OK;
	status = opening_status(errno);
	if (errno == EEXIST && other == 0)
		log_errorx("pid_file %s: already running", conf->pid_file);
	else if (errno == EEXIST)
		log_errorx("pid_file %s: already running, pid %ld",
		    conf->pid_file, (long)other);
	else if (why[0] != '\0')
		log_errorx("pid_file %s: %s", conf->pid_file, why);
	else
		log_error("pid_file %s", conf->pid_file);
	return status;
}

/* The control socket is opened first: a second daemon finds it in use. */
static int
start(struct supervisor *s, struct conf *conf)
{
	int status = supervisor_init(s, conf, false);

	if (status != EX_OK)
		return status;
	if (!control_register(s, command_run))
		return EX_OSERR;
	return supervisor_open(s);
}

/* The configuration that another daemon's state was under; or does not return.
 */
static struct conf *
load_past(const struct carry_state *past)
{
	struct conf_report report;
	struct conf *conf =
	    conf_load_text(past->file, past->choice, past->config, &report);

	if (conf == NULL)
		upgrade_fail(report.mistakes[0]);
	conf_report_fini(&report);
	return conf;
}

/* A dry run, beside the daemon that this program may replace. */
static int
try(struct supervisor *s, const struct carry_state *past)
{
	struct conf *conf = load_past(past);
	struct logsink *sink = logging_prepare(conf, NULL);

	if (sink == NULL)
		upgrade_fail("its log cannot be opened");
	log_abandon(sink);
	if (supervisor_init(s, conf, true) != EX_OK ||
	    !control_register(s, command_run))
		upgrade_fail("no memory");
	return upgrade_inherit(s);
}

/* Goes on with all that another daemon had. */
static int
go_on(struct supervisor *s, const struct options *o,
    const struct carry_state *past)
{
	static struct pidfile pid_file;
	struct conf *conf = load_past(past);
	struct logsink *sink = logging_prepare(conf, NULL);
	int status;

	if (past->given != NULL && activation_inherit(past->given) == -1)
		upgrade_fail("no memory");

	/* There is no way back from the former program. */
	if (sink == NULL && past->back[0] == '\0')
		upgrade_fail("its log cannot be opened");
	if (sink != NULL)
		log_commit(sink);
	log_echo(false);
	if (supervisor_init(s, conf, false) != EX_OK ||
	    !control_register(s, command_run))
		upgrade_fail("it cannot start");
	s->background = o->background;
	s->exit_on_failed = o->exit_on_failed;
	pid_file =
	    (struct pidfile){ .fd = past->pid_file, .path = past->pid_path };
	if (pid_file.fd != -1) {
		s->pid_file = &pid_file;
		(void)pidfile_fill(&pid_file, &s->looker, loop_now(&s->loop));
	}
	(void)upgrade_inherit(s);
	if (log_start() == -1)
		log_warn("cannot start the log's thread");
	status = supervisor_run(s);
	pidfile_fini(&pid_file);
	return status;
}

/* Tells of the one app of `run` what was chosen, and how it is reached. */
static void
tell_way(const struct conf *conf)
{
	const struct conf_app *app = &conf->apps[0];

	log_info("%s", conf->choice);
	if (conf->nobody_by_default)
		log_info("it runs as nobody (-o user=NAME chooses another)");
	if (app->listen.len > 0)
		log_info("clients reach it at %s%s%s",
		    app->listen.list[0].kind == CONF_LISTEN_TCP &&
			    app->refusal.protocol == CONF_PROTOCOL_HTTP
			? "http://"
			: "",
		    app->listen.list[0].text,
		    app->refusal.protocol == CONF_PROTOCOL_FASTCGI
			? " by FastCGI (a web server, not a browser)"
			: "");
	if (conf->control != NULL)
		log_info("apppoolctl -s %s status shows it; Ctrl-C stops it",
		    conf->control);
}

/* Tells why apps have no cgroup, or which controllers these lack. */
static void
tell_cgroups(void)
{
	const char *why = cgroup_lacks(CGROUP_ANY);

	if (why != NULL)
		log_info("apps have no cgroup of their own: %s", why);
	for (enum cgroup_need i = CGROUP_ANY; why == NULL && i < CGROUP_NEEDS;
	     i++)
		if (cgroup_lacks(i) != NULL)
			log_info("%s", cgroup_lacks(i));
}

static int
run(struct supervisor *s, const struct options *o, struct conf *conf)
{
	/* A thread that hangs in it may outlive us. */
	static struct pidfile pid_file = { .fd = -1 };
	int status;

	status = lock_pid_file(&pid_file, conf);
	if (status == EX_OK && o->background && background_start() == -1) {
		log_error("cannot go to the background");
		status = EX_OSERR;
	}
	if (status != EX_OK) {
		pidfile_fini(&pid_file);
		conf_free(conf);
		return status;
	}
	status = start(s, conf);
	if (status == EX_OK) {
		s->pid_file = pid_file.fd == -1 ? NULL : &pid_file;
		/* From here on, signals to the number in it are heard. */
		if (pid_file.fd != -1 &&
		    pidfile_fill(&pid_file, &s->looker, loop_now(&s->loop)) ==
			-1)
			log_warn("pid_file %s: it stays empty for now",
			    conf->pid_file);
		log_echo(o->background);
		s->background = o->background;
		s->exit_on_failed = o->exit_on_failed;
		tell_daemon(s, LOG_LEVEL_INFO, EVENT_START,
		    "apppoold %s runs %s (pid %ld)", APPPOOL_VERSION,
		    conf->choice != NULL ? conf->apps[0].name : conf->file,
		    (long)getpid());
		if (o->guarded)
			tell_daemon(s, LOG_LEVEL_ERROR, EVENT_UPGRADE,
			    "not upgraded: the new program ended before it "
			    "served, and the former one was started again: "
			    "connections that were accepted are lost, and "
			    "sizes, drains and stops set by hand forgotten");
		if (conf->choice != NULL)
			tell_way(conf);
		else
			tell_cgroups();
		if (conf->choice == NULL && conf->nobody_by_default)
			log_warnx("apps that name no user run as nobody");
		if (o->background && conf->log.dest == LOG_DEST_STDERR)
			log_warnx("the log goes nowhere when all apps are "
				  "ready; log = syslog or a file keeps it");
		status = supervisor_run(s);
	}
	background_report(status);
	pidfile_fini(&pid_file);
	return status;
}

int
main(int argc, char **argv)
{
	static struct supervisor s;
	const struct carry_state *past;
	struct options o = { .file = CONF_DEFAULT_FILE };
	struct logsink *sink;
	struct conf *conf;
	int status;

	if (descriptors_fix() == -1)
		return EX_OSERR;
	if (upgrade_past(&s, argv, &past) == -1)
		return EX_OSERR;
	setproctitle_init(argc, argv, environ);
	status = parse_options(argc, argv, &o);
	if (status != EX_OK)
		return status;
	if (past != NULL && past->dry)
		return try(&s, past);
	if (past == NULL && (o.test || o.print || o.run.print))
		return check(&o);
	hold_signals();
	if (manager_open(&o.guarded) == -1) {
		perror("apppoold: LISTEN_FDS");
		return EX_OSERR;
	}
	if (past == NULL || past->cgroup == -1)
		cgroup_init(true);
	if (past != NULL) {
		status = go_on(&s, &o, past);
		(void)log_flush(TSPAN_SECONDS(1));
		return status;
	}
	conf = load(&o, CONF_OUTSIDE_WARN);
	if (conf == NULL)
		return EX_CONFIG;
	sink = logging_prepare(conf, NULL);
	if (sink == NULL) {
		status = opening_status(errno);
		conf_free(conf);
		return status;
	}
	log_commit(sink);
	log_echo(true);
	status = run(&s, &o, conf);
	(void)log_flush(TSPAN_SECONDS(1));
	return status;
}
