/* The daemon among other processes: background, pid file. */

#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "sys/background.h"
#include "sys/log.h"

/* How long a terminal that does not take its lines is waited for. */
#define FLUSH_LIMIT TSPAN_SECONDS(1)

/* The socket to the process that waits for our report; -1: none. */
static int report_fd = -1;

int
background_start(void)
{
	unsigned char status;
	int ends[2], how;
	ssize_t n;
	pid_t pid;

	/* A socket, and no pipe, for MSG_NOSIGNAL. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == -1)
		return -1;
	/* Without a second process the caller gives up. */
	pid = fork();
	if (pid == -1)
		return -1;
	(void)close(ends[pid == 0 ? 0 : 1]);
	if (pid == 0) {
		report_fd = ends[1];
		/* setsid(2) cannot fail: a fresh process leads no group. */
		(void)setsid();
		return 0;
	}

	/* In the first process: the report is a byte. */
	do {
		n = recv(ends[0], &status, 1, 0);
	} while (n == -1 && errno == EINTR);
	if (n == 1)
		_exit(status);
	while (waitpid(pid, &how, 0) == -1)
		if (errno != EINTR)
			_exit(EX_UNAVAILABLE);
	_exit(WIFEXITED(how) && WEXITSTATUS(how) != 0 ? WEXITSTATUS(how)
						      : EX_UNAVAILABLE);
}

void
background_report(int status)
{
	const unsigned char byte = (unsigned char)status;
	int null;

	if (report_fd == -1)
		return;
	/* Lines logged so far are still for the terminal. */
	(void)log_flush(FLUSH_LIMIT);
	log_echo(false);
	/* The standard descriptors; where that is not there, they stay. */
	null = status == 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
	for (int fd = STDIN_FILENO; null != -1 && fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	if (null > STDERR_FILENO)
		(void)close(null);
	(void)send(report_fd, &byte, 1, MSG_NOSIGNAL);
	(void)close(report_fd);
	report_fd = -1;
}

/* Room for a number, its newline and NUL. */
#define NUMBER_SIZE 16

#define TRY_AGAIN TSPAN_SECONDS(1)

int
pidfile_lock(struct pidfile *p, const char *path, char *why, pid_t *other_out)
{
	char text[NUMBER_SIZE] = "";
	bool locked, removed;
	struct stat st;
	int fd, error;

	*other_out = 0;
	do {
		fd = ownfile_open(
		    path, OWNFILE_REGULAR, O_RDWR | O_CREAT, 0644, why);
		if (fd == -1)
			return -1;
		locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
		error = errno;
		/* Another process may remove it before we have the lock. */
		removed = locked && (fstat(fd, &st) == -1 || st.st_nlink == 0);
		if (removed)
			(void)close(fd);
	} while (removed);
	if (!locked && error == EWOULDBLOCK) {
		(void)!pread(fd, text, sizeof(text) - 1, 0);
		*other_out = (pid_t)strtol(text, NULL, 10);
		error = EEXIST;
	}
	if (locked && ftruncate(fd, 0) == 0 &&
	    (p->path = strdup(path)) != NULL) {
		p->fd = fd;
		return 0;
	}
	if (locked)
		error = errno;
	(void)close(fd);
	errno = error;
	return -1;
}

static void
fill_work(struct lane_job *job)
{
	struct pidfile *p = LOOP_OWNER(job, struct pidfile, job);
	char text[NUMBER_SIZE];
	int len = snprintf(text, sizeof(text), "%ld", (long)getpid());
	ssize_t n = pwrite(p->fd, text, (size_t)len, 0);

	p->error = n == len ? 0 : errno;
	/* The first digits would be the number of somebody else. */
	if (n >= 0 && n < len)
		p->error = ftruncate(p->fd, 0) == 0 ? ENOSPC : errno;
}

static void
fill_done(struct lane_job *job, tstamp now)
{
	struct pidfile *p = LOOP_OWNER(job, struct pidfile, job);

	if (p->error == 0)
		log_info("pid_file %s is written", p->path);
	else
		timer_set(&p->lane->loop->timers, &p->again, now + TRY_AGAIN);
}

static void
fill_again(struct timer *t, tstamp now)
{
	struct pidfile *p = TIMER_OWNER(t, struct pidfile, again);

	(void)now;
	lane_submit(p->lane, &p->job);
}

int
pidfile_fill(struct pidfile *p, struct lane *lane, tstamp now)
{
	fill_work(&p->job);
	if (p->error == 0)
		return 0;
	if (lane != NULL) {
		p->lane = lane;
		p->job.work = fill_work;
		p->job.done = fill_done;
		timer_init(&p->again, fill_again);
		timer_set(&lane->loop->timers, &p->again, now + TRY_AGAIN);
	}
	errno = p->error;
	return -1;
}

void
pidfile_fini(struct pidfile *p)
{
	struct stat ours, st;

	if (p->fd == -1)
		return;
	if (fstat(p->fd, &ours) == 0 && lstat(p->path, &st) == 0 &&
	    st.st_dev == ours.st_dev && st.st_ino == ours.st_ino)
		(void)unlink(p->path);
	(void)close(p->fd);
	free(p->path);
	p->fd = -1;
}
