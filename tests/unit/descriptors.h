#ifndef TESTS_UNIT_DESCRIPTORS_H
#define TESTS_UNIT_DESCRIPTORS_H

/* The number of open descriptors, to find one that is left open. */

#include <dirent.h>
#include <stddef.h>

/* Counts our descriptors, and one more for looking; -1: unknown. */
static inline int
descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	if (dir == NULL)
		return -1;
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	/* Two entries are the folder and its parent. */
	return count - 2;
}

#endif
