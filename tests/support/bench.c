/* The surroundings of a measurement. */

#include <sys/prctl.h>

#include <err.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "bench.h"
#include "endpoint.h"

void
bench_init(struct bench *b)
{
	const char *tmp = getenv("TMPDIR");

	(void)snprintf(b->folder, sizeof(b->folder), "%s/apppool-bench.XXXXXX",
	    tmp == NULL ? "/tmp" : tmp);
	if (mkdtemp(b->folder) == NULL)
		err(EX_CANTCREAT, "%s", b->folder);
	b->load_cpu = b->server_cpu = -1;
}

static int
bench_remove_one(
    const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void
bench_fini(struct bench *b)
{
	(void)nftw(b->folder, bench_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void
bench_pin(struct bench *b)
{
	cpu_set_t set;
	int cpu, found[2] = { -1, -1 }, n = 0;

	if (sched_getaffinity(0, sizeof(set), &set) == -1)
		err(EX_OSERR, "sched_getaffinity");
	for (cpu = 0; cpu < CPU_SETSIZE && n < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			found[n++] = cpu;
	if (n < 2) {
		warnx("one processor only: load and servers share it, and the "
		      "figures are of little use");
		return;
	}
	b->load_cpu = found[0];
	b->server_cpu = found[1];
	CPU_ZERO(&set);
	CPU_SET(b->load_cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) == -1)
		err(EX_OSERR, "sched_setaffinity");
}

void
bench_address(struct bench *b, const char *transport, char *out, size_t size)
{
	static int serial;
	struct endpoint at;
	int fd;

	if (strcmp(transport, "unix") == 0) {
		(void)snprintf(out, size, "unix:%s/%d", b->folder, ++serial);
		return;
	}
	/* The kernel does not choose a port again so soon. */
	if (endpoint_parse("127.0.0.1:0", &at) == -1 ||
	    (fd = endpoint_listen(&at, 1)) == -1)
		err(EX_OSERR, "no port on 127.0.0.1");
	(void)close(fd);
	(void)snprintf(out, size, "127.0.0.1:%d", endpoint_port(&at));
}

static void
bench_path(const char *folder, const char *name, char *out, size_t size)
{
	if ((size_t)snprintf(out, size, "%s/%s", folder, name) >= size)
		errx(EX_SOFTWARE, "%s/%s: the path is too long", folder, name);
}

void
bench_program(const char *name, char *out, size_t size)
{
	char folder[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 16);

	if (n == -1)
		err(EX_OSERR, "/proc/self/exe");
	folder[n] = '\0';
	(void)strcpy(strrchr(folder, '/'), "/programs");
	bench_path(folder, name, out, size);
}

void
bench_product(const char *name, char *out, size_t size)
{
	const char *bin = getenv("BIN");
	char folder[PATH_MAX];

	if (realpath(bin == NULL ? "." : bin, folder) == NULL)
		err(EX_UNAVAILABLE, "%s", bin);
	bench_path(folder, name, out, size);
}

pid_t
bench_fork(void)
{
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	if (pid == -1)
		err(EX_OSERR, "fork");
	if (pid == 0)
		(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	return pid;
}

pid_t
bench_spawn(const char *folder, const char *const *argv, int cpu)
{
	char log[BENCH_PATH * 4];
	cpu_set_t set;
	pid_t pid = bench_fork();
	int fd;

	if (pid != 0)
		return pid;
	CPU_ZERO(&set);
	if (cpu != -1) {
		CPU_SET(cpu, &set);
		if (sched_setaffinity(0, sizeof(set), &set) == -1)
			err(EX_OSERR, "sched_setaffinity");
	}
	(void)snprintf(log, sizeof(log), "%s/log", folder);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd == -1 || dup2(fd, STDOUT_FILENO) == -1 ||
	    dup2(fd, STDERR_FILENO) == -1)
		err(EX_CANTCREAT, "%s", log);
	(void)execv(argv[0], (char **)argv);
	err(EX_UNAVAILABLE, "%s", argv[0]);
}
