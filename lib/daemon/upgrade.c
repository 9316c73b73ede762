/*
 * The daemon replaces itself by the program that is on disk now, as the same
 * process: the program is executed with all descriptors that it needs, and
 * finds what they are in a sealed memory file, its standard input.
 *
 * Before that the program reads the state in a dry run, beside the daemon, and
 * says how many records of each kind it would take over. One that does not
 * start, hangs, or would leave something out is not executed.
 *
 * The former program stays open. The new one executes it again, with the same
 * state, if it cannot restore that; and with the state of then, if connections
 * wait beside idle processes for TIME_SERVES. So does a signal that would end
 * it, or an alarm, while it restores the state.
 *
 * What is under way in a lane, in the keeper or in a template has no record.
 * The state is taken at the end of a turn in which there is none of that; no
 * start begins meanwhile.
 */

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/carry.h"
#include "daemon/worker.h"
#include "sys/background.h"
#include "sys/cgroup.h"
#include "sys/manager.h"

/* A moment at which nothing is under way is waited for so long. */
#define TIME_SETTLES TSPAN_SECONDS(1)
#define LOOK_PAUSE TSPAN_MSECONDS(2)

/* The dry run; and the new program, before it serves. */
#define TIME_TRIED TSPAN_SECONDS(5)
#define TIME_SERVES TSPAN_SECONDS(5)

/* Lines of the log that are still to be written. */
#define TIME_FLUSH TSPAN_MSECONDS(20)

#define WHY_MAX 256

/* The last line of the dry run, and bytes of all its lines at most. */
#define COMPLETE "complete"
#define SAID_MAX 4096

static const char magic[] = "state 0 format=";

struct upgrade {
	struct supervisor *sup;
	struct reload_answer *answer; /* a reference */
	enum {
		UPGRADE_SETTLES, /* before the dry run */
		UPGRADE_TRIED, /* the dry run is under way */
		UPGRADE_LEAVES, /* settles once more */
		UPGRADE_ARRIVED, /* in the new program, which has not served */
	} phase;
	tstamp until; /* the phase ends then */
	struct timer timer;
	bool back; /* to the former program */
	uint32_t counts[CARRIED_KINDS]; /* records of the dry run's state */
	int memory; /* of the state, for the dry run; -1: none */
	int says; /* a file that has what it says; likewise */
	struct lane_job job; /* starts the dry run, with these two */
	struct child_spec spec;
	struct child_result result;
	struct stat file; /* of the program that is tried */
	struct reap_death death; /* of it; pid 0: it lives */
	char why[WHY_MAX]; /* the program before came back; or "" */
};

/* Whether the descriptors in the state stay open when a program is executed. */
static bool
upgrade_keep(const struct carry *c, bool keep)
{
	activation_keep(keep);
	/* All others have that flag anyway. Linux has the call since 5.11. */
	if (!keep &&
	    close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
		return true;
	for (size_t i = 0; i < c->nfds; i++)
		if (fcntl(c->fds[i], F_SETFD, keep ? 0 : FD_CLOEXEC) == -1)
			return false;
	return true;
}

/* --- this program --------------------------------------------------------- */

static struct {
	char **argv; /* as it was started, */
	char **envp; /* and with these variables */
	char path[PATH_MAX]; /* where it was found, and another one may be */
	int exe; /* this very one */
} program = { .exe = -1 };

/* The state that the former program has left; text NULL: none. */
static struct {
	const char *text;
	size_t len;
	struct carry_state head;
	struct supervisor *sup; /* that goes on with it */
} past;

static char **
program_copy(char *const *list)
{
	size_t n = 0;
	char **copy;

	while (list[n] != NULL)
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	while (copy != NULL && n-- > 0)
		if ((copy[n] = strdup(list[n])) == NULL)
			return NULL;
	return copy;
}

/* False: no memory. */
static bool
program_remember(char *const *argv)
{
	static const char self[] = "/proc/self/exe", deleted[] = " (deleted)";
	ssize_t n = readlink(self, program.path, sizeof(program.path) - 1);
	ssize_t at = n - (ssize_t)strlen(deleted);
	char **to;

	program.path[n < 0 ? 0 : n] = '\0';
	/* Another file has the place of this one, if it was executed anew. */
	if (at > 0 && strcmp(program.path + at, deleted) == 0)
		program.path[at] = '\0';
	program.exe = open(self, O_PATH | O_CLOEXEC);
	program.argv = program_copy(argv);
	program.envp = program_copy(environ);
	/* Sockets of the service manager's are in the state. */
	to = program.envp;
	for (char **from = to; from != NULL && *from != NULL; from++)
		if (strncmp(*from, "LISTEN_PID=", 11) == 0 ||
		    strncmp(*from, "LISTEN_FDS=", 11) == 0 ||
		    strncmp(*from, "LISTEN_FDNAMES=", 15) == 0)
			free(*from);
		else
			*to++ = *from;
	if (to != NULL)
		*to = NULL;
	return program.argv != NULL && program.envp != NULL;
}

/*
 * Executes the former program with the state it has left. In a signal handler,
 * too: so it makes system calls only.
 */
static void
past_return(const char *why)
{
	(void)alarm(0);
	if (past.sup->watch.pid != 0)
		(void)kill(past.sup->watch.pid, SIGKILL);
	(void)!pwrite(past.head.note, why, strlen(why), 0);
	(void)syscall(SYS_execveat, past.head.exe, "", program.argv,
	    program.envp, AT_EMPTY_PATH);
}

static void
past_crashed(int sig)
{
	past_return(sig == SIGALRM ? "it hung while it took over"
		: sig == SIGABRT   ? "it failed while it took over"
				   : "it crashed while it took over");
	_exit(EX_SOFTWARE);
}

void
upgrade_fail(const char *why)
{
	if (!past.head.dry && past.head.back[0] == '\0')
		past_return(why);
	(void)fprintf(stderr, "%s\n", why);
	exit(EX_DATAERR);
}

/* Process one of a container ignores a signal that has no handler. */
static void
past_hung(int sig)
{
	(void)sig;
	_exit(EX_SOFTWARE);
}

/*
 * Signals that end the program have the former one back; or not any more, and a
 * loop that does not turn until upgrade_end() ends the program.
 */
static void
past_guard(bool guarded)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT,
		SIGSYS, SIGALRM };
	const struct sigaction action = {
		.sa_handler = guarded ? past_crashed : SIG_DFL,
		.sa_flags = SA_NODEFER,
	};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		(void)sigaction(signals[i], &action, NULL);
	if (!guarded)
		(void)signal(SIGALRM, past_hung);
	(void)alarm((guarded ? 1 : 3) * TIME_SERVES / TSPAN_SECONDS(1));
}

int
upgrade_past(
    struct supervisor *s, char *const *argv, const struct carry_state **out)
{
	int seals = fcntl(STDIN_FILENO, F_GET_SEALS);
	struct carry c;
	struct stat st;
	ssize_t n;

	*out = NULL;
	if (!program_remember(argv))
		return -1;
	if (seals == -1 || (seals & F_SEAL_WRITE) == 0 ||
	    fstat(STDIN_FILENO, &st) == -1 ||
	    st.st_size < (off_t)sizeof(magic) || st.st_uid != geteuid())
		return 0;
	past.len = (size_t)st.st_size;
	past.text =
	    mmap(NULL, past.len, PROT_READ, MAP_PRIVATE, STDIN_FILENO, 0);
	if (past.text == MAP_FAILED ||
	    memcmp(past.text, magic, sizeof(magic) - 1) != 0)
		return 0;
	past.sup = s;
	*out = &past.head;
	carry_init(&c, s, 0);
	c.head = &past.head;
	if (!carry_read(&c, past.text, past.len) ||
	    past.head.format != CARRY_FORMAT || past.head.file == NULL ||
	    past.head.config == NULL || past.head.version == NULL ||
	    past.head.binary == NULL) {
		past.head.dry = true;
		upgrade_fail(c.why[0] != '\0' ? c.why
					      : "the state is of a format "
						"that is not known here");
	}
	carry_fini(&c);
	if (past.head.dry)
		return 0;
	(void)strlcpy(program.path, past.head.binary, sizeof(program.path));
	n = pread(
	    past.head.note, past.head.back, sizeof(past.head.back) - 1, 0);
	past.head.back[n < 0 ? 0 : n] = '\0';
	if (past.head.back[0] == '\0')
		past_guard(true);
	(void)cgroup_base(past.head.cgroup);
	return 0;
}

int
upgrade_inherit(struct supervisor *s)
{
	struct upgrade *u;
	const struct carry_state *head = &past.head;
	struct carry c;
	bool good;

	carry_init(&c, s, loop_now(&s->loop));
	c.dry = head->dry;
	if (c.dry) {
		good = carry_read(&c, past.text, past.len);
		for (enum carry_id id = 0; good && id < CARRIED_KINDS; id++)
			(void)printf("%s %u\n", carry_kinds[id]->name,
			    (unsigned)c.counts[id]);
		(void)printf("%s\n", good ? COMPLETE : c.why);
		carry_fini(&c);
		return fflush(stdout) == 0 && good ? EX_OK : EX_DATAERR;
	}
	u = calloc(1, sizeof(*u));
	if (u == NULL || (u->answer = calloc(1, sizeof(*u->answer))) == NULL)
		upgrade_fail("no memory");
	u->sup = s;
	u->phase = UPGRADE_ARRIVED;
	u->answer->refs = 1;
	u->until = c.now + TIME_SERVES;
	u->says = u->memory = -1;
	(void)strlcpy(u->why, head->back, sizeof(u->why));
	timer_init(&u->timer, NULL);
	s->upgrade = u;
	/* The program in between may have changed the set. */
	if (head->back[0] != '\0' || head->polled == NULL)
		(void)close(head->epoll);
	else if (!loop_inherit(&s->loop, head->epoll, head->polled))
		upgrade_fail("its loop cannot go on");
	if (!carry_read(&c, past.text, past.len))
		upgrade_fail(c.why);
	/* From here on the state is another one. */
	past_guard(false);
	if (!upgrade_keep(&c, false))
		log_warn("a descriptor that was carried over");
	carry_fini(&c);
	(void)dup2(head->input, STDIN_FILENO);
	(void)close(head->input);
	(void)close(head->note);
	(void)munmap((void *)past.text, past.len);
	timer_set(&s->loop.timers, &u->timer, c.now);
	return EX_OK;
}

/* --- its end -------------------------------------------------------------- */

void
upgrade_stop(void)
{
	/* Until now it has ended our processes if we were killed. */
	if (past.sup != NULL && past.head.watch != 0)
		(void)kill(past.head.watch, SIGKILL);
	if (past.sup != NULL && past.head.guard != -1) {
		(void)!write(past.head.guard, "", 1);
		(void)close(past.head.guard);
	}
	if (past.sup != NULL)
		(void)close(past.head.exe);
	past.sup = NULL;
}

bool
upgrade_waits(const struct supervisor *s)
{
	return s->upgrade != NULL &&
	    (s->upgrade->phase == UPGRADE_SETTLES ||
		s->upgrade->phase == UPGRADE_LEAVES);
}

struct reload_answer *
upgrade_answer(struct supervisor *s)
{
	if (s->upgrade == NULL)
		return NULL;
	s->upgrade->answer->refs++;
	return s->upgrade->answer;
}

static void __attribute__((format(printf, 3, 4)))
upgrade_end(struct upgrade *u, bool ok, const char *fmt, ...)
{
	struct supervisor *s = u->sup;
	struct reload_answer *a = u->answer;
	va_list ap;

	(void)alarm(0);
	upgrade_stop();
	va_start(ap, fmt);
	if (vasprintf(&a->text, fmt, ap) == -1)
		a->text = NULL;
	va_end(ap);
	tell_daemon(s, ok ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR, EVENT_UPGRADE,
	    "%s", a->text == NULL ? "upgrade" : a->text);
	if (s->told.ready)
		(void)notify_send("READY=1");
	a->ok = ok;
	a->over = true;
	reload_forget(a);
	timer_set(&s->loop.timers, &u->timer, TSTAMP_NEVER);
	if (u->says != -1)
		(void)close(u->says);
	if (u->memory != -1)
		(void)close(u->memory);
	s->upgrade = NULL;
	free(u);
}

#define upgrade_refuse(u, fmt, ...) \
	upgrade_end(u, false, "not upgraded: " fmt, __VA_ARGS__)

/* --- quiet ---------------------------------------------------------------- */

/* False: why says what is under way. */
static bool
upgrade_is_quiet(struct supervisor *s, char why[WHY_MAX])
{
	const char *what = s->stopping ? "the daemon is stopping"
	    : s->background && !s->told.ready
	    ? "the daemon is starting, apppoolctl wait"
	      " tells when that is over"
	    : s->reload != NULL          ? "a reload is under way"
	    : !lane_is_idle(&s->spawner) ? "a process is being started"
	    : !lane_is_idle(&s->looker)  ? "a file is being looked at"
	    : !lane_is_idle(&s->closer)  ? "a connection is being closed"
					 : NULL;
	const struct group *g = NULL;
	const struct worker *w;

	for (enum carry_id id = 0; id < CARRIED_KINDS && what == NULL; id++)
		if (carry_kinds[id]->busy != NULL)
			what = carry_kinds[id]->busy(s);
	if (what == NULL && !carry_is_quiet(&s->pool))
		what = "a connection is on its way";
	while (what == NULL && (g = group_next(s, g)) != NULL) {
		enum app_phase phase = s->pool.apps[g->app].phase;

		for (enum carry_id id = 0; id < CARRIED_KINDS; id++)
			if (what == NULL && carry_kinds[id]->app_busy != NULL)
				what = carry_kinds[id]->app_busy(g);
		TAILQ_FOREACH(w, &g->workers, next)
			if (w->leaving.death.pid != 0)
				what = "a process has ended";
		if (g->closing || phase >= APP_CLOSING)
			what = "it is being removed";
		else if (phase == APP_EMPTYING)
			what = "it is being stopped";
	}
	if (what != NULL)
		(void)snprintf(why, WHY_MAX, "%s%s%s",
		    g == NULL ? "" : g->conf->name, g == NULL ? "" : ": ",
		    what);
	return what == NULL;
}

/* --- the state ------------------------------------------------------------ */

#define F(m) CARRY(struct carry_state, m)
#define O(m) CARRY_OWNED(struct carry_state, m)
#define D(m) CARRY_FD(struct carry_state, m)
static const struct carry_field state_fields[] = { F(format), F(dry),
	O(version), O(binary), O(file), O(choice), O(config), O(given),
	D(input), D(exe), D(epoll), O(polled), D(note), D(pid_file),
	O(pid_path), D(guard), D(cgroup), F(watch), F(began) };
#undef F
#undef O
#undef D

static bool
state_restore(struct carry *c, struct group *g, void *record)
{
	(void)g;
	return c->head == NULL || carry_copy(c, c->head, record);
}

CARRY_KIND(carry_state, "state", struct carry_state, state_fields,
    .inside = true, .restore = state_restore);

/* Writes the state, as the head says. Its memory file; -1 and errno. */
static int
upgrade_write(struct carry *c, struct carry_state *head)
{
	const struct supervisor *s = c->sup;
	const struct conf *conf = s->config;
	const struct group *g = NULL;
	int fd =
	    memfd_create("apppoold-state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t len = 0, done = 0;
	ssize_t n = 0;
	FILE *out = open_memstream(&head->config, &len);

	if (out == NULL || fd == -1)
		goto fail;
	/* An app may have been rolled back since the file was read. */
	conf_print_global(conf, out);
	while ((g = group_next(s, g)) != NULL)
		conf_print_app(g->conf, out);
	if (fclose(out) != 0 || (head->given = activation_list()) == NULL ||
	    (head->epoll != -1 && (head->polled = loop_list(&s->loop)) == NULL))
		goto fail;
	head->format = CARRY_FORMAT;
	head->version = (char *)APPPOOL_VERSION;
	head->binary = program.path;
	head->file = conf->file;
	head->choice = conf->choice;
	head->began = c->now;
	head->watch = s->watch.pid;
	carry_put(c, CARRIED_STATE, 0, head);
	free(head->config);
	free(head->given);
	free(head->polled);
	carry_all(c);
	if (c->text.failed) {
		errno = ENOMEM;
		goto fail;
	}
	while (done < c->text.len && n >= 0) {
		n = write(fd, c->text.data + done, c->text.len - done);
		done += n > 0 ? (size_t)n : 0;
	}
	if (n >= 0 && lseek(fd, 0, SEEK_SET) == 0 &&
	    fcntl(fd, F_ADD_SEALS,
		F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return fd;
fail:
	if (fd != -1)
		(void)close(fd);
	return -1;
}

/* --- the dry run ---------------------------------------------------------- */

/* The dry run is over. */
static void
tried_judge(struct upgrade *u, tstamp now)
{
	const struct reap_death *death = &u->death;
	char said[SAID_MAX + 2] = "\n", line[64], how[64];

	(void)!pread(u->says, said + 1, SAID_MAX, 0);
	if (death->signal != 0 || death->status != 0 ||
	    strstr(said, "\n" COMPLETE "\n") == NULL) {
		said[1 + strcspn(said + 1, "\n")] = '\0';
		upgrade_refuse(u, "%s failed in its dry run: %s", program.path,
		    death->signal != 0 || said[1] == '\0'
			? reap_explain(death, how, sizeof(how))
			: said + 1);
		return;
	}
	for (enum carry_id id = 0; id < CARRIED_KINDS; id++) {
		(void)snprintf(line, sizeof(line), "\n%s %u\n",
		    carry_kinds[id]->name, (unsigned)u->counts[id]);
		if (u->counts[id] == 0 || strstr(said, line) != NULL)
			continue;
		upgrade_refuse(u, "%s would not carry over each %s (%u)",
		    program.path, carry_kinds[id]->name,
		    (unsigned)u->counts[id]);
		return;
	}
	u->phase = UPGRADE_LEAVES;
	u->until = now + TIME_SETTLES;
	timer_set(&u->sup->loop.timers, &u->timer, now);
}

static void
tried_work(struct lane_job *job)
{
	struct upgrade *u = LOOP_OWNER(job, struct upgrade, job);

	if (stat(program.path, &u->file) == 0)
		(void)child_spawn(&u->spec, &u->result);
	else
		u->result = (struct child_result){ .stage = CHILD_EXEC,
			.error = errno };
}

/* Whether the program is still the one that was tried. */
static bool
tried_is_there(const struct upgrade *u)
{
	struct stat st;

	return stat(program.path, &st) == 0 && st.st_dev == u->file.st_dev &&
	    st.st_ino == u->file.st_ino && st.st_size == u->file.st_size &&
	    st.st_mtim.tv_sec == u->file.st_mtim.tv_sec &&
	    st.st_mtim.tv_nsec == u->file.st_mtim.tv_nsec;
}

static void
tried_started(struct lane_job *job, tstamp now)
{
	struct upgrade *u = LOOP_OWNER(job, struct upgrade, job);
	struct supervisor *s = u->sup;
	char why[WHY_MAX];

	if (u->result.error != 0) {
		upgrade_refuse(u, "%s",
		    child_explain(&u->spec, &u->result, why, sizeof(why)));
		return;
	}
	timer_set(&s->loop.timers, &u->timer, now + TIME_TRIED);
	u->until = now + TIME_TRIED;
	/* The process may have been reaped while the lane had its number. */
	if (u->death.pid != 0 || !reap_is_child(u->result.pid))
		tried_judge(u, now);
}

bool
upgrade_exited(struct supervisor *s, const struct reap_death *death, tstamp now)
{
	struct upgrade *u = s->upgrade;

	if (u == NULL || u->phase != UPGRADE_TRIED ||
	    u->result.pid != death->pid)
		return false;
	u->death = *death;
	/* Unless the lane still has it. */
	if (u->until != TSTAMP_NEVER)
		tried_judge(u, now);
	return true;
}

static void
upgrade_begin_try(struct upgrade *u, tstamp now)
{
	/* With the names of all that the program will be executed with. */
	struct carry_state head = {
		.dry = true, .epoll = u->sup->loop.epfd, .pid_path = (char *)"/"
	};
	struct supervisor *s = u->sup;
	struct carry c;

	carry_init(&c, s, now);
	u->memory = upgrade_write(&c, &head);
	memcpy(u->counts, c.counts, sizeof(u->counts));
	carry_fini(&c);
	/* A program that says more than it has to fills no memory. */
	u->says =
	    memfd_create("apppoold-tried", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (u->memory == -1 || u->says == -1 ||
	    ftruncate(u->says, SAID_MAX) == -1 ||
	    fcntl(u->says, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) == -1) {
		upgrade_refuse(u, "%s", strerror(errno));
		return;
	}
	u->phase = UPGRADE_TRIED;
	u->until = TSTAMP_NEVER;
	u->spec = (struct child_spec){ .path = program.path,
		.argv = program.argv,
		.envp = program.envp,
		.stdio = { u->memory, u->says, u->says },
		.directory = "/" };
	u->job = (struct lane_job){ .work = tried_work, .done = tried_started };
	lane_submit(&s->spawner, &u->job);
}

/* --- executing ------------------------------------------------------------ */

static void
upgrade_execute(struct upgrade *u)
{
	struct supervisor *s = u->sup;
	struct carry_state head = { .exe = program.exe,
		.epoll = s->loop.epfd,
		.input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3),
		.note = memfd_create("apppoold-note", MFD_CLOEXEC),
		.guard = -1,
		.cgroup = cgroup_base(-1),
		.pid_file = s->pid_file == NULL ? -1 : s->pid_file->fd,
		.pid_path = s->pid_file == NULL ? NULL : s->pid_file->path };
	struct carry c;
	int state, ends[2] = { -1, -1 };
	/* In the foreground, what has started us sees our end. */
	const bool guarded = !u->back && s->background;

	if (u->back) {
		head.guard = past.head.guard;
		if (past.head.watch != 0)
			(void)kill(past.head.watch, SIGKILL);
		past.head.watch = 0;
	} else if (guarded && pipe2(ends, O_CLOEXEC) == 0) {
		head.guard = ends[1];
	}
	carry_init(&c, s, clock_now());
	state = upgrade_write(&c, &head);
	if (state == -1 || head.input == -1 || head.note == -1 ||
	    (guarded &&
		(ends[0] == -1 ||
		    guardian_start(ends[0], program.exe, program.argv,
			program.envp, c.kept, c.nkept) == -1))) {
		upgrade_refuse(u, "%s", strerror(errno));
		goto out;
	}
	if (u->back)
		(void)!pwrite(head.note, u->why, strlen(u->why), 0);
	/* The watch over this loop stays: it ends our processes if need be. */
	atomic_store(&turn_now->busy, 0);
	if (upgrade_keep(&c, true) && dup2(state, STDIN_FILENO) != -1) {
		if (u->back)
			(void)syscall(SYS_execveat, past.head.exe, "",
			    program.argv, program.envp, AT_EMPTY_PATH);
		else
			(void)execve(program.path, program.argv, program.envp);
	}
	/* Nothing has changed: all goes on here. */
	upgrade_refuse(u, "%s: %s", program.path, strerror(errno));
	(void)dup2(head.input, STDIN_FILENO);
	(void)upgrade_keep(&c, false);
out:
	carry_fini(&c);
	if (ends[1] != -1)
		(void)!write(ends[1], "", 1);
	for (size_t i = 0; i < 5; i++) {
		int fd = (int[]){ ends[0], ends[1], state, head.input,
			head.note }[i];

		if (fd != -1)
			(void)close(fd);
	}
}

/* --- in the loop ---------------------------------------------------------- */

/* Whether no connection waits beside an idle process. */
static bool
upgrade_serves(const struct supervisor *s)
{
	for (uint32_t i = 0; i < s->pool.napps; i++) {
		const struct app *a = &s->pool.apps[i];

		if (a->phase != APP_FREE && app_servable(a)->count > 0 &&
		    a->in_state[PROCESS_IDLE] > 0)
			return false;
	}
	return true;
}

static void
upgrade_arrive(struct upgrade *u)
{
	double pause = tspan_to_seconds(clock_now() - past.head.began) * 1000;

	if (u->why[0] != '\0')
		upgrade_end(u, false,
		    "not upgraded: %s was executed, but %s; %s serves on, "
		    "after a pause of %.1f ms",
		    program.path, u->why, APPPOOL_VERSION, pause);
	else
		upgrade_end(u, true,
		    "upgraded from %s to %s, with a pause of %.1f ms",
		    past.head.version, APPPOOL_VERSION, pause);
}

void
upgrade_turn(struct supervisor *s, tstamp now)
{
	struct upgrade *u = s->upgrade;
	char why[WHY_MAX];

	if (u == NULL)
		return;
	if (u->phase == UPGRADE_ARRIVED) {
		if (upgrade_serves(s) ||
		    (now >= u->until && u->why[0] != '\0')) {
			upgrade_arrive(u);
		} else if (now >= u->until) {
			(void)snprintf(u->why, sizeof(u->why),
			    "it did not hand over a connection within %g s",
			    tspan_to_seconds(TIME_SERVES));
			u->back = true;
			u->phase = UPGRADE_LEAVES;
			u->until = now + TIME_SETTLES;
		}
	} else if (u->phase == UPGRADE_TRIED) {
		if (now < u->until)
			return;
		u->until = TSTAMP_NEVER;
		(void)child_signal(u->result.pid, SIGKILL, true);
		upgrade_refuse(u, "%s hung in its dry run, for %g s",
		    program.path, tspan_to_seconds(TIME_TRIED));
		return;
	} else if (!upgrade_is_quiet(s, why)) {
		if (now >= u->until) {
			upgrade_refuse(u, "%s", why);
			return;
		}
	} else if (u->phase == UPGRADE_SETTLES) {
		upgrade_begin_try(u, now);
	} else if (!u->back && !tried_is_there(u)) {
		upgrade_refuse(
		    u, "%s is another program by now: try again", program.path);
		return;
	} else if (log_flush(TIME_FLUSH) || now >= u->until) {
		upgrade_execute(u);
	}
	/* A turn in which nothing is under way may be the next one. */
	if (s->upgrade != NULL && u->phase != UPGRADE_TRIED)
		timer_set(&s->loop.timers, &u->timer, now + LOOK_PAUSE);
}

struct reload_answer *
upgrade_request(struct supervisor *s, tstamp now)
{
	struct upgrade *u;

	if (s->upgrade != NULL)
		return upgrade_answer(s);
	u = calloc(1, sizeof(*u));
	if (u == NULL || (u->answer = calloc(1, sizeof(*u->answer))) == NULL) {
		log_warn("cannot upgrade");
		free(u);
		return NULL;
	}
	u->sup = s;
	u->answer->refs = 1;
	u->says = u->memory = -1;
	u->until = now + TIME_SETTLES;
	timer_init(&u->timer, NULL);
	timer_set(&s->loop.timers, &u->timer, now);
	s->upgrade = u;
	if (s->told.ready)
		(void)notify_send("RELOADING=1\nMONOTONIC_USEC=%lld",
		    (long long)(now / 1000));
	tell_daemon(
	    s, LOG_LEVEL_INFO, EVENT_UPGRADE, "upgrading to %s", program.path);
	return upgrade_answer(s);
}
