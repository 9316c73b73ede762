/*
 * A file server that dies.
 *
 *     fileserver FOLDER FILE...
 *
 * Mounts a folder of root with executable copies of these files; of a folder
 * the copy is empty. After SIGUSR1 it takes requests and answers none: whoever
 * asks for a file waits, and not even SIGKILL ends that wait. After SIGTERM it
 * unmounts the folder, and those who wait get an error. It needs root.
 */

#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include <linux/fuse.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define FILES_MAX 8
#define WRITE_MAX 65536

/* A file or folder; number 0 is the one that has them all. */
struct node {
	const char *name;
	char *data; /* NULL: a folder */
	size_t size;
};

static struct node nodes[1 + FILES_MAX];
static size_t nnodes = 1;

struct answer {
	struct fuse_out_header head;
	union {
		struct fuse_init_out init;
		struct fuse_attr_out attr;
		struct fuse_entry_out entry;
		struct fuse_open_out open;
		struct fuse_write_out write;
		char data[WRITE_MAX];
	};
};

static void
load(const char *path)
{
	struct node *n = &nodes[nnodes++];
	FILE *file = fopen(path, "re");
	struct stat st;

	if (file == NULL || fstat(fileno(file), &st) == -1)
		err(EX_NOINPUT, "%s", path);
	n->name = basename(strdup(path));
	if (S_ISDIR(st.st_mode)) {
		(void)fclose(file);
		return;
	}
	n->size = (size_t)st.st_size;
	n->data = malloc(n->size + 1);
	if (n->data == NULL || fread(n->data, 1, n->size, file) != n->size)
		err(EX_IOERR, "%s", path);
	(void)fclose(file);
}

/* --- requests ----------------------------------------------------------- */

/* Numbers of the kernel begin with 1, for the folder. */
static struct fuse_attr
attributes(uint64_t number)
{
	bool folder = nodes[number - 1].data == NULL;

	return (struct fuse_attr){
		.ino = number,
		.size = nodes[number - 1].size,
		.mode = folder ? S_IFDIR | 0755 : S_IFREG | 0755,
		.nlink = 1,
		.blksize = 4096,
	};
}

/* The results below are the length of an answer, or a negative errno. */

static int
look_up(const char *name, struct answer *out)
{
	for (size_t i = 1; i < nnodes; i++) {
		if (strcmp(nodes[i].name, name) != 0)
			continue;
		out->entry = (struct fuse_entry_out){
			.nodeid = i + 1,
			.attr = attributes(i + 1),
		};
		return sizeof(out->entry);
	}
	return -ENOENT;
}

static int
read_file(uint64_t number, const struct fuse_read_in *in, struct answer *out)
{
	const struct node *n = &nodes[number - 1];
	size_t len = in->offset < n->size ? n->size - in->offset : 0;

	if (len > in->size)
		len = in->size;
	if (len > sizeof(out->data))
		len = sizeof(out->data);
	memcpy(out->data, n->data + in->offset, len);
	return (int)len;
}

/* Bytes that are written count for the size, and are not kept. */
static int
write_file(uint64_t number, const struct fuse_write_in *in, struct answer *out)
{
	struct node *n = &nodes[number - 1];

	if (in->offset + in->size > n->size) {
		n->size = in->offset + in->size;
		n->data = realloc(n->data, n->size);
		if (n->data == NULL)
			err(EX_OSERR, "realloc");
	}
	out->write = (struct fuse_write_out){ .size = in->size };
	return sizeof(out->write);
}

static int
serve(const struct fuse_in_header *in, struct answer *out)
{
	const void *body = in + 1;

	switch (in->opcode) {
	case FUSE_INIT:
		out->init =
		    (struct fuse_init_out){ .major = FUSE_KERNEL_VERSION,
			    .minor = 31,
			    .max_write = 4096 };
		return sizeof(out->init);
	case FUSE_LOOKUP:
		return look_up(body, out);
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		out->attr =
		    (struct fuse_attr_out){ .attr = attributes(in->nodeid) };
		return sizeof(out->attr);
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		out->open = (struct fuse_open_out){ 0 };
		return sizeof(out->open);
	case FUSE_READ:
		return read_file(in->nodeid, body, out);
	case FUSE_WRITE:
		return write_file(in->nodeid, body, out);
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		return 0;
	default:
		return -ENOSYS;
	}
}

static void
take_request(int device, bool dead)
{
	static char request[FUSE_MIN_READ_BUFFER + WRITE_MAX];
	static struct answer answer;
	const struct fuse_in_header *in = (const void *)request;
	ssize_t n = read(device, request, sizeof(request));
	int len;

	if (n < (ssize_t)sizeof(*in) || dead || in->opcode == FUSE_FORGET ||
	    in->opcode == FUSE_BATCH_FORGET || in->opcode == FUSE_INTERRUPT)
		return;
	len = serve(in, &answer);
	answer.head.unique = in->unique;
	answer.head.error = len < 0 ? len : 0;
	answer.head.len =
	    (uint32_t)(sizeof(answer.head) + (len < 0 ? 0 : (size_t)len));
	/* The asker may have gone. */
	(void)!write(device, &answer, answer.head.len);
}

/* --- until the end ------------------------------------------------------ */

static int
mount_at(const char *folder)
{
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[128];

	if (device == -1)
		err(EX_UNAVAILABLE, "/dev/fuse");
	(void)snprintf(options, sizeof(options),
	    "fd=%d,rootmode=%o,user_id=0,group_id=0,allow_other", device,
	    S_IFDIR | 0755);
	if (mount("fileserver", folder, "fuse", 0, options) == -1)
		err(EX_UNAVAILABLE, "mount %s", folder);
	return device;
}

int
main(int argc, char **argv)
{
	struct signalfd_siginfo info = { 0 };
	struct pollfd polled[2];
	bool dead = false;
	sigset_t set;

	if (argc < 2 || argc > 2 + FILES_MAX)
		errx(EX_USAGE, "usage: fileserver FOLDER FILE...");
	for (int i = 2; i < argc; i++)
		load(argv[i]);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &set, NULL) == -1)
		err(EX_OSERR, "sigprocmask");
	polled[0].fd = mount_at(argv[1]);
	polled[1].fd = signalfd(-1, &set, SFD_CLOEXEC);
	polled[0].events = polled[1].events = POLLIN;
	while (info.ssi_signo != SIGTERM) {
		if (poll(polled, 2, -1) == -1 && errno != EINTR)
			err(EX_OSERR, "poll");
		if (polled[0].revents != 0)
			take_request(polled[0].fd, dead);
		if (polled[1].revents == 0)
			continue;
		if (read(polled[1].fd, &info, sizeof(info)) == -1)
			err(EX_OSERR, "signalfd");
		dead |= info.ssi_signo == SIGUSR1;
	}
	if (umount2(argv[1], MNT_DETACH) == -1)
		err(EX_OSERR, "umount %s", argv[1]);
	return 0;
}
