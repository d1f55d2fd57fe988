/* storage_phase - finds the phases by what blocks lack of the usual rate, and compares their
 * lengths. */
#include "analyzers/measure/storage_phase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/clock.h"
#include "agent/base/stats.h"
#include "agent/base/str.h"
#include "analyzers/measure/port_rate.h"
#include "db/model/metric.h"

/* A block belongs to a phase when it lacks this share of the usual rate, and this many times what
 * blocks scatter upwards of their median: a step that is cut by two blocks is no phase. */
#define LACKING 0.05
#define SCATTERED 4.0
#define LONGER 1.4 /* medians of the lengths */
#define APART 1.15 /* the shortest of the later ones over the longest of the earlier ones */
#define SIDES_MIN 2
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
	for (size_t at = SIDES_MIN; at + SIDES_MIN <= n; at++) {
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
	struct increase inc;
	if (to_ns <= from_ns ||
		series_increase(series, from_ns, to_ns,
			PORT_RATE_PLAUSIBLE * (double)port->speed_bps / 8, &inc) < 0)
		return NAN;
	return (double)inc.value;
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

/* Who took what in a stretch, beyond what the exchange brings in the time that is left of it; @busy
 * is a stretch of exchange alone. False: no few receivers. */
static bool taking_of(const struct fabric *fabric, const struct fabric_job *job,
	const struct window *past, const struct storage_stretch *stretch,
	const struct storage_stretch *busy, struct arena *a, struct taking *ret)
{
	const double part = ((double)(stretch->to_ns - stretch->from_ns) / 1e9 - stretch->lost_s) /
		((double)(busy->to_ns - busy->from_ns) / 1e9);
	double all = 0;
	size_t max = 0;
	for (size_t d = 0; d < fabric->n_devices; d++)
		max += fabric->devices[d]->n_ports;
	*ret = (struct taking){.v = arena_array(a, struct taker, max + 1)};
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
			const double usual = part *
				octets_of(series, p, busy->from_ns, busy->to_ns),
				     octets = octets_of(
						      series, p, stretch->from_ns, stretch->to_ns) -
				usual;
			if (isnan(octets))
				continue;
			ret->v[ret->n++] = (struct taker){.port = p, .octets = octets};
			if (octets > EXCESS_LEAST * usual)
				all += octets;
		}
	}
	qsort(ret->v, ret->n, sizeof(*ret->v), more_first);
	while (ret->n_receivers < ret->n && ret->v[ret->n_receivers].octets > 0 &&
		ret->v[ret->n_receivers].octets >= RECEIVES * ret->v[0].octets)
		ret->octets += ret->v[ret->n_receivers++].octets;
	return ret->n_receivers && (double)ret->n_receivers <= FEW_RECEIVERS * (double)ret->n &&
		ret->octets >= MOST_OCTETS * all;
}

bool storage_slower(const struct fabric *fabric, const struct throughput *throughput,
	const struct window *past, struct arena *a, struct storage_phases *ret)
{
	const struct job_rate *r = &throughput->rate;
	double *v = arena_array(a, double, r->n + 1);
	size_t *at = arena_array(a, size_t, r->n + 1);
	struct storage_stretch *s = arena_array(a, struct storage_stretch, r->n + 1);
	const size_t busy = rhythm_busy(r->rate, r->n, v, at);
	/* one standard deviation; below it lie the stretches */
	const double usual = stats_median(v, busy),
		     scatter = (stats_quantile(v, busy, 0.84) - usual) / usual;
	size_t n = 0;
	if (usual > 0)
		n = stretches_of(r, usual, scatter, s);
	const size_t split = split_of(s, n, a);
	if (!split || r->by_uplinks)
		return false;
	struct taking before, after;
	const struct storage_stretch between = {
		.from_ns = s[n - 2].to_ns, .to_ns = s[n - 1].from_ns};
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
	ret->lost_ratio =
		(ret->after_s - ret->before_s) / ((double)(s[n - 1].to_ns - s[n - 2].to_ns) / 1e9);
	ret->receivers = arena_array(a, const struct fabric_port *, after.n_receivers);
	for (size_t i = 0; i < after.n_receivers; i++)
		ret->receivers[i] = after.v[i].port;
	return true;
}
