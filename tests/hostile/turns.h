#ifndef TESTS_HOSTILE_TURNS_H
#define TESTS_HOSTILE_TURNS_H

/* Which of the processes of an app are bad: the first so many. */

#include <fcntl.h>
#include <stdio.h>

/* Makes the next of the files 1, 2, ... in the folder; -1: there are all. */
static inline int
turns_next(const char *folder, int times)
{
	char name[4096];
	int fd = -1;

	for (int i = 1; i <= times && fd == -1; i++) {
		(void)snprintf(name, sizeof(name), "%s/%d", folder, i);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	}
	return fd;
}

#endif
