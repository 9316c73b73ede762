/*
 * Runs a program in a system that forbids or lacks what an adapter needs.
 *
 *     sandbox refused|absent|busy|blind PROGRAM [ARGUMENT...]
 *
 * Filters of system calls are refused, as in some containers; absent, as in a
 * kernel without seccomp; busy, because a listener for calls exists already.
 * Or the program is blind: the calls of debuggers are refused.
 */

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* A filter that refuses these calls. */
static const long filters[] = { SYS_seccomp, -1 };
static const long debuggers[] = { SYS_kcmp, SYS_process_vm_readv,
	SYS_process_vm_writev, SYS_pidfd_open, SYS_pidfd_getfd, SYS_ptrace,
	-1 };

static void
install(const long *calls, unsigned flags, unsigned answer)
{
	struct sock_filter lines[32] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog program = { .len = 1, .filter = lines };
	int fd;

	for (; *calls != -1; calls++) {
		lines[program.len++] = (struct sock_filter)BPF_JUMP(
		    BPF_JMP | BPF_JEQ | BPF_K, (unsigned)*calls, 0, 1);
		lines[program.len++] =
		    (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer);
	}
	lines[program.len++] =
	    (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		err(71, "prctl");
	fd =
	    (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (fd == -1)
		err(71, "seccomp");
	/* The listener is never read; it must only stay open. */
	if (fd > 0 && fcntl(fd, F_DUPFD, 50) == -1)
		err(71, "dup");
}

int
main(int argc, char **argv)
{
	if (argc < 3)
		errx(
		    64, "usage: sandbox refused|absent|busy|blind PROGRAM ...");
	if (strcmp(argv[1], "refused") == 0)
		install(filters, 0, SECCOMP_RET_ERRNO | EPERM);
	else if (strcmp(argv[1], "absent") == 0)
		install(filters, 0, SECCOMP_RET_ERRNO | ENOSYS);
	else if (strcmp(argv[1], "blind") == 0)
		install(debuggers, 0, SECCOMP_RET_ERRNO | EPERM);
	else
		install(filters, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		    SECCOMP_RET_ALLOW);
	execvp(argv[2], argv + 2);
	err(127, "%s", argv[2]);
}
