#ifndef CTL_PING_ANSWER_H
#define CTL_PING_ANSWER_H

/*
 * An answer to a health check, taken apart while it comes, in any pieces. The
 * memory for it is bounded, whatever the other end sends.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"

/* The longest head, of HTTP or CGI, in bytes. */
#define PING_HEAD_MAX 16384

/* The rest of a longer answer is not read. */
#define PING_ANSWER_MAX (16 * 1024 * 1024)

enum ping_state {
	PING_MORE, /* more is to come */
	PING_DONE, /* whole: status is known */
	PING_BROKEN, /* why says what is wrong with it */
};

/* A record of FastCGI under way. */
struct ping_record {
	unsigned char header[8];
	size_t header_len;
	size_t content; /* bytes that are still to come */
	size_t padding; /* and after them */
	unsigned char end[8]; /* the body of an END_REQUEST */
	size_t end_len;
};

struct ping_answer {
	enum conf_protocol protocol;
	enum ping_state state;
	const char *why; /* constant; NULL: nothing is wrong */
	char head[PING_HEAD_MAX]; /* the line under way, or all of the head */
	size_t head_len;
	bool head_done;
	unsigned status; /* of HTTP; 0: not known */
	char reason[64]; /* printable; the words after the status */
	bool has_length;
	uint64_t length; /* of the body, if it says so */
	uint64_t body; /* bytes of it that came */
	uint64_t total; /* of everything */
	struct ping_record record;
	uint32_t app_status; /* the exit status of a FastCGI request */
	char complaint[160]; /* printable; the beginning of stderr */
};

void ping_answer_init(struct ping_answer *a, enum conf_protocol protocol);

/* Takes more bytes; or the end, behind which nothing comes. */
enum ping_state ping_answer_put(
    struct ping_answer *a, const char *data, size_t len);
enum ping_state ping_answer_end(struct ping_answer *a);

/* Whether it is whole and says that all is well: a status from 200 to 399. */
bool ping_answer_good(const struct ping_answer *a);

#endif
