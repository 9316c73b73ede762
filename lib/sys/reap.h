#ifndef SYS_REAP_H
#define SYS_REAP_H

/*
 * Reaping children. A dead child is looked at first and reaped after: while it
 * is a zombie, no other process can get its number, and so its process group
 * can be killed without hitting another one.
 *
 *	while (reap_peek(&death)) {
 *		if (death.pid is in flight)	child_spawn() has not returned:
 *			break;			go on when its lane has
 *		if (death.pid is a worker)
 *			reap_take(death.pid);
 *		else				also one that failed to exec
 *			reap_stranger(death.pid);
 *	}
 */

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

struct reap_death {
	pid_t pid;
	int signal; /* that killed it, or 0: it exited */
	int status; /* it exited with, 0 .. 255; 0 if killed */
	bool dumped;
};

/*
 * Whether a child is dead, and which; it stays a zombie. Never blocks, but the
 * kernel may look at all living children first.
 */
bool reap_peek(struct reap_death *out);

/* Whether this child is dead; likewise, but no other one is looked at. */
bool reap_peek_at(pid_t, struct reap_death *out);

/* Whether it is a child of ours, dead or alive. Never blocks. */
bool reap_is_child(pid_t);

/*
 * Kills the rest of the dead child's process group, if it led one, and reaps
 * the child.
 */
void reap_take(pid_t);

/*
 * Reaps a dead child alone: an orphan that came to us because we are its
 * subreaper, or process 1; or a child that never ran its program.
 */
void reap_stranger(pid_t);

/*
 * Writes "killed by signal 11 (SIGSEGV)", with "core dumped" behind the name if
 * so, or "exited with status 3", cut to size. Returns buf.
 */
const char *reap_explain(const struct reap_death *, char *buf, size_t size);

#endif
