/*
 * A worker that does whatever a test needs, good or bad.  To each connection
 * it answers one line
 *
 *	PID ID SLOT COUNT WAITED TEXT
 *
 * where COUNT are the requests of this process so far and WAITED is the
 * microseconds the connection waited; in HTTP, if that is what it was asked in.
 * A request is one line; some are obeyed, see request_rows.
 */

#include <sys/socket.h>
#include <sys/stat.h>

#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "sys/fdpass.h"
#include "worker/apppool.h"

#include "tworker_options.h"

#define REQUEST_MAX 8192

static atomic_long requests;
static void *volatile memory_kept;

static void
sleep_for(useconds span)
{
	struct timespec t = { .tv_sec = span / 1000000,
		.tv_nsec = span % 1000000 * 1000 };

	while (nanosleep(&t, &t) == -1 && errno == EINTR)
		continue;
}

static void
sleep_for_ever(void)
{
	for (;;)
		pause();
}

/* Waits until there is a file of that name. */
static void
wait_for_file(const char *path)
{
	while (access(path, F_OK) == -1)
		sleep_for(1000);
}

static void
burn_for(useconds span)
{
	clock_t end = clock() + (clock_t)(span * (CLOCKS_PER_SEC / 1000000));

	while (clock() < end)
		continue;
}

/* Writes a text with its \n as newlines, in one call. */
static void
print(int fd, const char *text)
{
	size_t len = 0;
	char *out = malloc(strlen(text) + 1);

	if (out == NULL)
		err(71, "malloc");
	while (*text != '\0') {
		if (text[0] == '\\' && text[1] == 'n') {
			out[len++] = '\n';
			text += 2;
		} else {
			out[len++] = *text++;
		}
	}
	if (write(fd, out, len) == -1)
		warn("write");
	free(out);
}

static void
start_grandchildren(void)
{
	for (long i = 0; i < opt.grandchildren; i++) {
		switch (fork()) {
		case -1:
			err(71, "fork");
		case 0:
			if (opt.setsid)
				setsid();
			/* A grandchild ends by itself, even if a test fails. */
			alarm(60);
			sleep_for_ever();
		default:
			break;
		}
	}
}

static void
before_ready(void)
{
	if (opt.print != NULL)
		print(STDOUT_FILENO, opt.print);
	if (opt.print_error != NULL)
		print(STDERR_FILENO, opt.print_error);
	if (opt.ignore_term)
		signal(SIGTERM, SIG_IGN);
	start_grandchildren();
	if (opt.exit_at_once != -1)
		exit((int)opt.exit_at_once);
	if (apppool_open() == -1)
		err(71, "apppool_open");
	sleep_for(opt.start_delay);
	if (opt.start_when != NULL)
		wait_for_file(opt.start_when);
	if (opt.fail != NULL) {
		apppool_fail("%s", opt.fail);
		exit(1);
	}
	if (opt.never_ready)
		sleep_for_ever();
}

static void
say_raw(const char *packet, size_t len)
{
	if (send(apppool_fd(), packet, len, MSG_NOSIGNAL) == -1)
		warn("send");
}

static void
misbehave(void)
{
	static const char long_packet[5000] = "EVENT ";

	if (opt.double_ready)
		say_raw("READY", 5);
	if (opt.say != NULL)
		say_raw(opt.say, strlen(opt.say));
	if (opt.empty_packet)
		say_raw("", 0);
	if (opt.long_packet)
		say_raw(long_packet, sizeof(long_packet));
	if (opt.send_fd &&
	    fdpass_send(apppool_fd(), "EVENT fd", 8, STDIN_FILENO) == -1)
		warn("fdpass_send");
	for (long i = 0; i < opt.events; i++)
		apppool_event("event %ld", i);
	if (opt.stop_self)
		raise(SIGSTOP);
	if (opt.shutdown_channel) {
		shutdown(apppool_fd(), SHUT_RDWR);
		sleep_for_ever();
	}
	if (opt.close_channel) {
		close(apppool_fd());
		sleep_for_ever();
	}
}

/*
 * Reads one line, or a whole head of HTTP.  A line without an end counts as
 * well.
 */
static void
read_request(int fd, char *line, size_t size)
{
	size_t used = 0;

	while (used < size - 1) {
		ssize_t n = read(fd, line + used, size - 1 - used);

		if (n <= 0)
			break;
		used += (size_t)n;
		line[used] = '\0';
		if (strchr(line, '\n') == NULL)
			continue;
		if (strstr(line, " HTTP/") == NULL ||
		    strstr(line, "\r\n\r\n") != NULL)
			break;
	}
	line[used] = '\0';
}

static void
do_sleep(const char *argument)
{
	useconds span;

	if (span_read(argument, &span))
		sleep_for(span);
}

/*
 * Waits for a file as well; a folder FILE.PID tells that it does.  Neither
 * takes a descriptor.
 */
static void
do_gate(const char *path)
{
	char here[REQUEST_MAX + 32];

	(void)snprintf(here, sizeof(here), "%s.%ld", path, (long)getpid());
	(void)mkdir(here, 0755);
	wait_for_file(path);
}

/* Sends so many messages to the daemon. */
static void
do_flood(const char *argument)
{
	long count = atol(argument);

	for (long n = 0; n < count; n += 2) {
		apppool_event("event %ld", n);
		apppool_status("status %ld", n + 1);
	}
}

/* Allocates so many MiB for the rest of its life. */
static void
do_grow(const char *argument)
{
	size_t size = (size_t)atol(argument) << 20;
	void **memory = malloc(size + sizeof(*memory));

	if (memory == NULL)
		err(71, "malloc");
	memset(memory, 1, size);
	memory[0] = memory_kept;
	memory_kept = memory;
}

static void *
grow_later(void *argument)
{
	usleep(200000);
	do_grow(argument);
	return NULL;
}

/* Grows when the session is over. */
static void
do_grow_later(const char *argument)
{
	static char size[16];
	pthread_t thread;

	(void)snprintf(size, sizeof(size), "%s", argument);
	if (pthread_create(&thread, NULL, grow_later, size) != 0)
		errx(71, "pthread_create");
}

static void
do_exit(const char *argument)
{
	_exit(atoi(argument));
}

static void
do_kill(const char *argument)
{
	kill(getpid(), atoi(argument));
}

/* Requests, one line each: WORD ARGUMENT. */
static const struct {
	const char *word;
	void (*obey)(const char *argument);
} request_rows[] = {
	{ "sleep ", do_sleep },
	{ "wait ", wait_for_file },
	{ "gate ", do_gate },
	{ "flood ", do_flood },
	{ "grow ", do_grow },
	{ "grow-later ", do_grow_later },
	{ "exit ", do_exit },
	{ "kill ", do_kill },
};

static void
obey(char *line)
{
	line[strcspn(line, "\r\n")] = '\0';
	for (size_t i = 0; i < sizeof(request_rows) / sizeof(request_rows[0]);
	     i++) {
		size_t len = strlen(request_rows[i].word);

		if (strncmp(line, request_rows[i].word, len) == 0)
			request_rows[i].obey(line + len);
	}
}

static void
answer(int fd, bool http, long count)
{
	char body[REQUEST_MAX];
	char head[256] = "";
	int len = snprintf(body, sizeof(body), "%ld %s %d %ld %lld %s\n",
	    (long)getpid(), apppool_id(), apppool_slot(), count,
	    apppool_waited(fd), opt.text);

	if (http)
		snprintf(head, sizeof(head),
		    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
		    "Content-Length: %d\r\nConnection: close\r\n\r\n",
		    len);
	(void)send(fd, head, strlen(head), MSG_NOSIGNAL | MSG_MORE);
	(void)send(fd, body, (size_t)len, MSG_NOSIGNAL);
}

static void
serve(int fd)
{
	long count = atomic_fetch_add(&requests, 1) + 1;
	char line[REQUEST_MAX] = "";
	bool http;

	read_request(fd, line, sizeof(line));
	http = strstr(line, " HTTP/") != NULL;

	if (opt.crash_every > 0 && count % opt.crash_every == 0)
		raise(SIGKILL);
	if (opt.at == count)
		misbehave();
	obey(line);
	sleep_for(opt.work);
	burn_for(opt.cpu);
	answer(fd, http, count);

	if (opt.retire_after == count)
		apppool_retire();
	apppool_done(fd);
}

static void *
serve_all(void *unused)
{
	int fd;

	(void)unused;
	while ((fd = apppool_accept()) != -1 || errno == EINTR)
		if (fd != -1)
			serve(fd);
	if (errno != ESHUTDOWN)
		err(71, "apppool_accept");
	return NULL;
}

/* Returns when all threads have finished their sessions. */
static void
serve_concurrently(void)
{
	size_t others = opt.concurrency > 1 ? (size_t)opt.concurrency - 1 : 0;
	pthread_t *threads = calloc(others + 1, sizeof(*threads));

	if (threads == NULL)
		err(71, "calloc");
	for (size_t i = 0; i < others; i++)
		if (pthread_create(&threads[i], NULL, serve_all, NULL) != 0)
			errx(71, "pthread_create");
	serve_all(NULL);
	for (size_t i = 0; i < others; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

int
main(int argc, char **argv)
{
	(void)argc;
	options_read(option_rows, argv);
	before_ready();
	if (apppool_template(NULL) == -1)
		err(71, "apppool_template");
	if (apppool_ready() == -1)
		err(71, "apppool_ready");
	if (opt.at == 0)
		misbehave();
	serve_concurrently();
	if (opt.ignore_stop)
		sleep_for_ever();
	return 0;
}
