/* The request of a health check. */

#include <string.h>

#include "ctl/ping_request.h"

#define AGENT "apppoolctl/" APPPOOL_VERSION

/* Version 1.0: the server closes when its answer is done. */
static void
http_request(const char *path, struct text *out)
{
	text_printf(out,
	    "GET %s HTTP/1.0\r\n"
	    "Host: localhost\r\n"
	    "User-Agent: " AGENT "\r\n"
	    "Connection: close\r\n"
	    "\r\n",
	    path);
}

/* --- FastCGI ------------------------------------------------------------- */

enum {
	FCGI_BEGIN_REQUEST = 1,
	FCGI_PARAMS = 4,
	FCGI_STDIN = 5,
};

/* Writes a record of request 1. */
static void
put_record(struct text *out, int type, const char *content, size_t len)
{
	const char header[8] = { 1, (char)type, 0, 1, (char)(len >> 8),
		(char)len };

	text_put(out, header, sizeof(header));
	text_put(out, content, len);
}

static void
put_length(struct text *out, size_t len)
{
	const char four[] = { (char)(0x80 | len >> 24), (char)(len >> 16),
		(char)(len >> 8), (char)len };

	if (len < 0x80)
		text_put(out, four + 3, 1);
	else
		text_put(out, four, sizeof(four));
}

static void
put_param_part(
    struct text *out, const char *name, const char *value, size_t value_len)
{
	put_length(out, strlen(name));
	put_length(out, value_len);
	text_puts(out, name);
	text_put(out, value, value_len);
}

static void
put_param(struct text *out, const char *name, const char *value)
{
	put_param_part(out, name, value, strlen(value));
}

/* The parameters that a web server gives with such a request. */
static void
put_params(struct text *out, const char *path)
{
	size_t file = strcspn(path, "?");
	const char *query = path[file] == '?' ? path + file + 1 : "";

	put_param(out, "GATEWAY_INTERFACE", "CGI/1.1");
	put_param(out, "REQUEST_METHOD", "GET");
	put_param_part(out, "SCRIPT_FILENAME", path, file);
	put_param_part(out, "SCRIPT_NAME", path, file);
	put_param_part(out, "DOCUMENT_URI", path, file);
	put_param(out, "REQUEST_URI", path);
	put_param(out, "QUERY_STRING", query);
	put_param(out, "CONTENT_TYPE", "");
	put_param(out, "CONTENT_LENGTH", "");
	put_param(out, "SERVER_PROTOCOL", "HTTP/1.0");
	put_param(out, "SERVER_SOFTWARE", AGENT);
	put_param(out, "SERVER_NAME", "localhost");
	put_param(out, "SERVER_ADDR", "127.0.0.1");
	put_param(out, "SERVER_PORT", "80");
	put_param(out, "REMOTE_ADDR", "127.0.0.1");
	put_param(out, "REMOTE_PORT", "0");
	put_param(out, "HTTP_HOST", "localhost");
	put_param(out, "HTTP_USER_AGENT", AGENT);
	/* Without this, php-cgi takes the caller for a stranger. */
	put_param(out, "REDIRECT_STATUS", "200");
}

static void
fastcgi_request(const char *path, struct text *out)
{
	/* The role is responder; the connection ends with the answer. */
	static const char begin[8] = { 0, 1 };
	struct text params;

	text_init(&params, out->max);
	put_params(&params, path);
	put_record(out, FCGI_BEGIN_REQUEST, begin, sizeof(begin));
	put_record(out, FCGI_PARAMS, params.data, params.len);
	put_record(out, FCGI_PARAMS, "", 0);
	put_record(out, FCGI_STDIN, "", 0);
	out->failed = out->failed || params.failed;
	text_fini(&params);
}

void
ping_request(enum conf_protocol protocol, const char *path, struct text *out)
{
	switch (protocol) {
	case CONF_PROTOCOL_HTTP:
		http_request(path, out);
		break;
	case CONF_PROTOCOL_FASTCGI:
		fastcgi_request(path, out);
		break;
	default:
		break;
	}
}
