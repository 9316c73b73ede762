/*
 * The command line of `apppoold run` as the text of a pool.conf, which is then
 * loaded as any other. How connections reach the program is told from its name,
 * its interpreter and what its file holds, by one table.
 */

#include <sys/mman.h>

#include <ctype.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <unistd.h>

#include "conf/room.h"

/* ---- known programs ---- */

#define SHELLS "@(sh|bash|dash|ksh|zsh|awk|gawk|mawk)"
#define SCRIPTS "@(perl*|python*|ruby*)"
#define LOOPS "@(node|nodejs|uvicorn|hypercorn)"
#define INTERPRETERS "@(" SHELLS "|" SCRIPTS "|" LOOPS ")"
#define WORD "[a-zA-Z_]*([a-zA-Z0-9_.])"

static const struct known {
	const char *name; /* of the program or its interpreter; or "ELF" */
	const char *in; /* the program, or the script that it runs; or NULL */
	const char *worker; /* ours, which loads it; or NULL */
	const char *handoff;
	const char *protocol;
	const char *why;
} knowns[] = {
	{ "*.ru", NULL, "apppool-rack", "native", "http",
	    "is for Rack, and loaded by apppool-rack" },
	{ "*.psgi", NULL, "apppool-psgi", "native", "http",
	    "is for PSGI, and loaded by apppool-psgi" },
	{ WORD ":" WORD "?([(][)])", NULL, "apppool-wsgi", "native", "http",
	    "is for WSGI, and loaded by apppool-wsgi" },
	{ "@(php-cgi*|fcgiwrap|mapserv|*.fcgi)", NULL, NULL, "accept",
	    "fastcgi", "speaks FastCGI" },
	{ "gunicorn*", NULL, NULL, "accept", "http",
	    "accepts on the socket it is given" },
	{ LOOPS, NULL, NULL, "listen", "http",
	    "holds many connections, and takes the socket as descriptor 3" },
	{ "perl*", "FCGI", NULL, "accept", "fastcgi", "uses FCGI" },
	{ "perl*", "CGI::Fast", NULL, "accept", "fastcgi", "uses CGI::Fast" },
	{ "perl*", "AppPool", NULL, "native", "raw", "uses AppPool" },
	{ SCRIPTS, "apppool", NULL, "native", "raw", "uses apppool" },
	{ SHELLS, NULL, NULL, "stdio", "raw",
	    "is a script of the shell, which is run for each client" },
	{ "ELF", "libfcgi.so", NULL, "accept", "fastcgi", "uses libfcgi" },
	{ "ELF", "libapppool.so", NULL, "native", "raw", "uses libapppool" },
	{ "ELF", "APPPOOL_FD", NULL, "native", "raw",
	    "speaks the protocol of apppool-worker(7)" },
	{ "ELF", "\xff Go buildinf:", NULL, "listen", "raw",
	    "is written in Go, and holds many connections" },
	{ "*", NULL, NULL, "accept", "raw",
	    "is not known, and expected to accept on descriptor 0" },
};

/* As much of a word as messages have room for, as one line. */
static char *
shown(struct arena *a, const char *option, const char *word)
{
	char *text = arena_printf(a, "%s%.200s", option, word);

	for (char *p = text; *p != '\0'; p++)
		*p = iscntrl((unsigned char)*p) ? '?' : *p;
	return text;
}

/* "ELF", the name of a script's interpreter, or "". */
static const char *
interpreter_of(struct arena *a, const char *path)
{
	char head[256] = "", *rest = NULL, *word;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd == -1)
		return "";
	(void)!read(fd, head, sizeof(head) - 1);
	(void)close(fd);
	if (strncmp(head, "\177ELF", 4) == 0)
		return "ELF";
	head[strcspn(head, "\n")] = '\0';
	/* "#!/usr/bin/env -S A=B perl -w" */
	word = strncmp(head, "#!", 2) == 0 ? strtok_r(head + 2, " \t", &rest)
					   : NULL;
	while (word != NULL &&
	    (strcmp(basename(word), "env") == 0 || word[0] == '-' ||
		strchr(word, '=') != NULL))
		word = strtok_r(NULL, " \t", &rest);
	return word == NULL ? "" : basename(arena_strdup(a, word));
}

static bool
file_holds(const char *path, const char *text)
{
	int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	void *map = MAP_FAILED;
	bool holds = false;
	struct stat st;

	if (fd != -1 && fstat(fd, &st) == 0 && st.st_size > 0)
		map = mmap(
		    NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map != MAP_FAILED) {
		holds = memmem(map, (size_t)st.st_size, text, strlen(text));
		(void)munmap(map, (size_t)st.st_size);
	}
	if (fd != -1)
		(void)close(fd);
	return holds;
}

/* What is known of the program; app_out: what the app is called. */
static const struct known *
known_find(struct arena *a, char *const *command, const char **app_out)
{
	char *nothing[] = { NULL };
	struct conf_app plain = { .program.environment = nothing };
	const char *name = basename(command[0]), *kind = "", *file = NULL;
	const struct known *k = knowns;
	struct stat st;

	*app_out = name;
	if (fnmatch(INTERPRETERS, name, FNM_EXTMATCH) == 0) {
		/* The script is its first argument that is a file. */
		while (*++command != NULL && file == NULL)
			if (stat(*command, &st) == 0 && S_ISREG(st.st_mode))
				*app_out = basename(file = *command);
	} else {
		file = strchr(command[0], '/') != NULL
		    ? command[0]
		    : resolve_search(a, &plain, command[0]);
		if (file != NULL && stat(file, &st) == 0 && S_ISREG(st.st_mode))
			kind = interpreter_of(a, file);
	}
	while ((fnmatch(k->name, name, FNM_EXTMATCH) != 0 &&
		   fnmatch(k->name, kind, FNM_EXTMATCH) != 0) ||
	    (k->in != NULL && !file_holds(file, k->in)))
		k++;
	return k;
}

/* ---- options ---- */

/* An option of the app or of the daemon, and what was typed for it. */
struct typed {
	bool in_app;
	const char *name;
	const char *value;
	const char *where;
};

struct draft {
	struct arena *arena;
	struct typed *list;
	size_t len;
	struct source *source;
	const char **where; /* of each line of the source */
	size_t lines;
};

/* By itself: the word for what nobody has typed. */
static const char by_itself[] = "apppoold run";

/* The value of an option, or NULL. */
static const char *
draft_value(const struct draft *d, const char *name)
{
	for (size_t i = 0; i < d->len; i++)
		if (strcmp(d->list[i].name, name) == 0)
			return d->list[i].value;
	return NULL;
}

static void
draft_add(struct draft *d, bool in_app, const char *name, const char *value,
    const char *where)
{
	d->list = arena_grow(d->arena, d->list, d->len, sizeof(*d->list));
	d->list[d->len++] = (struct typed){ in_app, name, value, where };
}

/* Adds a line of the text. */
static void
draft_line(struct draft *d, const char *where, const char *line)
{
	d->source->text =
	    arena_printf(d->arena, "%s%s\n", d->source->text, line);
	d->where = arena_grow(d->arena, d->where, d->lines, sizeof(*d->where));
	d->where[d->lines++] = where;
	d->source->typed = d->where;
}

/* Adds the option of -l, -n or -o. */
static void
draft_word(struct draft *d, const struct conf_word *w, struct findings *f)
{
	const char option[] = { '-', w->letter, ' ', '\0' };
	char *where = shown(d->arena, option, w->text);
	size_t len = strcspn(w->text, w->letter == 'n' ? ":" : "=");
	const char *rest = w->text[len] != '\0' ? w->text + len + 1 : NULL;
	char *first = arena_strndup(d->arena, w->text, len);

	if (w->letter == 'l') {
		draft_add(d, true, "listen", w->text, where);
	} else if (w->letter == 'n') {
		draft_add(d, true, "min_processes", first, where);
		if (rest != NULL)
			draft_add(d, true, "max_processes", rest, where);
	} else if (rest != NULL && len > 0 &&
	    first[strspn(first, NAME_BYTES)] == '\0') {
		draft_add(d, options_is_for_app(first), first, rest, where);
		/* The daemon's own would cut that of the app short. */
		if (strcmp(first, "stop_timeout") == 0)
			draft_add(d, false, first, rest, where);
	} else {
		draft_line(d, where, "");
		findings_mistake(f, (struct where){ d->source, (int)d->lines },
		    "write OPTION=VALUE");
	}
}

/* Adds an option, unless one was typed, or the handoff does not allow it. */
static void
draft_imply(struct draft *d, const char *name, const char *value)
{
	const char *handoff = draft_value(d, "handoff");
	unsigned n = 0;

	while (handoff != NULL && conf_handoff_names[n] != NULL &&
	    strcmp(conf_handoff_names[n], handoff) != 0)
		n++;
	if (draft_value(d, name) == NULL &&
	    options_allowed(options_find(true, name), (enum conf_handoff)n))
		draft_add(d, true, name, value, by_itself);
}

/* A maximum follows a minimum, and the daemon's maximum that of the app. */
static void
draft_sizes(struct draft *d)
{
	const char *most = draft_value(d, "max_processes");

	if (most == NULL)
		most = draft_value(d, "min_processes");
	for (int in_app = 1; most != NULL && in_app >= 0; in_app--) {
		const struct option *o = options_find(in_app, "max_processes");

		if (strtoul(most, NULL, 10) <= strtoul(o->preset, NULL, 10))
			continue;
		if (in_app)
			draft_imply(d, o->name, most);
		else
			draft_add(d, false, o->name, most, by_itself);
	}
}

/*
 * A control socket of its own: there may be a daemon of the system, and others
 * that were started so. A file that is printed is for one daemon.
 */
static void
draft_control(struct draft *d, bool print)
{
	const char *folder = getenv("XDG_RUNTIME_DIR");
	char number[16] = "";

	if (draft_value(d, "control") != NULL || (print && geteuid() == 0))
		return;
	if (geteuid() == 0)
		folder = "/run";
	else if (folder == NULL || access(folder, W_OK | X_OK) == -1)
		folder = "/tmp";
	if (!print)
		(void)snprintf(number, sizeof(number), "-%d", (int)getpid());
	draft_add(d, false, "control",
	    arena_printf(d->arena, "%s/apppoold%s.sock", folder, number),
	    by_itself);
}

/* Writes the options of the app, or those outside of it. */
static void
draft_write(struct draft *d, bool in_app)
{
	static const struct option plain = { .offset = 0 };

	for (const struct typed *t = d->list; t < d->list + d->len; t++) {
		const struct option *o = options_find(in_app, t->name);
		/* There may be several for a list; but one program. */
		bool adds =
		    o != NULL && o->type->list && o->type != &type_command;
		bool quoted = t->value[0] == '\0' ||
		    t->value[strspn(t->value, NAME_BYTES)] != '\0';

		if (t->in_app == in_app)
			draft_line(d, t->where,
			    arena_printf(d->arena, "%s %s %s", t->name,
				adds ? "+=" : "=",
				quoted ? type_string.print(
					     &plain, &t->value, d->arena)
				       : t->value));
	}
}

struct source *
run_source(
    struct arena *a, const struct conf_run *run, struct findings *findings)
{
	struct source *s = arena_alloc(a, 1, sizeof(*s));
	struct draft d = { .arena = a, .source = s };
	static const struct option plain = { .offset = 0 };
	const char *app, *protocol, **words;
	const struct known *k = known_find(a, run->command, &app);
	char *name = arena_strndup(a, app, strcspn(app, ":"));
	char cwd[PATH_MAX];
	size_t len = 0;
	bool asked;

	s->path = by_itself;
	s->dir = getcwd(cwd, sizeof(cwd)) != NULL ? arena_strdup(a, cwd) : "/";
	s->text = "";
	for (char *p = name; *p != '\0'; p++)
		*p = strchr(NAME_BYTES, *p) != NULL ? *p : '_';
	for (size_t i = 0; i < run->words_len; i++)
		draft_word(&d, &run->words[i], findings);
	asked = draft_value(&d, "handoff") != NULL;
	draft_imply(&d, "handoff", k->handoff);
	draft_imply(&d, "protocol", k->protocol);
	draft_imply(&d, "listen", "127.0.0.1:8080");
	draft_imply(&d, "directory", ".");
	draft_imply(&d, "exit_on_failed", "true");
	if (k->worker != NULL)
		draft_imply(&d, "keep_alive", "true");
	/* Browsers open connections ahead; these occupy no process so. */
	if (strcmp(k->protocol, "http") == 0)
		draft_imply(&d, "wait_for_data", "true");
	draft_sizes(&d);
	draft_control(&d, run->print);
	protocol = draft_value(&d, "protocol");
	s->choice = arena_printf(a, "%s%s%s: handoff = %s%s%s%s",
	    shown(a, "", app), asked ? "" : " ", asked ? "" : k->why,
	    draft_value(&d, "handoff"), protocol != NULL ? ", protocol = " : "",
	    protocol != NULL ? protocol : "",
	    asked ? "" : " (-o handoff=HANDOFF chooses another)");
	draft_write(&d, false);
	draft_line(&d, by_itself,
	    arena_printf(a, "app \"%s\" {", name[0] ? name : "app"));
	/* The program with its arguments, behind the worker that loads it. */
	while (run->command[len] != NULL)
		len++;
	words = arena_alloc(a, len + 2, sizeof(*words));
	words[0] = k->worker;
	memcpy(words + 1, run->command, len * sizeof(*words));
	words += k->worker == NULL;
	draft_line(&d, shown(a, "", run->command[0]),
	    arena_printf(
		a, "command = %s", type_command.print(&plain, &words, a)));
	draft_write(&d, true);
	draft_line(&d, by_itself, "}");
	s->len = strlen(s->text);
	return s;
}
