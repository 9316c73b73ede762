#ifndef SYS_ADDRESS_H
#define SYS_ADDRESS_H

/*
 * Socket addresses as text, in the words of pool.conf: "127.0.0.1:8080",
 * "[::1]:80", "unix:/run/web.sock", "unix:@abstract". Inline functions make
 * those of Unix sockets, so that libapppool links nothing more.
 */

#include <sys/socket.h>
#include <sys/un.h>

#include <stddef.h>
#include <string.h>

/* Room for every text of address_format(), with its NUL. */
#define ADDRESS_TEXT_SIZE 512

/*
 * Writes the address into buf, which holds size bytes (at least 1); a text
 * that does not fit is cut. Bytes of a path that a terminal could take for a
 * command come out as \xHH. An address of another family, or too short for its
 * own, is "unknown". Returns buf.
 */
char *address_format(
    const struct sockaddr *addr, socklen_t len, char *buf, size_t size);

/*
 * Makes *out the address of the socket file at path. Returns its length in
 * bytes, or 0, *out untouched, for a path of more than 107 bytes.
 */
static inline socklen_t
address_of_path(const char *path, struct sockaddr_un *out)
{
	size_t len = strlen(path);

	if (len >= sizeof(out->sun_path))
		return 0;
	memset(out, 0, sizeof(*out));
	out->sun_family = AF_UNIX;
	memcpy(out->sun_path, path, len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
}

/*
 * The same for a path or, behind '@', an abstract name, which ends where the
 * address does. An empty name has no address either.
 */
static inline socklen_t
address_of_name(const char *name, struct sockaddr_un *out)
{
	socklen_t len = name[0] == '\0' ? 0 : address_of_path(name, out);

	if (len == 0 || name[0] != '@')
		return len;
	out->sun_path[0] = '\0';
	return len - 1;
}

#endif
