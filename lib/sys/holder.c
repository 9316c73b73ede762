/* Which process has a listening socket. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sys/holder.h"
#include "sys/procinfo.h"
#include "sys/sockdiag.h"

/* A flag of a socket in /proc/net/unix: it listens. */
#define LISTENS 0x10000

/* The inode number of the Unix socket that listens at path; 0: unknown. */
static uint32_t
unix_inode(const char *path)
{
	FILE *in = fopen("/proc/net/unix", "re");
	char line[512], name[256];
	uint32_t inode, found = 0;
	unsigned flags;

	while (
	    in != NULL && found == 0 && fgets(line, sizeof(line), in) != NULL)
		if (sscanf(line, "%*s %*s %*s %x %*s %*s %" SCNu32 " %255[^\n]",
			&flags, &inode, name) == 3 &&
		    (flags & LISTENS) != 0 && strcmp(name, path) == 0)
			found = inode;
	if (in != NULL)
		(void)fclose(in);
	return found;
}

static uint32_t
inode_of(const struct listener_spec *spec)
{
	struct sockdiag d;
	uint32_t inode = 0;

	if (spec->path != NULL)
		return unix_inode(spec->path);
	if (spec->addr == NULL)
		return 0;
	(void)sockdiag_init(&d);
	(void)sockdiag_tcp_taken(&d, spec->addr, spec->v6only, &inode);
	sockdiag_fini(&d);
	return inode;
}

struct search {
	uint32_t inode;
	pid_t pid; /* whose sockets are gone through */
	pid_t holder; /* 0: not found yet */
};

static void
found_socket(void *arg, uint32_t inode)
{
	struct search *s = arg;

	if (inode == s->inode)
		s->holder = s->pid;
}

static void
found_process(void *arg, pid_t pid, pid_t group)
{
	struct search *s = arg;

	(void)group;
	s->pid = pid;
	/* The first is the oldest, of several that share it. */
	if (s->holder == 0)
		(void)procinfo_sockets(pid, found_socket, s);
}

const char *
holder_find(const struct listener_spec *spec, char *buf)
{
	struct search s = { .inode = inode_of(spec) };
	char path[64], name[32];

	if (s.inode == 0 || procinfo_all(found_process, &s) == -1 ||
	    s.holder == 0)
		return NULL;
	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)s.holder);
	if (procinfo_file(AT_FDCWD, path, name, sizeof(name)) == -1)
		return NULL;
	name[strcspn(name, "\n")] = '\0';
	(void)snprintf(buf, HOLDER_SIZE, "%s (pid %d)", name, (int)s.holder);
	return buf;
}

const char *
holder_explain(
    const struct listener_spec *spec, bool look, char *buf, size_t size)
{
	char name[HOLDER_SIZE];
	const char *holder = NULL;
	int error = errno;

	if (error == EADDRINUSE && look)
		holder = holder_find(spec, name);
	(void)snprintf(buf, size, "%s%s%s%s", strerror(error),
	    holder != NULL ? ", by " : "", holder != NULL ? holder : "",
	    error == EACCES && spec->addr != NULL
		? "; ports under 1024 are for root"
		: "");
	errno = error;
	return buf;
}
