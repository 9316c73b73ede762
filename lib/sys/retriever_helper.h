#ifndef SYS_RETRIEVER_HELPER_H
#define SYS_RETRIEVER_HELPER_H

/*
 * The helper process of the retriever, and what both say to each other: we
 * ask with a descriptor to read from; it answers with a packet for each
 * message, the message after the first letter, and then with the end. Inside
 * the retriever only.
 */

#include <stdnoreturn.h>

#define RETRIEVER_ASK "A"
#define RETRIEVER_MESSAGE "M"
#define RETRIEVER_END "E"

/*
 * The life of the helper, from fork(2) on; sock is all it keeps. It ends when
 * the other end of it is closed. It may be forked from a process with
 * threads, and so makes system calls only.
 */
noreturn void retriever_helper(int sock);

#endif
