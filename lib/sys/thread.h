#ifndef SYS_THREAD_H
#define SYS_THREAD_H

/* Threads beside the loop's. */

#include <pthread.h>
#include <stddef.h>

/*
 * Starts a thread that gets no signals: these are the loop's, and a broken pipe
 * is no more than EPIPE to the thread. The name (at most 15 characters) is what
 * ps shows. Returns 0, or -1 and errno, *out untouched.
 */
int thread_start(const char *name, size_t stack_size, void *(*run)(void *),
    void *arg, pthread_t *out);

#endif
