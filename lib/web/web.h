#ifndef WEB_WEB_H
#define WEB_WEB_H

/*
 * apppool-web(8), a worker like any other: HTTP, by libmicrohttpd, on its one
 * side, and questions to the control socket on the other. Nothing waits for the
 * daemon, nor for a client.
 *
 * Times are milliseconds of a clock that never runs backwards.
 */

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct MHD_Connection;
struct MHD_Response;

/* --- question.c --------------------------------------------------------- */

/*
 * A command that is said to the control socket again and again; one answer is
 * for all requests that came meanwhile.
 */
struct question {
	const char *path; /* of the control socket; outlives the question */
	const char *line; /* with its newline; likewise */
	const char *end; /* the last line of a whole answer, with newlines */
	int fd; /* the daemon is being asked; -1: not now, and at first */
	int64_t deadline; /* of that */
	char *coming; /* what has come, len of size bytes */
	size_t len;
	size_t size;
	char *answer; /* the latest that is whole, with a NUL; or NULL */
	size_t answer_len;
	char why[160]; /* there is no newer one; "": there is */
	int64_t answered; /* when either came; -1: never, as at first */
};

void question_fini(struct question *q);

/* Asks, unless that is under way. Without a daemon there is why, at once. */
void question_ask(struct question *q, int64_t now);

/* The question's descriptor is readable, or its deadline may be over. */
void question_go_on(struct question *q, int64_t now);

/* Whether an answer, or why there is none, has come since then. */
static inline bool
question_is_answered(const struct question *q, int64_t since)
{
	return q->answered != -1 && q->answered >= since;
}

/* --- history.c ---------------------------------------------------------- */

#define HISTORY_STEP 10 /* seconds */
#define HISTORY_STEPS 360

struct history_app;

/*
 * The metrics of each app over the last hour, in steps of ten seconds. The
 * daemon remembers a minute; the charts of the page show more.
 */
struct history {
	int64_t step; /* the latest; 0: none yet, and no apps */
	int64_t at; /* of the latest metrics, in that step */
	TAILQ_HEAD(history_apps, history_app) apps;
};

void history_fini(struct history *h);

/* Adds what the metrics, a text with a NUL, say now; forgets other apps. */
void history_add(struct history *h, const char *metrics, int64_t now);

void history_write(const struct history *h, FILE *to);

/* As the status of an answer. */
enum health {
	HEALTH_GOOD = 200,
	HEALTH_BAD = 503,
	HEALTH_UNKNOWN = 404, /* there is no app, or none of this name */
};

/*
 * Writes by the metrics, as a line, which apps have failed; or, if ready, which
 * is the first that a balancer should send nothing to, and why; or that there
 * is none. of: the app that is asked for; NULL: all.
 */
enum health history_write_health(
    const char *metrics, const char *of, bool ready, FILE *to);

/* --- answers.c ---------------------------------------------------------- */

enum answers_question {
	ANSWERS_STATUS,
	ANSWERS_METRICS,
	ANSWERS_OPENMETRICS,
	ANSWERS_QUESTIONS /* how many there are, or none of them */
};

/* The sources of all answers. */
struct answers {
	struct question questions[ANSWERS_QUESTIONS];
	struct history history;
	const char *names; /* hosts that requests may be for; "*": any */
	size_t sending; /* bytes of bodies that clients are reading */
};

struct answer {
	struct MHD_Response *response; /* the caller's; NULL: no memory */
	unsigned code;
};

/* Both strings outlive the answers. */
void answers_init(struct answers *all, const char *control, const char *names);
void answers_fini(struct answers *all);

/*
 * Whether a request is refused, by its method or its headers, before any body
 * has come; out is the answer then.
 */
bool answers_refuse(struct answers *all, struct MHD_Connection *connection,
    const char *method, struct answer *out);

/*
 * Answers with what the daemon has said since then. The question that must be
 * answered before is asked and returned, and NULL with the answer in out.
 */
struct question *answers_to(struct answers *all,
    struct MHD_Connection *connection, const char *url, int64_t since,
    int64_t now, struct answer *out);

/* --- page.html, made into an array by make ------------------------------ */

extern const unsigned char page_html[];
extern const size_t page_html_len;

#endif
