/* The memory and the processors that are there for us. */

#include <sys/param.h>

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/machine.h"
#include "sys/procinfo.h"

/* What the files of a cgroup are called. */
static const struct machine_names {
	const char *base;
	const char *controller; /* in /proc/self/cgroup; "": of version 2 */
	const char *limits[3];
	const char *used;
	const char *files[4]; /* in memory.stat: what can be had back, */
	const char *mapped; /* but for programs that run */
} versions[] = {
	{ "/sys/fs/cgroup", "", { "memory.max", "memory.high" },
	    "memory.current",
	    { "active_file", "inactive_file", "slab_reclaimable" },
	    "file_mapped" },
	{ "/sys/fs/cgroup/memory", "memory", { "memory.limit_in_bytes" },
	    "memory.usage_in_bytes",
	    { "total_active_file", "total_inactive_file" },
	    "total_mapped_file" },
};

/* The text of a file of the group; "": there is none. */
static const char *
machine_file(const char *group, const char *name, char text[4096])
{
	char path[2 * PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", group, name);
	(void)procinfo_slurp(open(path, O_RDONLY | O_CLOEXEC), text, 4096);
	return text;
}

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
	char text[4096];
	uint64_t used, file = 0, mapped, limit;
	double quota, period;

	used = strtoull(machine_file(group, v->used, text), NULL, 10);
	(void)machine_file(group, "memory.stat", text);
	for (unsigned i = 0; v->files[i] != NULL; i++)
		file += procinfo_number(text, v->files[i]);
	mapped = procinfo_number(text, v->mapped);
	used -= MIN(used, file - MIN(file, mapped));
	/* "max" is no number. */
	for (unsigned i = 0; v->limits[i] != NULL; i++)
		if (sscanf(machine_file(group, v->limits[i], text), "%" SCNu64,
			&limit) == 1)
			machine_limit(m, limit, used);
	if (sscanf(machine_file(group, "cpu.max", text), "%lf %lf", &quota,
		&period) == 2 &&
	    period > 0)
		m->processors = MIN(m->processors, quota / period);
}

/* The path of our group in the line of the controller; "": there is none. */
static void
machine_own(const char *text, const char *controller, char path[PATH_MAX])
{
	path[0] = '\0';
	for (; text != NULL; text = strchr(text, '\n')) {
		char names[256] = "", own[PATH_MAX] = "";
		char *name, *rest = names;

		text += *text == '\n';
		/* No controllers at all are those of version 2. */
		if (sscanf(text, "%*d::%4095[^\n]", own) != 1 &&
		    sscanf(text, "%*d:%255[^:]:%4095[^\n]", names, own) != 2)
			continue;
		while ((name = strsep(&rest, ",")) != NULL)
			if (strcmp(name, controller) == 0)
				(void)strlcpy(path, own, PATH_MAX);
	}
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
	(void)machine_file("/proc", "meminfo", text);
	total = 1024 * procinfo_number(text, "MemTotal");
	machine_limit(
	    &m, total, total - 1024 * procinfo_number(text, "MemAvailable"));
	(void)machine_file("/proc/self", "cgroup", text);
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		machine_own(text, versions[i].controller, path);
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
