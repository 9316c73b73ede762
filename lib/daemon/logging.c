/* The log that the configuration and the command line ask for. */

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/state.h"
#include "sys/log.h"
#include "sys/ownfile.h"

static int verbose;

void
logging_verbose(void)
{
	verbose++;
}

struct logsink *
logging_prepare(const struct conf *conf, FILE *answer)
{
	int level = (int)conf->log_level + verbose;
	struct log_spec spec = {
		.level = level < LOG_LEVEL_DEBUG ? (enum log_level)level
						 : LOG_LEVEL_DEBUG,
		.json = conf->log_format == CONF_LOG_FORMAT_JSON,
	};
	struct logsink *sink;
	char why[OWNFILE_WHY];
	int error;

	switch (conf->log) {
	case CONF_LOG_STDERR:
		spec.dest = LOG_DEST_STDERR;
		break;
	case CONF_LOG_SYSLOG:
		spec.dest = LOG_DEST_SYSLOG;
		spec.facility = conf->log_facility;
		break;
	case CONF_LOG_FILE:
		spec.dest = LOG_DEST_FILE;
		spec.path = conf->log_file;
		break;
	}
	sink = log_prepare(&spec);
	if (sink != NULL)
		return sink;
	error = errno;
	if (error != EPERM ||
	    ownfile_open(conf->log_file, OWNFILE_ANY, OWNFILE_LOOK, 0, why) ==
		0 ||
	    why[0] == '\0')
		(void)snprintf(why, sizeof(why), "%s", strerror(error));
	logging_tell(
	    answer, false, "cannot open the log %s: %s", conf->log_file, why);
	errno = error;
	return NULL;
}

/* --- anew ---------------------------------------------------------------- */

struct reopening {
	struct lane_job job;
	struct supervisor *sup;
	struct conf *config; /* a reference */
	struct logsink *sink; /* NULL: it cannot be opened */
	bool again; /* somebody has asked meanwhile */
	char why[256]; /* "": it can be; ends with a NUL */
};

static void
logging_reopen_work(struct lane_job *job)
{
	struct reopening *r = LOOP_OWNER(job, struct reopening, job);
	FILE *why = fmemopen(r->why, sizeof(r->why) - 1, "w");

	r->sink = logging_prepare(r->config, why);
	if (why != NULL)
		(void)fclose(why);
}

static void
logging_reopen_done(struct lane_job *job, tstamp now)
{
	struct reopening *r = LOOP_OWNER(job, struct reopening, job);
	struct supervisor *s = r->sup;

	(void)now;
	(void)snprintf(s->reopening.failure, sizeof(s->reopening.failure),
	    "%.*s", (int)strcspn(r->why, "\n"), r->why);
	/* A reload has opened the log of another configuration meanwhile. */
	if (r->config != s->config)
		log_abandon(r->sink);
	else if (r->sink != NULL)
		log_commit(r->sink);
	s->reopening.now = NULL;
	if (r->again && !s->stopping)
		logging_reopen(s);
	conf_free(r->config);
	free(r);
}

void
logging_reopen(struct supervisor *s)
{
	struct reopening *r = s->reopening.now;

	if (r != NULL) {
		r->again = true;
		return;
	}
	r = calloc(1, sizeof(*r));
	if (r == NULL) {
		(void)snprintf(s->reopening.failure,
		    sizeof(s->reopening.failure), "%s", strerror(ENOMEM));
		return;
	}
	r->job.work = logging_reopen_work;
	r->job.done = logging_reopen_done;
	r->sup = s;
	r->config = conf_ref(s->config);
	s->reopening.now = r;
	lane_submit(&s->looker, &r->job);
}

/* --- lines --------------------------------------------------------------- */

void
logging_tell(FILE *answer, bool ok, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (ok)
		log_info("%s", line);
	else
		log_errorx("%s", line);
	if (answer != NULL)
		(void)fprintf(answer, "%s\n", line);
}
