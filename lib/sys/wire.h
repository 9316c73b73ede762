#ifndef SYS_WIRE_H
#define SYS_WIRE_H

/*
 * The worker protocol, as both ends write it: a SOCK_SEQPACKET pair between
 * the daemon and each process, one message a packet.  A message is a verb and
 * what belongs to it, separated by one space each, in ASCII, without a
 * newline; numbers are unsigned decimal.  apppool-worker(7) is the reference.
 */

/* Longest message in bytes.  A longer one is an error of its sender. */
#define WIRE_MAX 4096

/* The value of APPPOOL_PROTOCOL. */
#define WIRE_VERSION "1"

/* Variables that the daemon puts into the environment of a process. */
#define WIRE_ENV_PROTOCOL "APPPOOL_PROTOCOL"
#define WIRE_ENV_FD "APPPOOL_FD"
#define WIRE_ENV_APP "APPPOOL_APP"
#define WIRE_ENV_ID "APPPOOL_ID"
#define WIRE_ENV_SLOT "APPPOOL_SLOT"
#define WIRE_ENV_FAMILY "APPPOOL_FAMILY" /* unix, inet or inet6 */
#define WIRE_ENV_UNREAD "APPPOOL_UNREAD" /* kept; unset: may be taken back */
#define WIRE_ENV_TEMPLATE "APPPOOL_TEMPLATE" /* 1: it forks workers */
#define WIRE_ENV_CALLS "APPPOOL_CALLS" /* of apppool-accept: a descriptor */
#define WIRE_ENV_LIBRARY "APPPOOL_LIBRARY" /* of apppool-accept: its path */
#define WIRE_ENV_KEEP_ALIVE "APPPOOL_KEEP_ALIVE" /* 1: may PARK; or unset */
#define WIRE_ENV_SLOW_SIGNAL "APPPOOL_SLOW_SIGNAL" /* "USR2"; unset: none */
#define WIRE_ENV_STOP_SIGNAL "APPPOOL_STOP_SIGNAL" /* a number; unset: TERM */
#define WIRE_ENV_COUNTER "APPPOOL_COUNTER" /* an address; unset: none */

/* Daemon to process. */
#define WIRE_CONN "CONN" /* serial waited(us) [load(1/1000)]; a descriptor */
#define WIRE_STOP "STOP"
/* serial id slot, with one descriptor, or three: two are of its output */
#define WIRE_FORK "FORK"
#define WIRE_FORK_TEMPLATE "template" /* in place of the slot */

/* Process to daemon. */
#define WIRE_READY "READY"
#define WIRE_DONE "DONE" /* [serial] */
#define WIRE_PARK "PARK" /* serial */
#define WIRE_LOST "LOST" /* serial */
#define WIRE_FORKED "FORKED" /* serial pid; 0: it could not */
#define WIRE_FAIL "FAIL" /* text */
#define WIRE_UNFIT "UNFIT" /* text; of apppool-accept's library alone */
#define WIRE_SEVERAL "SEVERAL" /* of the same */
#define WIRE_RETIRE "RETIRE"
#define WIRE_BLIND "BLIND"
#define WIRE_EVENT "EVENT" /* text */
#define WIRE_STATUS "STATUS" /* text */

#endif
