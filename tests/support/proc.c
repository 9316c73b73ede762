/* Readers of /proc. */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proc.h"

tspan
proc_cpu(pid_t pid)
{
	clockid_t clock;
	struct timespec ts;

	if (clock_getcpuclockid(pid, &clock) != 0 ||
	    clock_gettime(clock, &ts) == -1)
		return 0;
	return TSPAN_SECONDS(ts.tv_sec) + ts.tv_nsec;
}

/* A child is that of the thread which forked. */
void
proc_each_child(pid_t pid, void (*call)(void *arg, pid_t child), void *arg)
{
	char path[96];
	const struct dirent *entry;
	DIR *tasks;
	FILE *file;
	int child;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (tasks == NULL)
		return;
	while ((entry = readdir(tasks)) != NULL) {
		(void)snprintf(path, sizeof(path),
		    "/proc/%d/task/%.20s/children", (int)pid, entry->d_name);
		file = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
		if (file == NULL)
			continue;
		while (fscanf(file, "%d", &child) == 1)
			call(arg, child);
		(void)fclose(file);
	}
	(void)closedir(tasks);
}

static void
proc_add_cpu(void *arg, pid_t child)
{
	*(tspan *)arg += proc_cpu(child);
}

tspan
proc_cpu_all(pid_t pid)
{
	tspan sum = proc_cpu(pid);

	proc_each_child(pid, proc_add_cpu, &sum);
	return sum;
}

static void
proc_add_one(void *arg, pid_t child)
{
	(void)child;
	++*(int *)arg;
}

int
proc_children(pid_t pid)
{
	int count = 0;

	proc_each_child(pid, proc_add_one, &count);
	return count;
}

/* The number behind `key` in /proc/PID/`file`; -1 if there is none. */
static long
proc_number(pid_t pid, const char *file, const char *key)
{
	char path[64], line[256];
	long value = -1;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	while (value == -1 && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			value = strtol(line + strlen(key), NULL, 10);
	(void)fclose(f);
	return value;
}

void
proc_memory(pid_t pid, long *rss_out, long *pss_out)
{
	long rss = proc_number(pid, "smaps_rollup", "Rss:");
	long pss = proc_number(pid, "smaps_rollup", "Pss:");

	*rss_out = rss == -1 ? -1 : rss * 1024;
	*pss_out = pss == -1 ? -1 : pss * 1024;
}

int
proc_descriptors(pid_t pid)
{
	char path[64];
	int count = 0;
	const struct dirent *entry;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (dir == NULL)
		return -1;
	while ((entry = readdir(dir)) != NULL)
		count += entry->d_name[0] != '.';
	(void)closedir(dir);
	return count;
}
