/*
 * Prints its effective user, as a helper that is set-user-ID:
 *
 *     whoami [PROGRAM [ARGUMENT...]]
 *
 * or serves: accepts connections on descriptor 0, and answers each with what
 * the program prints.
 */

#include <sys/socket.h>
#include <sys/wait.h>

#include <err.h>
#include <stdio.h>
#include <unistd.h>

static void
answer(int client, char **argv)
{
	pid_t pid = fork();

	if (pid == -1)
		err(71, "fork");
	if (pid == 0) {
		if (dup2(client, STDOUT_FILENO) == -1)
			err(71, "dup2");
		execv(argv[0], argv);
		err(127, "%s", argv[0]);
	}
	waitpid(pid, NULL, 0);
}

int
main(int argc, char **argv)
{
	int client;

	if (argc == 1) {
		printf("%u\n", (unsigned)geteuid());
		return 0;
	}
	while ((client = accept(0, NULL, NULL)) != -1) {
		answer(client, argv + 1);
		close(client);
	}
	err(71, "accept");
}
