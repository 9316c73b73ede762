/*
 * The view of a simulation: figures, tables and the picture, from results that
 * are made here.
 */

#include "../unit/check.h"
#include "sim/simulate.h"
#include "sys/text.h"

/* --- what is shown, as a string ----------------------------------------- */

static char *shown;
static size_t shown_len;

static FILE *
begin(void)
{
	free(shown);
	shown = NULL;
	return open_memstream(&shown, &shown_len);
}

static const char *
written(FILE *out)
{
	(void)fclose(out);
	return shown;
}

/* --- a result ----------------------------------------------------------- */

static struct result result;

/*
 * `used` buckets of a second, up to `length`: at second i there are i + 1
 * processes, half of them busy, and waiting[i] connections, which wait as many
 * milliseconds.
 */
static void
make_result(uint32_t used, tspan length, const uint32_t *waiting)
{
	static struct result_app app;
	struct series *s = &result.total.series;

	memset(&result, 0, sizeof(result));
	result.manager = "apppoold";
	result.length = length;
	result.apps = &app;
	result.apps_len = 1;
	s->width = TSPAN_SECONDS(1);
	s->used = used;
	for (uint32_t i = 0; i < used; i++) {
		struct series_bucket *b = &s->buckets[i];
		tspan at = TSPAN_SECONDS(i);
		double time =
		    (double)(length - at < TSPAN_SECONDS(1) ? length - at
							    : TSPAN_SECONDS(1));

		b->processes = (i + 1) * time;
		b->busy = b->processes / 2;
		b->most_processes = i + 1;
		b->waiting = waiting == NULL ? 0 : waiting[i] * time;
		b->most_waiting = waiting == NULL ? 0 : waiting[i];
		b->longest_wait = TSPAN_MSECONDS(b->most_waiting);
		b->counts[SERIES_ARRIVED] = (uint64_t)(10 * time / 1e9);
	}
}

static const struct load_app web = {
	.name = "web",
	.rate = 12.5,
	.service = { .kind = SERVICE_FIXED, .mean = TSPAN_MSECONDS(20) },
};

static struct simulation
simulation_of(const char *trace)
{
	return (struct simulation){
		.load = {
			.apps = &web,
			.apps_len = 1,
			.length = TSPAN_SECONDS(50),
			.trace = trace,
		},
	};
}

/* --- figures ------------------------------------------------------------ */

TEST(figures_tell_what_became_of_connections)
{
	struct simulation s = simulation_of(NULL);
	struct result_app *t = &result.total;
	FILE *out = begin();

	make_result(1, TSPAN_SECONDS(1), NULL);
	t->arrived = 1000;
	t->completed = 900;
	t->refused = 50;
	t->timed_out = 30;
	t->lost = 20;
	for (unsigned i = 0; i < 900; i++)
		histogram_add(&t->wait, i < 500 ? 0 : TSPAN_MSECONDS(1));
	t->processes = 4;
	t->busy = 1;
	t->most_processes = 7;
	t->spawned = 9;
	t->spawned_running = 8;
	t->wasted = 0.001;
	t->idle_while_waiting = TSPAN_MSECONDS(9);
	view_text(&s, &result, out);
	CHECK_STR("Load         steady for 50s, seed 0\n"
		  "             web 12.5/s, fixed:20ms\n"
		  "Starts       take 0 until ready\n"
		  "Connections  1,000: 900 completed, 50 refused, "
		  "30 timed out, 20 lost\n"
		  "Waits        p50 0  p90 1ms  p99 1ms  p99.9 1ms  max 1ms\n"
		  "Processes    4.00 on average, 7 at most; 1.00 busy (25 %)\n"
		  "Spawns       8, and 1 before the first connection\n"
		  "Waste        9ms idle while waiting (0.025 % of all "
		  "processes)\n",
	    written(out));
}

/* --- the picture -------------------------------------------------------- */

/*
 * Enough of XML to find what would make a browser refuse it: tags that are
 * not closed, attributes without quotes, bare ampersands. NULL: it is good.
 */
static const char *
tag_fault(const char **at, unsigned *depth)
{
	const char *c = *at;
	bool end = c[1] == '/', quoted = false;

	if (strncmp(c, "<?xml", 5) == 0)
		end = true, (*depth)++;
	for (c++; *c != '\0' && (quoted || *c != '>'); c++) {
		if (*c == '"')
			quoted = !quoted;
		else if (*c == '<')
			return "a tag in a tag";
		else if (*c == '=' && !quoted && c[1] != '"')
			return "a value without quotes";
	}
	if (*c == '\0')
		return "a tag without its end";
	if (c[-1] != '/')
		*depth += end ? -1U : 1;
	*at = c;
	return NULL;
}

static const char *
xml_fault(const char *xml)
{
	unsigned depth = 0;
	const char *fault;

	for (const char *c = xml; *c != '\0'; c++) {
		if (text_char_length(c, 4) == 0 && (*c & 0xc0) != 0x80)
			return "not UTF-8";
		if (*c == '&' && strncmp(c, "&amp;", 5) != 0 &&
		    strncmp(c, "&lt;", 4) != 0 && strncmp(c, "&gt;", 4) != 0)
			return "a bare ampersand";
		if ((unsigned char)*c < ' ' && *c != '\n')
			return "a control";
		if (*c != '<')
			continue;
		fault = tag_fault(&c, &depth);
		if (fault != NULL)
			return fault;
	}
	return depth == 0 ? NULL : "a tag that is not closed";
}

static const char *
picture_of(const struct simulation *s)
{
	FILE *out = begin();

	CHECK_EQ(0, picture_put(s, &result, 0, out));
	return written(out);
}

/* The same, of a result of 50 seconds. */
static const char *
picture_of_50(const struct simulation *s)
{
	make_result(50, TSPAN_SECONDS(50), NULL);
	return picture_of(s);
}

TEST(a_picture_is_well_formed)
{
	struct simulation s = simulation_of(NULL);
	static uint32_t waiting[SERIES_BUCKETS] = { 0, 7, 0, 3000000000 };

	for (unsigned used = 1; used <= SERIES_BUCKETS; used += 73) {
		make_result(used, TSPAN_SECONDS(used), waiting);
		CHECK_STR(NULL, xml_fault(picture_of(&s)));
	}
}

TEST(a_picture_has_axes_and_a_legend_and_needs_nothing_but_itself)
{
	static const char *const parts[] = {
		">web: --rate 12.5 --service fixed:20ms --profile steady<",
		">Processes<", ">busy<", ">idle<", ">Waits<", ">Waiting<",
		">50s<",
		/* At 10 s, 10 of 50 processes: a fifth of both axes. */
		"<path class=\"idle\" d=\"M70,320.0V315.6H87.4V311.2"
	};
	static const char *const others[] = { "max_processes", "href", "url(",
		"<script", "@import" };
	struct simulation s = simulation_of(NULL);

	NEED(picture_of_50(&s) != NULL);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		CHECK(strstr(shown, parts[i]) != NULL);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CHECK(strstr(shown, others[i]) == NULL);
	CHECK(strstr(shown, "H226.6V276.0") != NULL ||
	    strstr(shown, "V276.0H244.0") != NULL);
}

TEST(the_title_of_a_picture_is_what_was_typed)
{
	struct simulation s = simulation_of(NULL);
	struct load_app app = s.load.apps[0];

	app.typed_rate = "45000/h";
	app.typed_service = "lognormal:p50=60ms,p99=900ms";
	s.load.apps = &app;
	NEED(picture_of_50(&s) != NULL);
	CHECK(strstr(shown,
		  ">web: --rate 45000/h --service lognormal:p50=60ms,"
		  "p99=900ms --profile steady<") != NULL);
}

/* As high as the top of the axis at 50; one far above has its legend alone. */
TEST(a_picture_has_a_line_at_max_processes)
{
	struct simulation s = simulation_of(NULL);

	make_result(50, TSPAN_SECONDS(50), NULL);
	result.total.max_processes = 50;
	NEED(picture_of(&s) != NULL);
	CHECK(strstr(shown, "<path class=\"limit\" d=\"M70,100.0H940\"/>") !=
	    NULL);
	CHECK(strstr(shown, ">max_processes = 50<") != NULL);
	result.total.max_processes = 5000;
	NEED(picture_of(&s) != NULL);
	CHECK(strstr(shown, "H940\"/>\n<path class=\"limit\"") == NULL);
	CHECK(strstr(shown, ">max_processes = 5000<") != NULL);
}

TEST(names_cannot_break_a_picture)
{
	struct simulation s =
	    simulation_of("a<b>&\"'\x01\xff\xc3\xa4</svg>.csv");

	CHECK_STR(NULL, xml_fault(picture_of_50(&s)));
	CHECK(
	    strstr(shown,
		" --trace a&lt;b&gt;&amp;\"'\\x01\\xff\xc3\xa4&lt;/svg&gt;.csv<") !=
	    NULL);
}

TEST(a_load_of_one_moment_has_a_picture)
{
	struct simulation s = simulation_of(NULL);

	make_result(0, 0, NULL);
	CHECK_STR(NULL, xml_fault(picture_of(&s)));
	CHECK(strstr(shown, "nan") == NULL && strstr(shown, "inf") == NULL);
}

/* Steps of time are those of clocks, ten at most; others go by 1, 2 and 5. */
TEST(steps_of_axes_are_round_and_not_too_many)
{
	static const struct {
		tspan length;
		const char *time; /* the first step */
		const char *next;
	} axes[] = {
		{ TSPAN_SECONDS(5), ">500ms<", ">1s<" },
		{ TSPAN_SECONDS(600), ">1m<", ">2m<" },
		{ TSPAN_SECONDS(601), ">2m<", ">4m<" },
		{ TSPAN_SECONDS(86400), ">3h<", ">6h<" },
		{ TSPAN_SECONDS(86400) * 365, ">50d<", ">100d<" },
	};
	struct simulation s = simulation_of(NULL);

	for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++) {
		make_result(1, axes[i].length, NULL);
		NEED(picture_of(&s) != NULL);
		CHECK(strstr(shown, axes[i].time) != NULL);
		CHECK(strstr(shown, axes[i].next) != NULL);
	}
	for (uint32_t used = 21; used <= 500; used = used * 3 / 2) {
		unsigned steps = 0;

		make_result(used, TSPAN_SECONDS(used), NULL);
		NEED(picture_of(&s) != NULL);
		for (const char *c = strstr(shown, ">Processes<");
		     (c = strstr(c, "class=\"time\"")) != NULL; c++)
			steps++;
		/* Of the three panels that are left, zero included. */
		CHECK(steps > 3 && steps <= 3 * 11);
	}
}

TEST(a_picture_that_cannot_be_written_is_an_error)
{
	struct simulation s = simulation_of(NULL);
	FILE *out = fopen("/dev/full", "w");

	make_result(50, TSPAN_SECONDS(50), NULL);
	CHECK_EQ(-1, picture_put(&s, &result, 0, out));
	(void)fclose(out);
}

TESTS(NULL, NULL)
