/* The snapshot for people: limits beside use. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control/status_text.h"
#include "sys/figure.h"

/* Writes a text of a configuration or a worker; NULL: nothing. */
static void
put_foreign(struct text *t, const char *s)
{
	if (s != NULL)
		text_escaped(t, s, strlen(s));
}

static void
put_counter(struct status *st)
{
	struct text *t = &st->piece;
	const struct counter_service_figures *f = &st->counter;
	const char *address = status_string(st, st->counter_listen);

	if (!st->counts)
		return;
	text_puts(t, "\ncounter:");
	for (size_t i = 0; i < st->counter_nlisten; i++) {
		text_puts(t, i == 0 ? " " : ", ");
		put_foreign(t, address);
		address += strlen(address) + 1;
	}
	text_printf(t,
	    "\n  clients %" PRIu32 "/%" PRIu32 ", keys %" PRIu32 "/%" PRIu32
	    ", locks held %" PRIu32 ", waiting %" PRIu32 "\n"
	    "  locks %" PRIu64 " taken, %" PRIu64 " ended; %" PRIu64
	    " found the queue full\n",
	    f->clients, f->max_clients, f->keys, f->max_keys, f->counter.held,
	    f->counter.waiting, f->counter.acquired, f->counter.processed,
	    f->counter.full_queues);
	if (f->refused_clients != 0 || f->counter.full_tables != 0)
		text_printf(t,
		    "  turned away %" PRIu64 " clients, %" PRIu64 " keys\n",
		    f->refused_clients, f->counter.full_tables);
}

static void
put_head(struct status *st)
{
	struct text *t = &st->piece;
	char up[FIGURE_SIZE];

	text_printf(t, "apppoold %s, pid %d, up %s%s, ", APPPOOL_VERSION,
	    (int)getpid(), figure_span(st->uptime, up, sizeof(up)),
	    st->stopping ? ", stopping" : "");
	put_foreign(t, status_string(st, st->config));
	text_printf(t,
	    " (generation %" PRIu64 ")\n"
	    "processes %" PRIu32 "/%" PRIu32 ", active %" PRIu32
	    ", waiting %" PRIu32 "\n",
	    st->generation, st->processes, st->max_processes, st->active,
	    st->waiting);
	put_counter(st);
}

static void
put_title(struct status *st, const struct status_app *a)
{
	struct text *t = &st->piece;
	const char *address = status_string(st, a->listen);
	char wait[FIGURE_SIZE];

	text_puts(t, "\n");
	put_foreign(t, status_string(st, a->name));
	text_printf(t, ": %s, %s", a->state, conf_handoff_name(a->handoff));
	for (size_t i = 0; i < a->nlisten; i++) {
		text_puts(t, ", ");
		put_foreign(t, address);
		address += strlen(address) + 1;
	}
	if (a->backoff != 0)
		text_printf(t, ", next start in %s",
		    figure_span(a->backoff, wait, sizeof(wait)));
	text_puts(t, "\n");
}

static void
put_processes(struct text *t, const struct status_app *a)
{
	text_printf(t,
	    "  processes %" PRIu32 "/%" PRIu32 " (min %" PRIu32 "): %" PRIu32
	    " starting, %" PRIu32 " %s",
	    a->processes, a->max_processes, a->min_processes,
	    a->in_state[PROCESS_STARTING], a->in_state[PROCESS_IDLE],
	    a->sessions ? "idle" : "ready");
	if (a->sessions)
		text_printf(
		    t, ", %" PRIu32 " active", a->in_state[PROCESS_ACTIVE]);
	text_printf(t, "; %" PRIu32 " retiring, %" PRIu32 " stopping",
	    a->in_state[PROCESS_RETIRING],
	    a->in_state[PROCESS_STOPPING] + a->in_state[PROCESS_DYING]);
	if (a->in_state[PROCESS_DETACHED] != 0)
		text_printf(
		    t, ", %" PRIu32 " detached", a->in_state[PROCESS_DETACHED]);
	if (a->stuck != 0)
		text_printf(t, ", %" PRIu32 " stuck", a->stuck);
	text_puts(t, "\n");
}

/* The load, a rollout and a size of its own: a line of what there is. */
static void
put_changes(struct text *t, const struct status_app *a)
{
	const char *before = "  ";

	if (a->sessions || a->listens) {
		text_printf(t, "%sload %.0f %%", before, a->load);
		before = "; ";
	}
	if (a->rolling || a->given_up) {
		text_printf(t, "%sgeneration %" PRIu32, before, a->generation);
		if (a->rolling)
			text_printf(t, " replaces %" PRIu32, a->outdated);
		else
			text_puts(t, " given up");
		before = "; ";
	}
	if (a->resized) {
		text_printf(t,
		    "%sresized, the file says %" PRIu32 " to %" PRIu32, before,
		    a->file_size.min, a->file_size.max);
		before = "; ";
	}
	if (before[0] == ';')
		text_puts(t, "\n");
}

static void
put_waiting(struct text *t, const struct status_app *a, long backlog)
{
	char oldest[FIGURE_SIZE], idle[FIGURE_SIZE];

	text_printf(
	    t, "  waiting %" PRIu32 "/%" PRIu32, a->waiting, a->max_queue);
	if (a->waiting != 0)
		text_printf(t, " (oldest %s)",
		    figure_span(a->oldest_wait, oldest, sizeof(oldest)));
	text_printf(t, ", most %" PRIu32, a->figures.max_waiting);
	if (backlog != -1)
		text_printf(t, ", backlog %ld", backlog);
	if (a->figures.parked != 0)
		text_printf(t, ", parked %" PRIu32, a->figures.parked);
	text_printf(t, ", sessions %" PRIu32, a->figures.sessions);
	if (a->prefetch > 0)
		text_printf(t, ", prefetch %" PRIu32, a->prefetch);
	text_printf(t, "; idle while waiting %s\n",
	    figure_span(a->idle_while_waiting, idle, sizeof(idle)));
}

static void
put_connections(struct text *t, const struct app_figures *f)
{
	text_printf(t,
	    "  connections %" PRIu64 " accepted, %" PRIu64
	    " completed, %" PRIu64 " lost; %" PRIu64 " retaken\n"
	    "  not served: %" PRIu64 " refused, %" PRIu64 " timed out, %" PRIu64
	    " abandoned\n",
	    f->accepted, f->completed, f->lost, f->retaken, f->refused,
	    f->timed_out, f->abandoned);
}

static void
put_spans(struct text *t, const char *name, const struct status_spans *s)
{
	char p50[FIGURE_SIZE], p90[FIGURE_SIZE];
	char p99[FIGURE_SIZE], max[FIGURE_SIZE];

	text_printf(t, "%s p50 %s, p90 %s, p99 %s, max %s\n", name,
	    figure_span(s->p50, p50, sizeof(p50)),
	    figure_span(s->p90, p90, sizeof(p90)),
	    figure_span(s->p99, p99, sizeof(p99)),
	    figure_span(s->max, max, sizeof(max)));
}

static void
put_times(struct text *t, const struct status_measured *m)
{
	if (!m->known)
		return;
	text_printf(t, "  last minute: %.1f/s; ", m->rate);
	put_spans(t, "wait", &m->queue_wait);
	put_spans(t, "    session", &m->session_time);
}

static void
put_promise(
    struct text *t, const struct status_app *a, const struct status_measured *m)
{
	char target[FIGURE_SIZE];

	if (a->target_wait == 0)
		return;
	text_printf(t, "  promise: %s",
	    figure_span(a->target_wait, target, sizeof(target)));
	if (m->known && m->kept >= 0)
		text_printf(t, ", kept for %.1f %%", 100 * m->kept);
	if (a->need > 0)
		text_printf(t, "; need %" PRIu32, a->need);
	text_puts(t, "\n");
}

static void
put_reason(struct text *t, const char *what, const char *reason)
{
	if (reason == NULL)
		return;
	text_printf(t, "  %s: ", what);
	put_foreign(t, reason);
	text_puts(t, "\n");
}

static void
put_ends(struct status *st, const struct status_app *a)
{
	struct text *t = &st->piece;
	const char *comma = "; ended: ";
	char took[FIGURE_SIZE];

	text_printf(t, "  spawned %" PRIu64 ", failed starts %" PRIu64,
	    a->figures.spawned, a->figures.spawn_failures);
	if (a->start_time > 0)
		text_printf(t, ", a start takes %s",
		    figure_span(a->start_time, took, sizeof(took)));
	for (unsigned end = 0; end < PROCESS_ENDS; end++) {
		if (a->figures.exits[end] == 0)
			continue;
		text_printf(t, "%s%s %" PRIu64, comma,
		    process_end_name((enum process_end)end),
		    a->figures.exits[end]);
		comma = ", ";
	}
	text_puts(t, "\n");
	put_reason(t, "last failure", status_string(st, a->failure));
	if (a->given_up)
		put_reason(t, "given up", status_string(st, a->given_up_for));
}

static void
put_keepers(struct text *t, const struct status_app *a)
{
	for (uint32_t i = 0; i < a->nkeepers; i++)
		if (!a->keepers[i].answers)
			text_printf(t,
			    "  keeper (pid %ld) does not answer: another "
			    "takes over\n",
			    (long)a->keepers[i].pid);
}

static void
put_template(struct status *st, const struct status_template *a, int64_t size)
{
	struct text *t = &st->piece;
	char age[FIGURE_SIZE], rss[FIGURE_SIZE];

	if (a->state == NULL)
		return;
	text_printf(t, "  template %s", a->state);
	if (a->pid != 0)
		text_printf(t, ", pid %ld, age %s", (long)a->pid,
		    figure_span(a->age, age, sizeof(age)));
	if (size != -1)
		text_printf(t, ", RSS %s", figure_size(size, rss, sizeof(rss)));
	text_printf(t, "; forked %" PRIu64 ", failures %" PRIu64 "\n",
	    a->forked, a->failures);
	if (a->failures != 0)
		put_reason(
		    t, "its last failure", status_string(st, a->failure));
}

static void
put_app(struct status *st, const struct status_app *a,
    const struct status_measured *m)
{
	struct text *t = &st->piece;

	put_title(st, a);
	put_processes(t, a);
	put_changes(t, a);
	if (a->sessions) {
		put_waiting(t, a, m->backlog);
		put_connections(t, &a->figures);
		put_times(t, m);
		put_promise(t, a, m);
	} else if (a->listens && m->backlog != -1) {
		text_printf(
		    t, "  waiting %ld, all in the backlog\n", m->backlog);
	}
	put_ends(st, a);
	put_keepers(t, a);
	put_template(st, &a->template, m->template_rss);
	if (a->count != 0)
		text_printf(t,
		    "  %-8s %6s %4s %-8s %4s %7s %6s %6s %6s %6s STATUS\n",
		    "ID", "PID", "SLOT", "STATE", "SESS", "SERVED", "AGE",
		    "FOR", "RSS", "CPU");
}

/* Sessions or requests; "-": they are not known. */
static const char *
format_count(const struct status_worker *w, uint64_t n, char *buf, size_t size)
{
	if (!w->counts)
		return "-";
	(void)snprintf(buf, size, "%" PRIu64, n);
	return buf;
}

/* The name of its state: without known sessions, idle is called ready. */
static const char *
format_state(const struct status_worker *w)
{
	if (w->stuck)
		return "stuck";
	if (!w->counts && w->state == PROCESS_IDLE)
		return "ready";
	return process_state_name((enum process_state)w->state);
}

/* The time it has been idle or busy; "-": it is neither. */
static const char *
format_for(const struct status *st, const struct status_worker *w, char *buf,
    size_t size)
{
	if (w->state != PROCESS_IDLE && w->sessions == 0)
		return "-";
	return figure_span(st->at - w->since, buf, size);
}

static void
put_worker(struct status *st, const struct status_worker *w,
    const struct procinfo *info)
{
	struct text *t = &st->piece;
	char age[FIGURE_SIZE], during[FIGURE_SIZE];
	char rss[FIGURE_SIZE] = "-", cpu[FIGURE_SIZE] = "-";
	char pid[FIGURE_SIZE] = "-", slot[FIGURE_SIZE] = "-";
	char sessions[FIGURE_SIZE], requests[24];

	if (w->pid != 0)
		(void)snprintf(pid, sizeof(pid), "%d", (int)w->pid);
	if (w->slot != STATUS_NO_SLOT)
		(void)snprintf(slot, sizeof(slot), "%" PRIu32, w->slot);
	if (info != NULL) {
		(void)figure_size(info->rss, rss, sizeof(rss));
		(void)figure_span(info->cpu, cpu, sizeof(cpu));
	}
	text_printf(t, "  %-8s %6s %4s %-8s %4s %7s %6s %6s %6s %6s",
	    w->slot == STATUS_NO_SLOT ? "-" : w->id, pid, slot, format_state(w),
	    format_count(w, w->sessions, sessions, sizeof(sessions)),
	    format_count(w, w->requests, requests, sizeof(requests)),
	    figure_span(st->at - w->started, age, sizeof(age)),
	    format_for(st, w, during, sizeof(during)), rss, cpu);
	if (w->text != STATUS_NO_STRING)
		text_puts(t, " ");
	put_foreign(t, status_string(st, w->text));
	text_puts(t, "\n");
}

const struct status_writer status_text = {
	.head = put_head,
	.app = put_app,
	.worker = put_worker,
};
