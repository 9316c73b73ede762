/* The snapshot and its formats, of a supervisor without real processes. */

#include <sys/stat.h>

#include <errno.h>
#include <time.h>

#include "check.h"
#include "ctl/ctl.h"
#include "standing.h"
#include "sys/text.h"

static struct conf_app job;
static struct text text;
static tstamp now;
static char job_name[] = "job";

static struct group *
add(struct conf_app *c)
{
	c->pool.listens = c->handoff == CONF_HANDOFF_LISTEN;
	c->pool.sessions = !c->pool.listens && c->handoff != CONF_HANDOFF_NONE;
	return standing_add(c, now);
}

static void
begin(void)
{
	now = TSPAN_SECONDS(1000);
	standing_begin(20000, now);
	conf.max_processes = sup.pool.max_processes = 9000;
	web.handoff = CONF_HANDOFF_NATIVE;
	web.pool.min_processes = 2;
	web.pool.max_processes = 8;
	web.pool.max_queue = 10;
	web.pool.load.multi_threshold = 50;
	job = web;
	job.name = job_name;
	job.handoff = CONF_HANDOFF_NONE;
	job.pool.min_processes = job.pool.max_processes = 1;
	sup.started = now - TSPAN_SECONDS(60);
	sup.generation = 3;
}

static void
end(void)
{
	for (uint32_t n = 0; n < sup.pool.nprocesses; n++) {
		if (sup.workers[n] != NULL)
			free(sup.workers[n]->status);
		free(sup.workers[n]);
	}
	free(sup.events.mem);
	standing_end();
}

/* Carries out what the pool wants; every process is ready at once. */
static void
settle(bool ready)
{
	struct action a;

	while (pool_next_action(&sup.pool, &a)) {
		struct worker *w;

		if (a.kind != ACTION_SPAWN)
			continue;
		w = calloc(1, sizeof(*w));
		w->sup = &sup;
		w->group = groups[a.app];
		w->slot = a.process;
		w->process = a.process;
		w->pid = 100000 + (pid_t)a.process;
		(void)snprintf(
		    w->id, sizeof(w->id), "%08x", (unsigned)a.process);
		sup.workers[a.process] = w;
		pool_spawned(&sup.pool, a.process, now);
		if (ready && groups[a.app]->conf != &job)
			(void)pool_ready(&sup.pool, a.process, now);
	}
}

/* Writes the whole status, with a NUL, and frees it. */
static const char *
write_all(struct status *st)
{
	const char *piece;
	size_t len;

	text_fini(&text);
	text_init(&text, 64 << 20);
	if (st == NULL)
		return NULL;
	while ((piece = figures_next(st, &len)) != NULL)
		text_put(&text, piece, len);
	status_free(st);
	text_put(&text, "", 1);
	return text.failed ? NULL : text.data;
}

static const char *
written(const char *app, enum status_format format)
{
	sup.loop.now = now;
	return write_all(status_take(&sup, app, format, now));
}

/* The same as JSON, or as apppoolctl shows that to people. */
static const char *
shown(const char *app, bool json)
{
	const char *status = written(app, STATUS_JSON);
	json_t *answer;

	if (json || status == NULL)
		return status;
	answer = json_loads(status, 0, NULL);
	CHECK(answer != NULL);
	text_clear(&text);
	details_put(answer, &text);
	json_decref(answer);
	text_put(&text, "", 1);
	return text.data;
}

static bool
has(const char *part)
{
	if (strstr(text.data, part) != NULL)
		return true;
	fprintf(stderr, "no %s in\n%s\n", part, text.data);
	return false;
}

TEST(the_head_describes_the_daemon)
{
	(void)shown(NULL, true);
	CHECK(has("{\"version\":\"" APPPOOL_VERSION "\",\"pid\":"));
	CHECK(has(",\"state\":\"running\",\"uptime\":60,"
		  "\"config\":\"/etc/pool.conf\",\"generation\":3,"
		  "\"max_processes\":9000,\"auto\":null,\"processes\":0,"));
	CHECK(has(",\"counter\":null,\"apps\":[]}\n"));
}

TEST(an_app_shows_limits_beside_use)
{
	struct group *g;

	g = add(&web);
	standing_listen(g, "127.0.0.1:8080");
	standing_listen(g, "unix:/run/\"web");
	(void)snprintf(
	    g->failure.why, sizeof(g->failure.why), "said \"\033[2J\"");
	settle(true);
	(void)shown(NULL, true);
	CHECK(has("{\"name\":\"web\",\"state\":\"running\",\"state_for\":0,"
		  "\"ready\":true,\"closing_in\":null,"
		  "\"handoff\":\"native\",\"accept_by\":null,"
		  "\"listen\":[\"127.0.0.1:8080\",\"unix:/run/\\\"web\"],"
		  "\"sockets_restored\":0,"
		  "\"min_processes\":2,\"max_processes\":8,\"auto\":null,"
		  "\"resized\":false,\"file_min_processes\":null,"
		  "\"file_max_processes\":null,\"processes\":2,\"starting\":0,"
		  "\"idle\":2,\"active\":0,\"detached\":0,\"retiring\":0,"
		  "\"stopping\":0,"));
	CHECK(has("\"waiting\":0,\"oldest_wait\":0,\"max_waiting\":0,"
		  "\"max_queue\":10,"));
	CHECK(has("\"last_failure\":\"said \\\"\\u001b[2J\\\"\","
		  "\"last_failure_age\":"));
}

TEST(a_failure_is_shown_until_a_later_generation_has_proved_itself)
{
	struct group *g;

	g = add(&web);
	settle(true);
	group_failed(g, "it is broken");
	(void)shown(NULL, true);
	CHECK(has("\"last_failure\":\"it is broken\","));
	sup.pool.apps[g->app].generation = 1;
	sup.pool.apps[g->app].proven = 1;
	(void)shown(NULL, true);
	CHECK(has("\"last_failure\":null,\"last_failure_age\":null,"));
	group_failed(g, "it is broken again");
	(void)shown(NULL, true);
	CHECK(has("\"last_failure\":\"it is broken again\","));
}

TEST(connections_count_as_active_or_waiting)
{
	uint32_t first;
	struct action a;

	web.pool.max_processes = web.pool.min_processes = 1;
	(void)add(&web);
	settle(true);
	first = pool_arrived(&sup.pool, 0, now);
	while (pool_next_action(&sup.pool, &a))
		continue;
	(void)pool_arrived(&sup.pool, 0, now);
	(void)pool_arrived(&sup.pool, 0, now);
	now += TSPAN_MSECONDS(1500);
	(void)pool_session_over(&sup.pool, 0, first, SESSION_DONE, now);
	while (pool_next_action(&sup.pool, &a))
		continue;
	now += TSPAN_MSECONDS(250);
	first = sup.pool.processes[0].conns.first;
	accepted[first].request = (char[]){ "GET /\\x22 HTTP/1.1" };
	(void)shown("web", true);
	CHECK(has("\"request\":null,"));
	web.log_requests = true;
	(void)shown("web", true);
	CHECK(has("\"request\":\"GET /\\\\x22 HTTP/1.1\","));
	CHECK(has("\"sessions\":1,\"waiting\":1,\"oldest_wait\":1.75,"
		  "\"max_waiting\":2,"));
	CHECK(has("\"accepted\":3,\"completed\":1,\"refused\":0,"));
	CHECK(has("\"state\":\"active\",\"sessions\":1,\"requests\":1,"
		  "\"age\":1.75,\"idle_for\":null,\"busy_for\":"));
	CHECK(has("\"session_time\":{\"p50\":1.5,"));
	now += TSPAN_SECONDS(120);
	(void)shown("web", true);
	CHECK(has("\"session_time\":{\"p50\":0,"));
}

TEST(an_app_shows_what_it_promises_and_what_it_kept)
{
	struct action a;

	(void)add(&web);
	(void)shown(NULL, true);
	CHECK(has("\"target_wait\":null,\"need\":null,\"kept\":null,"));
	end();

	begin();
	web.pool.target_wait = TSPAN_MSECONDS(20);
	(void)add(&web);
	settle(true);
	(void)shown(NULL, true);
	CHECK(has("\"target_wait\":0.02,\"need\":null,\"kept\":null,"));
	(void)shown(NULL, false);
	CHECK(has("\n  promise: 20ms\n"));

	sup.pool.apps[0].promise.need = 5;
	for (unsigned i = 0; i < 2; i++)
		(void)pool_arrived(&sup.pool, 0, now);
	while (pool_next_action(&sup.pool, &a))
		continue;
	(void)shown(NULL, true);
	CHECK(has("\"target_wait\":0.02,\"need\":5,\"kept\":100.0,"));
	(void)shown(NULL, false);
	CHECK(has("\n  promise: 20ms, kept for 100.0 %; need 5\n"));
	(void)written(NULL, STATUS_METRICS);
	CHECK(has("\napppool_target_wait_seconds{app=\"web\"} 0.02\n"));
	CHECK(has("\napppool_kept_ratio{app=\"web\"} 1\n"));
	CHECK(has("\napppool_needed_processes{app=\"web\"} 5\n"));
}

TEST(an_app_shows_how_long_a_start_takes)
{
	web.pool.min_processes = 1;
	(void)add(&web);
	settle(false);
	now += TSPAN_MSECONDS(33);
	(void)pool_ready(&sup.pool, 0, now);
	(void)shown(NULL, true);
	CHECK(has("\"spawn_failures\":0,\"start_time\":0.033,\"exits\":"));
	(void)shown(NULL, false);
	CHECK(has("spawned 1, failed starts 0, a start takes 33ms\n"));
}

TEST(a_worker_shows_its_own_status_text)
{
	(void)add(&web);
	settle(true);
	sup.workers[1]->status = strdup("\033]0;owned\a\377\"\n");
	now += TSPAN_SECONDS(5);
	(void)shown(NULL, true);
	CHECK(has("\n{\"id\":\"00000001\",\"slot\":1,\"pid\":100001,"
		  "\"generation\":"));
	CHECK(has("\"state\":\"idle\",\"sessions\":0,\"requests\":0,\"age\":5,"
		  "\"idle_for\":5,\"busy_for\":null,\"rss\":"));
	CHECK(has("\"status\":\"\\u001b]0;owned\\u0007\\ufffd\\\"\\n\"}"));
	CHECK(has("\"status\":null}"));
	(void)shown(NULL, false);
	CHECK(has(" \\x1b]0;owned\\x07\xef\xbf\xbd\"\\x0a\n"));
}

TEST(a_failed_app_shows_when_it_is_tried_again)
{
	struct action a;

	(void)add(&web);
	while (pool_next_action(&sup.pool, &a))
		if (a.kind == ACTION_SPAWN)
			pool_spawn_failed(&sup.pool, a.process, false, now);
	now += TSPAN_SECONDS(20);
	(void)shown(NULL, true);
	CHECK(has("\"state\":\"failed\",\"state_for\":20,"));
	CHECK(has("\"backoff_until\":40,"));
	(void)shown(NULL, false);
	CHECK(has("web: failed, native, next start in 40s\n"
		  "  failed since "));
	CHECK(has("Z (20s ago)\n"));
}

/* So many lines of an app, whose texts are numbers from 0 on. */
static void
print(const char *app, unsigned count)
{
	char line[16];
	struct event event = {
		.kind = EVENT_STDERR, .app = app, .id = "ab12cd34", .text = line
	};

	if (sup.events.mem == NULL)
		sup.events.mem = malloc(EVENTS_SIZE);
	for (unsigned i = 0; i < count; i++) {
		event.len = (size_t)snprintf(line, sizeof(line), "%u", i);
		events_put(&sup.events, &event);
	}
}

#define PRINTED(n) \
	"{\"time\":\"1970-01-01T00:00:00.000Z\",\"id\":\"ab12cd34\"," \
	"\"stream\":\"stderr\",\"line\":\"" n "\"}"

TEST(a_failed_app_ends_with_its_last_ten_lines)
{
	struct action a;

	(void)add(&web);
	print("web", 13);
	while (pool_next_action(&sup.pool, &a))
		if (a.kind == ACTION_SPAWN)
			pool_spawn_failed(&sup.pool, a.process, false, now);
	print("job", 25);
	(void)shown(NULL, true);
	CHECK(has("\"last_output\":[" PRINTED("3") "," PRINTED("4") ","));
	CHECK(has("," PRINTED("12") "],"));
	(void)shown(NULL, false);
	CHECK(has("\n  1970-01-01T00:00:00.000Z stderr ab12cd34: 3\n"));
	CHECK(has("Z stderr ab12cd34: 12\n") &&
	    strcmp(strstr(text.data, ": 12\n"), ": 12\n") == 0);
}

TEST(lines_of_an_app_that_has_not_failed_are_shown_of_it_alone)
{
	(void)add(&web);
	settle(true);
	print("web", 1);
	(void)shown(NULL, true);
	CHECK(has("\"last_output\":null,"));
	(void)shown("web", true);
	CHECK(has("\"last_output\":[" PRINTED("0") "],"));
	(void)shown("web", false);
	CHECK(strstr(text.data, "ab12cd34: 0") == NULL);
	web.program.output = CONF_OUTPUT_NULL;
	(void)shown("web", true);
	CHECK(has("\"last_output\":null,"));
}

TEST(a_living_worker_is_measured)
{
	(void)add(&web);
	settle(true);
	sup.workers[0]->pid = getpid();
	(void)shown(NULL, true);
	CHECK(!strstr(text.data, "\"rss\":0") && has("\"rss\":"));
	CHECK(has(",\"rss\":null,\"cpu\":null,"));
}

TEST(a_snapshot_does_not_change_while_it_is_written)
{
	struct status *st;

	(void)add(&web);
	settle(true);
	st = status_take(&sup, NULL, STATUS_JSON, now);

	/* Meanwhile the app and its workers leave. */
	free(sup.workers[0]);
	sup.workers[0] = NULL;
	free(groups[0]);
	groups[0] = NULL;
	NEED(write_all(st) != NULL);
	CHECK(has("\"name\":\"web\""));
	CHECK(has("\"id\":\"00000000\""));
	CHECK(has("\"backlog\":null,\"rate\":null,"));
}

TEST(only_the_last_line_of_json_is_complete)
{
	const char *eol, *at;
	unsigned lines = 0;

	web.pool.min_processes = 8;
	(void)add(&web);
	(void)add(&job);
	settle(true);
	at = shown(NULL, true);
	for (; (eol = strchr(at, '\n')) != NULL && eol[1] != '\0';
	     at = eol + 1, lines++)
		CHECK(eol[-1] == ',' || eol[-1] == '[');
	CHECK_EQ(11, lines);
	CHECK(eol != NULL && eol[-1] == '}');
}

/* For the log, and for those who ask the socket without apppoolctl. */
TEST(the_figures_are_words_too)
{
	standing_listen(add(&web), "unix:/run/web.sock");
	settle(true);
	sup.workers[1]->status = strdup("\033]0;owned\a");
	(void)written(NULL, STATUS_TEXT);
	CHECK(has("{version: " APPPOOL_VERSION ", pid: "));
	CHECK(has("\n{name: web, state: running, state_for: 0, ready: true, "
		  "closing_in: null,\n    handoff: native, accept_by: null, "
		  "listen: [unix:/run/web.sock],"));
	CHECK(has("queue_wait: {p50: 0, "));
	CHECK(has("\n{id: 00000001, slot: 1, pid: 100001, "));
	CHECK(has("status: \\u001b]0;owned\\u0007}"));
}

TEST(thousands_of_workers_come_in_small_pieces)
{
	struct status *st;
	size_t len, longest = 0, total = 0;
	unsigned pieces = 0;
	tspan start, take, worst = 0;
	const char *piece;

	conf.max_processes = 10000;
	pool_resize(&sup.pool, 10000, 0, now);
	web.pool.min_processes = web.pool.max_processes = 5000;
	(void)add(&web);
	settle(true);
	for (uint32_t n = 0; n < 5000; n++) {
		sup.workers[n]->status = strdup("waiting for nobody at all");
		sup.workers[n]->pid = getpid();
	}

	start = clock_now();
	st = status_take(&sup, NULL, STATUS_JSON, now);
	take = clock_now() - start;
	for (;;) {
		start = clock_now();
		piece = figures_next(st, &len);
		start = clock_now() - start;
		if (piece == NULL)
			break;
		worst = start > worst ? start : worst;
		longest = len > longest ? len : longest;
		total += len;
		pieces++;
	}
	printf("# 5000 workers: taken in %lld us, %zu bytes kept, "
	       "%u pieces, worst %lld us\n",
	    (long long)take / 1000, st->size, pieces, (long long)worst / 1000);
	status_free(st);
	CHECK(pieces > 100);
	CHECK(longest < 32768);
	CHECK(total > 5000 * 150);
}

TESTS(begin, end)
