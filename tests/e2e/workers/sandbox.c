/*
 * Runs a program where it cannot filter system calls.
 *
 *     sandbox refused|absent|busy PROGRAM [ARGUMENT...]
 *
 * refused: as some containers have it; absent: as in a kernel without; busy:
 * somebody is told of its system calls already.
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

static void
install(unsigned flags, unsigned answer)
{
	struct sock_filter lines[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = lines };
	int fd;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		err(71, "prctl");
	fd =
	    (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (fd == -1)
		err(71, "seccomp");
	/* Nobody reads from it; it must only stay open. */
	if (fd > 0 && fcntl(fd, F_DUPFD, 50) == -1)
		err(71, "dup");
}

int
main(int argc, char **argv)
{
	if (argc < 3)
		errx(64, "usage: sandbox refused|absent|busy PROGRAM ...");
	if (strcmp(argv[1], "refused") == 0)
		install(0, SECCOMP_RET_ERRNO | EPERM);
	else if (strcmp(argv[1], "absent") == 0)
		install(0, SECCOMP_RET_ERRNO | ENOSYS);
	else
		install(SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_RET_ALLOW);
	execvp(argv[2], argv + 2);
	err(127, "%s", argv[2]);
}
