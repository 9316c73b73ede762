#ifndef COUNTER_PC_CLIENTS_H
#define COUNTER_PC_CLIENTS_H

/*
 * The clients of the PoolCounter service, and the counter that decides
 * between them. A request costs a recv(), a send() and its share of
 * epoll_wait().
 *
 * All that is done for clients is done at the end of a turn, and only so much
 * of it in each: clients that have said something wait in line, have a go one
 * after the other, and wait in line again if they have said more.
 */

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/counter.h"
#include "core/tstamp.h"
#include "sys/lane.h"
#include "sys/log.h"
#include "sys/loop.h"
#include "sys/text.h"

/* Unread answers, of all clients together. */
#define PC_PENDING_MAX (16 * 1024 * 1024)

/* Buffers kept for the answers of later turns. */
#define PC_SPARE 64

/* The lines in which clients wait; the daemon's own go first. */
enum pc_line {
	PC_OWN,
	PC_STRANGERS,
	PC_LINES
};

struct pc_client;

TAILQ_HEAD(pc_client_list, pc_client);

struct pc_clients {
	struct loop *loop;
	struct lane *closer; /* of sockets that strangers wrote to */
	struct counter counter;
	void *memory; /* of the counter; NULL: there are no tables */
	struct pc_client **clients; /* by number; NULL: none */
	struct timer waits; /* the earliest end of a wait */
	struct text spare[PC_SPARE]; /* empty, with memory */
	unsigned nspare;
	/* Of each line: */
	struct pc_client_list ready[PC_LINES]; /* wait for their go */
	struct pc_client_list dirty[PC_LINES]; /* have answers to be sent */
	struct pc_client_list stalled; /* do not read; the longest first */
	struct timer cut; /* cuts off the first of them */
	struct timer more; /* set if a turn has left work for the next */
	size_t pending; /* bytes of answers to them */
	tstamp started;
	uint64_t connections;
	uint64_t refused_clients;
	uint64_t connect_errors;
	uint64_t failed_sends;
	struct log_rate refused_rate;
	struct log_rate memory_rate;
	struct log_rate stall_rate;
	struct log_rate keys_rate;
};

/* Without tables, which pc_clients_reserve() makes. */
void pc_clients_init(
    struct pc_clients *all, struct loop *loop, struct lane *closer);

/* Tables for at least so many; clients stay. False: no memory. */
bool pc_clients_reserve(
    struct pc_clients *all, const struct counter_limits *wanted);

/* Cuts every client off and frees the tables. */
void pc_clients_fini(struct pc_clients *all, tstamp now);

/* Takes fd over; tells the client if there are too many. */
void pc_clients_add(struct pc_clients *all, int fd, bool tcp, tstamp now);

/*
 * The same for a Unix socket whose other end is the daemon's: the client has
 * one of the places set apart, and others wait for it.
 */
void pc_clients_add_own(struct pc_clients *all, int fd, tstamp now);

/*
 * At the end of each turn of the loop: carries out what clients have said and
 * answers them, as much as one turn may. If something is left, the loop does
 * not sleep.
 */
void pc_clients_turn(struct pc_clients *all, tstamp now);

/* There must be tables. */
void pc_clients_figures(const struct pc_clients *all, tstamp now,
    struct counter_service_figures *out);

#endif
