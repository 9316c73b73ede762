/* Calls of accept() that wait for our answer: seccomp_unotify(2). */

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <linux/seccomp.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/accept.h"

/* The list grows by so many calls. */
#define GROWTH 16

/* The time between two looks at a call in doubt. */
#define AGAIN MILLISECONDS(5)

/* `doubted` of a call that was in doubt, and will not be again. */
#define BELIEVED (-1)

/* --- one call ----------------------------------------------------------- */

/* Room for the longer notification of a newer kernel. */
union notification {
	struct seccomp_notif n;
	char room[512];
};

int
call_receive(int notify, struct call *out)
{
	union notification u;
	const struct seccomp_data *d = &u.n.data;

	memset(&u, 0, sizeof(u));
	if (ioctl(notify, SECCOMP_IOCTL_NOTIF_RECV, &u.n) == -1)
		return -1;
	*out = (struct call){
		.id = u.n.id,
		.tid = (pid_t)u.n.pid,
		.accepts = d->nr != SYS_prctl,
		.fd = (int)d->args[0],
		.flags = d->nr == SYS_accept4 ? (int)d->args[3] : 0,
		.address = d->args[1],
		.length = d->args[2],
	};
	return 0;
}

int
call_give(int notify, const struct call *c, int fd)
{
	struct seccomp_notif_addfd a = {
		.id = c->id,
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (__u32)fd,
		.newfd_flags = (c->flags & SOCK_CLOEXEC) != 0 ? O_CLOEXEC : 0,
	};

	return ioctl(notify, SECCOMP_IOCTL_NOTIF_ADDFD, &a);
}

void
call_answer(int notify, const struct call *c, int error)
{
	struct seccomp_notif_resp r = {
		.id = c->id,
		.error = -error,
		.flags = error == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0,
	};

	/* ENOENT: the call is gone, and needs no answer. */
	(void)ioctl(notify, SECCOMP_IOCTL_NOTIF_SEND, &r);
}

bool
call_waits(int notify, const struct call *c)
{
	return ioctl(notify, SECCOMP_IOCTL_NOTIF_ID_VALID, &c->id) == 0;
}

/* --- all that wait ------------------------------------------------------ */

static void
remove_call(struct calls *w, size_t i)
{
	w->len--;
	memmove(w->list + i, w->list + i + 1, (w->len - i) * sizeof(*w->list));
}

bool
calls_add(struct calls *w, const struct call *c, int notify)
{
	struct waiter *list;

	/* Some may have been interrupted, or their threads are dead. */
	for (size_t i = w->len == w->room ? w->len : 0; i-- > 0;)
		if (!call_waits(notify, &w->list[i].call))
			remove_call(w, i);
	if (w->len == w->room) {
		list = reallocarray(w->list, w->room + GROWTH, sizeof(*list));
		if (list == NULL)
			return false;
		w->list = list;
		w->room += GROWTH;
	}
	w->list[w->len++] = (struct waiter){ .call = *c };
	return true;
}

void
calls_forget(struct calls *w, pid_t tid)
{
	for (size_t i = w->len; i-- > 0;)
		if (w->list[i].call.tid == tid)
			remove_call(w, i);
}

void
calls_doubt(struct calls *w, nanoseconds until)
{
	/* Once per call, or a program full of signals would starve. */
	for (size_t i = 0; i < w->len; i++)
		if (w->list[i].doubted == 0)
			w->list[i].doubted = until;
}

void
calls_fail(struct calls *w, int notify, int error)
{
	while (w->len > 0)
		call_answer(notify, &w->list[--w->len].call, error);
}

const struct call *
calls_last(struct calls *w, int notify)
{
	for (size_t i = w->len; i-- > 0;) {
		if (!call_waits(notify, &w->list[i].call))
			remove_call(w, i);
		else if (w->list[i].doubted <= 0)
			return &w->list[i].call;
	}
	return NULL;
}

void
calls_review(struct calls *w, nanoseconds now)
{
	for (size_t i = 0; i < w->len; i++) {
		struct waiter *x = &w->list[i];

		if (x->doubted <= 0 || x->doubted > now)
			continue;
		/* On busy processors a signal may wait for long. */
		x->doubted =
		    view_has_signals(x->call.tid) ? now + AGAIN : BELIEVED;
	}
}

nanoseconds
calls_next(const struct calls *w)
{
	nanoseconds next = INT64_MAX;

	for (size_t i = 0; i < w->len; i++)
		if (w->list[i].doubted > 0 && w->list[i].doubted < next)
			next = w->list[i].doubted;
	return next;
}
