/* The log that the configuration and the command line ask for. */

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "daemon/logging.h"
#include "sys/log.h"
#include "sys/ownfile.h"

static int verbose;

void
logging_verbose(void)
{
	verbose++;
}

static enum log_level
level_of(const struct conf *conf)
{
	int level = (int)conf->log_level + verbose;

	return level < LOG_LEVELS ? (enum log_level)level : LOG_LEVEL_DEBUG;
}

struct logsink *
logging_prepare(const struct conf *conf, FILE *answer)
{
	struct log_spec spec = {
		.level = level_of(conf),
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
	    ownfile_check(conf->log_file, OWNFILE_ANY, why) == 0 ||
	    why[0] == '\0')
		(void)snprintf(why, sizeof(why), "%s", strerror(error));
	logging_tell(
	    answer, false, "cannot open the log %s: %s", conf->log_file, why);
	errno = error;
	return NULL;
}

void
logging_commit(const struct conf *conf, struct logsink *sink)
{
	log_commit(sink, level_of(conf));
}

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
