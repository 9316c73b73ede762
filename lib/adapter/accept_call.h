#ifndef ADAPTER_ACCEPT_CALL_H
#define ADAPTER_ACCEPT_CALL_H

/*
 * A system call of the program that waits for our answer.  It may be gone at
 * any moment, for its thread can be killed or interrupted by a signal; then
 * answers fail with ENOENT and nothing has happened.
 */

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

struct call {
	uint64_t id;
	pid_t tid; /* the thread */
	bool accepts; /* else it is another one, to be let through */
	int fd; /* the socket, as the program numbers it */
	int flags; /* of accept4() */
	/* Where it wants the peer's address and its length; 0: nowhere. */
	uint64_t address;
	uint64_t length;
	uint32_t room; /* bytes there are for the address */
};

/* A call has come in.  0, or -1: ENOENT, it is gone already. */
int call_receive(int notify, struct call *out);

/* Whether it still waits. */
bool call_waits(int notify, const struct call *c);

/*
 * Answers accept() with a copy of fd, as one act.  Returns the number it has
 * in the program.  -1: EMFILE and the like are the program's trouble, and the
 * call still waits.
 */
int call_give(int notify, const struct call *c, int fd);

/* It fails with this errno. */
void call_fail(int notify, const struct call *c, int error);

/* It is none of our business: the kernel shall carry it out. */
void call_let(int notify, const struct call *c);

#endif
