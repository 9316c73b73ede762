/*
 * Control groups: where we may have those of version 2, those of apps, and what
 * the ones around us leave of the machine.
 */

#include <sys/file.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sys/cgroup.h"
#include "sys/procinfo.h"

#define ROOT "/sys/fs/cgroup"
#define OURS "daemon"
#define OF_APP "app-"

/* How long what was killed may take to leave its group, which is removed. */
#define REMOVE_LOOKS 50
#define REMOVE_LOOK_NS 1000000

static const char *const controllers[CGROUP_NEEDS] = { "", "memory", "cpu",
	"pids" };

static struct {
	int base; /* the folder that holds those of apps */
	unsigned has; /* a bit for each need */
	char why[PATH_MAX + 64]; /* there are none; or "" */
} cgroups = { .base = -1 };

/* As much of a file as fits, with a NUL; "" if it cannot be read. */
static void
cgroup_slurp(int folder, const char *name, char *buf, size_t size)
{
	(void)procinfo_slurp(
	    openat(folder, name, O_RDONLY | O_CLOEXEC), buf, size);
}

static int
cgroup_write(int folder, const char *name, const char *text)
{
	int fd = openat(folder, name, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd == -1 ? -1 : write(fd, text, strlen(text));

	/* Closing keeps errno, as in procinfo_slurp(). */
	if (fd != -1)
		(void)close(fd);
	return n == -1 ? -1 : 0;
}

/* The number behind the key in the text of a file; "": the first. */
static bool
cgroup_number(const char *text, const char *key, uint64_t *out)
{
	const char *at = key[0] == '\0' ? text : procinfo_behind(text, key);

	return at != NULL && sscanf(at, "%" SCNu64, out) == 1;
}

/* --- where there are groups ---------------------------------------------- */

void
cgroup_own(const char *text, const char *controller, char path[PATH_MAX])
{
	path[0] = '\0';
	for (; text != NULL; text = strchr(text, '\n')) {
		char names[256] = "", own[PATH_MAX] = "";
		char *name, *rest = names;

		text += *text == '\n';
		/* No controllers at all are those of version 2. */
		if (sscanf(text, "0::%4095[^\n]", own) != 1 &&
		    sscanf(text, "%*d:%255[^:]:%4095[^\n]", names, own) != 2)
			continue;
		while ((name = strsep(&rest, ",")) != NULL)
			if (strcmp(name, controller) == 0)
				(void)strlcpy(path, own, PATH_MAX);
	}
}

/*
 * Takes the group over, or says why not. A service manager that has delegated
 * it says so in an attribute. Without a manager, and at the root of a
 * namespace, it is ours if we alone are in it. The lock keeps another daemon
 * away, which may have been started from where the first is by now.
 */
static const char *
cgroup_take(int base, bool at_root)
{
	char text[64], self[32];

	if (faccessat(base, "cgroup.procs", W_OK, AT_EACCESS) == -1 ||
	    faccessat(base, ".", W_OK, AT_EACCESS) == -1)
		return strerror(errno);
	if (!at_root && access("/run/systemd/system", F_OK) == 0 &&
	    fgetxattr(base, "user.delegate", text, 1) != 1 &&
	    fgetxattr(base, "trusted.delegate", text, 1) != 1)
		return "not delegated (Delegate=yes in the unit does that)";
	(void)snprintf(self, sizeof(self), "%ld\n", (long)getpid());
	cgroup_slurp(base, "cgroup.procs", text, sizeof(text));
	if (text[0] != '\0' && strcmp(text, self) != 0)
		return "other processes are in it, too";
	if (flock(base, LOCK_EX | LOCK_NB) == -1)
		return "another apppoold has it";
	(void)mkdirat(base, OURS, 0755);
	return cgroup_write(base, OURS "/cgroup.procs", "0") == -1
	    ? strerror(errno)
	    : NULL;
}

/* Which controllers the file of the group lists, and which it then hands on. */
static void
cgroup_find(int folder, const char *file, bool take)
{
	char text[256], *save = NULL;

	cgroups.has = 1 << CGROUP_ANY;
	cgroup_slurp(folder, file, text, sizeof(text));
	for (char *at = strtok_r(text, " \n", &save); at != NULL;
	     at = strtok_r(NULL, " \n", &save)) {
		char add[16] = "+";

		(void)strlcat(add, at, sizeof(add));
		for (int i = CGROUP_MEMORY; i < CGROUP_NEEDS; i++)
			if (strcmp(at, controllers[i]) == 0 &&
			    (!take ||
				cgroup_write(folder, "cgroup.subtree_control",
				    add) == 0))
				cgroups.has |= 1U << i;
	}
}

int
cgroup_base(int inherited)
{
	if (inherited != -1) {
		cgroups.base = inherited;
		cgroup_find(inherited, "cgroup.subtree_control", false);
	}
	return cgroups.base;
}

void
cgroup_init(bool take)
{
	char path[PATH_MAX], root[] = ROOT "/unified";
	char text[4096], own[PATH_MAX];
	const char *why = NULL;
	struct statfs fs;
	size_t len;
	int folder;

	if (statfs(root, &fs) == -1 || fs.f_type != CGROUP2_SUPER_MAGIC)
		root[strlen(ROOT)] = '\0';
	(void)strlcpy(path, root, sizeof(path));
	/* Our group, or the one that a daemon before us has taken. */
	if (take) {
		cgroup_slurp(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text));
		cgroup_own(text, "", own);
		(void)strlcat(path, own[0] == '\0' ? "/?" : own, PATH_MAX);
		len = strlen(path) - strlen("/" OURS);
		if (strcmp(path + len, "/" OURS) == 0)
			path[len] = '\0';
		len = strlen(path);
		if (path[len - 1] == '/')
			path[len - 1] = '\0';
	}
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (statfs(root, &fs) == -1 || fs.f_type != CGROUP2_SUPER_MAGIC)
		why = "no cgroup v2 is mounted there";
	else if (folder == -1)
		why = strerror(errno);
	else if (take)
		why = cgroup_take(folder, strcmp(path, root) == 0);
	if (why != NULL) {
		(void)snprintf(
		    cgroups.why, sizeof(cgroups.why), "%s: %s", path, why);
		(void)close(folder);
		return;
	}
	cgroup_find(folder, "cgroup.controllers", take);
	if (take)
		cgroups.base = folder;
	else
		(void)close(folder);
}

const char *
cgroup_lacks(enum cgroup_need need)
{
	static const char *const lacks[CGROUP_NEEDS] = { "there is none",
		"the cgroup controller memory is not there",
		"the cgroup controller cpu is not there",
		"the cgroup controller pids is not there" };

	if (cgroups.why[0] != '\0')
		return cgroups.why;
	return cgroups.has & 1U << need ? NULL : lacks[need];
}

/* --- groups of apps ------------------------------------------------------- */

int
cgroup_open(const char *app, const struct cgroup_options *make)
{
	static const struct cgroup_options none;
	const struct cgroup_options *o = make == NULL ? &none : make;
	const struct {
		const char *file;
		enum cgroup_need need;
		uint64_t value;
		const char *more;
	} limits[] = {
		{ "memory.high", CGROUP_MEMORY, o->memory_high, "" },
		{ "memory.max", CGROUP_MEMORY, o->memory_max, "" },
		{ "cpu.weight", CGROUP_CPU, o->cpu_weight, "" },
		/* Of a period of 100,000 microseconds. */
		{ "cpu.max", CGROUP_CPU, o->cpu_max * 1000ULL, " 100000" },
		{ "pids.max", CGROUP_PIDS, o->tasks_max, "" },
	};
	char text[NAME_MAX + 1];
	int folder;

	(void)snprintf(text, sizeof(text), OF_APP "%s", app);
	if (make != NULL && mkdirat(cgroups.base, text, 0755) == -1 &&
	    errno != EEXIST)
		return -1;
	folder = openat(cgroups.base, text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; make != NULL && folder != -1 &&
	     i < sizeof(limits) / sizeof(*limits);
	     i++) {
		if (cgroup_lacks(limits[i].need) != NULL)
			continue;
		(void)snprintf(text, sizeof(text), "%" PRIu64 "%s",
		    limits[i].value, limits[i].more);
		if (limits[i].value == 0)
			(void)strlcpy(text, "max", sizeof(text));
		if (cgroup_write(folder, limits[i].file, text) == -1) {
			(void)close(folder);
			folder = -1;
		}
	}
	return folder;
}

static unsigned
cgroup_remove(const char *name)
{
	const struct timespec pause = { .tv_nsec = REMOVE_LOOK_NS };
	int folder =
	    openat(cgroups.base, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned left = 0;
	char text[4096];

	cgroup_slurp(folder, "cgroup.procs", text, sizeof(text));
	for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
		left++;
	(void)cgroup_write(folder, "cgroup.kill", "1");
	(void)close(folder);
	for (int i = 0; i < REMOVE_LOOKS &&
	     unlinkat(cgroups.base, name, AT_REMOVEDIR) == -1 && errno == EBUSY;
	     i++)
		(void)nanosleep(&pause, NULL);
	return left;
}

unsigned
cgroup_clean(bool (*keep)(void *, const char *), void *arg)
{
	int fd = openat(cgroups.base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd == -1 ? NULL : fdopendir(fd);
	const size_t len = strlen(OF_APP);
	const struct dirent *e;
	unsigned left = 0;

	if (dir == NULL && fd != -1)
		(void)close(fd);
	while (dir != NULL && (e = readdir(dir)) != NULL)
		if (strncmp(e->d_name, OF_APP, len) == 0 &&
		    !keep(arg, e->d_name + len))
			left += cgroup_remove(e->d_name);
	if (dir != NULL)
		(void)closedir(dir);
	return left;
}

/* --- figures -------------------------------------------------------------- */

void
cgroup_read(int folder, struct cgroup_figures *out)
{
	const struct {
		const char *file, *key;
		unsigned has;
		uint64_t *value;
	} numbers[] = {
		{ "cpu.stat", "usage_usec", CGROUP_HAS_CPU, &out->cpu },
		{ "memory.current", "", CGROUP_HAS_MEMORY, &out->memory },
		{ "memory.peak", "", CGROUP_HAS_PEAK, &out->memory_peak },
		{ "memory.events", "oom_kill", 0, &out->oom_kills },
		{ "pids.current", "", CGROUP_HAS_TASKS, &out->tasks },
	};
	const struct {
		const char *file;
		double *value;
	} pressures[] = {
		{ "memory.pressure", &out->memory_pressure },
		{ "cpu.pressure", &out->cpu_pressure },
		{ "io.pressure", &out->io_pressure },
	};
	char text[2048];

	*out = (struct cgroup_figures){ .has = CGROUP_HAS_PRESSURE };
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		cgroup_slurp(folder, numbers[i].file, text, sizeof(text));
		if (cgroup_number(text, numbers[i].key, numbers[i].value))
			out->has |= numbers[i].has;
	}
	for (size_t i = 0; i < sizeof(pressures) / sizeof(*pressures); i++) {
		cgroup_slurp(folder, pressures[i].file, text, sizeof(text));
		if (sscanf(text, "some avg10=%lf", pressures[i].value) != 1)
			out->has &= ~(unsigned)CGROUP_HAS_PRESSURE;
	}
}

int
cgroup_oom_kills(int fd, uint64_t *out)
{
	char text[512];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n == -1 ? 0 : n] = '\0';
	return cgroup_number(text, "oom_kill", out) ? 0 : -1;
}

/* --- the memory and the processors that are there for us ------------------ */

/* What the files of a cgroup are called. */
static const struct machine_names {
	const char *base;
	const char *controller; /* in /proc/self/cgroup; "": of version 2 */
	const char *limits[3];
	const char *used;
	const char *files[4]; /* in memory.stat: what can be had back, */
	const char *mapped; /* but for programs that run */
} versions[] = {
	{ ROOT, "", { "memory.max", "memory.high" }, "memory.current",
	    { "active_file", "inactive_file", "slab_reclaimable" },
	    "file_mapped" },
	{ ROOT "/memory", "memory", { "memory.limit_in_bytes" },
	    "memory.usage_in_bytes",
	    { "total_active_file", "total_inactive_file" },
	    "total_mapped_file" },
};

static void
machine_limit(struct machine *m, uint64_t limit, uint64_t used)
{
	used = MIN(used, limit);
	if (m->memory != 0 && limit - used >= m->memory - m->used)
		return;
	m->memory = limit;
	m->used = used;
}

static void
machine_group(
    struct machine *m, const struct machine_names *v, const char *group)
{
	int folder = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char text[4096];
	uint64_t used, file = 0, mapped, limit;
	double quota, period;

	cgroup_slurp(folder, v->used, text, sizeof(text));
	used = strtoull(text, NULL, 10);
	cgroup_slurp(folder, "memory.stat", text, sizeof(text));
	for (unsigned i = 0; v->files[i] != NULL; i++)
		file += procinfo_number(text, v->files[i]);
	mapped = procinfo_number(text, v->mapped);
	used -= MIN(used, file - MIN(file, mapped));
	for (unsigned i = 0; v->limits[i] != NULL; i++) {
		cgroup_slurp(folder, v->limits[i], text, sizeof(text));
		/* "max" is no number. */
		if (cgroup_number(text, "", &limit))
			machine_limit(m, limit, used);
	}
	cgroup_slurp(folder, "cpu.max", text, sizeof(text));
	if (sscanf(text, "%lf %lf", &quota, &period) == 2 && period > 0)
		m->processors = MIN(m->processors, quota / period);
	if (folder != -1)
		(void)close(folder);
}

void
machine_read(struct machine *out)
{
	char text[4096], path[PATH_MAX], group[2 * PATH_MAX], *end;
	struct machine m = { 0 };
	cpu_set_t set;
	uint64_t total;

	m.processors =
	    sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
	cgroup_slurp(AT_FDCWD, "/proc/meminfo", text, sizeof(text));
	total = 1024 * procinfo_number(text, "MemTotal");
	machine_limit(
	    &m, total, total - 1024 * procinfo_number(text, "MemAvailable"));
	cgroup_slurp(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text));
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		cgroup_own(text, versions[i].controller, path);
		/*
		 * From our group to that at the top: in a namespace of cgroups
		 * or a container it is not that of the machine, and may be the
		 * only one that we can see.
		 */
		while ((end = strrchr(path, '/')) != NULL) {
			(void)snprintf(group, sizeof(group), "%s%s",
			    versions[i].base, path);
			machine_group(&m, &versions[i], group);
			*end = '\0';
		}
		machine_group(&m, &versions[i], versions[i].base);
	}
	*out = m;
}
