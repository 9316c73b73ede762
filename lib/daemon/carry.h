#ifndef DAEMON_CARRY_H
#define DAEMON_CARRY_H

/*
 * The state of the daemon as text, for the program that replaces it.
 *
 * Each record is a line: its kind, the number of what it belongs to, and the
 * members that differ from their usual value, by name:
 *
 *	output 0 process=1 id=4:b8xq ends[0]=19 held=1
 *
 * A string is preceded by its length and may have newlines; numbers of an array
 * stand apart by commas; of a double, the number is its bits. A program takes
 * the usual value for a name that it does not find. A kind or a name that it
 * does not know makes it refuse the state.
 */

#include <stdlib.h>

#include "core/carry.h"
#include "daemon/state.h"
#include "sys/listener.h"
#include "sys/manager.h"
#include "sys/text.h"

/* The head of a state, which has a format and the way back. */
struct carry_state {
	uint32_t format;
	bool dry; /* it is for a dry run */
	char *version; /* of the program that has written it */
	char *binary; /* its path, from which others are executed */
	char *file; /* of the configuration, */
	char *choice; /* as in struct conf */
	char *config; /* as conf_print() has it */
	char *given; /* as activation_list() has it */
	int input; /* the standard input */
	int exe; /* the program that has written it */
	int epoll; /* the epoll set of its loop, */
	char *polled; /* and what is in it, as loop_list() has it */
	int note; /* a file that says why it comes back */
	int pid_file; /* -1: none */
	char *pid_path;
	int guard; /* the end of the guardian's pipe; -1: there is none */
	int cgroup; /* as cgroup_base() has it */
	pid_t watch; /* over its loop */
	tstamp began; /* the pause */
	char back[256]; /* what is in the note; or "" */
};

struct carry;

struct carry_kind {
	const char *name;
	const struct carry_fields *fields; /* of the record */
	bool inside; /* of the tables in memory: a dry run restores it, too */
	bool of_app; /* its number is that of an app */
	/*
	 * Takes over the record, of this app. made: all of it, allocated, whose
	 * timers and descriptors are set then; else what carry_copy() copies.
	 * False: it cannot be, or why says more. NULL: nothing.
	 */
	bool (*restore)(struct carry *c, struct group *g, void *record);
	bool made;
	const struct carry_row *row; /* restores it after that; or NULL */
	/* Adds all records of the app; or of the daemon, without any app. */
	void (*put_app)(struct carry *c, const struct group *g);
	void (*put)(struct carry *c);
	/* For people: what is under way and not carried; NULL: nothing. */
	const char *(*app_busy)(const struct group *g);
	const char *(*busy)(const struct supervisor *s);
};

/* The kind of this name, of a table of fields of the struct s. */
#define CARRY_KIND(kind, text, s, table, ...) \
	const struct carry_kind kind = { .name = (text), \
		.fields = &(const struct carry_fields)CARRY_FIELDS(s, table), \
		__VA_ARGS__ }

/* The same, of a row of the core's. */
#define CARRY_ROW(kind, text, id, ...) \
	const struct carry_kind kind = { .name = (text), \
		.fields = &carry_rows[id].fields, \
		.inside = true, \
		.row = &carry_rows[id], \
		__VA_ARGS__ }

/*
 * Kinds of records in their order, and what each is: CARRIED_STATE, ... Those
 * of the control socket are in the table when it is registered.
 */
#define CARRY_KINDS(X) \
	X(STATE, carry_state) \
	X(DAEMON, carry_daemon) \
	X(POOL, carry_pool) \
	X(NAME, carry_name) \
	X(GROUP, carry_group) \
	X(APP, carry_app) \
	X(LISTENER, carry_listener) \
	X(FILE, carry_file) \
	X(TEMPLATING, carry_templating) \
	X(PLACE, carry_place) \
	X(PROCESS, carry_process) \
	X(TEMPLATE, carry_template) \
	X(WORKER, carry_worker) \
	X(OUTPUT, carry_output) \
	X(CONN, carry_conn) \
	X(ACCEPTED, carry_accepted) \
	X(AHEAD, carry_ahead) \
	X(PARKED, carry_parked) \
	X(REFUSAL, carry_refusal) \
	X(LOCK, carry_lock) \
	X(KEEPER, carry_keeper) \
	X(COUNTER, carry_counter) \
	X(COUNTER_LISTENER, carry_counter_listener) \
	X(CONTROL, carry_end) \
	X(CLIENT, carry_end) \
	X(TARGET, carry_end) \
	X(END, carry_end)

#define CARRY_ID(id, kind) CARRIED_##id,
enum carry_id {
	CARRY_KINDS(CARRY_ID) CARRIED_KINDS
};

#define CARRY_EXTERN(id, kind) extern const struct carry_kind kind;
CARRY_KINDS(CARRY_EXTERN)

extern const struct carry_kind *carry_kinds[CARRIED_KINDS];

/* A state while it is written or read. */
struct carry {
	struct supervisor *sup;
	struct text text; /* that is written */
	bool dry; /* it is read, and nothing outside of memory is touched */
	struct carry_state *head; /* this alone is read; NULL: all is */
	tstamp now;
	uint32_t counts[CARRIED_KINDS]; /* records so far */
	enum carry_id id; /* of the record that is read, */
	uint32_t of; /* and its number */
	int *fds; /* descriptors in it, owned */
	size_t nfds;
	struct kept_socket *kept; /* listeners in it, owned */
	size_t nkept;
	struct worker *template; /* the process of the latest template */
	struct output **output; /* of the latest worker */
	void *client; /* the latest */
	char why[256]; /* it is refused */
};

/* The longest state. */
#define STATE_MAX ((size_t)1 << 30)

static inline void
carry_init(struct carry *c, struct supervisor *s, tstamp now)
{
	*c = (struct carry){ .sup = s, .now = now };
	text_init(&c->text, STATE_MAX);
}

static inline void
carry_fini(struct carry *c)
{
	text_fini(&c->text);
	free(c->fds);
	free(c->kept);
}

/* Adds a record to the text. */
void carry_put(
    struct carry *c, enum carry_id id, uint32_t of, const void *record);

/* Restores the state, or reads its head alone. False: c->why says why not. */
bool carry_read(struct carry *c, const char *text, size_t len);

/*
 * Copies the members that are carried, and sets timers and descriptors among
 * them; strings are taken out of the record. False: one cannot be waited for.
 */
bool carry_copy(struct carry *c, void *to, void *record);

/* All of the daemon, but for CARRIED_STATE; kinds are counted. */
void carry_all(struct carry *c);

/* A timer; and a descriptor in the loop. */
#define CARRY_TIMER(s, m) CARRY_AS(s, m.at, m.at, CARRY_DEADLINE, TSTAMP_NEVER)
#define CARRY_IO(s, m) \
	CARRY_FD(s, m.fd), CARRY_AS(s, m.events, m.events, CARRY_EVENTS, 0)

/* A listener: its address is asked for. */
#define CARRY_LISTENER(s, l) \
	CARRY_FD(s, l.fd), CARRY(s, l.kind), CARRY(s, l.inherited), \
	    CARRY(s, l.shut), CARRY(s, l.marks), CARRY(s, l.shared), \
	    CARRY(s, l.blocked), CARRY_TEXT(s, l.name), \
	    CARRY_AS(s, l.stored, l.stored, CARRY_STORED, 0), \
	    CARRY_OWNED(s, l.path), CARRY(s, l.file.dev), CARRY(s, l.file.ino)

/* A process of ours that shares a page with us. */
#define CARRY_HELPER(s, h) \
	CARRY_IO(s, h.io), CARRY_FD(s, h.fds[0]), CARRY_FD(s, h.fds[1]), \
	    CARRY(s, h.began), CARRY(s, h.result.pid)

/* Adds a worker or template, with its output. */
void worker_carry(struct carry *c, const struct worker *w);

#endif
