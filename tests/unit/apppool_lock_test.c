/*
 * The locks of libapppool against a service that answers as the test wants: a
 * thread of this program.
 */

#include <sys/socket.h>

#include <pthread.h>

#include "check.h"

#include "sys/address.h"
#include "worker/apppool.h"

/* Answers, one for each line; NULL: the end of the connection. */
struct service {
	pthread_t thread;
	int listener;
	char path[108];
	const char *const *answers;
	char heard[4096]; /* all lines */
	unsigned connections;
};

static struct service service = { .listener = -1 };

/* Serves one connection until its end. */
static void
serve(int fd)
{
	size_t len = strlen(service.heard);
	ssize_t n;

	while ((n = recv(fd, service.heard + len,
		    sizeof(service.heard) - len - 1, 0)) > 0) {
		len += (size_t)n;
		service.heard[len] = '\0';
		if (service.heard[len - 1] != '\n')
			continue;
		if (*service.answers == NULL) {
			service.answers++;
			return;
		}
		(void)send(fd, *service.answers, strlen(*service.answers), 0);
		service.answers++;
	}
}

static void *
run(void *arg)
{
	int fd;

	while ((fd = accept(service.listener, NULL, NULL)) != -1) {
		service.connections++;
		serve(fd);
		close(fd);
	}
	return arg;
}

/* Starts the service; it closes the connection after the last answer. */
static void
start(const char *const *answers)
{
	struct sockaddr_un un;
	char folder[] = "/tmp/lock_test.XXXXXX", address[128];

	if (mkdtemp(folder) == NULL)
		abort();
	memset(&service, 0, sizeof(service));
	service.answers = answers;
	(void)snprintf(
	    service.path, sizeof(service.path), "%s/counter", folder);
	(void)snprintf(address, sizeof(address), "unix:%s", service.path);
	service.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(service.listener, (struct sockaddr *)&un,
		address_of_path(service.path, &un)) == -1 ||
	    listen(service.listener, 5) == -1 ||
	    pthread_create(&service.thread, NULL, run, NULL) != 0)
		abort();
	CHECK_EQ(0, apppool_counter(address));
}

static void
finish(void)
{
	if (service.listener == -1)
		return;
	(void)shutdown(service.listener, SHUT_RDWR);
	(void)unlink(service.path);
	*strrchr(service.path, '/') = '\0';
	(void)rmdir(service.path);
}

static int
lock(void)
{
	return apppool_lock("k", 1, 1, 0, APPPOOL_ME);
}

TEST_ALONE(every_answer_has_its_value)
{
	static const char *const answers[] = { "LOCKED\n", "DONE\n",
		"QUEUE_FULL\n", "TIMEOUT\n", "RELEASED\n" };

	start(answers);
	CHECK_EQ(APPPOOL_LOCKED, apppool_lock("k", 1, 2, 0, APPPOOL_ME));
	CHECK_EQ(APPPOOL_DONE, apppool_lock("l", 3, 4, 5000, APPPOOL_ANY));
	CHECK_EQ(APPPOOL_QUEUE_FULL, apppool_lock("m", 1, 2, 250, APPPOOL_ME));
	CHECK_EQ(APPPOOL_TIMEOUT, apppool_lock("n", 1, 2, 1, APPPOOL_ME));
	CHECK_EQ(0, apppool_unlock("k"));
	CHECK_STR("ACQ4ME k 1 2 0\nACQ4ANY l 3 4 5\nACQ4ME m 1 2 0.250\n"
		  "ACQ4ME n 1 2 0.001\nRELEASE k\n",
	    service.heard);
	CHECK_EQ(1, service.connections);
}

TEST_ALONE(without_a_key_the_newest_lock_is_released)
{
	static const char *const answers[] = { "LOCKED\n", "RELEASED\n" };

	start(answers);
	(void)lock();
	CHECK_EQ(0, apppool_unlock(NULL));
	CHECK_ERRNO(EPERM, apppool_unlock(NULL));
	/* A thread knows its locks, and does not ask without one. */
	CHECK_STR("ACQ4ME k 1 1 0\nRELEASE\n", service.heard);
}

TEST_ALONE(refused_requests_are_errors)
{
	static const char *const answers[] = { "LOCK_HELD\n",
		"ERROR TOO_MANY_KEYS\n", "ERROR BAD_SYNTAX\n", "LOCKED\n" };

	start(answers);
	CHECK_ERRNO(ENOLCK, lock());
	CHECK_ERRNO(ENOSPC, lock());
	CHECK_EQ(1, service.connections);
	CHECK_ERRNO(EPROTO, lock());
	/* The end of the connection has ended its locks. */
	CHECK_EQ(APPPOOL_LOCKED, lock());
	CHECK_EQ(2, service.connections);
}

TEST_ALONE(wrong_arguments_are_not_sent)
{
	static const char *const none[] = { NULL };
	static char key[902];
	static const struct {
		const char *key;
		unsigned workers, queue;
		int wait, whom;
	} wrong[] = {
		{ NULL, 1, 1, 0, APPPOOL_ME },
		{ "", 1, 1, 0, APPPOOL_ME },
		{ "a b", 1, 1, 0, APPPOOL_ME },
		{ "a\n", 1, 1, 0, APPPOOL_ME },
		{ key, 1, 1, 0, APPPOOL_ME },
		{ "k", 0, 1, 0, APPPOOL_ME },
		{ "k", 1, 0, 0, APPPOOL_ME },
		{ "k", 1, 1, -1, APPPOOL_ME },
		{ "k", 1, 1, 0, 7 },
	};

	start(none);
	memset(key, 'k', sizeof(key) - 1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK_ERRNO(EINVAL,
		    apppool_lock(wrong[i].key, wrong[i].workers, wrong[i].queue,
			wrong[i].wait, wrong[i].whom));
	}
	CHECK_ERRNO(EINVAL, apppool_unlock("a b"));
	CHECK_EQ(0, service.connections);
}

TEST_ALONE(without_a_lock_a_lost_connection_is_made_again)
{
	static const char *const answers[] = { "TIMEOUT\n", NULL, "LOCKED\n" };

	start(answers);
	CHECK_EQ(APPPOOL_TIMEOUT, lock());
	CHECK_EQ(APPPOOL_LOCKED, lock());
	CHECK_EQ(2, service.connections);
}

TEST_ALONE(with_a_lock_a_lost_connection_is_an_error)
{
	static const char *const answers[] = { "LOCKED\n", NULL };

	start(answers);
	CHECK_EQ(APPPOOL_LOCKED, lock());
	CHECK_ERRNO(ECONNRESET, apppool_lock("l", 1, 1, 0, APPPOOL_ME));
	CHECK_ERRNO(EPERM, apppool_unlock("k"));
}

TEST_ALONE(a_service_that_does_not_answer_is_left)
{
	static const char *const answers[] = { "" };

	start(answers);
	CHECK_ERRNO(ETIMEDOUT, lock());
}

TEST_ALONE(a_missing_service_is_an_error)
{
	CHECK_EQ(0, apppool_counter("unix:/nonexistent/counter"));
	CHECK_ERRNO(ENOENT, lock());
	CHECK_ERRNO(EPERM, apppool_unlock("k"));
}

TEST_ALONE(a_missing_server_is_passed_over)
{
	static const char *const answers[] = { "LOCKED\n", "RELEASED\n" };
	char address[256];

	start(answers);
	(void)snprintf(address, sizeof(address),
	    "unix:/nonexistent/a,unix:%s,unix:/nonexistent/b", service.path);
	CHECK_EQ(0, apppool_counter(address));
	CHECK_EQ(APPPOOL_LOCKED, lock());
	CHECK_EQ(0, apppool_unlock("k"));
}

TEST_ALONE(a_missing_server_is_left_alone_for_a_second)
{
	static const char *const answers[] = { "LOCKED\n", "RELEASED\n" };
	char path[128];
	struct timespec before, after;
	int rc;

	start(answers);
	(void)snprintf(path, sizeof(path), "%s.not", service.path);
	CHECK_EQ(0, rename(service.path, path));
	clock_gettime(CLOCK_MONOTONIC, &before);
	CHECK_EQ(-1, lock());
	CHECK_EQ(0, rename(path, service.path));
	rc = lock();
	clock_gettime(CLOCK_MONOTONIC, &after);
	/* A machine under load may take longer for that. */
	if (after.tv_sec - before.tv_sec < 1) {
		CHECK_EQ(-1, rc);
		CHECK_EQ(ENOENT, errno);
	}
	while (rc == -1)
		rc = lock();
	CHECK_EQ(APPPOOL_LOCKED, rc);
	CHECK_EQ(0, apppool_unlock("k"));
}

/* The expected numbers are those of PHP's hexdec(substr(sha1(key), 0, 4)). */
TEST(a_key_becomes_one_of_the_slots)
{
	char buf[16];

	CHECK_EQ(0, apppool_slot_key(buf, sizeof(buf), "T", "a b", 7));
	CHECK_STR("T:3", buf);
	CHECK_EQ(0, apppool_slot_key(buf, sizeof(buf), "T", "", 65536));
	CHECK_STR("T:55865", buf);
	CHECK_ERRNO(EMSGSIZE, apppool_slot_key(buf, 3, "T", "a b", 7));
	CHECK_EQ(-1, apppool_slot_key(buf, sizeof(buf), "T", "k", 0));
	CHECK_ERRNO(
	    EINVAL, apppool_slot_key(buf, sizeof(buf), "T", "k", 65537));
}

TEST(an_address_is_checked_where_it_is_given)
{
	static const char *const wrong[] = { "", "unix:", ":7531",
		"host:", "host:http", "host:0", "host:65536", "host:1x",
		"[::1:80", "::1:80", "[]:80", "[]", "a:1,", ",a:1", "a:1,,b:1",
		"a:1,b:1,a:1", "a:1,b:0", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q" };
	static const char *const right[] = { "host:7531", "[::1]:1",
		"127.0.0.1:65535", "unix:/run/x", "unix:@x", "host", "[::1]",
		"a:1,b:1", "a,[::1],unix:/run/x" };
	char path[128] = "unix:/";

	memset(path + strlen(path), 'x', 107);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK_ERRNO(EINVAL, apppool_counter(wrong[i]));
	}
	CHECK_EQ(-1, apppool_counter(path));
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		CHECK_EQ(0, apppool_counter(right[i]));
	CHECK_EQ(0, apppool_counter(NULL));
}

TEST_ALONE(the_environment_names_the_service)
{
	CHECK_EQ(0, apppool_counter(NULL));
	unsetenv("APPPOOL_COUNTER");
	CHECK_ERRNO(EDESTADDRREQ, lock());
	setenv("APPPOOL_COUNTER", "unix:/nonexistent/counter", 1);
	CHECK_ERRNO(ENOENT, lock());
}

static void *
lock_and_end(void *arg)
{
	CHECK_EQ(APPPOOL_LOCKED, lock());
	return arg;
}

TEST_ALONE(a_threads_connection_ends_with_the_thread)
{
	static const char *const answers[] = { "LOCKED\n", "LOCKED\n" };
	pthread_t thread;

	start(answers);
	pthread_create(&thread, NULL, lock_and_end, NULL);
	pthread_join(thread, NULL);
	/* The service serves one connection after the other. */
	CHECK_EQ(APPPOOL_LOCKED, apppool_lock("l", 1, 1, 0, APPPOOL_ME));
	CHECK_EQ(2, service.connections);
}

TEST_ALONE(a_forked_process_gets_its_own_connection)
{
	static const char *const answers[] = { "LOCKED\n", "RELEASED\n" };
	int status;
	pid_t pid;

	start(answers);
	CHECK_EQ(APPPOOL_LOCKED, lock());
	pid = fork();
	if (pid == 0)
		_exit(apppool_unlock("k") == -1 && errno == EPERM ? 0 : 1);
	CHECK_EQ(pid, waitpid(pid, &status, 0));
	CHECK_EQ(0, status);
	CHECK_EQ(0, apppool_unlock("k"));
}

TESTS(NULL, finish)
