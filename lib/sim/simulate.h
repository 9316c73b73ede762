#ifndef SIM_SIMULATE_H
#define SIM_SIMULATE_H

/*
 * The room of `apppoolctl simulate`, by the file that defines each function; a
 * file calls those before it, and none after it.
 */

#include <err.h>
#include <stdlib.h>
#include <sysexits.h>

#include "conf/conf.h"
#include "core/autosize.h"
#include "core/deadlines.h"
#include "core/prng.h"

/* --- result.c: what became of connections, and how long they waited ------- */

/* Zeroed memory. Without any the program ends, with EX_OSERR. */
void *result_alloc(size_t n, size_t size);

/* The memory of deadlines for so many numbers, which the owner frees. */
void result_deadlines(struct deadlines *d, size_t n);
void result_deadlines_fini(struct deadlines *d);

/*
 * A distribution of times, in 64 buckets for each power of two: a percentile is
 * at most 1/64 too high, and exact under 64 ns and at the maximum. Times over
 * 2^50 ns (13 days) share the last bucket.
 */
#define HISTOGRAM_PART 64
#define HISTOGRAM_LAST 50
#define HISTOGRAM_BUCKETS ((HISTOGRAM_LAST - 5) * HISTOGRAM_PART + 1)

struct histogram {
	uint64_t total;
	double sum; /* nanoseconds */
	tspan max;
	uint64_t counts[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, tspan value);
void histogram_merge(struct histogram *h, const struct histogram *other);

/* The value that a share (0 … 1) of all did not exceed; 0 if there is none. */
tspan histogram_share(const struct histogram *h, double share);

/* The share that did not exceed a value; 1 of nothing. */
double histogram_within(const struct histogram *h, tspan value);

/* Figures over time, in equal buckets; past the last one, two become one. */
#define SERIES_BUCKETS 512

enum series_count {
	SERIES_ARRIVED,
	SERIES_REFUSED, /* timed out ones included */
	SERIES_SPAWNED,
	SERIES_COUNTS
};

struct series_bucket {
	double processes; /* integral over time, in nanoseconds, as the next */
	double busy; /* with a session in service */
	double waiting; /* connections */
	uint32_t most_processes;
	uint32_t most_waiting;
	tspan longest_wait; /* of connections that a process began with */
	uint64_t counts[SERIES_COUNTS];
};

struct series {
	tspan width; /* of a bucket */
	uint32_t used;
	struct series_bucket buckets[SERIES_BUCKETS];
};

struct series_bucket *series_at(struct series *s, tspan at);

/*
 * Of an app, or of all together. Figures of processes are those from the start
 * to the end of the load; connections that are still there then are followed to
 * their ends. Always: arrived = completed + refused + timed_out + lost +
 * unfinished.
 */
struct result_app {
	const char *name; /* NULL: the total */
	uint32_t max_processes; /* 0: unknown */
	uint64_t arrived;
	uint64_t completed;
	uint64_t refused; /* by the manager, or for want of a backlog */
	uint64_t overflowed; /* those of `refused` that found it full */
	uint64_t timed_out; /* while they waited */
	uint64_t lost; /* with a process that was killed */
	uint64_t unfinished; /* still there when the run was given up */
	double work; /* service times of all that arrived, in nanoseconds */
	/* From arrival until a process begins, or the run ends. */
	struct histogram wait;
	uint64_t spawned;
	uint64_t spawned_running; /* since the start of the load */
	uint64_t ended; /* processes that exited, before the end of the run */
	uint64_t taken; /* connections taken back unread */
	/* Means: */
	double processes; /* starting, idle and active, as in status */
	double existing; /* leaving ones included */
	double busy; /* with a connection in service */
	double need; /* what target_wait takes, by the manager's estimate */
	double wasted; /* idle while a connection of the app waits unheld */
	tspan target_wait; /* of the app, or the only one; 0: none */
	uint32_t most_need;
	uint32_t most_processes; /* leaving ones not included */
	uint32_t most_waiting;
	tspan idle_while_waiting; /* a process, while one waits unheld */
	tspan idle_while_unread; /* while one lies unread in a busy process */
	tspan longest_unread; /* of one connection */
	struct series series;
};

struct result {
	const char *manager; /* its name */
	tspan length; /* of the load; a trace's: its last arrival */
	tspan ran; /* until the last connection had ended */
	uint64_t events; /* arrivals, ends of sessions, starts, exits, ticks */
	struct result_app total;
	struct result_app *apps;
	size_t apps_len;
};

static inline void
result_fini(struct result *r)
{
	free(r->apps);
}

static inline uint64_t
result_refusals(const struct result_app *r)
{
	return r->refused + r->timed_out;
}

/* --- load.c: connections in the order of their arrival ------------------ */

enum service_kind {
	SERVICE_FIXED, /* always `mean` */
	SERVICE_EXPONENTIAL, /* of that mean */
	SERVICE_LOGNORMAL, /* of that mean; sigma is of its logarithm */
	SERVICE_UNIFORM, /* from `mean` to `other` */
	SERVICE_BIMODAL, /* `mean`, or with the probability `share`: `other` */
};

struct service {
	enum service_kind kind;
	tspan mean; /* over 0; UNIFORM: the shortest; BIMODAL: the common one */
	double sigma; /* over 0; LOGNORMAL */
	tspan other; /* over 0; UNIFORM: the longest; BIMODAL: the rare one */
	double share; /* 0 … 1; BIMODAL */
};

tspan load_service_mean(const struct service *s);

/* How the rate changes; its mean over the run or a period is the app's. */
enum profile_kind {
	PROFILE_STEADY,
	PROFILE_BURST, /* at a random time of each period */
	PROFILE_DAY, /* from midnight to midnight */
	PROFILE_RAMP, /* from nothing to twice the mean, and back */
};

struct profile {
	enum profile_kind kind;
	double factor; /* BURST: the rate in a burst over that of the rest */
	tspan burst; /* BURST: how long one is; under `period` */
	tspan period; /* BURST, DAY; 0: the run */
};

struct load_app {
	const char *name; /* as a trace calls it */
	double rate; /* connections per second; 0: none */
	uint32_t clients; /* that come again; 0: none */
	struct service think; /* of such a client; a mean of 0: not at all */
	struct service service;
	/* As they were typed; NULL: they were not. */
	const char *typed_rate;
	const char *typed_think;
	const char *typed_service;
};

/* The same description and seed give the same load. */
struct load_spec {
	const struct load_app *apps; /* by number */
	size_t apps_len;
	bool closed; /* clients come again, and there are no rates */
	struct profile profile;
	tspan length; /* nothing arrives at this time or later; 0: a trace's */
	uint64_t seed;
	const char *trace; /* a file ("-": standard input), or NULL */
};

struct arrival {
	tstamp at; /* since the start of the load; never decreases */
	uint32_t app;
	tspan service; /* over 0 */
};

enum load_got {
	LOAD_ARRIVAL,
	LOAD_END,
	LOAD_MISTAKE, /* in the trace */
};

/* A client that was turned away does not come back at the same moment. */
#define LOAD_RETRY TSPAN_MSECONDS(1)

struct load_source;

/*
 * The spec must outlive the load. NULL and errno: the trace cannot be opened;
 * "-" can be read but once. With a trace, rates, services and the profile are
 * of no account; it ends at `length` if that is not 0.
 */
struct load_source *load_open(const struct load_spec *spec);
void load_close(struct load_source *l);

/*
 * LOAD_ARRIVAL: *at_out is when the next connection arrives, since the start
 * of the load; TSTAMP_NEVER: not before load_left().
 */
enum load_got load_look(struct load_source *l, tstamp *at_out);

struct arrival load_take(struct load_source *l);

/* A connection has ended, now: a client of the app thinks, and comes again. */
void load_left(struct load_source *l, uint32_t app, bool served, tstamp now);

/* After LOAD_MISTAKE: "FILE:LINE: …", a line for each mistake; else NULL. */
const char *load_mistake(const struct load_source *l);

/* The name of a trace in messages: "-" is standard input. */
const char *load_trace_name(const char *file);

/* --- engine.c: virtual time --------------------------------------------- */

/*
 * The engine takes the requests (connections) of a load to a manager of
 * workers, plays the workers that the manager starts, and notes what comes of
 * it. Our core is such a manager; so is each peer that tests compare it with.
 *
 * The engine tells what has happened, the manager answers with the engine's
 * services, which never call it back: what they bring about is told later. At
 * one instant the order is: ends of requests, starts and exits, then arrivals
 * in the order of the load, then a tick.
 *
 * Workers are numbers that the manager chooses, 0 … its `workers` - 1, free
 * again after exited(). Requests are numbers that the engine gives, 0 … the
 * manager's `requests` - 1, free after their end.
 *
 * A worker serves `concurrency` requests at a time. Further ones that it is
 * given lie in its socket, unread, in order, until it has finished one.
 */

/* When the load starts, by the manager's clock: the core wants more than 0. */
#define ENGINE_EPOCH TSPAN_SECONDS(3600)

struct engine;
struct manager;

struct manager_ops {
	/* The first workers may be started, before time 0. */
	void (*started)(struct manager *m, tstamp now);
	/* A request to be given to a worker, kept until then, or refused. */
	void (*arrived)(
	    struct manager *m, uint32_t app, uint32_t request, tstamp now);
	void (*ready)(struct manager *m, uint32_t worker, tstamp now);
	/* The request is served; the worker has begun with the next unread. */
	void (*finished)(
	    struct manager *m, uint32_t worker, uint32_t request, tstamp now);
	/*
	 * The worker's number is free when this returns. What lay unread is
	 * lost unless engine_take() takes it back now; killed: what was in
	 * service is lost, too.
	 */
	void (*exited)(
	    struct manager *m, uint32_t worker, bool killed, tstamp now);
	/* When tick() is wanted if nothing happens; TSTAMP_NEVER: never. */
	tstamp (*due)(const struct manager *m);
	void (*tick)(struct manager *m, tstamp now);
	void (*fini)(struct manager *m);
};

/* The first member of whatever a manager is. */
struct manager {
	const struct manager_ops *ops;
	const char *name; /* as the result calls it: "apppoold", "php-fpm …" */
	uint32_t workers; /* numbers it may use */
	uint32_t requests; /* that may be there at once */
	struct engine *engine; /* set before started() */
};

/*
 * Plays all of the load, and goes on until all connections have ended, but at
 * most an hour longer; undoes the manager then. The manager is started
 * start_time (from a start to ready; under ENGINE_EPOCH) before the load. More
 * than manager->requests connections at once are refused before the manager
 * hears of them, so it must be what the manager can hold and one more. The same
 * load and manager give the same *out. False: a mistake in the trace, which
 * stderr was told; the program ends if that cannot be opened.
 */
bool engine_run(const struct load_spec *spec, tspan start_time,
    struct manager *m, struct result *out);

/* Starts a worker under this number, which must be free. */
void engine_start(
    struct engine *e, uint32_t worker, uint32_t app, uint32_t concurrency);

/* The worker finishes what it has, unread requests included, and exits. */
void engine_stop(struct engine *e, uint32_t worker);
void engine_kill(struct engine *e, uint32_t worker);

/* The worker is ready, and no worker holds the request. */
void engine_give(struct engine *e, uint32_t worker, uint32_t request);

/* Takes the oldest request back that the worker has not read; ILIST_NONE. */
uint32_t engine_take(struct engine *e, uint32_t worker);

enum engine_refusal {
	ENGINE_REFUSED,
	ENGINE_OVERFLOWED, /* its backlog is full */
	ENGINE_TIMED_OUT,
};

/* No worker holds the request. */
void engine_refuse(struct engine *e, uint32_t request, enum engine_refusal how);

/* The manager finds so many workers more to be needed; or fewer, wrapped. */
void engine_need(struct engine *e, uint32_t app, uint32_t by);

/* --- driver.c: the core, on hosts behind a balancer ---------------------- */

enum balancer_kind {
	BALANCER_LEASTCONN, /* the host with the fewest connections */
	BALANCER_RANDOM2, /* of two hosts drawn at random, the same */
	BALANCER_ROUNDROBIN, /* the hosts in turn */
};

struct balancer_spec {
	uint32_t hosts; /* at most BALANCER_HOSTS_MAX; 0: one, no balancer */
	enum balancer_kind kind;
	bool blind; /* it asks no agent, and keeps no queue */
};

#define BALANCER_HOSTS_MAX 10000

/*
 * The core as the daemon drives it, with a backlog in front of each app such as
 * the kernel has: on hosts with this configuration behind a balancer, which
 * sends each as many connections of an app at a time as its agent has reported,
 * every 2 s, and keeps all others in one queue. A host that has finished one
 * gets the first of them. conf must outlive it; seed: of the jitters.
 */
struct manager *driver_new(
    const struct balancer_spec *spec, const struct conf *conf, uint64_t seed);

/* --- words.c: numbers, times and loads as they are shown ---------------- */

extern const char *const service_names[], *const profile_names[],
					      *const balancer_names[];

struct words {
	char text[96];
};

struct words words_span(tspan span); /* "0", "12.3us", "1.5s", "2m30s" */
struct words words_count(uint64_t n); /* "1,234,567" */
struct words words_with_unit(double n, const char *unit); /* "1.5s" */
#define words_number(n) words_with_unit(n, "") /* "0.25", "12.3", "4711" */

struct words words_profile(const struct profile *p); /* "burst:10,5s,1m" */
struct words words_service(const struct service *s); /* "exponential:50ms" */

/* The wait that a share of the connections did not exceed. */
struct words words_wait(const struct result_app *r, double share);

/* --- view.c and picture.c ----------------------------------------------- */

#define VERDICT_WAIT TSPAN_MSECONDS(100) /* of 99 in 100 connections */

enum verdict_kind {
	VERDICT_IDLE, /* no connection came */
	VERDICT_FITS,
	VERDICT_OVERLOADED, /* more work comes than all processes can do */
	VERDICT_SHORT, /* now and then they do not suffice */
};

/* Whether the processes of an app suffice, and if not, how many would. */
struct verdict {
	enum verdict_kind kind;
	double needed; /* processes busy on a host if nobody waits; a mean */
	uint32_t allowed; /* by the app and by the ceiling over all; a host's */
	bool tried;
	/* Bounds that would do; 0: as it is, or none that was tried would. */
	uint32_t min_processes; /* where starts take too long */
	uint32_t max_processes; /* of the app */
	uint32_t ceiling; /* over all apps */
};

struct simulation {
	const char *config; /* a file */
	struct load_spec load;
	tspan start_time;
	struct balancer_spec balancer; /* no hosts: there is none */
	uint64_t memory; /* of the box, where something is auto */
	const struct autosize *fits; /* of the apps, likewise */
	const struct verdict *verdicts; /* of the apps; NULL: there are none */
};

/* For people; as JSON. A failed write shows in ferror(out). */
void view_text(const struct simulation *s, const struct result *r, FILE *out);
void view_json(const struct simulation *s, const struct result *r, FILE *out);

/* A picture of this app, or if none has the number, of all; -1 and errno. */
int picture_put(
    const struct simulation *s, const struct result *r, size_t app, FILE *out);

/* --- simulate.c: the command -------------------------------------------- */

/* NULL; or what apppoolctl(8) finds valid, and *out is untouched. */
const char *words_read_service(const char *text, struct service *out);
const char *words_read_profile(const char *text, struct profile *out);
const char *words_read_rate(const char *text, double *out);

double simulate_peak(const struct profile *p); /* of the rate, over its mean */

/* Above all letters; the first five may be given for single apps. */
enum simulate_option {
	SIMULATE_CLIENTS = 256,
	SIMULATE_PSS,
	SIMULATE_RATE,
	SIMULATE_SERVICE,
	SIMULATE_THINK,
	SIMULATE_BALANCER,
	SIMULATE_FOR,
	SIMULATE_HOSTS,
	SIMULATE_MEMORY,
	SIMULATE_PROFILE,
	SIMULATE_SEED,
	SIMULATE_START_TIME,
	SIMULATE_SVG,
	SIMULATE_TRACE,
	SIMULATE_END
};

/* An option as it was given; the last of several is in force. */
struct given {
	int id; /* enum simulate_option; others are passed over */
	const char *name; /* "--rate" */
	const char *value;
};

/*
 * apppoolctl simulate with the configuration in a file, and the options up to
 * one of no name. Gives the exit status.
 */
int simulate_run(const char *file, bool json, const struct given *options);

#endif
