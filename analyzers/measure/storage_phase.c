/* storage_phase - finds the phases by what blocks lack of the usual rate, and compares their
 * lengths. */
#include "analyzers/measure/storage_phase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/stats.h"
#include "base/str.h"
#include "analyzers/measure/observe.h"
#include "db/model/metric.h"

/* A block belongs to a phase when it lacks this share of the usual rate, and this many times what
 * blocks scatter upwards of their median: a step that is cut by two blocks is no phase. */
#define LACKING 0.05
#define SCATTERED 4.0
#define LONGER 1.4 /* medians of the lengths */
#define APART 1.15 /* the shortest of the later ones over the longest of the earlier ones */
#define BEFORE_MIN 2
#define AFTER_MIN 1
#define BAND 0.9 /* of the fastest tenth: blocks that hold no part of a phase */
#define FEW_RECEIVERS (1.0 / 3) /* of the ports */
#define MOST_OCTETS 0.8 /* of what arrives beyond the exchange */
#define RECEIVES 0.1 /* of the largest receiver's part: takes part */
#define SAME_LEAST 0.7 /* octets after over before */
#define SAME_MOST 1.4
/* Of what a port usually gets in that time: blocks that cut a step bring less than this. */
#define EXCESS_LEAST 0.2

struct storage_stretch {
	int64_t from_ns, to_ns;
	double lost_s;
};

/* Whole phases only. One that still lasts, began before the past, or touches blocks without samples
 * has no known length. */
static size_t stretches_of(
	const struct job_rate *rate, double usual, double scatter, struct storage_stretch *ret)
{
	const double block_s = (double)rate->block_ns / (double)NS_PER_S;
	const double least = fmax(LACKING, SCATTERED * scatter);
	struct storage_stretch s = {0};
	bool open = true, whole = false; /* before the first busy block nothing is whole */
	size_t n = 0;
	for (size_t k = 0; k < rate->n; k++) {
		const double lacks = 1 - rate->rate[k] / usual;
		if (isnan(lacks)) {
			open = true;
			whole = false;
		} else if (lacks > least) {
			if (!open)
				s = (struct storage_stretch){
					.from_ns = rate->from_ns + (int64_t)k * rate->block_ns};
			whole = whole || !open;
			open = true;
			s.lost_s += fmin(lacks, 1) * block_s;
		} else {
			if (open && whole) {
				s.to_ns = rate->from_ns + (int64_t)k * rate->block_ns;
				ret[n++] = s;
			}
			open = whole = false;
		}
	}
	return n;
}

static double storage_phase_median_of(
	const struct storage_stretch *stretch, size_t n, struct arena *a)
{
	double *v = arena_array(a, double, n);
	for (size_t i = 0; i < n; i++)
		v[i] = stretch[i].lost_s;
	return stats_median(v, n);
}

/* Where the lengths fall apart into shorter and longer ones; 0 = nowhere. */
static size_t split_of(const struct storage_stretch *stretch, size_t n, struct arena *a)
{
	for (size_t at = BEFORE_MIN; at + AFTER_MIN <= n; at++) {
		double longest = 0, shortest = INFINITY;
		for (size_t i = 0; i < n; i++) {
			if (i < at)
				longest = fmax(longest, stretch[i].lost_s);
			if (!(i < at))
				shortest = fmin(shortest, stretch[i].lost_s);
		}
		if (shortest >= APART * longest &&
			storage_phase_median_of(stretch + at, n - at, a) >=
				LONGER * storage_phase_median_of(stretch, at, a))
			return at;
	}
	return 0;
}

struct taker {
	const struct fabric_port *port;
	double octets; /* beyond its share of the exchange */
};

static int more_first(const void *left, const void *right)
{
	const struct taker *a = left, *b = right;
	if (a->octets != b->octets)
		return (a->octets < b->octets) - (a->octets > b->octets);
	return (a->port->index > b->port->index) - (a->port->index < b->port->index);
}

static double octets_of(
	const struct series *series, const struct fabric_port *port, int64_t from_ns, int64_t to_ns)
{
	if (to_ns <= from_ns)
		return NAN;
	const double gate = PORT_RATE_PLAUSIBLE * (double)port->speed_bps / 8;
	return octet_rate_between(series, from_ns, to_ns, gate) * (double)(to_ns - from_ns) /
		(double)NS_PER_S;
}

static bool of_job(const struct fabric_port *port, const struct fabric_job *job)
{
	return port->host &&
		(!job || !job->hosts || !*job->hosts || str_glob(job->hosts, port->host));
}

struct taking {
	struct taker *v;
	size_t n, n_receivers;
	double octets; /* of the receivers */
};

struct gathered { /* what each port got in a stretch, and in one of exchange alone */
	struct taker *v;
	double *busy;
	size_t n;
};

static struct gathered storage_gather(const struct fabric *fabric, const struct fabric_job *job,
	const struct window *past, const struct storage_stretch *stretch,
	const struct storage_stretch *busy, struct arena *a)
{
	size_t max = 0;
	for (size_t d = 0; d < fabric->n_devices; d++)
		max += fabric->devices[d]->n_ports;
	struct gathered g = {.v = arena_array(a, struct taker, max + 1),
		.busy = arena_array(a, double, max + 1)};
	for (size_t d = 0; d < fabric->n_devices; d++) {
		for (size_t k = 0; k < fabric->devices[d]->n_ports; k++) {
			const struct fabric_port *p = fabric->devices[d]->ports[k];
			uint32_t entity = ENTITY_NONE;
			if (of_job(p, job))
				entity = entities_find(
					past->entities, p->device->name, p->name, PRIO_NONE);
			const struct series *series = NULL;
			if (entity != ENTITY_NONE)
				series = window_series(past, entity, M_PORT_OUT_OCTETS);
			if (!series)
				continue;
			const double octets =
				octets_of(series, p, stretch->from_ns, stretch->to_ns);
			g.busy[g.n] = octets_of(series, p, busy->from_ns, busy->to_ns);
			if (isnan(octets) || isnan(g.busy[g.n]))
				continue;
			g.v[g.n++] = (struct taker){.port = p, .octets = octets};
		}
	}
	return g;
}

/* The exchange in a stretch, as a part of that in the busy one: most ports take nothing else. */
static double storage_exchange_part(const struct gathered *gathered, struct arena *a)
{
	double *parts = arena_array(a, double, gathered->n + 1);
	size_t n = 0;
	for (size_t i = 0; i < gathered->n; i++)
		if (gathered->busy[i] > 0)
			parts[n++] = gathered->v[i].octets / gathered->busy[i];
	if (!n)
		return 0;
	return stats_median(parts, n);
}

/* Who took what in a stretch, beyond what the exchange brings in it; @busy is a stretch of exchange
 * alone. False: no few receivers. */
static bool taking_of(const struct fabric *fabric, const struct fabric_job *job,
	const struct window *past, const struct storage_stretch *stretch,
	const struct storage_stretch *busy, struct arena *a, struct taking *ret)
{
	const struct gathered g = storage_gather(fabric, job, past, stretch, busy, a);
	const double part = storage_exchange_part(&g, a);
	double all = 0;
	*ret = (struct taking){.v = g.v, .n = g.n};
	for (size_t i = 0; i < g.n; i++) {
		const double usual = part * g.busy[i];
		g.v[i].octets -= usual;
		if (g.v[i].octets > EXCESS_LEAST * usual)
			all += g.v[i].octets;
	}
	qsort(ret->v, ret->n, sizeof(*ret->v), more_first);
	while (ret->n_receivers < ret->n && ret->v[ret->n_receivers].octets > 0 &&
		ret->v[ret->n_receivers].octets >= RECEIVES * ret->v[0].octets)
		ret->octets += ret->v[ret->n_receivers++].octets;
	return ret->n_receivers && (double)ret->n_receivers <= FEW_RECEIVERS * (double)ret->n &&
		ret->octets >= MOST_OCTETS * all;
}

struct storage_pace { /* of the blocks without a phase */
	double usual, scatter; /* median; one standard deviation, as a share of it */
	double mean; /* the better one to compare: blocks hold whole numbers of steps */
};

/*
 * A phase may touch most of the blocks where these are long. So the median of all says nothing: it
 * is that of the blocks near the fastest tenth.
 */
static struct storage_pace storage_pace_of(
	const struct job_rate *rate, size_t from, size_t to, struct arena *a)
{
	struct storage_pace pace = {0};
	double *v = arena_array(a, double, to - from + 1);
	size_t n = 0, kept = 0;
	for (size_t k = from; k < to; k++)
		if (rate->rate[k] > 0)
			v[n++] = rate->rate[k];
	if (!n)
		return pace;
	const double least = BAND * stats_quantile(v, n, 0.9);
	for (size_t k = 0; k < n; k++)
		if (v[k] >= least)
			v[kept++] = v[k];
	pace.mean = rhythm_level(v, kept).mean;
	pace.usual = stats_median(v, kept);
	pace.scatter = STATS_MAD_TO_SIGMA * stats_mad(v, kept, pace.usual) / pace.usual;
	return pace;
}

/* Have the exchanges become slower by @warn since the block at @since_ns? */
static bool storage_exchange_slower(
	const struct job_rate *rate, int64_t since_ns, double warn, struct arena *a)
{
	const size_t at = (size_t)((since_ns - rate->from_ns) / rate->block_ns);
	const struct storage_pace before = storage_pace_of(rate, 0, at, a),
				  after = storage_pace_of(rate, at, rate->n, a);
	return after.mean < (1 - warn) * before.mean;
}

/* The stretch of exchange alone between two phases, the newest one; false: there is none. */
static bool storage_between(
	const struct storage_stretch *stretch, size_t n, struct storage_stretch *ret)
{
	for (size_t k = n - 1; k > 0; k--) {
		*ret = (struct storage_stretch){
			.from_ns = stretch[k - 1].to_ns, .to_ns = stretch[k].from_ns};
		if (ret->to_ns > ret->from_ns)
			return true;
	}
	return false;
}

bool storage_slower(const struct fabric *fabric, const struct throughput *throughput,
	const struct window *past, double warn, struct arena *a, struct storage_phases *ret)
{
	const struct job_rate *r = &throughput->rate;
	struct storage_stretch *s = arena_array(a, struct storage_stretch, r->n + 1), between;
	const struct storage_pace pace = storage_pace_of(r, 0, r->n, a);
	size_t n = 0;
	if (pace.usual > 0)
		n = stretches_of(r, pace.usual, pace.scatter, s);
	const size_t split = split_of(s, n, a);
	if (!split || r->by_uplinks || !storage_between(s, n, &between) ||
		storage_exchange_slower(r, s[split].from_ns, warn, a))
		return false;
	struct taking before, after;
	if (!taking_of(fabric, throughput->job, past, &s[split - 1], &between, a, &before) ||
		!taking_of(fabric, throughput->job, past, &s[n - 1], &between, a, &after) ||
		after.octets < SAME_LEAST * before.octets ||
		after.octets > SAME_MOST * before.octets)
		return false;
	*ret = (struct storage_phases){.n_before = split,
		.n_after = n - split,
		.before_s = storage_phase_median_of(s, split, a),
		.after_s = storage_phase_median_of(s + split, n - split, a),
		.octets_before = before.octets,
		.octets_after = after.octets,
		.since_ns = s[split].from_ns,
		.n_receivers = after.n_receivers,
		.n_hosts = after.n};
	const double period_s = (double)(s[n - 1].to_ns - s[n - 2].to_ns) / 1e9;
	ret->lost_ratio = (ret->after_s - ret->before_s) / (period_s - ret->before_s);
	ret->receivers = arena_array(a, const struct fabric_port *, after.n_receivers);
	for (size_t i = 0; i < after.n_receivers; i++)
		ret->receivers[i] = after.v[i].port;
	return true;
}
