#ifndef ADAPTER_ACCEPT_PROGRAM_H
#define ADAPTER_ACCEPT_PROGRAM_H

/*
 * The program: our child, to which signals go through us, and as which we end.
 */

#include <sys/signalfd.h>
#include <sys/types.h>

#include <signal.h>
#include <stdbool.h>

/* What it is started with. */
struct program_spec {
	char **argv;
	int listener; /* becomes its descriptors 0 and 3 */
	sigset_t signals; /* blocked in it */
};

enum program_stage {
	PROGRAM_FORK,
	PROGRAM_PREPARE,
	PROGRAM_FILTER,
	PROGRAM_EXECUTE,
	PROGRAM_RUNS
};

struct program {
	pid_t pid;
	int pidfd; /* see view_is_killed() */
	int notify; /* where its calls of accept() are reported */
	bool restricted; /* no_new_privs had to be set */
	enum program_stage stage; /* that failed; else PROGRAM_RUNS */
	int error; /* errno of it */
};

/*
 * Starts it and waits until it runs.  false: p->stage and p->error say why;
 * nothing is left.
 */
bool program_start(struct program *p, const struct program_spec *spec);

/* A signal that came to us was meant for it. */
void program_signal(const struct program *p, const struct signalfd_siginfo *s);

/* True if it has ended, and its wait status. */
bool program_ended(const struct program *p, int *status_out);

/* Ends this process in the same way. */
_Noreturn void program_end_likewise(int status);

#endif
