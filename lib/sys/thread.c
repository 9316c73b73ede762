/* Threads beside the loop's. */

#include <errno.h>
#include <signal.h>

#include "sys/thread.h"

int
thread_start(const char *name, size_t stack_size, void *(*run)(void *),
    void *arg, pthread_t *out)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, before;
	int error = pthread_attr_init(&attr);

	if (error != 0) {
		errno = error;
		return -1;
	}
	(void)pthread_attr_setstacksize(&attr, stack_size);
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, &attr, run, arg);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attr);
	if (error != 0) {
		errno = error;
		return -1;
	}
	(void)pthread_setname_np(thread, name);
	*out = thread;
	return 0;
}
