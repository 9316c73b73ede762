#ifndef SYS_SOCKDIAG_PRIVATE_H
#define SYS_SOCKDIAG_PRIVATE_H

/* Questions and answers of sock_diag(7), for who knows their structs. */

#include <linux/netlink.h>
#include <stddef.h>

#include "sys/sockdiag.h"

/* Called for each answer, which is of the struct of the family. */
typedef void sockdiag_answer(const struct nlmsghdr *, void *arg);

/*
 * Asks and reads all answers: one, or with dump one for each socket. False if
 * that was not to be had.
 */
bool sockdiag_ask(struct sockdiag *d, const void *body, size_t len, bool dump,
    sockdiag_answer *answer, void *arg);

/* The same about one Unix socket: what of it, UDIAG_SHOW_* says. */
bool sockdiag_ask_unix(struct sockdiag *d, uint32_t inode, uint32_t show,
    sockdiag_answer *answer, void *arg);

/*
 * The value of the attribute of this type, of at least size bytes, among
 * those that follow the first part bytes of the answer; NULL: not there.
 */
const void *sockdiag_attribute(
    const struct nlmsghdr *h, size_t part, int type, size_t size);

#endif
