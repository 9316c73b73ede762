/* The pid file. */

#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/log.h"
#include "sys/pidfile.h"

/* Room for a number, its newline and NUL. */
#define NUMBER_SIZE 16

#define TRY_AGAIN TSPAN_SECONDS(1)

static pid_t
read_number(int fd)
{
	char text[NUMBER_SIZE];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	return (pid_t)strtol(text, NULL, 10);
}

/* Another process may have removed the file before we had the lock. */
static int
lock(int fd, pid_t *other_out)
{
	struct stat st;

	if (flock(fd, LOCK_EX | LOCK_NB) == -1) {
		if (errno != EWOULDBLOCK)
			return -1;
		*other_out = read_number(fd);
		errno = EEXIST;
		return -1;
	}
	if (fstat(fd, &st) == 0 && st.st_nlink > 0)
		return 0;
	errno = EAGAIN;
	return -1;
}

static int
open_locked(const char *path, char *why, pid_t *other_out)
{
	int fd =
	    ownfile_open(path, OWNFILE_REGULAR, O_RDWR | O_CREAT, 0644, why);
	int error;

	if (fd == -1)
		return -1;
	if (lock(fd, other_out) == 0 && ftruncate(fd, 0) == 0)
		return fd;
	error = errno;
	(void)close(fd);
	errno = error;
	return -1;
}

int
pidfile_lock(struct pidfile *p, const char *path, char *why, pid_t *other_out)
{
	int fd;

	*other_out = 0;
	do {
		fd = open_locked(path, why, other_out);
	} while (fd == -1 && errno == EAGAIN);
	if (fd == -1)
		return -1;
	p->path = strdup(path);
	if (p->path == NULL) {
		(void)close(fd);
		errno = ENOMEM;
		return -1;
	}
	p->fd = fd;
	return 0;
}

int
pidfile_fill(struct pidfile *p)
{
	char text[NUMBER_SIZE];
	int len = snprintf(text, sizeof(text), "%ld", (long)getpid());
	ssize_t n = pwrite(p->fd, text, (size_t)len, 0);

	if (n == len)
		return 0;
	/* The first digits would be the number of somebody else. */
	if (n >= 0 && ftruncate(p->fd, 0) == 0)
		errno = ENOSPC;
	return -1;
}

static void
fill_work(struct lane_job *job)
{
	struct pidfile *p = LOOP_OWNER(job, struct pidfile, job);

	p->error = pidfile_fill(p) == -1 ? errno : 0;
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

void
pidfile_fill_later(struct pidfile *p, struct lane *lane, tstamp now)
{
	p->lane = lane;
	p->job.work = fill_work;
	p->job.done = fill_done;
	timer_init(&p->again, fill_again);
	timer_set(&lane->loop->timers, &p->again, now + TRY_AGAIN);
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
