/*
 * steps - did a training job become slower, and can the network be the reason?
 *
 * One finding per job and window, from the job's throughput in the past (rhythm.h): a change point
 * to a lower level, by more than `warn`, that lasts to this window. Other detectors find the
 * reason, so the cause is `unknown`, and the ledger folds this finding into the incident that
 * explains it. What is decided here is the part of the network:
 *
 *     straggler     network ruled out: pause, CE marks, drops and uplink skew are observable
 *                   everywhere, their counters are alive (moved once, or the feature is on), 99 %
 *                   of the samples are there, and all are silent. A host is late, or all are; no
 *                   counter of a switch can say which
 *     unknown       something is not silent, or not observable; the finding lists it
 *     slow_storage  the exchanges are as before, but checkpoints take longer for the same bytes
 *                   (struct storage_phases)
 *
 * Idle blocks (a checkpoint, a start, the end) are no change: they are left out, and a job that is
 * idle now is not judged. A level above the one before clears. Once the change lies further back
 * than the past, nothing is reported here; the incident keeps its measurements.
 *
 * The job's rates go to the ledger with the findings: they measure what an incident costs
 * (agent/incident/cost.h).
 */

#include "analyzers/analyzer.h"
#include "analyzers/measure/job_limits.h"
#include "analyzers/measure/observe.h"
#include "analyzers/measure/rhythm.h"
#include "analyzers/finding_build.h"
#include "base/stats.h"
#include "db/model/metric.h"
#include "config/fabric.h"
#include "db/series/series.h"

/* ---- checkpoints ----
 *
 * Phases in which a job does not exchange, but many of its hosts send
 * to a few. When they take longer than before for the same bytes, the receivers (storage) are slow:
 * on the same paths the network has carried these bytes faster. Pure.
 *
 * The length of a phase is the time of exchange that it costs: the sum over its blocks of what they
 * lack of the usual rate. So blocks may be longer than a phase.
 */

struct storage_phases {
	/* whole ones on either side of the change: at least two before it, one after it */
	size_t n_before, n_after;
	double before_s, after_s; /* medians of their lengths */
	/* what the receivers got beyond their share of the exchange, in the last of each side */
	double octets_before, octets_after;
	double lost_ratio; /* of the steps between them, by the time that they are longer */
	int64_t since_ns; /* start of the first longer one */
	const struct fabric_port **receivers; /* ports of those that take, most first */
	size_t n_receivers, n_hosts; /* n_hosts: ports of the job that have samples */
};

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

/*
 * storage_slower - true when the later phases are clearly longer, a few receivers take nearly all
 * that is sent in them, that is about as much as before, and the exchanges between the phases have
 * not become slower by the share @warn. @past holds M_PORT_OUT_OCTETS for the time of @throughput.
 * The result lives in @a.
 */
static bool storage_slower(const struct fabric *fabric, const struct throughput *throughput,
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

#define SILENT_PAUSE 0.001 /* share of time; below it, tuning stops as well (docs/tuning.md) */
#define SILENT_MARKS 0.001 /* marked over sent */
#define EVEN 0.2 /* imbalance below the warning of ecmp_imbalance */
#define COVERED 0.99
#define BLOCKS_MIN 8 /* busy blocks needed for a comparison */
/* busy blocks that make a level: a checkpoint that touches two or three blocks does not */
#define LEVEL_MIN 4
#define BLOCK_MIN_NS (5 * NS_PER_S) /* holds several steps */
#define SEGMENTS_MAX 16
#define LOSS_STORAGE 0.02 /* share of wall time from which it is a warning */
#define RECEIVERS_SHOWN 8

static const struct option rows[] = {
	{"warn", OPT_RATIO, offsetof(struct steps_options, warn), "3%", "1%", "100%", NULL,
		"change of a job's throughput that counts; smaller ones drown in the steps a "
		"window cuts in two"},
	{"window", OPT_DURATION, offsetof(struct steps_options, window_ns), "0s", "0s", "1h", NULL,
		"time one measurement spans, several steps; 0 = three sampling intervals, at least "
		"5 s"},
	{"past", OPT_DURATION, offsetof(struct steps_options, past_ns), "0s", "0s", "7d", NULL,
		"how far back throughput is compared; kept in memory for every port; 0 = sixty "
		"windows, at least 10 minutes"},
	{"hold", OPT_INT, offsetof(struct steps_options, hold), "2", "1", "10000", NULL,
		"windows above the threshold, of the last hold + 2, before an incident opens"},
};

/* ---- can the network be the reason? -------------------------------------- */

struct signal_seen { /* of one kind of signal, over all ports that count */
	const char *name;
	size_t asked, seen; /* places where it should be counted; where it is observable and its
			       counter alive */
	double worst; /* NAN none */
	double limit;
};

enum { SIGNAL_PAUSE, SIGNAL_MARKS, SIGNAL_DROPS, SIGNAL_SKEW, SIGNAL_COVERAGE, SIGNAL_COUNT };

static void steps_saw(struct signal_seen *sight, bool observable, double value)
{
	sight->asked++;
	sight->seen += observable;
	if (observable)
		sight->worst = fmax(sight->worst, value); /* of NAN and a number: the number */
}

/* Pause and CE: a counter that never moved proves nothing, unless the feature is on. */
static void steps_look_at_prio(const struct port_prio *prio, struct signal_seen *sight)
{
	const bool pfc_on = prio->pfc_enabled > 0, ecn_on = prio->ecn_enabled > 0;
	steps_saw(&sight[SIGNAL_PAUSE],
		!isnan(prio->rx_pause.hi) && (prio->rx_pause.alive || pfc_on), prio->rx_pause.hi);
	steps_saw(&sight[SIGNAL_PAUSE],
		!isnan(prio->tx_pause.hi) && (prio->tx_pause.alive || pfc_on), prio->tx_pause.hi);
	const bool marks = prio->marked.known && (prio->marked.alive || ecn_on);
	double marked = prio->marked.value > 0;
	if (marks && prio->out_packets.known && prio->out_packets.value > 0)
		marked = prio->marked.value / prio->out_packets.value;
	steps_saw(&sight[SIGNAL_MARKS], marks, marked);
	steps_saw(&sight[SIGNAL_DROPS], prio->drops.known || prio->pg_drops.known,
		prio->drops.value + prio->pg_drops.value);
}

static void steps_look_at_group(const struct observed *observed, const struct fabric_group *group,
	struct signal_seen *sight)
{
	double sum = 0, top = 0;
	bool known = group->n_members > 1;
	for (size_t i = 0; i < group->n_members && known; i++) {
		const struct port_seen *p = observed_port(observed, group->members[i]);
		known = p && p->out_known;
		if (known)
			sum += p->out.rate_bps;
		if (known)
			top = fmax(top, p->out.rate_bps);
	}
	if (group->n_members > 1)
		steps_saw(&sight[SIGNAL_SKEW], known,
			known && sum > 0 ? top * (double)group->n_members / sum - 1 : 0);
}

static void steps_look_around(const struct observed *observed, struct signal_seen *sight)
{
	static const struct signal_seen blank[SIGNAL_COUNT] = {
		{"pause", 0, 0, NAN, SILENT_PAUSE},
		{"CE marks", 0, 0, NAN, SILENT_MARKS},
		{"drops", 0, 0, NAN, 0},
		{"uplink skew", 0, 0, NAN, EVEN},
		{"missing samples", 0, 0, NAN, 1 - COVERED},
	};
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		sight[i] = blank[i];
	for (size_t i = 0; i < observed->n_fabric_ports; i++) {
		const struct port_seen *p = &observed->ports[i];
		const double coverage = observed_coverage(p);
		steps_saw(&sight[SIGNAL_COVERAGE], !isnan(coverage), 1 - coverage);
		for (int c = 0; c < OBSERVED_PRIORITIES; c++) {
			if (!(observed->fabric->lossless_mask >> c & 1))
				continue;
			if (p->prios[c]) {
				steps_look_at_prio(p->prios[c], sight);
			} else {
				steps_saw(&sight[SIGNAL_PAUSE], false, NAN);
				steps_saw(&sight[SIGNAL_MARKS], false, NAN);
				steps_saw(&sight[SIGNAL_DROPS], false, NAN);
			}
		}
	}
	for (size_t d = 0; d < observed->n_devices; d++)
		for (size_t g = 0; g < observed->devices[d].device->n_groups; g++)
			steps_look_at_group(
				observed, &observed->devices[d].device->groups[g], sight);
}

enum network { NETWORK_RULED_OUT, NETWORK_NOT_PROVEN, NETWORK_NOT_SILENT };

/* Ruled out when all signals are proven silent; the finding gets the reasons either way. */
static enum network steps_rule_out_network(struct draft *draft, const struct observed *observed)
{
	struct signal_seen s[SIGNAL_COUNT];
	bool proven = true, silent = true;
	steps_look_around(observed, s);
	for (size_t i = 0; i < SIGNAL_COUNT; i++) {
		if (s[i].asked == 0 && i == SIGNAL_SKEW)
			continue; /* no group whose members could differ */
		const bool loud = s[i].worst > s[i].limit,
			   unseen = s[i].asked == 0 || s[i].seen < s[i].asked;
		if (loud) {
			finding_against(draft, "not silent: %s up to %.3g (limit %.3g)", s[i].name,
				s[i].worst, s[i].limit);
			/* missing samples are no sign of trouble */
			silent &= i == SIGNAL_COVERAGE;
		}
		if (unseen)
			finding_unproved(draft,
				"not observable: %s at %zu of %zu places (no counter, or it never "
				"moved)",
				s[i].name, s[i].asked - s[i].seen, s[i].asked);
		if (!loud && !unseen)
			finding_ruled_out(draft, "%s: observable at all %zu places, at most %.3g",
				s[i].name, s[i].asked, s[i].worst);
		proven &= !loud && !unseen;
	}
	if (!silent)
		return NETWORK_NOT_SILENT;
	if (proven)
		return NETWORK_RULED_OUT;
	return NETWORK_NOT_PROVEN;
}

/* ---- one job ------------------------------------------------------------- */

struct pace {
	size_t n; /* busy blocks */
	struct level base, now; /* the best earlier level; that of now */
	int64_t since_ns; /* when it changed */
	bool idle, changed;
};

static struct pace pace_of(const struct job_rate *r, double least, struct arena *a)
{
	double *v = arena_array(a, double, r->n + 1);
	size_t *at = arena_array(a, size_t, r->n + 1);
	struct segment s[SEGMENTS_MAX];
	struct pace p = {.n = rhythm_busy(r->rate, r->n, v, at),
		.base = {.mean = NAN},
		.now = {.mean = NAN}};
	p.idle = p.n == 0 || (at[p.n - 1] + 2 < r->n && !isnan(r->rate[r->n - 1]));
	if (p.n < BLOCKS_MIN)
		return p;
	const size_t n = rhythm_segments(v, p.n, least, s, SEGMENTS_MAX);
	p.now = s[n - 1].level;
	p.changed = n > 1 && s[n - 1].to - s[n - 1].from >= LEVEL_MIN;
	for (size_t i = 0; i + 1 < n; i++)
		if (isnan(p.base.mean) || s[i].level.mean > p.base.mean)
			p.base = s[i].level;
	if (!p.changed)
		p.base = p.now;
	p.since_ns = r->from_ns + (int64_t)at[s[n - 1].from] * r->block_ns;
	return p;
}

/*
 * The same rates in blocks of @times as long, with the newest one whole. A block is known when half
 * of its parts are: the newest sample of a switch is often a little older than the window's end,
 * so that the newest part is not covered.
 */
static struct job_rate steps_coarser(const struct job_rate *fine, size_t times, struct arena *a)
{
	const size_t n = fine->n / times, skip = fine->n - n * times;
	double *rate = arena_array(a, double, n + 1);
	for (size_t k = 0; k < n; k++) {
		double sum = 0;
		size_t known = 0;
		for (size_t i = 0; i < times; i++) {
			const double part = fine->rate[skip + k * times + i];
			if (isnan(part))
				continue;
			sum += part;
			known++;
		}
		rate[k] = NAN;
		if (known && 2 * known >= times)
			rate[k] = sum / (double)known;
	}
	struct job_rate coarse = *fine;
	coarse.rate = rate;
	coarse.n = n;
	coarse.block_ns = fine->block_ns * (int64_t)times;
	coarse.from_ns = fine->from_ns + (int64_t)skip * fine->block_ns;
	return coarse;
}

/*
 * How long one block is: one interval between samples where that holds several steps. A change is
 * then seen in a few polls. An explicit window is what the user wants to be compared.
 */
static int64_t steps_block_ns(const struct analyzer_in *in)
{
	const struct steps_options *o = in->options;
	const int64_t window_ns = in->window->to_ns - in->window->from_ns;
	if (o->window_ns > 0 || in->interval_ns <= 0)
		return window_ns;
	const int64_t intervals = (BLOCK_MIN_NS + in->interval_ns - 1) / in->interval_ns;
	const int64_t block_ns = intervals * in->interval_ns;
	if (window_ns % block_ns)
		return window_ns;
	return block_ns;
}

static const char *steps_job_name(const struct throughput *throughput, const char *otherwise)
{
	if (throughput->job)
		return throughput->job->name;
	return otherwise;
}

/* Share of the samples that are there, 0 when unknown. */
static double steps_coverage(const struct throughput *throughput)
{
	if (isnan(throughput->coverage_ratio))
		return 0;
	return fmin(1, throughput->coverage_ratio);
}

static void steps_advise(struct draft *draft, enum network network)
{
	if (network == NETWORK_NOT_SILENT)
		finding_step(draft,
			"check the signals above that are active: rocewatch incident list, "
			"rocewatch pause, rocewatch ecmp",
			"none: read only");
	else if (network == NETWORK_RULED_OUT)
		finding_step(draft,
			"check the hosts: storage, input pipeline, GPU clocks and the slowest "
			"rank; rocewatch steps shows when it began",
			"none: read only");
	else
		finding_step(draft,
			"provide what is missing above (an interface with pause time, CE marks and "
			"drops); until then the network can neither be blamed nor ruled out",
			"none: read only");
	finding_step(draft, "run rocewatch steps --since 1h", "none: read only");
}

/* Checkpoints that take longer for the same bytes, while the exchanges between them are as before.
 */
static void steps_report_storage(const struct storage_phases *phases,
	const struct throughput *throughput, struct draft *draft)
{
	const char *who = steps_job_name(throughput, "the job");
	draft->f->cause = CAUSE_SLOW_STORAGE;
	const bool repeated = phases->n_after > 1;
	if (phases->lost_ratio >= LOSS_STORAGE && repeated)
		draft->f->severity = SEV_WARNING;
	else
		draft->f->severity = SEV_INFO;
	draft->f->value = draft->f->loss_ratio = phases->lost_ratio;
	draft->f->confidence_ratio = 0.55 * steps_coverage(throughput);
	if (repeated)
		draft->f->confidence_ratio = 0.75 * steps_coverage(throughput);
	draft->f->summary = arena_printf(draft->a,
		"%s waits longer for storage: its checkpoints take %.3g s instead of %.3g s for "
		"the same bytes (%.1f %% of its steps); the exchanges between them are as before",
		who, phases->after_s, phases->before_s, 100 * phases->lost_ratio);
	if (!repeated)
		finding_unproved(
			draft, "one checkpoint only: the next one shows whether it stays so");
	finding_rests_on(draft,
		"%zu checkpoints before and %zu since; in each, %zu of %zu ports receive what the "
		"others send",
		phases->n_before, phases->n_after, phases->n_receivers, phases->n_hosts);
	finding_ruled_out(draft,
		"network: the same bytes took %.3g s the same way before; pause or marks during "
		"checkpoints have findings of their own",
		phases->before_s);
	finding_ruled_out(draft, "larger checkpoint: %s instead of %s",
		number_size(phases->octets_after).s, number_size(phases->octets_before).s);
	finding_evidence_device(
		draft, "job.checkpoint_s.before", NULL, phases->before_s, "s", QUALITY_ESTIMATED);
	finding_evidence_device(
		draft, "job.checkpoint_s", NULL, phases->after_s, "s", QUALITY_ESTIMATED);
	finding_evidence_device(draft, "job.checkpoint_octets", NULL, phases->octets_after, "bytes",
		QUALITY_ESTIMATED);
	finding_evidence_device(draft, "job.slower_for_s", NULL,
		(double)(draft->f->to_ns - phases->since_ns) / 1e9, "s", QUALITY_ESTIMATED);
	for (size_t i = 0; i < phases->n_receivers && i < RECEIVERS_SHOWN; i++)
		finding_add_role(draft, "culprit", "host:%s", phases->receivers[i]->host);
	finding_steps(draft, CAUSE_SLOW_STORAGE, 0);
}

/* The job is slower by the share @lost: the part of the network, and the numbers. */
static void steps_report_slower(const struct analyzer_in *in, const struct throughput *throughput,
	const struct pace *pace, double lost, struct draft *draft)
{
	static const char *const words[] = {
		[NETWORK_RULED_OUT] = "network ruled out",
		[NETWORK_NOT_PROVEN] =
			"nothing seen in the network, but not everything is observable",
		[NETWORK_NOT_SILENT] =
			"pause, marks, drops or uplink skew are active; network share unknown",
	};
	const enum network network = steps_rule_out_network(draft, observe(in));
	const bool proven = network == NETWORK_RULED_OUT;
	const char *who = steps_job_name(throughput, "the job");
	if (proven)
		draft->f->cause = CAUSE_STRAGGLER;
	if (lost >= JOB_LOSS_WARNING && !proven)
		draft->f->severity = SEV_WARNING;
	else
		draft->f->severity = SEV_INFO;
	draft->f->loss_ratio = lost;
	draft->f->explained_ratio = 0;
	draft->f->summary =
		arena_printf(draft->a, "%s moves %.1f %% fewer bytes per second: steps x%.3g; %s",
			who, 100 * lost, 1 / (1 - lost), words[network]);
	draft->f->confidence_ratio = 0.4 * steps_coverage(throughput);
	if (proven)
		draft->f->confidence_ratio = 0.8 * steps_coverage(throughput);
	finding_rests_on(draft, "%s: %zu of %zu ports, %zu busy blocks of %.0f s",
		throughput->rate.by_uplinks ? "octets of leaf uplinks (no host port is counted)"
					    : "octets of host ports",
		throughput->n_seen, throughput->n_ports, pace->n,
		(double)throughput->rate.block_ns / 1e9);
	finding_unproved(draft,
		"every step moves the same bytes; a job that entered another phase looks the same");
	finding_evidence_device(
		draft, "job.octets_per_s.before", NULL, pace->base.mean, "bytes/s", QUALITY_EXACT);
	finding_evidence_device(
		draft, "job.octets_per_s", NULL, pace->now.mean, "bytes/s", QUALITY_EXACT);
	finding_evidence_device(draft, "job.slower_for_s", NULL,
		(double)(draft->f->to_ns - pace->since_ns) / 1e9, "s", QUALITY_ESTIMATED);
	steps_advise(draft, network);
}

/*
 * The pace in whole windows, whose blocks scatter least; where these show no change yet, in single
 * blocks, which show a large change after a few polls.
 */
static struct pace steps_pace(const struct throughput *throughput, const struct job_rate *coarse,
	double warn, struct arena *a)
{
	const struct pace slow = pace_of(coarse, warn, a);
	if (slow.changed || slow.idle || throughput->rate.block_ns == coarse->block_ns)
		return slow;
	const struct pace fast = pace_of(&throughput->rate, warn, a);
	if (fast.changed)
		return fast;
	return slow;
}

static void steps_judge(const struct analyzer_in *in, const struct throughput *throughput,
	const struct job_rate *coarse, struct finding_list *out)
{
	const struct steps_options *o = in->options;
	struct arena *a = in->arena;
	const struct pace p = steps_pace(throughput, coarse, o->warn, a);
	double lost = 0;
	if (p.changed)
		lost = 1 - p.now.mean / p.base.mean;
	struct storage_phases storage;
	const bool waits =
		!p.idle && storage_slower(in->fabric, throughput, in->past, o->warn, a, &storage);
	const bool slower = p.changed && lost > o->warn && !waits;
	/* the present level may be older than the past in memory: the one before it is unknown, so
	 * it closes nothing */
	const bool better = p.changed && !slower;
	enum finding_verdict verdict = FINDING_IDLE;
	if (slower || waits)
		verdict = FINDING_OVER;
	else if (better && !p.idle)
		verdict = FINDING_UNDER;
	struct draft f = finding_new(out, in, "steps", verdict, o->hold);
	f.f->cause = CAUSE_UNKNOWN;
	f.f->group = arena_printf(a, "job:%s", steps_job_name(throughput, "*"));
	f.f->coverage_ratio = throughput->coverage_ratio;
	f.f->warn = o->warn;
	f.f->value = lost;
	if (p.idle)
		f.f->summary = "idle";
	else
		f.f->summary = "steady";
	if (waits)
		steps_report_storage(&storage, throughput, &f);
	if (slower)
		steps_report_slower(in, throughput, &p, lost, &f);
}

static int steps_run(const struct analyzer_in *in, struct finding_list *out)
{
	struct throughput *t;
	const int64_t block_ns = steps_block_ns(in);
	const int64_t window_ns = in->window->to_ns - in->window->from_ns;
	const size_t n = throughput_of(in->fabric, in->past, block_ns, in->arena, &t);
	struct job_rate *jobs = arena_array(in->arena, struct job_rate, n + 1);
	for (size_t i = 0; i < n; i++) {
		jobs[i] = steps_coarser(&t[i].rate, (size_t)(window_ns / block_ns), in->arena);
		jobs[i].fine = &t[i].rate;
		steps_judge(in, &t[i], &jobs[i], out);
	}
	out->jobs = jobs;
	out->n_jobs = n;
	return 0;
}

const struct analyzer analyzer_steps = {
	.name = "steps",
	.phase = 140,
	.doc = "throughput of each training job: change points, and whether the network can be the "
	       "reason",
	.options = {"analyzers", "steps", sizeof(struct steps_options), rows, rw_countof(rows),
		"throughput of training jobs and its changes"},
	.strides = 1,
	.window_offset = offsetof(struct steps_options, window_ns),
	.observes = true,
	.past_offset = offsetof(struct steps_options, past_ns),
	.past = {.metrics = throughput_metrics, .n_metrics = 2},
	.run = steps_run,
};
