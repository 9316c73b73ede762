/* What /proc tells of where a process is: stat, syscall, wchan and stack. */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/hang.h"
#include "sys/procfile.h"

static bool
read_state(int folder, struct hang *out)
{
	char stat[1024];
	const char *fields = procfile_stat(folder, "stat", stat, sizeof(stat));
	char state;
	int pid;

	if (fields == NULL || sscanf(stat, "%d", &pid) != 1 ||
	    sscanf(fields,
		" %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
		" %*s %*s %*s %ld",
		&state, &out->threads) != 2)
		return false;
	out->pid = pid;
	out->state = state;
	return true;
}

/* Its number, and its arguments in hexadecimal; or "running"; or -1. */
static void
read_call(int folder, struct hang *out)
{
	char text[256], link[32];
	unsigned long first = 0;
	bool file = false;
	ssize_t n;

	if (procfile_read(folder, "syscall", text, sizeof(text)) == -1)
		out->call_error = errno;
	if (out->call_error != 0 || !isdigit((unsigned char)text[0]) ||
	    sscanf(text, "%ld %lx", &out->call, &first) < 1)
		return;
	if (hang_call_name(out->call, &file) == NULL || !file)
		return;
	(void)snprintf(link, sizeof(link), "fd/%d", (int)first);
	n = readlinkat(folder, link, out->file, sizeof(out->file) - 1);
	out->file[n > 0 ? n : 0] = '\0';
	for (char *at = out->file; *at != '\0'; at++)
		if (iscntrl((unsigned char)*at))
			*at = '?';
}

/* Lines like "[<0>] do_sys_poll+0x4d5/0x690", one for each function. */
static void
read_stack(int folder, struct hang *out)
{
	char text[4096], *line, *save = NULL;
	size_t used = 0;
	int n;

	if (procfile_read(folder, "stack", text, sizeof(text)) == -1)
		out->stack_error = errno;
	for (line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		char *name = strchr(line, ' ');

		if (name == NULL)
			continue;
		name++;
		name[strcspn(name, "+ ")] = '\0';
		n = snprintf(out->stack + used, sizeof(out->stack) - used,
		    "%s%s", used > 0 ? " < " : "", name);
		if (n < 0 || (size_t)n >= sizeof(out->stack) - used) {
			/* Whole names only. */
			out->stack[used] = '\0';
			break;
		}
		used += (size_t)n;
	}
}

void
hang_read(int folder, struct hang *out)
{
	memset(out, 0, sizeof(*out));
	out->call = HANG_NO_CALL;
	if (!read_state(folder, out))
		return;
	read_call(folder, out);
	/* 0 is said of one that runs, and to those who may not know. */
	(void)procfile_read(folder, "wchan", out->where, sizeof(out->where));
	if (strcmp(out->where, "0") == 0)
		out->where[0] = '\0';
	read_stack(folder, out);
}

static const char *
state_name(char state)
{
	switch (state) {
	case 'R':
		return "running";
	case 'S':
		return "sleeping";
	case 'D':
		return "in uninterruptible sleep";
	case 'T':
		return "stopped";
	case 't':
		return "stopped by a tracer";
	case 'Z':
	case 'X':
		return "dead";
	case '\0':
		return "gone";
	default:
		return "waiting";
	}
}

const char *
hang_describe(const struct hang *h, char *buf, size_t size)
{
	char call[160] = "", number[32], where[80] = "", threads[32] = "";
	bool file;
	const char *name = hang_call_name(h->call, &file);

	(void)snprintf(number, sizeof(number), "system call %ld", h->call);
	if (h->call != HANG_NO_CALL)
		(void)snprintf(call, sizeof(call), " in %s%s%s",
		    name == NULL ? number : name,
		    h->file[0] == '\0' ? "" : " of ", h->file);
	else if (h->call_error == 0 && h->state == 'R')
		(void)snprintf(call, sizeof(call), ", in no system call");
	if (h->where[0] != '\0')
		(void)snprintf(where, sizeof(where), ", at %s", h->where);
	if (h->threads > 1)
		(void)snprintf(
		    threads, sizeof(threads), ", %ld threads", h->threads);
	(void)snprintf(
	    buf, size, "%s%s%s%s", state_name(h->state), call, where, threads);
	return buf;
}
