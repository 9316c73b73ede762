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
 *the usual value for a name that it does not find. A kind or a name that it
 *does not know makes it refuse the state.
 */

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
struct group;
struct output;
struct worker;

struct carry_kind {
	const char *name;
	const struct carry_fields *fields; /* of the record */
	/* It is not of the tables in memory: a dry run does not restore it. */
	bool outside;
	/*
	 * Takes a record over, with the strings in it that it sets to NULL
	 * there. False: it cannot be, or why says more. NULL: nothing.
	 */
	bool (*restore)(struct carry *c, uint32_t of, void *record);
	const struct carry_row *row; /* restores it after that; or NULL */
	/* Adds all records of the app; or of the daemon, without any app. */
	void (*put_app)(struct carry *c, const struct group *g);
	void (*put)(struct carry *c);
	/*
	 * What is under way in the app, or (NULL) in the daemon, and is not
	 * carried, in words for people; NULL: nothing.
	 */
	const char *(*unquiet)(
	    const struct supervisor *s, const struct group *g);
};

#define CARRY_KIND(s, table) \
	.fields = &(const struct carry_fields)CARRY_FIELDS(s, table)

/* Kinds of records, in the order in which they are written. */
enum carry_id {
	CARRIED_STATE,
	CARRIED_DAEMON,
	CARRIED_POOL,
	CARRIED_NAME,
	CARRIED_GROUP,
	CARRIED_APP,
	CARRIED_LISTENER,
	CARRIED_FILE,
	CARRIED_TEMPLATING,
	CARRIED_PLACE,
	CARRIED_PROCESS,
	CARRIED_TEMPLATE,
	CARRIED_WORKER,
	CARRIED_OUTPUT,
	CARRIED_CONN,
	CARRIED_ACCEPTED,
	CARRIED_AHEAD,
	CARRIED_PARKED,
	CARRIED_REFUSAL,
	CARRIED_LOCK,
	CARRIED_KEEPER,
	CARRIED_COUNTER,
	CARRIED_COUNTER_LISTENER,
	CARRIED_CONTROL,
	CARRIED_CLIENT,
	CARRIED_TARGET,
	CARRIED_END,
	CARRIED_KINDS
};

extern const struct carry_kind *carry_kinds[CARRIED_KINDS];

/* A state while it is written or read. */
struct carry {
	struct supervisor *sup;
	struct text text; /* that is written */
	bool dry; /* it is read, and nothing outside of memory is touched */
	struct carry_state *head; /* this alone is read; NULL: all is */
	tstamp now;
	uint32_t counts[CARRIED_KINDS]; /* records so far */
	int *fds; /* descriptors in it, owned */
	size_t nfds;
	size_t fds_room;
	struct kept_socket *kept; /* listeners in it, owned */
	size_t nkept;
	struct worker *template; /* the process of the latest template */
	struct output **output; /* of the latest worker */
	void *client; /* the latest */
	char why[256]; /* it is refused */
};

void carry_init(struct carry *c, struct supervisor *s, tstamp now);
void carry_fini(struct carry *c);

/* Adds a record to the text. */
void carry_put(
    struct carry *c, enum carry_id id, uint32_t of, const void *record);

/* Restores the state, or reads its head alone. False: c->why says why not. */
bool carry_read(struct carry *c, const char *text, size_t len);

/* Copies the members that are carried; strings are taken out of the record. */
void carry_copy(enum carry_id id, void *to, void *record);

/* Whether the descriptors in the text stay open when a program is executed. */
bool carry_keep(const struct carry *c, bool keep);

/* All of the daemon, but for CARRIED_STATE; kinds are counted. */
void carry_all(struct carry *c);

/* All has been read; then the pool goes on, unless c->dry. False: c->why. */
bool carry_complete(struct carry *c);

/* The app of a record; NULL: there is none, and it is refused. */
struct group *carry_group(const struct carry *c, uint32_t app);

/* An open listener. */
#define CARRY_LISTENER(s, l) \
	CARRY_FD(s, l.fd), CARRY(s, l.kind), CARRY(s, l.inherited), \
	    CARRY(s, l.shut), CARRY(s, l.marks), CARRY(s, l.shared), \
	    CARRY(s, l.blocked), CARRY_TEXT(s, l.name), \
	    CARRY_TEXT(s, l.stored), CARRY_OWNED(s, l.path), \
	    CARRY(s, l.file.dev), CARRY(s, l.file.ino)

/* Adds a record that has this listener. */
void carry_put_listener(struct carry *c, enum carry_id id, uint32_t of,
    const void *record, const struct listener *l);

/* Asks for the address of a listener that was read; false: it is none. */
bool carry_listener(struct listener *l);

/* A process of ours that shares a page with us. */
#define CARRY_HELPER(s, h) \
	CARRY_FD(s, h.io.fd), CARRY(s, h.io.events), CARRY_FD(s, h.fds[0]), \
	    CARRY_FD(s, h.fds[1]), CARRY(s, h.began), CARRY(s, h.result.pid)

/* Takes what was read of the process over; false: it has no page. */
bool helper_restore(struct helper *h, const struct helper *record);

/* --- what the other files have of it ---------------------------------------
 */

extern const struct carry_kind carry_state; /* upgrade.c */
extern const struct carry_kind carry_listener_kind;
extern const struct carry_kind carry_file;
extern const struct carry_kind carry_templating, carry_template;
extern const struct carry_kind carry_worker, carry_output;
extern const struct carry_kind carry_parked;
extern const struct carry_kind carry_refusal;
extern const struct carry_kind carry_lock;
extern const struct carry_kind carry_keeper;
extern const struct carry_kind carry_counter, carry_counter_listener;

/* Adds a worker or template, with its output. */
void worker_carry(struct carry *c, const struct worker *w);
void output_carry(
    struct carry *c, const struct group *g, const struct output *o);

#endif
