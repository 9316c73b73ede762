/* System calls of the program that wait for our answer: seccomp_unotify(2). */

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <linux/seccomp.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "adapter/accept_call.h"

/* A newer kernel may say more. */
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

bool
call_waits(int notify, const struct call *c)
{
	return ioctl(notify, SECCOMP_IOCTL_NOTIF_ID_VALID, &c->id) == 0;
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

static void
answer(int notify, const struct call *c, int error, uint32_t flags)
{
	struct seccomp_notif_resp r = {
		.id = c->id,
		.error = -error,
		.flags = flags,
	};

	/* ENOENT: it does not matter to anyone any more. */
	(void)ioctl(notify, SECCOMP_IOCTL_NOTIF_SEND, &r);
}

void
call_fail(int notify, const struct call *c, int error)
{
	answer(notify, c, error, 0);
}

void
call_let(int notify, const struct call *c)
{
	answer(notify, c, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
}
