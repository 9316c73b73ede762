/*
 * What can be known of the execution of a program before it: for one that
 * somebody else is to execute, and to tell more than execve(2) does, whose
 * ENOENT may mean the interpreter of a script.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sys/executable.h"

/* Our user and group are the effective ones, as access(2) has it. */
static int
check_file(const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1)
		return -1;
	if (S_ISREG(st.st_mode))
		return access(path, X_OK);
	errno = S_ISDIR(st.st_mode) ? EISDIR : EACCES;
	return -1;
}

/* The first line of a script says; "": it is none, or cannot be read. */
static void
find_interpreter(const char *path, char *interpreter)
{
	char line[EXECUTABLE_INTERPRETER_SIZE];
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int fd = open(path, flags);
	size_t start = 2, len;
	ssize_t n;

	if (fd == -1)
		return;
	n = read(fd, line, sizeof(line) - 1);
	(void)close(fd);
	if (n < 2 || line[0] != '#' || line[1] != '!')
		return;
	line[n] = '\0';
	start += strspn(line + start, " \t");
	len = strcspn(line + start, " \t\n");
	memcpy(interpreter, line + start, len);
	interpreter[len] = '\0';
}

int
executable_check(const char *path, char *interpreter)
{
	interpreter[0] = '\0';
	if (check_file(path) == -1)
		return -1;
	find_interpreter(path, interpreter);
	if (interpreter[0] != '\0' && check_file(interpreter) == -1)
		return -1;
	interpreter[0] = '\0';
	return 0;
}
