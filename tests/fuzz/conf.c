/*
 * Loads any text as pool.conf: there are mistakes, or a configuration that is
 * the same when printed and loaded again.
 */

#include <sys/mman.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <assert.h>
#include <grp.h>
#include <netdb.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Users, groups and hosts, the same on each machine, in the place of those that
 * the library reads from a dozen files each time, or asks the network for.
 */
static struct passwd users[] = {
	{ .pw_name = (char *)"root",
	    .pw_dir = (char *)"/root",
	    .pw_shell = (char *)"/bin/sh" },
	{ .pw_name = (char *)"nobody",
	    .pw_uid = 65534,
	    .pw_gid = 65534,
	    .pw_dir = (char *)"/",
	    .pw_shell = (char *)"" },
	{ .pw_name = (char *)"www",
	    .pw_uid = 33,
	    .pw_gid = 33,
	    .pw_dir = (char *)"/srv",
	    .pw_shell = (char *)"/bin/sh" },
};

static struct group groups[] = {
	{ .gr_name = (char *)"root" },
	{ .gr_name = (char *)"nogroup", .gr_gid = 65534 },
	{ .gr_name = (char *)"www", .gr_gid = 33 },
};

struct passwd *
getpwnam(const char *name)
{
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++)
		if (strcmp(users[i].pw_name, name) == 0)
			return &users[i];
	return NULL;
}

struct passwd *
getpwuid(uid_t uid)
{
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++)
		if (users[i].pw_uid == uid)
			return &users[i];
	return NULL;
}

struct group *
getgrnam(const char *name)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (strcmp(groups[i].gr_name, name) == 0)
			return &groups[i];
	return NULL;
}

struct group *
getgrgid(gid_t gid)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (groups[i].gr_gid == gid)
			return &groups[i];
	return NULL;
}

int
getgrouplist(const char *user, gid_t group, gid_t *out, int *len)
{
	(void)user;
	if (*len < 1)
		return -1;
	out[0] = group;
	return *len = 1;
}

/* A host that was found; only localhost has a name. */
struct host {
	struct addrinfo info;
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} addr;
};

int
getaddrinfo(const char *restrict name, const char *restrict port,
    const struct addrinfo *restrict hints, struct addrinfo **restrict out)
{
	struct host *h = calloc(1, sizeof(*h));
	in_port_t number = htons((in_port_t)atoi(port));

	if (h == NULL)
		return EAI_MEMORY;
	if ((hints->ai_flags & AI_NUMERICHOST) == 0 &&
	    strcmp(name, "localhost") == 0)
		name = "127.0.0.1";
	if (inet_pton(AF_INET, name, &h->addr.in.sin_addr) == 1) {
		h->addr.in.sin_port = number;
		h->info.ai_family = AF_INET;
		h->info.ai_addrlen = sizeof(h->addr.in);
	} else if (inet_pton(AF_INET6, name, &h->addr.in6.sin6_addr) == 1) {
		h->addr.in6.sin6_port = number;
		h->info.ai_family = AF_INET6;
		h->info.ai_addrlen = sizeof(h->addr.in6);
	} else {
		free(h);
		return EAI_NONAME;
	}
	h->addr.any.sa_family = (sa_family_t)h->info.ai_family;
	h->info.ai_addr = &h->addr.any;
	*out = &h->info;
	return 0;
}

void
freeaddrinfo(struct addrinfo *info)
{
	free(info);
}

/* Makes a file in memory, with a name that can be opened. */
static int
file_of(const void *data, size_t size, char *path, size_t path_size)
{
	int fd = memfd_create("pool.conf", MFD_CLOEXEC);

	if (fd == -1 || write(fd, data, size) != (ssize_t)size)
		abort();
	(void)snprintf(path, path_size, "/proc/self/fd/%d", fd);
	return fd;
}

static struct conf *
load(const void *data, size_t size, bool must)
{
	struct conf_report report;
	struct conf *conf;
	char path[64];
	int fd = file_of(data, size, path, sizeof(path));

	conf = conf_load(path, 0, NULL, &report);
	if (conf == NULL) {
		assert(report.mistakes_len > 0);
		if (must) {
			(void)fprintf(stderr, "%s\n%.*s\n", report.mistakes[0],
			    (int)size, (const char *)data);
			abort();
		}
	}
	conf_report_fini(&report);
	free(conf_control_path(path));
	(void)close(fd);
	return conf;
}

/* Prints a configuration; the caller frees the text. */
static char *
print(const struct conf *conf, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	if (out == NULL)
		abort();
	conf_print(conf, out);
	if (fclose(out) != 0)
		abort();
	return text;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conf *conf = load(data, size, false);
	char *first;
	char *second;
	size_t len;

	if (conf == NULL)
		return 0;
	first = print(conf, &len);
	conf_free(conf);
	conf = load(first, len, true);
	second = print(conf, &len);
	conf_free(conf);
	if (strcmp(first, second) != 0) {
		(void)fprintf(stderr, "%s\n---\n%s\n", first, second);
		abort();
	}
	free(first);
	free(second);
	return 0;
}
