/*
 * What those are told whom an app turns away: a 503, FCGI_OVERLOADED, or the
 * bytes of a file.
 */

#include <sys/socket.h>

#include <string.h>

#include "daemon/refusal_answer.h"

/* The FastCGI specification's names and numbers. */
#define FCGI_VERSION_1 1
#define FCGI_BEGIN_REQUEST 1
#define FCGI_END_REQUEST 3
#define FCGI_OVERLOADED 2
#define FCGI_HEADER_LEN 8
#define FCGI_BODY_LEN 8 /* of BEGIN_REQUEST and of END_REQUEST */

/* What web servers number the one request of a connection. */
#define FIRST_REQUEST 1

static const char http_answer[] = "HTTP/1.1 503 Service Unavailable\r\n"
				  "Content-Type: text/plain\r\n"
				  "Content-Length: 49\r\n"
				  "Retry-After: 5\r\n"
				  "Connection: close\r\n"
				  "\r\n"
				  "The service is too busy. "
				  "Please try again later.\n";

bool
refusal_answers(const struct conf_app *conf)
{
	switch (conf->on_full) {
	case CONF_ON_FULL_CLOSE:
		return false;
	case CONF_ON_FULL_REPLY:
		return true;
	default:
		return conf->protocol != CONF_PROTOCOL_RAW;
	}
}

/*
 * The number of the request that begins what the client has sent. That may be
 * nothing yet, or anything.
 */
static unsigned
fastcgi_request(int fd)
{
	unsigned char h[FCGI_HEADER_LEN];
	ssize_t n = recv(fd, h, sizeof(h), MSG_PEEK | MSG_DONTWAIT);
	unsigned id;

	if (n != sizeof(h) || h[0] != FCGI_VERSION_1 ||
	    h[1] != FCGI_BEGIN_REQUEST || (h[4] << 8 | h[5]) != FCGI_BODY_LEN)
		return FIRST_REQUEST;
	id = (unsigned)h[2] << 8 | h[3];
	return id == 0 ? FIRST_REQUEST : id;
}

static void
fastcgi_answer(unsigned id, struct refusal_answer *out)
{
	const unsigned char record[REFUSAL_FASTCGI] = {
		FCGI_VERSION_1,
		FCGI_END_REQUEST,
		(unsigned char)(id >> 8),
		(unsigned char)id,
		0,
		FCGI_BODY_LEN,
		[FCGI_HEADER_LEN + 4] = FCGI_OVERLOADED,
	};

	memcpy(out->made, record, sizeof(record));
	out->bytes = out->made;
	out->len = sizeof(record);
}

void
refusal_answer(const struct conf_app *conf, int fd, struct refusal_answer *out)
{
	out->bytes = NULL;
	out->len = 0;
	if (!refusal_answers(conf))
		return;
	if (conf->on_full == CONF_ON_FULL_REPLY) {
		out->bytes = conf->on_full_reply;
		out->len = conf->on_full_reply_len;
	} else if (conf->protocol == CONF_PROTOCOL_FASTCGI) {
		fastcgi_answer(fastcgi_request(fd), out);
	} else {
		out->bytes = http_answer;
		out->len = sizeof(http_answer) - 1;
	}
}
