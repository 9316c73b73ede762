/*
 * A health check by a request of its own, of HTTP/1.0 or to a FastCGI
 * responder. The answer is read for its status and its end.
 */

#include <sys/socket.h>
#include <sys/time.h>

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "ctl/ctl.h"
#include "sys/address.h"
#include "sys/loop.h"
#include "sys/number.h"

#define PATH_LENGTH_MAX 1024
#define REQUEST_MAX 16384
#define TIMEOUT TSPAN_SECONDS(5)
#define AGENT "apppoolctl/" APPPOOL_VERSION

/* The rest of a longer answer is not read. */
#define ANSWER_MAX (16 * 1024 * 1024)

/* The names and numbers of the FastCGI specification. */
enum {
	FCGI_VERSION_1 = 1,
	FCGI_BEGIN_REQUEST = 1,
	FCGI_END_REQUEST = 3,
	FCGI_PARAMS = 4,
	FCGI_STDIN = 5,
	FCGI_STDOUT = 6,
	FCGI_STDERR = 7,
};

#define FCGI_HEADER 8

/* --- requests ----------------------------------------------------------- */

/* Writes a record of request 1. */
static void
put_record(struct text *out, int type, const char *content, size_t len)
{
	const char header[FCGI_HEADER] = { FCGI_VERSION_1, (char)type, 0, 1,
		(char)(len >> 8), (char)len };

	text_put(out, header, sizeof(header));
	text_put(out, content, len);
}

static void
put_param(struct text *out, const char *name, const char *value, size_t len)
{
	const char length[] = { (char)(0x80 | len >> 24), (char)(len >> 16),
		(char)(len >> 8), (char)len };
	const char name_length = (char)strlen(name);

	text_put(out, &name_length, 1);
	if (len < 0x80)
		text_put(out, length + 3, 1);
	else
		text_put(out, length, sizeof(length));
	text_puts(out, name);
	text_put(out, value, len);
}

/* A web server's parameters of such a request; the path is given, too. */
static const struct {
	const char *name;
	const char *value;
} params[] = {
	{ "GATEWAY_INTERFACE", "CGI/1.1" },
	{ "REQUEST_METHOD", "GET" },
	{ "CONTENT_TYPE", "" },
	{ "CONTENT_LENGTH", "" },
	{ "SERVER_PROTOCOL", "HTTP/1.0" },
	{ "SERVER_SOFTWARE", AGENT },
	{ "SERVER_NAME", "localhost" },
	{ "SERVER_ADDR", "127.0.0.1" },
	{ "SERVER_PORT", "80" },
	{ "REMOTE_ADDR", "127.0.0.1" },
	{ "REMOTE_PORT", "0" },
	{ "HTTP_HOST", "localhost" },
	{ "HTTP_USER_AGENT", AGENT },
	/* Without this, php-cgi takes the caller for a stranger. */
	{ "REDIRECT_STATUS", "200" },
};

void
ping_put_request(
    enum conf_protocol protocol, const char *path, struct text *out)
{
	/* The role is responder; the connection ends with the answer. */
	static const char begin[8] = { 0, 1 };
	const size_t file = strcspn(path, "?"), len = strlen(path);
	const char *query = path + file + (path[file] == '?');
	struct text all;

	if (protocol == CONF_PROTOCOL_HTTP)
		/* Version 1.0: the server closes when its answer is done. */
		text_printf(out,
		    "GET %s HTTP/1.0\r\n"
		    "Host: localhost\r\n"
		    "User-Agent: " AGENT "\r\n"
		    "Connection: close\r\n"
		    "\r\n",
		    path);
	if (protocol != CONF_PROTOCOL_FASTCGI)
		return;
	text_init(&all, out->max);
	for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++)
		put_param(&all, params[i].name, params[i].value,
		    strlen(params[i].value));
	put_param(&all, "SCRIPT_FILENAME", path, file);
	put_param(&all, "SCRIPT_NAME", path, file);
	put_param(&all, "DOCUMENT_URI", path, file);
	put_param(&all, "REQUEST_URI", path, len);
	put_param(&all, "QUERY_STRING", query, strlen(query));
	put_record(out, FCGI_BEGIN_REQUEST, begin, sizeof(begin));
	put_record(out, FCGI_PARAMS, all.data, all.len);
	put_record(out, FCGI_PARAMS, "", 0);
	put_record(out, FCGI_STDIN, "", 0);
	out->failed = out->failed || all.failed;
	text_fini(&all);
}

/* --- answers ------------------------------------------------------------ */

/* Appends to text, an array of size bytes, in ASCII that no terminal obeys. */
static void
note_text(char *text, size_t size, const char *data, size_t len)
{
	size_t at = strlen(text);

	for (size_t i = 0; i < len && at + 1 < size; i++) {
		unsigned char c = (unsigned char)data[i];

		text[at++] = (char)(c < ' ' ? ' ' : c < 0x7f ? c : '?');
	}
	text[at] = '\0';
}

/* The value of a field ("\nName:") of the head; NULL: it has none. */
static const char *
find_field(const char *head, const char *name)
{
	const char *at = strcasestr(head, name);

	return at == NULL
	    ? NULL
	    : at + strlen(name) + strspn(at + strlen(name), " \t");
}

/*
 * Takes a byte of head or body. An empty line ends the head: that of HTTP (RFC
 * 9112) begins with the status; that of a CGI program (RFC 3875) has it among
 * its fields, or means one.
 */
static void
take_byte(struct ping_answer *a, char c)
{
	const bool http = a->protocol == CONF_PROTOCOL_HTTP;
	const bool empty = c == '\n' && !a->in_line;
	const bool foreign =
	    http && a->head_len < 7 && c != "HTTP/1."[a->head_len];
	const char *length, *status;
	size_t len;

	if (a->head_done) {
		a->body++;
		return;
	}
	/* Each field is behind a newline. */
	if (!http && a->head_len == 0)
		a->head[a->head_len++] = '\n';
	a->head[a->head_len++] = c;
	if (c != '\r')
		a->in_line = c != '\n';
	if (foreign)
		a->why = "the answer is not HTTP/1";
	else if (!empty && a->head_len + 1 == sizeof(a->head))
		a->why = "the head is too long";
	if (!empty || a->why != NULL)
		return;
	a->head_done = true;
	length = http ? find_field(a->head, "\nContent-Length:") : NULL;
	status = http ? a->head + strcspn(a->head, " ") + 1
		      : find_field(a->head, "\nStatus:");
	if (status == NULL)
		status = find_field(a->head, "\nLocation:") != NULL
		    ? "302 Found"
		    : "200 OK";
	len = strcspn(status, "\r\n");
	if (strspn(status, "0123456789") != 3 || status[0] == '0' ||
	    (len > 3 && status[3] != ' ')) {
		a->why = "the status is no number";
		return;
	}
	a->status = (unsigned)strtoul(status, NULL, 10);
	if (len > 4)
		note_text(a->reason, sizeof(a->reason), status + 4, len - 4);
	a->length = UINT64_MAX;
	if (a->status == 204 || a->status == 304)
		a->length = 0;
	else if (length != NULL &&
	    !number_parse(length, strcspn(length, " \t\r\n"), &a->length))
		a->why = "Content-Length is no number";
}

/* Reads a record of the answer to request 1. False: it is cut off. */
static bool
read_record(struct ping_answer *a, FILE *from)
{
	/* The results at the end of a request. */
	static const char *const refusals[] = {
		"the answer ends in its head",
		"refused: a request at a time",
		"refused: overloaded",
		"refused: it is no responder",
		"refused for an unknown reason",
	};
	static unsigned char content[65535 + 255];
	unsigned char h[FCGI_HEADER];
	size_t n = fread(h, 1, sizeof(h), from), len, all;

	a->total += n;
	if (n < sizeof(h))
		return false;
	len = (size_t)h[4] << 8 | h[5];
	all = len + h[6];
	if (h[0] != FCGI_VERSION_1)
		a->why = "the answer is not FastCGI";
	else if (h[2] != 0 || h[3] != 1)
		a->why = "the answer is about another request";
	if (a->why != NULL)
		return true;
	n = fread(content, 1, all, from);
	a->total += n;
	if (n < all)
		return false;
	if (h[1] == FCGI_STDERR) {
		note_text(a->complaint, sizeof(a->complaint),
		    (const char *)content, len);
	} else if (h[1] == FCGI_END_REQUEST && len == 8) {
		a->ended = true;
		a->app_status = (uint32_t)content[0] << 24 |
		    (uint32_t)content[1] << 16 | (uint32_t)content[2] << 8 |
		    content[3];
		if (content[4] != 0 || !a->head_done)
			a->why = refusals[content[4] < 4 ? content[4] : 4];
	} else if (h[1] == FCGI_END_REQUEST) {
		a->why = "the end of the answer has a wrong length";
	} else if (h[1] != FCGI_STDOUT) {
		a->why = "a record belongs to no answer";
	}
	for (size_t i = 0; h[1] == FCGI_STDOUT && i < len && a->why == NULL;
	     i++)
		take_byte(a, (char)content[i]);
	return true;
}

bool
ping_read(struct ping_answer *a, FILE *from)
{
	const bool http = a->protocol == CONF_PROTOCOL_HTTP;
	bool more = true;
	int c;

	while (more && a->why == NULL && !a->ended) {
		if (a->total > ANSWER_MAX && !a->head_done) {
			a->why = "the answer goes on for ever";
		} else if (a->total > ANSWER_MAX) {
			a->ended = true;
		} else if (!http) {
			more = read_record(a, from);
		} else if ((c = getc(from)) == EOF) {
			more = false;
		} else {
			a->total++;
			take_byte(a, (char)c);
			a->ended = a->head_done && a->body >= a->length;
		}
	}
	/* A server that has not read all of a request resets. */
	if (!more && ferror(from) && (errno != ECONNRESET || !a->head_done))
		return false;
	if (more)
		return true;
	if (a->total == 0)
		a->why = "closed without an answer";
	else if (!a->head_done)
		a->why = "the answer ends in its head";
	else if (!http)
		a->why = "the answer has no end";
	else if (a->length != UINT64_MAX && a->body < a->length)
		a->why = "the answer is shorter than it says";
	else
		a->ended = true;
	return true;
}

bool
ping_is_good(const struct ping_answer *a)
{
	return a->ended && a->why == NULL && a->status >= 200 &&
	    a->status < 400 && a->app_status == 0;
}

int
ping_connect(const char *address, tspan timeout)
{
	struct timeval tv = { timeout / TSPAN_SECONDS(1),
		timeout % TSPAN_SECONDS(1) / 1000 };
	const struct addrinfo hints = { .ai_flags =
					    AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM };
	const char *colon = strrchr(address, ':');
	struct sockaddr_storage to = { 0 };
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&to;
	struct addrinfo *info;
	socklen_t len = 0;
	char host[128];
	int fd, error;

	if (strncmp(address, "unix:", 5) == 0) {
		len = address_of_name(address + 5, (struct sockaddr_un *)&to);
	} else if (colon != NULL) {
		size_t n = (size_t)(colon - address);
		bool bare = address[0] != '[';

		/* Numbers only: no resolver is asked. */
		(void)snprintf(host, sizeof(host), "%.*s",
		    (int)(bare ? n : n - 2), address + !bare);
		if (getaddrinfo(host, colon + 1, &hints, &info) == 0) {
			memcpy(&to, info->ai_addr, info->ai_addrlen);
			len = info->ai_addrlen;
			freeaddrinfo(info);
		}
	}
	if (len == 0) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	if (tv.tv_sec == 0 && tv.tv_usec == 0)
		tv.tv_usec = 1;
	/*
	 * A connect that blocks for so long: without blocking it would not wait
	 * for room in the backlog of a Unix socket.
	 */
	for (;;) {
		fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd == -1)
			return -1;
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
		if (connect(fd, (const struct sockaddr *)&to, len) == 0)
			return fd;
		error =
		    errno == EAGAIN || errno == EINPROGRESS ? ETIMEDOUT : errno;
		(void)close(fd);
		errno = error;
		/*
		 * Any address of IPv6 stands for ::1, which a machine without
		 * addresses of IPv6 does not have, though it may listen so.
		 */
		if (error != EADDRNOTAVAIL || to.ss_family != AF_INET6 ||
		    !IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr) ||
		    inet_pton(AF_INET6, "::ffff:127.0.0.1", &in6->sin6_addr) !=
			1)
			return -1;
	}
}

/* --- a health check ----------------------------------------------------- */

struct ping {
	const char *app;
	const char *address;
	const char *failed; /* why, as the daemon says; NULL: it has not */
	tspan took;
	bool good;
	char error[200]; /* why there is no answer; "": there is one */
	struct ping_answer answer;
};

static int
tell_result(const struct ping *p, bool json)
{
	const struct ping_answer *a = &p->answer;
	struct text why, line;
	json_t *object;
	int status;

	text_init(&why, 4096);
	text_init(&line, 16384);
	if (p->error[0] != '\0')
		text_puts(&why, p->error);
	else if (a->protocol == CONF_PROTOCOL_RAW && p->failed != NULL)
		/* A connection alone shows no failure of the app. */
		text_printf(&why, "failed: %s", p->failed);
	else if (a->protocol == CONF_PROTOCOL_RAW)
		text_puts(&why, "connected");
	else if (a->why != NULL)
		text_puts(&why, a->why);
	else
		text_printf(&why, "%u%s%s", a->status,
		    a->reason[0] == '\0' ? "" : " ", a->reason);
	if (a->app_status != 0)
		text_printf(
		    &why, ", exit status %lu", (unsigned long)a->app_status);
	if (json) {
		text_put(&why, "", 1);
		object = json_pack("{ss ss ss sb so sf ss ss?}", "app", p->app,
		    "address", p->address, "protocol",
		    conf_protocol_names[a->protocol], "good", p->good, "status",
		    a->status == 0 ? json_null()
				   : json_integer((json_int_t)a->status),
		    "time", tspan_to_seconds(p->took), "text", why.data,
		    "stderr", a->complaint[0] == '\0' ? NULL : a->complaint);
		(void)json_dumpf(
		    object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
		text_puts(&line, "\n");
		json_decref(object);
	} else {
		text_printf(&line, "%s: ", p->app);
		text_escaped(&line, why.data, why.len);
		text_printf(&line, ", %.1f ms (", (double)p->took / 1e6);
		text_escaped(&line, p->address, strlen(p->address));
		text_puts(&line, ")\n");
		if (a->complaint[0] != '\0')
			text_printf(
			    &line, "%s: stderr: %s\n", p->app, a->complaint);
		if (a->protocol == CONF_PROTOCOL_FASTCGI && a->status == 404)
			text_printf(&line,
			    "%s: of PHP, --path names the file of a script\n",
			    p->app);
	}
	status = ask_put(&line);
	text_fini(&why);
	text_fini(&line);
	return status != EX_OK ? status : p->good ? EX_OK : CTL_REFUSED;
}

/* Asks the app itself; the end of the time is that of source. */
static void
ping_ask(struct ping *p, const char *path, tspan timeout)
{
	struct ping_answer *a = &p->answer;
	const bool raw = a->protocol == CONF_PROTOCOL_RAW;
	const tstamp began = clock_now();
	struct ask_source source = { .fd = ping_connect(p->address, timeout),
		.end = began + timeout };
	const bool connected = source.fd != -1;
	FILE *from = connected ? ask_open(&source) : NULL;
	struct text request;

	if (from != NULL && !raw) {
		text_init(&request, REQUEST_MAX);
		ping_put_request(a->protocol, path, &request);
		/* A server may refuse without reading all. */
		(void)send(source.fd, request.data, request.len, MSG_NOSIGNAL);
		text_fini(&request);
	}
	if (from != NULL && (raw || ping_read(a, from)))
		p->good = raw ? p->failed == NULL : ping_is_good(a);
	else if (errno == ETIMEDOUT)
		(void)snprintf(p->error, sizeof(p->error), "%s within %g s",
		    connected ? "no whole answer" : "not connected",
		    tspan_to_seconds(timeout));
	else
		(void)snprintf(p->error, sizeof(p->error), "%s: %s",
		    connected ? "no whole answer" : "cannot connect",
		    strerror(errno));
	p->took = clock_now() - began;
	if (from != NULL)
		(void)fclose(from);
	if (connected)
		(void)close(source.fd);
}

int
ping_run(const struct ask *daemon, const char *app, const char *path)
{
	static struct ping p;
	const char *const words[] = { "ping", app, NULL };
	enum conf_protocol *const protocol = &p.answer.protocol;
	const char *named, *known, *end;
	json_t *where = NULL;
	int status;

	path = path == NULL ? "/" : path;
	/* The path goes into a request as it is. */
	for (end = path; *end > ' ' && *end <= '~';)
		end++;
	if (path[0] != '/' || *end != '\0' || end - path > PATH_LENGTH_MAX) {
		warnx("--path: a path begins with /, is printable and without "
		      "spaces");
		return EX_USAGE;
	}
	status = ask_json(daemon, words, &where);
	/* An app that does not exist is no result of a health check. */
	if (status != EX_OK)
		return status == CTL_REFUSED ? EX_UNAVAILABLE : status;
	named = form_string(where, "protocol");
	p.app = app;
	p.address = form_string(where, "address");
	p.failed = form_string(where, "failed");
	*protocol = CONF_PROTOCOL_RAW;
	while ((known = conf_protocol_names[*protocol]) != NULL &&
	    named != NULL && strcmp(named, known) != 0)
		++*protocol;
	if (named == NULL || p.address == NULL || known == NULL) {
		warnx("the daemon does not know ping as we do: another "
		      "version?");
		json_decref(where);
		return EX_UNAVAILABLE;
	}
	ping_ask(&p, path, daemon->timeout == 0 ? TIMEOUT : daemon->timeout);
	status = tell_result(&p, daemon->json);
	json_decref(where);
	return status;
}
