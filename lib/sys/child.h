#ifndef SYS_CHILD_H
#define SYS_CHILD_H

/* Starting a program as a child, and reaping it. */

#include <sys/resource.h>
#include <sys/types.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Descriptors a child may be given beyond 0, 1 and 2. */
#define CHILD_FDS_MAX 64

/* Bytes for the number of a process in decimal, with its NUL. */
#define CHILD_NUMBER_SIZE 12

/* Bytes for the path of an interpreter with its NUL, as the kernel has it. */
#define CHILD_INTERPRETER_SIZE 256

struct child_limit {
	int resource; /* RLIMIT_NOFILE, ... */
	struct rlimit value;
};

/*
 * A start; all of it must stay as it is while child_spawn() runs, which
 * changes *number alone. Where all but path and argv is zero, the child has our
 * descriptor 0 three times, an empty environment and our identity.
 */
struct child_spec {
	/* With a slash, as PATH is not searched; seen from the directory. */
	const char *path;
	/*
	 * The path is opened by us, and executed by that descriptor: the child
	 * need not be able to find it. No script.
	 */
	bool opened;
	/*
	 * The file that the program is to execute in its turn, with a slash:
	 * the start fails if the child could not execute it. NULL: none.
	 */
	const char *next;
	char *const *argv; /* ends with NULL */
	char *const *envp; /* ends with NULL; NULL: empty */
	/*
	 * CHILD_NUMBER_SIZE bytes in a string of envp, where the child writes
	 * its own process number before exec. NULL: nowhere.
	 */
	char *number;
	int stdio[3]; /* become 0, 1 and 2; -1: /dev/null */
	/*
	 * A file to append to, in place of stdio[1] and [2]: made if need be,
	 * and opened as the user and groups that the child is to have, but
	 * outside the chroot. No link is followed to it, nor a FIFO without a
	 * reader waited for. NULL: none.
	 */
	const char *output;
	const int *fds; /* become 3, 4, ... in this order */
	size_t nfds; /* at most CHILD_FDS_MAX */
	/*
	 * Whether accept() in the child, and in all it starts, is reported to
	 * the descriptor after those, as acceptfilter.h has it, for which we
	 * must be privileged; /dev/null where the system does not allow it.
	 * Goes with another identity; the program is to begin with
	 * acceptfilter_hide().
	 */
	bool filter_accept;
	/* The folder of a cgroup v2 to be in from its start on; 0: ours. */
	int cgroup;
	const char *chroot; /* NULL: none. Needs a privilege */
	/* Entered with our identity, inside the chroot; NULL: ours. */
	const char *directory;
	const struct child_limit *limits;
	size_t nlimits;
	bool set_nice;
	int nice; /* -20 .. 19, absolute */
	bool set_umask;
	mode_t umask;
	/*
	 * Whether to take uid, gid and groups, and drop ambient capabilities,
	 * for which we must have the privilege.
	 */
	bool set_identity;
	uid_t uid;
	gid_t gid;
	const gid_t *groups; /* the supplementary ones */
	size_t ngroups;
	bool no_new_privs;
};

/* The steps to a running program, in the order they are taken. */
enum child_stage {
	CHILD_CLONE,
	CHILD_CGROUP,
	CHILD_SESSION,
	CHILD_OUTPUT,
	CHILD_NULL,
	CHILD_DESCRIPTORS,
	CHILD_LIMITS,
	CHILD_NICE,
	CHILD_CHROOT,
	CHILD_DIRECTORY,
	CHILD_IDENTITY,
	CHILD_NO_NEW_PRIVS,
	CHILD_NEXT,
	CHILD_EXEC
};

/* All zero before child_spawn(). */
struct child_result {
	/*
	 * 0 until the child exists. The kernel writes it before the child
	 * runs, so that another thread knows a dead child for this one, and
	 * can kill it while it hangs before exec. Kept when the start fails.
	 */
	_Atomic pid_t pid;
	enum child_stage stage; /* that failed, else CHILD_EXEC */
	int error; /* errno of that stage; 0: the program runs */
	int limit; /* the resource, where CHILD_LIMITS failed */
	/* The interpreter of a script that could not be executed; or "". */
	char interpreter[CHILD_INTERPRETER_SIZE];
};

/*
 * Starts the program as the leader of a session and process group of its own,
 * with every signal at its default and none blocked, and exactly the
 * descriptors of the spec. Blocks until the program runs or has failed to (a
 * directory on a dead file server can take for ever): to be called from a
 * slow lane, with all signals blocked. Several threads may call it at once.
 *
 * Returns 0; or -1, and result says why: if its pid is not 0, a child that is
 * dead or about to be is left for the reaper. A reaper must leave alone the
 * process whose number is the pid of a result still in work, until the lane
 * has said that it is done: so no other process gets that number, and the child
 * can be signalled all the time.
 */
int child_spawn(const struct child_spec *, struct child_result *);

/* Whether a failure was a shortage that passes, and no mistake in the spec. */
bool child_no_room(const struct child_result *);

/* Writes "cannot chdir to /srv: Permission denied" or the like. Returns buf. */
const char *child_explain(const struct child_spec *,
    const struct child_result *, char *buf, size_t size);

/*
 * Signals a child that is not reaped yet, and with group all of the process
 * group that it leads. 0, or -1 and the errno of kill(2).
 */
int child_signal(pid_t, int sig, bool group);

/*
 * A dead child is looked at first and reaped after: while it is a zombie, its
 * number is its own, and its process group can be killed.
 */

struct reap_death {
	pid_t pid;
	int signal; /* that killed it, or 0: it exited */
	int status; /* it exited with, 0 .. 255; 0 if killed */
	bool dumped;
};

/*
 * Whether this child, or any (0), is dead, and which: it stays a zombie. Never
 * blocks; but for 0 the kernel may look at all living children first.
 */
bool reap_peek(pid_t, struct reap_death *out);

/* Whether it is a child of ours, dead or alive. Never blocks. */
bool reap_is_child(pid_t);

/*
 * Reaps the dead child; with group the rest of the process group that it led
 * is killed before. Without for an orphan that came to us because we are its
 * subreaper, or process 1; and for a child that never ran its program.
 */
void reap_take(pid_t, bool group);

/* Writes "killed by signal 11 (SIGSEGV, core dumped)" and the like. */
const char *reap_explain(const struct reap_death *, char *buf, size_t size);

#endif
