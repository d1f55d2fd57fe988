/* rhythm - throughput of jobs in blocks; robust levels, change points by t-test, period by
 * autocorrelation. */
#include "analyzers/measure/rhythm.h"

#include "analyzers/measure/step_ports.h"
#include "base/stats.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

/* of a block's length must be spanned by samples for a rate */
#define BLOCK_SEEN OCTETS_SEEN
#define FEW_SAMPLES 2 /* in a block, or fewer: its bounds are off by a large part of it */
#define PORTS_SEEN 0.5 /* of the usual load must be heard, for the rest to be stood in for */
/* counters that an agent refreshes more slowly than it is polled */
#define REFRESH_MOST 30 /* samples */
#define REFRESH_MOVES 8 /* that show it */
#define REFRESH_ALIKE 0.8 /* of the moves lie equally far apart */
#define PORTS_FEW 5 /* fewer: nobody can tell who does as most do */
#define PEAK_MIN 0.3 /* autocorrelation below which there is no period */
#define NEARLY 0.85 /* of the best peak: as good */
#define LOW_PART 0.25 /* of the busy slices: what idle ones may hold */
#define SLICES_PER_STEP 2 /* at least */
#define STRETCHES_MIN 4 /* as long as a step, before it is one */
#define STRETCHES_BEGUN 0.75 /* of them in which an exchange begins */

const uint16_t throughput_metrics[] = {M_PORT_OUT_OCTETS, M_PORT_IN_OCTETS};
const size_t throughput_n_metrics = rw_countof(throughput_metrics);

/* ---- throughput ---------------------------------------------------------- */

struct tap { /* one port's counter */
	const struct series *s;
	double gate; /* octets per second that are plausible; 0 = unknown */
	double usual; /* its level over the blocks it is heard in */
	bool left_out; /* it moves more than the steps */
};

struct taps {
	struct tap *v;
	size_t n, n_ports;
};

struct throughput_hosts {
	const struct fabric_port **ports;
	size_t n;
	size_t *next; /* the next port of the same host; NO_PORT: none */
	struct smap *first; /* host -> its first port; owned */
};
#define NO_PORT SIZE_MAX

static size_t fabric_ports(const struct fabric *fabric)
{
	size_t n = 0;
	for (size_t d = 0; d < fabric->n_devices; d++)
		n += fabric->devices[d]->n_ports;
	return n;
}

struct throughput_hosts *throughput_hosts_new(const struct fabric *fabric)
{
	const size_t max = fabric_ports(fabric);
	/* by first port: the newest one */
	rw_cleanup(freep) size_t *last = rw_calloc(max + 1, sizeof(*last));
	struct throughput_hosts *ret = rw_calloc(1, sizeof(*ret));
	ret->first = smap_new();
	ret->ports = rw_calloc(max + 1, sizeof(*ret->ports));
	ret->next = rw_calloc(max + 1, sizeof(*ret->next));
	for (size_t d = 0; d < fabric->n_devices; d++) {
		for (size_t k = 0; k < fabric->devices[d]->n_ports; k++) {
			const struct fabric_port *port = fabric->devices[d]->ports[k];
			uint64_t first = ret->n;
			if (!port->host)
				continue;
			if (smap_get(ret->first, port->host, strlen(port->host), &first))
				ret->next[last[first]] = ret->n;
			else
				smap_put(ret->first, port->host, strlen(port->host), first);
			last[first] = ret->n;
			ret->next[ret->n] = NO_PORT;
			ret->ports[ret->n++] = port;
		}
	}
	return ret;
}

void throughput_hosts_free(struct throughput_hosts *hosts)
{
	smap_free(hosts->first);
	free(hosts->ports);
	free(hosts->next);
	free(hosts);
}

static int place_order(const void *left, const void *right)
{
	const size_t a = *(const size_t *)left, b = *(const size_t *)right;
	return (a > b) - (a < b);
}

/* The ports of the hosts of @job (NULL: of all), in the fabric's order. A job with a pattern looks
 * at every host, one with names only at its own. */
static const struct fabric_port **job_ports(const struct throughput_hosts *hosts,
	const struct fabric_job *job, struct arena *a, size_t *ret_n)
{
	size_t *places = NULL, n = 0, cap = 0;
	const bool every = !job || job->n_globs > 0;
	for (size_t i = 0; every && i < hosts->n; i++) {
		if (job && !fabric_job_has(job, hosts->ports[i]->host))
			continue;
		arena_grow(a, places, n, cap);
		places[n++] = i;
	}
	for (size_t i = 0; !every && i < job->n_names; i++) {
		const char *name = job->names[i]; /* sorted: what is named twice stands together */
		uint64_t at = NO_PORT;
		if (i > 0 && str_eq(name, job->names[i - 1]))
			continue;
		if (!smap_get(hosts->first, name, strlen(name), &at))
			continue;
		for (size_t k = at; k != NO_PORT; k = hosts->next[k]) {
			arena_grow(a, places, n, cap);
			places[n++] = k;
		}
	}
	if (n > 1)
		qsort(places, n, sizeof(*places), place_order);
	const struct fabric_port **ports = arena_array(a, const struct fabric_port *, n + 1);
	for (size_t i = 0; i < n; i++)
		ports[i] = hosts->ports[places[i]];
	*ret_n = n;
	return ports;
}

/* The ports of leaves that lead to other switches. */
static const struct fabric_port **uplink_ports(
	const struct fabric *fabric, struct arena *a, size_t *ret_n)
{
	const struct fabric_port **ports =
		arena_array(a, const struct fabric_port *, fabric_ports(fabric) + 1);
	size_t n = 0;
	for (size_t d = 0; d < fabric->n_devices; d++)
		for (size_t k = 0; k < fabric->devices[d]->n_ports; k++) {
			const struct fabric_port *port = fabric->devices[d]->ports[k];
			if (port->device->role == ROLE_LEAF && port->peer)
				ports[n++] = port;
		}
	*ret_n = n;
	return ports;
}

/*
 * Samples between two moves of a counter, where its agent refreshes it more slowly than it is
 * polled: all moves lie the same number of samples apart. Exchanges of a job do not: sooner or
 * later a poll cuts one of them, and the counter moves twice in a row. 0: it is not so, or not
 * known.
 */
static uint32_t rhythm_refresh(const struct series *series)
{
	uint32_t times[REFRESH_MOST + 1] = {0}, moves = 0, last = 0;
	for (uint32_t i = 1; i < series->n; i++) {
		if (series->value[i] == series->value[i - 1])
			continue;
		if (last && i - last <= REFRESH_MOST)
			times[i - last]++;
		moves += last > 0;
		last = i;
	}
	for (uint32_t gap = 2; gap <= REFRESH_MOST && moves >= REFRESH_MOVES; gap++)
		if (times[gap] >= REFRESH_ALIKE * moves && times[1] == 0)
			return gap;
	return 0;
}

/* @series without the samples that repeat what the agent had cached. A counter that has not moved
 * for longer is one that stands still. */
static const struct series *rhythm_fresh(const struct series *series, struct arena *a)
{
	const uint32_t refresh = rhythm_refresh(series);
	if (!refresh)
		return series;
	struct series *fresh = arena_alloc(a, sizeof(*fresh));
	int64_t *t_ns = arena_array(a, int64_t, series->n);
	uint64_t *value = arena_array(a, uint64_t, series->n);
	uint16_t *flags = arena_array(a, uint16_t, series->n);
	uint32_t *window_ms = arena_array(a, uint32_t, series->n);
	uint32_t n = 0, still = 0;
	for (uint32_t i = 0; i < series->n; i++) {
		still++;
		if (n && series->value[i] == value[n - 1] && still <= refresh + 1)
			continue;
		t_ns[n] = series->t_ns[i];
		value[n] = series->value[i];
		flags[n] = series->flags[i];
		window_ms[n++] = series->window_ms ? series->window_ms[i] : 0;
		still = 0;
	}
	*fresh = *series;
	fresh->t_ns = t_ns;
	fresh->value = value;
	fresh->flags = flags;
	if (series->window_ms)
		fresh->window_ms = window_ms;
	fresh->n = n;
	return fresh;
}

static struct taps taps_of(const struct fabric_port *const *ports, size_t n,
	const struct window *window, unsigned metric, struct arena *a)
{
	struct taps t = {.v = arena_array(a, struct tap, n + 1), .n_ports = n};
	for (size_t i = 0; i < n; i++) {
		const struct fabric_port *p = ports[i];
		const uint32_t entity =
			entities_find(window->entities, p->device->name, p->name, PRIO_NONE);
		const struct series *s = NULL;
		if (entity != ENTITY_NONE)
			s = window_series(window, entity, metric);
		if (s && s->n > 1)
			t.v[t.n++] = (struct tap){.s = rhythm_fresh(s, a),
				.gate = PORT_RATE_PLAUSIBLE * (double)p->speed_bps / 8};
	}
	return t;
}

/* What reaches the hosts; where nobody counts that, what they send; where no host's port is counted
 * at all, what goes up from the leaves. */
static struct taps best_taps(const struct fabric *fabric, const struct throughput_hosts *hosts,
	const struct fabric_job *job, const struct window *window, bool *ret_uplinks,
	struct arena *a)
{
	struct taps t = {0};
	const bool alone = !job || fabric->n_jobs == 1; /* uplinks carry all jobs */
	for (unsigned uplinks = 0; uplinks <= alone; uplinks++) {
		size_t n;
		const struct fabric_port **ports = NULL;
		if (uplinks)
			ports = uplink_ports(fabric, a, &n);
		else
			ports = job_ports(hosts, job, a, &n);
		for (size_t m = 0; m < throughput_n_metrics; m++) {
			t = taps_of(ports, n, window, throughput_metrics[m], a);
			*ret_uplinks = uplinks;
			if (t.n)
				return t;
		}
	}
	return t;
}

/* Octets per second in (from, to]; NAN when too little of it is seen. */
static double tap_rate(const struct tap *tap, int64_t from_ns, int64_t to_ns)
{
	struct increase inc;
	const uint32_t first = series_after(tap->s, from_ns);
	if (first + FEW_SAMPLES >= tap->s->n || tap->s->t_ns[first + FEW_SAMPLES] > to_ns)
		return octet_rate_between(tap->s, from_ns, to_ns, tap->gate);
	if (series_increase(tap->s, from_ns, to_ns, tap->gate, &inc) < 0 ||
		(double)inc.covered_ns < BLOCK_SEEN * (double)(to_ns - from_ns))
		return NAN;
	return (double)inc.value * (double)NS_PER_S / (double)inc.covered_ns;
}

/* Octets a second of all ports that usually move any in @block; NAN when one of them is silent. */
static double block_sum(const struct taps *taps, const double *each, size_t n, size_t block)
{
	double sum = 0;
	for (size_t i = 0; i < taps->n; i++)
		if (taps->v[i].usual > 0)
			sum += each[i * n + block];
	return sum;
}

/*
 * The newest block before @block, else the first one after it, in which all ports were heard and
 * the job was busy; SIZE_MAX: nobody is silent in @block, or there is no such block.
 */
static size_t block_heard(const double *sums, size_t n, size_t block, double usual)
{
	size_t after = SIZE_MAX;
	if (!isnan(sums[block]))
		return SIZE_MAX;
	for (size_t k = block; k > 0; k--)
		if (sums[k - 1] > 0.5 * usual)
			return k - 1;
	for (size_t k = block + 1; k < n && after == SIZE_MAX; k++)
		if (sums[k] > 0.5 * usual)
			after = k;
	return after;
}

/*
 * One block: how much of its usual each port moves, on average over the ports that do as most do.
 * One that moves nothing, or something else, while the others go on has left the job, or is a
 * finding of its own: the steps are no longer for it. NAN when too little is heard.
 *
 * For silent ports, their part of the whole when they were last heard stands in. Their usual part
 * may be that of another time, and a switch that falls silent would change the level.
 */
static double block_rate(const struct taps *taps, const double *each, const double *sums, size_t n,
	size_t block, double usual, double *share)
{
	double heard = 0, sum = 0, weight = 0, all = usual;
	size_t seen = 0;
	for (size_t i = 0; i < taps->n; i++) {
		const double r = each[i * n + block];
		if (isnan(r) || !(taps->v[i].usual > 0))
			continue;
		heard += taps->v[i].usual;
		share[seen++] = r / taps->v[i].usual;
	}
	if (!seen || heard < PORTS_SEEN * usual)
		return NAN;
	double m = NAN;
	if (seen >= PORTS_FEW)
		m = stats_median(share, seen);
	const size_t at = block_heard(sums, n, block, usual);
	if (at != SIZE_MAX)
		all = sums[at];
	for (size_t i = 0; i < taps->n; i++) {
		const double r = each[i * n + block], part = r / taps->v[i].usual;
		if (isnan(r) || !(taps->v[i].usual > 0) || part < 0.5 * m || part > 1.5 * m)
			continue;
		sum += r;
		if (at != SIZE_MAX)
			weight += each[i * n + at];
		else
			weight += taps->v[i].usual;
	}
	if (weight > 0)
		return sum / weight * all;
	return 0;
}

/* The level of each port over the blocks that pass @least; the sum of all. */
static double usual_above(
	struct taps *taps, const double *each, size_t n, double least, struct arena *a)
{
	double *kept = arena_array(a, double, n + 1), sum = 0;
	for (size_t i = 0; i < taps->n; i++) {
		size_t n_kept = 0;
		for (size_t k = 0; k < n; k++)
			if (each[i * n + k] > least)
				kept[n_kept++] = each[i * n + k];
		const struct level level = rhythm_level(kept, n_kept);
		taps->v[i].usual = 0;
		if (level.n && !taps->v[i].left_out)
			taps->v[i].usual = level.mean;
		sum += taps->v[i].usual;
	}
	return sum;
}

/* A job that stood still in most blocks usually moves what it moved in the others: else a job that
 * stopped would not be seen at all, rather than seen to move nothing. */
static double usual_of(struct taps *taps, const double *each, size_t n, struct arena *a)
{
	const double usual = usual_above(taps, each, n, -1, a);
	if (usual > 0)
		return usual;
	return usual_above(taps, each, n, 0, a);
}

static double *tap_blocks(
	const struct taps *taps, int64_t from_ns, int64_t block_ns, size_t n, struct arena *a)
{
	double *each = arena_array(a, double, taps->n *n + 1);
	for (size_t i = 0; i < taps->n; i++)
		for (size_t k = 0; k < n; k++)
			each[i * n + k] = tap_rate(&taps->v[i], from_ns + (int64_t)k * block_ns,
				from_ns + (int64_t)(k + 1) * block_ns);
	return each;
}

/* One block after the other; a port that is not heard counts with its usual share. */
static void sum_blocks(
	struct taps *taps, const double *each, double *rate, size_t n, struct arena *a)
{
	double *share = arena_array(a, double, taps->n + 1), *sums = arena_array(a, double, n + 1);
	const double usual = usual_of(taps, each, n, a);
	for (size_t k = 0; k < n; k++)
		sums[k] = block_sum(taps, each, n, k);
	for (size_t k = 0; k < n; k++)
		rate[k] = block_rate(taps, each, sums, n, k, usual, share);
}

/* The same of the ports that show nothing but steps; the surplus of the others, 0: none is. */
static double sum_steps(
	struct taps *taps, const double *each, double *rate, size_t n, struct arena *a)
{
	struct step_ports ports;
	double *counted = arena_array(a, double, n + 1);
	if (taps->n < PORTS_FEW || !step_ports(each, taps->n, rate, n, a, &ports))
		return 0;
	for (size_t i = 0; i < taps->n; i++)
		taps->v[i].left_out = !ports.counts[i];
	sum_blocks(taps, each, counted, n, a);
	step_ports_fit(&ports, counted, rate, n);
	return ports.surplus_ratio;
}

static double rhythm_coverage_of(const double *rate, size_t n)
{
	size_t first = 0, seen = 0;
	while (first < n && isnan(rate[first]))
		first++;
	for (size_t k = first; k < n; k++)
		seen += !isnan(rate[k]);
	if (first < n)
		return (double)seen / (double)(n - first);
	return NAN;
}

size_t throughput_of(const struct fabric *fabric, const struct window *window, int64_t block_ns,
	struct arena *a, struct throughput **ret)
{
	const size_t n_blocks = (size_t)((window->to_ns - window->from_ns) / block_ns);
	size_t n_jobs = 1;
	if (fabric->n_jobs)
		n_jobs = fabric->n_jobs;
	size_t n = 0;
	struct throughput_hosts *hosts = throughput_hosts_new(fabric);
	*ret = arena_array(a, struct throughput, n_jobs);
	for (size_t j = 0; j < n_jobs; j++) {
		const struct fabric_job *job = NULL;
		if (fabric->n_jobs)
			job = &fabric->jobs[j];
		bool by_uplinks;
		struct taps t = best_taps(fabric, hosts, job, window, &by_uplinks, a);
		if (!t.n || !n_blocks)
			continue;
		double *rate = arena_array(a, double, n_blocks);
		const int64_t from_ns = window->to_ns - (int64_t)n_blocks * block_ns;
		const double *each = tap_blocks(&t, from_ns, block_ns, n_blocks, a);
		sum_blocks(&t, each, rate, n_blocks, a); /* paths choose what an uplink carries */
		const double surplus = by_uplinks ? 0 : sum_steps(&t, each, rate, n_blocks, a);
		(*ret)[n++] = (struct throughput){
			.rate = {.job = job ? job->name : NULL,
				.from_ns = from_ns,
				.block_ns = block_ns,
				.rate = rate,
				.n = n_blocks,
				.by_uplinks = by_uplinks,
				.surplus_ratio = surplus},
			.job = job,
			.n_ports = t.n_ports,
			.n_seen = t.n,
			.coverage_ratio = rhythm_coverage_of(rate, n_blocks),
		};
	}
	throughput_hosts_free(hosts);
	return n;
}

void throughput_slices(const struct fabric *fabric, const struct throughput_hosts *hosts,
	const struct fabric_job *job, const struct window *window, int64_t slice_ns, double *ret,
	size_t n)
{
	struct arena *a = arena_new();
	bool by_uplinks;
	struct taps t = best_taps(fabric, hosts, job, window, &by_uplinks, a);
	const int64_t from_ns = window->to_ns - (int64_t)n * slice_ns;
	for (size_t k = 0; k < n; k++)
		ret[k] = NAN;
	if (t.n)
		sum_blocks(&t, tap_blocks(&t, from_ns, slice_ns, n, a), ret, n, a);
	for (size_t k = 0; k < n; k++)
		ret[k] *= (double)slice_ns / (double)NS_PER_S;
	arena_free(a);
}

/* ---- the step ------------------------------------------------------------ */

/* Autocorrelation at @lag of what is known of @values; NAN when too little is. */
static double rhythm_correlation(
	const double *values, size_t n, size_t lag, double mean, double variance)
{
	double sum = 0;
	size_t pairs = 0;
	for (size_t k = 0; k + lag < n; k++) {
		if (isnan(values[k]) || isnan(values[k + lag]))
			continue;
		sum += (values[k] - mean) * (values[k + lag] - mean);
		pairs++;
	}
	if (pairs >= 8 && variance > 0)
		return sum / (double)pairs / variance;
	return NAN;
}

/* The peak next to @lag with a parabola through its neighbours: a step is rarely a whole number of
 * slices. */
static double peak_at(const double *correlations, size_t n, size_t lag)
{
	if (lag == 0 || lag + 1 >= n)
		return (double)lag;
	const double bend = correlations[lag - 1] - 2 * correlations[lag] + correlations[lag + 1];
	if (bend < 0)
		return (double)lag + 0.5 * (correlations[lag - 1] - correlations[lag + 1]) / bend;
	return (double)lag;
}

static bool is_peak(const double *correlations, size_t n, size_t lag)
{
	return lag > 0 && lag + 1 < n && correlations[lag] >= correlations[lag - 1] &&
		correlations[lag] > correlations[lag + 1];
}

/* The highest peak within @reach of @about and after @last; 0: there is none. */
static size_t top_near(
	const double *correlations, size_t n, size_t about, size_t reach, size_t last)
{
	size_t top = 0, from = last + 1;
	if (about > reach + from)
		from = about - reach;
	for (size_t k = from; k <= about + reach && k + 1 < n; k++)
		if (is_peak(correlations, n, k) && (!top || correlations[k] > correlations[top]))
			top = k;
	return top;
}

/*
 * Many steps on, the same peak tells the step more exactly: follow it from multiple to multiple as
 * long as it is one.
 *
 * Each peak lies after the last one, and the step stays within a slice of @lag: where the job
 * stopped, correlations fall all the way, and the highest peak near a multiple is the one before.
 * Without this the step would shrink with every multiple, and the end never come.
 */
static double rhythm_refine(const double *correlations, size_t n, double lag)
{
	double best = lag;
	size_t last = (size_t)lag;
	for (size_t m = 2; (double)m * best + 2 < (double)n; m++) {
		const size_t about = (size_t)llround((double)m * best),
			     reach = (size_t)(best / 4) + 1;
		const size_t top = top_near(correlations, n, about, reach, last);
		if (!top || correlations[top] < PEAK_MIN)
			break;
		const double step = peak_at(correlations, n, top) / (double)m;
		if (fabs(step - lag) > 1 || step < SLICES_PER_STEP)
			break;
		best = step;
		last = top;
	}
	return best;
}

/*
 * Is there an idle part between exchanges? Slices longer than a step hold some of every exchange,
 * and what looks like a rhythm then is the beat of the step with the polls. @ret_middle lies
 * between what idle and what busy slices hold.
 */
static bool rhythm_breathes(const double *values, size_t n, double *ret_middle)
{
	double *sorted = rw_calloc(n + 1, sizeof(*sorted));
	size_t seen = 0;
	for (size_t k = 0; k < n; k++)
		if (!isnan(values[k]))
			sorted[seen++] = values[k];
	const double low = stats_quantile(sorted, seen, 0.1),
		     high = stats_quantile(sorted, seen, 0.9);
	free(sorted);
	*ret_middle = (low + high) / 2;
	return low < LOW_PART * high;
}

/*
 * Where the step lies between two slices (450 ms in slices of 100), only its multiples fall on one.
 * So parts of @lag are tried: all multiples of a part must correlate nearly as well, less what is
 * lost by being off the slice.
 */
static double smallest_part(const double *correlations, size_t n, double lag)
{
	const double whole = correlations[(size_t)llround(lag)];
	for (unsigned m = 6; m > 1; m--) {
		bool good = lag / m >= SLICES_PER_STEP;
		for (unsigned i = 1; i < m && good; i++) {
			const double at = lag * i / m, off = fabs(at - round(at));
			const size_t k = (size_t)at;
			good = k + 1 < n &&
				fmax(correlations[k], correlations[k + 1]) >=
					NEARLY * (1 - off) * whole;
		}
		if (good)
			return lag / m;
	}
	return lag;
}

/*
 * A step comes back: in nearly each stretch as long as @step slices an exchange begins. One fault
 * and its end, or a fault and a gap in the data, correlate at their distance too, but there is one
 * beginning for each. Stretches of which less than half is seen tell nothing.
 */
static bool rhythm_comes_back(const double *values, size_t n, double step, double middle)
{
	const size_t length = (size_t)ceil(step) + 1;
	size_t told = 0, begun = 0;
	bool was_idle = false;
	for (size_t from = 0; from + length <= n; from += length) {
		size_t seen = 0, begins = 0;
		for (size_t k = from; k < from + length; k++) {
			if (isnan(values[k]))
				continue;
			const bool is_idle = values[k] <= middle;
			begins += was_idle && !is_idle;
			was_idle = is_idle;
			seen++;
		}
		if (2 * seen < length)
			continue;
		told++;
		begun += begins > 0;
	}
	return told >= STRETCHES_MIN && (double)begun >= STRETCHES_BEGUN * (double)told;
}

bool rhythm_period(const double *values, size_t n, int64_t slice_ns, struct period *ret)
{
	*ret = (struct period){.duty_ratio = NAN, .confidence_ratio = NAN};
	double sum = 0, squares = 0, top = 0, middle;
	size_t seen = 0;
	for (size_t k = 0; k < n; k++) {
		if (isnan(values[k]))
			continue;
		sum += values[k];
		squares += values[k] * values[k];
		top = fmax(top, values[k]);
		seen++;
	}
	if (seen < 16 || !rhythm_breathes(values, n, &middle))
		return false;
	const double mean = sum / (double)seen, variance = squares / (double)seen - mean * mean;
	const size_t lags = n / 2;
	double *r = rw_calloc(lags + 1, sizeof(*r)), best = 0;
	for (size_t lag = 0; lag < lags; lag++) {
		r[lag] = rhythm_correlation(values, n, lag, mean, variance);
		if (isnan(r[lag]))
			r[lag] = 0;
	}
	for (size_t lag = SLICES_PER_STEP; lag < lags; lag++)
		if (is_peak(r, lags, lag))
			best = fmax(best, r[lag]);
	size_t lag = SLICES_PER_STEP;
	while (lag < lags && !(is_peak(r, lags, lag) && r[lag] >= NEARLY * best))
		lag++;
	double step = NAN;
	if (lag < lags && best >= PEAK_MIN)
		step = smallest_part(r, lags, rhythm_refine(r, lags, peak_at(r, lags, lag)));
	const bool found = !isnan(step) && rhythm_comes_back(values, n, step, middle);
	if (found) {
		size_t busy = 0;
		for (size_t k = 0; k < n; k++)
			busy += !isnan(values[k]) && values[k] > RHYTHM_IDLE * top;
		ret->period_ns = (int64_t)llround(step * (double)slice_ns);
		ret->duty_ratio = (double)busy / (double)seen;
		ret->exchange_ns = (int64_t)llround(ret->duty_ratio * step * (double)slice_ns);
		ret->confidence_ratio = fmin(1, r[lag]);
	}
	free(r);
	return found;
}

/* ---- step_seen ------------------------------------------------------------- */

/* step_seen - the step from slices of a port's octets: idle ones between busy ones. */

#define SLICES_MAX 600
/* Of all slices: with fewer idle ones the job pauses now and then, as it does to save, and its
 * steps are shorter than a slice. */
#define IDLE_SHARE 0.1
#define STARTS_MIN 3 /* of busy times: two whole steps */

static double step_seen_slice(
	const struct analyzer_in *in, const struct port_seen *port, int64_t from_ns, int64_t to_ns)
{
	static const uint16_t metrics[] = {M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS};
	double sum = NAN;
	for (int k = 0; k < 2; k++) {
		const struct series *s = window_series(in->past, port->entity, metrics[k]);
		double rate = NAN;
		if (s)
			rate = octet_rate_between(s, from_ns, to_ns, 0);
		if (isnan(sum))
			sum = rate;
		else if (!isnan(rate))
			sum += rate;
	}
	return sum;
}

/* From the first begin of a busy time to the last one, over the steps between them. */
static int64_t step_seen_cycle(const double *values, size_t n, double idle, int64_t slice_ns)
{
	size_t starts = 0, first = 0, last = 0;
	bool was_idle = false;
	for (size_t k = 0; k < n; k++) {
		if (isnan(values[k]))
			continue;
		const bool is_idle = values[k] < idle;
		if (was_idle && !is_idle) {
			if (!starts)
				first = k;
			last = k;
			starts++;
		}
		was_idle = is_idle;
	}
	if (starts < STARTS_MIN)
		return 0;
	return (int64_t)(last - first) * slice_ns / (int64_t)(starts - 1);
}

/*
 * Slices hold a number of steps plus or minus one: what they differ by is at most one step, and
 * noise only makes it more.
 */
static int64_t step_seen_bound(const double *sorted, size_t n, int64_t slice_ns)
{
	const double middle = sorted[n / 2];
	const double differ = (sorted[n - 1 - n / 10] - sorted[n / 10]) / middle;
	return (int64_t)(fmin(1, differ) * (double)slice_ns) + 1;
}

int64_t step_seen(const struct analyzer_in *in, const struct port_seen *port, int64_t until_ns)
{
	if (!in->past || port->entity == ENTITY_NONE)
		return 0;
	int64_t slice_ns = NS_PER_S;
	if (in->interval_ns > slice_ns)
		slice_ns = in->interval_ns;
	size_t n = 0;
	if (until_ns > in->past->from_ns)
		n = (size_t)((until_ns - in->past->from_ns) / slice_ns);
	if (n > SLICES_MAX)
		n = SLICES_MAX;
	double *v = arena_array(in->arena, double, n + 1);
	double *sorted = arena_array(in->arena, double, n + 1);
	size_t known = 0, idle = 0;
	for (size_t k = 0; k < n; k++) {
		const int64_t from_ns = until_ns - (int64_t)(n - k) * slice_ns;
		v[k] = step_seen_slice(in, port, from_ns, from_ns + slice_ns);
		if (!isnan(v[k]))
			sorted[known++] = v[k];
	}
	if ((int64_t)known * slice_ns < STEP_WATCH_UNKNOWN_NS || known < STARTS_MIN)
		return 0;
	stats_sort(sorted, known);
	const double silent = RHYTHM_IDLE * sorted[known - 1 - known / 10];
	while (idle < known && sorted[idle] < silent)
		idle++;
	if ((double)idle >= IDLE_SHARE * (double)known)
		return step_seen_cycle(v, n, silent, slice_ns);
	return step_seen_bound(sorted, known, slice_ns);
}

int64_t step_watch_ns(const struct analyzer_in *in, int64_t step_ns)
{
	int64_t watch_ns = STEP_WATCH_STEPS * step_ns;
	if (!step_ns)
		watch_ns = STEP_WATCH_UNKNOWN_NS;
	else if (watch_ns < STEP_WATCH_LEAST_NS)
		watch_ns = STEP_WATCH_LEAST_NS;
	return watch_ns - in->stride_ns;
}

/* ---- burst_seen ------------------------------------------------------------ */

/* burst_seen - bursts among what a port sent from poll to poll, against the median. */

/* In a burst: above the median by this share of it, and by so many standard deviations, as the
 * median deviation tells them. */
#define ABOVE 0.1
#define SCATTERED 4.0
/* From this deviation on a poll holds few steps, one more or less; three hold enough. */
#define SMOOTH 0.05
enum { SMOOTHED_POLLS = 3 };
#define POLLS_MIN 3 /* of the past: fewer do not tell what is usual */
#define MOVES 0.9 /* share of the polls in which the counter moved: it is no agent's cache */
/* A short burst may touch two of them, whenever they come; an incident needs another window. */
#define LASTING_POLLS 2
#define LONGER 1.5 /* times the longest burst before it: no longer one of these */
#define STILL_MAX_NS (60 * NS_PER_S) /* longest burst during which the exchange stands still */

static const struct series *burst_series(const struct analyzer_in *in, const struct port_seen *port)
{
	if (port->entity == ENTITY_NONE)
		return NULL;
	return window_series(in->past, port->entity, M_PORT_OUT_OCTETS);
}

static double burst_rate(const struct series *series, int64_t from_ns, int64_t to_ns)
{
	struct increase inc;
	double rate;
	if (!series || series_rate(series, from_ns, to_ns, 0, &rate, &inc) < 0)
		return NAN;
	return rate;
}

/* What a port sent in (from, to], against its mean over the past; NAN unknown. */
static double burst_part(
	const struct analyzer_in *in, const struct series *series, int64_t from_ns, int64_t to_ns)
{
	const double mean = burst_rate(series, in->past->from_ns, in->past->to_ns);
	if (!(mean > 0))
		return NAN;
	return burst_rate(series, from_ns, to_ns) / mean;
}

/* ... and what most other hosts are sent. */
static double burst_beside(
	const struct analyzer_in *in, const struct port_seen *port, int64_t from_ns, int64_t to_ns)
{
	const struct observed *o = observe(in);
	double *parts = arena_array(in->arena, double, o->n_fabric_ports + 1);
	size_t n = 0;
	for (size_t i = 0; i < o->n_fabric_ports; i++) {
		const struct port_seen *other = &o->ports[i];
		if (!other->port->host || other == port)
			continue;
		const double part = burst_part(in, burst_series(in, other), from_ns, to_ns);
		if (!isnan(part))
			parts[n++] = part;
	}
	if (!n)
		return NAN;
	return stats_median(parts, n);
}

struct burst_polls { /* what was sent from each poll to the next, oldest first */
	struct {
		int64_t from_ns, to_ns;
		double rate; /* octets a second; NAN unknown */
	} * v;
	size_t n, known, moved;
	double usual, above; /* the median; from which rate on it is a burst */
};

/* What is usual among the polls, and from which rate on one is in a burst; returns the standard
 * deviation. */
static double burst_level(struct burst_polls *polls, struct arena *a)
{
	double *sorted = arena_array(a, double, polls->n + 1);
	polls->known = 0;
	for (size_t k = 0; k < polls->n; k++)
		if (!isnan(polls->v[k].rate))
			sorted[polls->known++] = polls->v[k].rate;
	if (!polls->known)
		return NAN;
	polls->usual = stats_median(sorted, polls->known);
	const double sigma = STATS_MAD_TO_SIGMA * stats_mad(sorted, polls->known, polls->usual);
	polls->above = polls->usual + fmax(ABOVE * polls->usual, SCATTERED * sigma);
	return sigma;
}

/* Each poll gets the mean of itself and those before it: together they hold more steps. */
static void burst_smooth(struct burst_polls *polls)
{
	for (size_t k = polls->n; k-- > SMOOTHED_POLLS - 1;) {
		double sum = 0;
		for (size_t i = 0; i < SMOOTHED_POLLS; i++)
			sum += polls->v[k - i].rate;
		polls->v[k].rate = sum / SMOOTHED_POLLS;
	}
}

static struct burst_polls burst_polls_of(const struct analyzer_in *in, const struct series *series)
{
	struct burst_polls b = {0};
	b.v = arena_alloc(in->arena, sizeof(*b.v) * (series->n + 1));
	for (uint32_t i = 1; i < series->n; i++) {
		const int64_t from_ns = series->t_ns[i - 1], to_ns = series->t_ns[i];
		b.v[b.n].from_ns = from_ns;
		b.v[b.n].to_ns = to_ns;
		b.v[b.n].rate = burst_rate(series, from_ns, to_ns);
		b.moved += b.v[b.n].rate > 0;
		b.n++;
	}
	if (burst_level(&b, in->arena) > SMOOTH * b.usual) {
		burst_smooth(&b);
		burst_level(&b, in->arena);
	}
	return b;
}

static bool burst_is(const struct burst_polls *polls, size_t at)
{
	return polls->v[at].rate > polls->above;
}

/* The longest burst before the poll @end, ns. */
static int64_t burst_longest_ns(const struct burst_polls *polls, size_t end)
{
	int64_t longest_ns = 0, run_ns = 0;
	for (size_t k = 0; k < end; k++) {
		if (burst_is(polls, k))
			run_ns += polls->v[k].to_ns - polls->v[k].from_ns;
		else if (!isnan(polls->v[k].rate))
			run_ns = 0;
		if (run_ns > longest_ns)
			longest_ns = run_ns;
	}
	return longest_ns;
}

/* Polls of the burst that still lasts; those between that are not known belong to it. */
static size_t burst_lasting(const struct burst_polls *polls)
{
	size_t lasting = 0;
	for (size_t n = 1; n <= polls->n; n++) {
		const size_t at = polls->n - n;
		if (burst_is(polls, at))
			lasting = n;
		else if (!isnan(polls->v[at].rate))
			break;
	}
	return lasting;
}

/* Is there one in the window that has ended? Its counters begin with the poll before it. */
static bool burst_ended(const struct analyzer_in *in, const struct burst_polls *polls)
{
	for (size_t k = polls->n; k > 0 && polls->v[k - 1].to_ns > in->window->from_ns; k--)
		if (burst_is(polls, k - 1))
			return true;
	return false;
}

/* What a port gets from a poll to the next beside what all others do: a job that waits for storage
 * holds the exchange up, and only its storage gets something. */
enum beside {
	BESIDE_OTHER, /* nothing of these, or not known */
	BESIDE_WITH, /* it gets what the exchange brings, and that goes on */
	BESIDE_MORE, /* more than the exchange brings, and that is held up */
	BESIDE_ALONE, /* ... and that stands still */
};

static enum beside burst_kind(const struct analyzer_in *in, const struct port_seen *port,
	const struct burst_polls *polls, size_t at)
{
	const int64_t from_ns = polls->v[at].from_ns, to_ns = polls->v[at].to_ns;
	const double own = burst_part(in, burst_series(in, port), from_ns, to_ns),
		     part = burst_beside(in, port, from_ns, to_ns);
	if (own >= RHYTHM_IDLE && part < RHYTHM_IDLE)
		return BESIDE_ALONE;
	if (own >= part + RHYTHM_IDLE && part <= 1 - RHYTHM_IDLE)
		return BESIDE_MORE;
	if (own < part + RHYTHM_IDLE && part > 1 - RHYTHM_IDLE)
		return BESIDE_WITH;
	return BESIDE_OTHER;
}

/*
 * Is there a stretch in the window, a minute long at most, in which the exchange is held up and
 * this port is not? Storage that is slow takes less than the exchange usually brings. Where it
 * still lasts the exchange has to stand still: an incast slows it down.
 */
static bool burst_instead(
	const struct analyzer_in *in, const struct port_seen *port, const struct burst_polls *polls)
{
	size_t end = polls->n;
	bool ended = false;
	enum beside kind = BESIDE_OTHER;
	for (; end > 0 && polls->v[end - 1].to_ns > in->window->from_ns; end--) {
		kind = burst_kind(in, port, polls, end - 1);
		if (kind >= BESIDE_MORE)
			break;
		ended |= kind == BESIDE_WITH;
	}
	if (kind < BESIDE_MORE)
		return false;
	bool alone = false;
	int64_t lasts_ns = 0;
	for (size_t k = end; k > 0 && lasts_ns < STILL_MAX_NS; k--) {
		kind = burst_kind(in, port, polls, k - 1);
		if (kind < BESIDE_MORE)
			break;
		alone |= kind == BESIDE_ALONE;
		lasts_ns = polls->v[end - 1].to_ns - polls->v[k - 1].from_ns;
	}
	return (ended || alone) && lasts_ns < STILL_MAX_NS;
}

/* Is there one above what is usual that has ended, or will? */
static bool burst_above(
	const struct analyzer_in *in, const struct port_seen *port, const struct burst_polls *polls)
{
	const size_t lasting = burst_lasting(polls);
	if (!lasting)
		return burst_ended(in, polls);
	const size_t first = polls->n - lasting;
	const int64_t lasts_ns = polls->v[polls->n - 1].to_ns - polls->v[first].from_ns;
	if (lasting < LASTING_POLLS ||
		(double)lasts_ns <= LONGER * (double)burst_longest_ns(polls, first))
		return true;
	/* its first and last poll may hold what came before and after it */
	return lasts_ns < STILL_MAX_NS &&
		burst_beside(in, port, polls->v[first].to_ns, polls->v[polls->n - 1].from_ns) <
		RHYTHM_IDLE;
}

bool burst_seen(const struct analyzer_in *in, const struct port_seen *port)
{
	const struct series *s = NULL;
	if (in->past)
		s = burst_series(in, port);
	if (!s)
		return false;
	const struct burst_polls b = burst_polls_of(in, s);
	if (b.known < POLLS_MIN || (double)b.moved < MOVES * (double)b.known || !(b.usual > 0))
		return false;
	return burst_above(in, port, &b) || burst_instead(in, port, &b);
}
