/*
 * A simulation as a picture: three panels over the same time, one for
 * processes, one for what waits, one for the load.  The picture needs nothing
 * but itself.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/view.h"
#include "sim/view_private.h"
#include "sys/text.h"

#define WIDTH 960
#define HEIGHT 640
#define LEFT 70

static const char style[] = "text { font: 12px sans-serif; fill: #333 }\n"
			    ".title { font-size: 16px; font-weight: bold }\n"
			    ".name { font-weight: bold }\n"
			    ".count { text-anchor: end }\n"
			    ".time { text-anchor: middle }\n"
			    ".grid { stroke: #ddd }\n"
			    ".axis { stroke: #333 }\n"
			    "path { stroke-width: 1 }\n"
			    "rect, path { fill: none }\n"
			    ".idle { fill: #c6dbef }\n"
			    ".busy { fill: #3182bd }\n"
			    ".most { stroke: #08519c }\n"
			    ".waiting { fill: #fdae6b }\n"
			    ".peak { stroke: #d94801 }\n"
			    ".load { fill: #a1d99b }\n";

/* --- text --------------------------------------------------------------- */

/* Names and paths may be anything, and XML is particular. */
static void
put_text(FILE *out, const char *s)
{
	struct text t;

	text_init(&t, 65536);
	text_escaped(&t, s, strlen(s));
	for (size_t i = 0; i < t.len; i++) {
		if (t.data[i] == '&')
			(void)fputs("&amp;", out);
		else if (t.data[i] == '<')
			(void)fputs("&lt;", out);
		else if (t.data[i] == '>')
			(void)fputs("&gt;", out);
		else
			(void)fputc(t.data[i], out);
	}
	text_fini(&t);
}

static void
put_title(const struct simulation *s, FILE *out)
{
	const struct load_spec *spec = &s->load;

	(void)fprintf(out, "<text class=\"title\" x=\"%d\" y=\"28\">", LEFT);
	if (spec->trace != NULL) {
		put_text(out,
		    strcmp(spec->trace, "-") == 0 ? "standard input"
						  : spec->trace);
	} else if (spec->apps_len == 1) {
		put_text(out, spec->apps[0].name);
		(void)fprintf(out, ", %s/s, %s, %s",
		    words_number(spec->apps[0].rate).text,
		    words_service(&spec->apps[0].service).text,
		    words_profile(&spec->profile).text);
	} else {
		(void)fprintf(out, "%zu apps, %s", spec->apps_len,
		    words_profile(&spec->profile).text);
	}
	(void)fputs("</text>\n", out);
}

static void
put_summary(const struct result_app *r, FILE *out)
{
	(void)fprintf(out,
	    "<text x=\"%d\" y=\"50\">%s connections, %s refused; "
	    "waits: p50 %s, p99 %s, p99.9 %s, max %s</text>\n",
	    LEFT, words_count(r->arrived).text,
	    words_count(view_refusals(r)).text,
	    words_span(histogram_share(&r->wait, 0.5)).text,
	    words_span(histogram_share(&r->wait, 0.99)).text,
	    words_span(histogram_share(&r->wait, 0.999)).text,
	    words_span(histogram_share(&r->wait, 1)).text);
	(void)fprintf(out,
	    "<text x=\"%d\" y=\"68\">%.2f processes on average, %u at most; "
	    "%.2f busy; %s spawned</text>\n",
	    LEFT, r->processes, r->most_processes, r->busy,
	    words_count(r->spawned).text);
}

/* --- the whole ---------------------------------------------------------- */

int
view_picture(const struct simulation *s, const struct result *r, FILE *out)
{
	(void)fprintf(out,
	    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
	    "height=\"%d\" viewBox=\"0 0 %d %d\">\n"
	    "<title>apppoolctl simulate</title>\n"
	    "<style>\n%s</style>\n"
	    "<rect width=\"%d\" height=\"%d\" style=\"fill: #fff\"/>\n",
	    WIDTH, HEIGHT, WIDTH, HEIGHT, style, WIDTH, HEIGHT);
	put_title(s, out);
	put_summary(&r->total, out);
	if (view_panels(r, out) == -1)
		return -1;
	(void)fputs("</svg>\n", out);
	return 0;
}

int
view_svg(const struct simulation *s, const struct result *r, const char *file)
{
	FILE *out = fopen(file, "we");
	int error;

	if (out == NULL)
		return -1;
	if (view_picture(s, r, out) == -1 || fflush(out) != 0 || ferror(out)) {
		error = errno;
		(void)fclose(out);
		errno = error;
		return -1;
	}
	return fclose(out);
}
