/* The answer of a FastCGI program: a stream of records about request 1. */

#include <string.h>

#include "ctl/ping_private.h"

/* The FastCGI specification's names and numbers. */
enum {
	FCGI_VERSION_1 = 1,
	FCGI_END_REQUEST = 3,
	FCGI_STDOUT = 6,
	FCGI_STDERR = 7,
};

enum {
	FCGI_REQUEST_COMPLETE,
	FCGI_CANT_MPX_CONN,
	FCGI_OVERLOADED,
	FCGI_UNKNOWN_ROLE,
};

#define FCGI_END_LEN 8

static unsigned
record_type(const struct ping_record *r)
{
	return r->header[1];
}

/* The header of a record has come. */
static void
record_begin(struct ping_answer *a)
{
	struct ping_record *r = &a->record;
	const unsigned char *h = r->header;

	r->content = (size_t)h[4] << 8 | h[5];
	r->padding = h[6];
	r->end_len = 0;
	if (h[0] != FCGI_VERSION_1)
		ping_broken(a, "the answer is not FastCGI");
	else if (h[2] != 0 || h[3] != 1)
		ping_broken(a, "the answer is about another request");
	else if (h[1] == FCGI_END_REQUEST && r->content != FCGI_END_LEN)
		ping_broken(a, "the end of the answer has a wrong length");
	else if (h[1] != FCGI_END_REQUEST && h[1] != FCGI_STDOUT &&
	    h[1] != FCGI_STDERR)
		ping_broken(a, "a record belongs to no answer");
}

static void
request_end(struct ping_answer *a)
{
	const unsigned char *end = a->record.end;

	a->app_status = (uint32_t)end[0] << 24 | (uint32_t)end[1] << 16 |
	    (uint32_t)end[2] << 8 | end[3];
	switch (end[4]) {
	case FCGI_REQUEST_COMPLETE:
		if (a->head_done)
			a->state = PING_DONE;
		else
			ping_broken(a, "the answer ends in its head");
		break;
	case FCGI_CANT_MPX_CONN:
		ping_broken(a, "refused: a request at a time");
		break;
	case FCGI_OVERLOADED:
		ping_broken(a, "refused: overloaded");
		break;
	case FCGI_UNKNOWN_ROLE:
		ping_broken(a, "refused: it is no responder");
		break;
	default:
		ping_broken(a, "refused for an unknown reason");
		break;
	}
}

static void
content_put(struct ping_answer *a, const char *data, size_t len)
{
	struct ping_record *r = &a->record;

	switch (record_type(r)) {
	case FCGI_STDOUT:
		ping_head_put(a, data, len, false);
		break;
	case FCGI_STDERR:
		ping_note(a->complaint, sizeof(a->complaint), data, len);
		break;
	default:
		memcpy(r->end + r->end_len, data, len);
		r->end_len += len;
		if (r->end_len == FCGI_END_LEN)
			request_end(a);
		break;
	}
}

/* Takes what of data belongs to one part of a record; gives its length. */
static size_t
record_put(struct ping_answer *a, const char *data, size_t len)
{
	struct ping_record *r = &a->record;
	size_t n;

	if (r->header_len < sizeof(r->header)) {
		r->header[r->header_len++] = (unsigned char)*data;
		if (r->header_len == sizeof(r->header))
			record_begin(a);
		n = 1;
	} else if (r->content > 0) {
		n = len < r->content ? len : r->content;
		r->content -= n;
		content_put(a, data, n);
	} else {
		n = len < r->padding ? len : r->padding;
		r->padding -= n;
	}
	if (r->header_len == sizeof(r->header) && r->content + r->padding == 0)
		r->header_len = 0;
	return n;
}

void
ping_fastcgi_put(struct ping_answer *a, const char *data, size_t len)
{
	while (len > 0 && a->state == PING_MORE) {
		size_t n = record_put(a, data, len);

		data += n;
		len -= n;
	}
}
