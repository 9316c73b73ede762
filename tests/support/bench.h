#ifndef SUPPORT_BENCH_H
#define SUPPORT_BENCH_H

/* Surroundings of a bench: a folder, two processors, addresses, programs. */

#include <sys/types.h>

#include <stddef.h>

enum {
	BENCH_PATH = 128
};

struct bench {
	char folder[BENCH_PATH]; /* for sockets, logs; removed at the end */
	int load_cpu; /* where this program runs, if pinned; else -1 */
	int server_cpu; /* where the servers run; -1: anywhere */
};

/* Makes the folder; ends the program if it cannot. */
void bench_init(struct bench *b);
void bench_fini(struct bench *b);

/* Moves this program to a processor of its own, and names the other. */
void bench_pin(struct bench *b);

/* A free address to listen at, of "tcp" or "unix", in pool.conf's words. */
void bench_address(
    struct bench *b, const char *transport, char *out, size_t size);

/* The path of a program that benches start: programs/NAME beside this one. */
void bench_program(const char *name, char *out, size_t size);

/* The absolute path of a program of the folder $BIN, or of this one. */
void bench_product(const char *name, char *out, size_t size);

/* As fork(2), of a process that ends with this one. */
pid_t bench_fork(void);

/*
 * Starts a program, which ends with this one: on that processor, unless it is
 * -1, and with its output in FOLDER/log.
 */
pid_t bench_spawn(const char *folder, const char *const *argv, int cpu);

#endif
