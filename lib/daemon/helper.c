/* apppool-keeper and apppool-counter as processes: start, page and socket. */

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "daemon/state.h"

bool
helper_map(struct helper *h)
{
	void *page = MAP_FAILED;
	struct stat st;

	/* A page of an earlier version may be smaller. */
	if (fstat(h->fds[1], &st) == 0 && st.st_size >= (off_t)h->page_size)
		page = mmap(NULL, h->page_size, PROT_READ | PROT_WRITE,
		    MAP_SHARED, h->fds[1], 0);
	h->page = page == MAP_FAILED ? NULL : page;
	return h->page != NULL;
}

/* In the lane. */
static void
helper_work(struct lane_job *job)
{
	struct helper *h = LOOP_OWNER(job, struct helper, job);

	h->fds[1] = memfd_create("apppool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	/* A page that the process cut off would kill us when read. */
	if (h->fds[1] != -1 && ftruncate(h->fds[1], (off_t)h->page_size) == 0 &&
	    fcntl(h->fds[1], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) == 0 &&
	    helper_map(h)) {
		(void)child_spawn(&h->spec, &h->result);
		return;
	}
	h->result.stage = CHILD_EXEC;
	h->result.error = errno;
}

static void
helper_done(struct lane_job *job, tstamp now)
{
	struct helper *h = LOOP_OWNER(job, struct helper, job);
	struct conf *config = h->config;

	h->starting = false;
	h->started(h, now);
	conf_free(config);
}

bool
helper_start(struct helper *h, const char *path, char *const *argv, tstamp now)
{
	const struct conf *conf = h->sup->config;
	/* The terminal that a daemon of the background leaves is not kept. */
	int errors = h->sup->background ? -1 : STDERR_FILENO, ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1)
		return false;
	h->io.fd = ends[0];
	h->fds[0] = ends[1];
	h->fds[1] = -1;
	if (loop_set(&h->sup->loop, &h->io, EPOLLIN) == -1) {
		helper_end(h);
		return false;
	}
	/*
	 * With our user where we are not root; then workers have it, too. No
	 * user's processes are to look into those that have its clients.
	 */
	h->spec = (struct child_spec){ .path = path,
		.opened = true,
		.argv = argv,
		.stdio = { -1, -1, h->talks ? ends[1] : errors },
		.fds = h->fds,
		.nfds = 2,
		.directory = "/",
		.set_identity = conf->keeper_changes,
		.uid = conf->keeper_uid,
		.gid = conf->keeper_gid,
		.no_new_privs = true };
	h->result = (struct child_result){ 0 };
	h->config = conf_ref(h->sup->config);
	h->began = now;
	h->starting = true;
	h->dead = false;
	h->job = (struct lane_job){ .work = helper_work, .done = helper_done };
	lane_submit(&h->sup->spawner, &h->job);
	return true;
}

void
helper_end(struct helper *h)
{
	if (h->io.fd != -1) {
		(void)loop_set(&h->sup->loop, &h->io, 0);
		(void)close(h->io.fd);
		(void)close(h->fds[0]);
	}
	if (h->page != NULL)
		(void)munmap(h->page, h->page_size);
	if (h->fds[1] != -1)
		(void)close(h->fds[1]);
	h->io.fd = h->fds[0] = h->fds[1] = -1;
	h->page = NULL;
}
