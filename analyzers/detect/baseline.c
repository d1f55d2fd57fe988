/*
 * baseline - pause or marks of a queue that have grown against the queue's own past, although no
 * rule has a limit for them. Reported as information.
 *
 * The past is cut into twelve parts. Over: the newest three parts all lie above every earlier one,
 * and their median lies above the median of the earlier ones by more than RARE robust deviations
 * (1.4826 x median absolute deviation of the differences between neighbours, over the root of two:
 * the standard deviation of normal noise, whatever the trend) and by more than the limit of the
 * option. Inputs, for each lossless priority: the share of time we paused the neighbour, the share
 * of time it paused us, and the share of packets marked CE. Upper bounds from PFC frame counts
 * cannot show a drift and are left out. The ledger folds the finding into the incident of a named
 * cause.
 */

#include "base/stats.h"
#include "analyzers/analyzer.h"
#include "analyzers/measure/observe.h"
#include "analyzers/finding_build.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

#define PARTS 12
#define NEWEST 3
#define EARLIER_MIN 6 /* known parts of the earlier nine */
#define RARE 6.0
#define PACKETS_MIN 1000 /* fewer give no usable share */

struct baseline_options {
	double pause, marks;
	int64_t window_ns, past_ns, hold;
};

static const struct option rows[] = {
	{"pause", OPT_RATIO, offsetof(struct baseline_options, pause), "0.5%", "0%", "100%", NULL,
		"growth of the share of time paused that is reported"},
	{"marks", OPT_RATIO, offsetof(struct baseline_options, marks), "2%", "0%", "100%", NULL,
		"growth of the share of packets marked CE that is reported"},
	{"window", OPT_DURATION, offsetof(struct baseline_options, window_ns), "0s", "0s", "1h",
		NULL, "evaluation window; 0 = three sampling intervals, at least 5 s"},
	{"past", OPT_DURATION, offsetof(struct baseline_options, past_ns), "0s", "0s", "7d", NULL,
		"how long the past is that a queue is compared with, kept in memory for every "
		"queue; 0 = sixty windows, at least 10 minutes"},
	{"hold", OPT_INT, offsetof(struct baseline_options, hold), "5", "1", "10000", NULL,
		"windows above, of the last hold + 2, before an incident opens"},
};

static const uint16_t past_metrics[] = {
	M_PFC_TX_PAUSE_NS, M_PFC_RX_PAUSE_NS, M_QUEUE_ECN_MARKED, M_QUEUE_OUT_PACKETS};

static const struct baseline_signal { /* numerator over time, or over @over */
	const char *name, *what;
	uint16_t metric;
	uint16_t over; /* METRIC_COUNT: over the time watched, ns */
	size_t floor; /* of the option */
} signals[] = {
	{"pfc.tx_pause_ratio", "time we pause the neighbour", M_PFC_TX_PAUSE_NS, METRIC_COUNT,
		offsetof(struct baseline_options, pause)},
	{"pfc.rx_pause_ratio", "time the neighbour pauses us", M_PFC_RX_PAUSE_NS, METRIC_COUNT,
		offsetof(struct baseline_options, pause)},
	{"queue.ce_ratio", "share of packets marked CE", M_QUEUE_ECN_MARKED, M_QUEUE_OUT_PACKETS,
		offsetof(struct baseline_options, marks)},
};

/* The share of @numerator over time, or over @denominator, in (from, to]; NAN when too little is
 * known. */
static double baseline_part_of(const struct series *numerator, const struct series *denominator,
	int64_t from_ns, int64_t to_ns)
{
	struct increase num, den;
	if (series_increase(numerator, from_ns, to_ns, 0, &num) < 0 ||
		num.covered_ns < (to_ns - from_ns) / 2)
		return NAN;
	if (!denominator)
		return (double)num.value / (double)num.covered_ns;
	if (series_increase(denominator, from_ns, to_ns, 0, &den) < 0 || den.value < PACKETS_MIN)
		return NAN;
	return (double)num.value / (double)den.value;
}

struct signal_drift {
	double before, now, spread; /* medians; of the earlier parts */
	double newest_low, earlier_high;
	bool known;
};

/* Of a series that stands still only its instants count, and ports of a device share them. */
struct still_drift {
	const int64_t *t_ns; /* NULL: of none yet */
	uint32_t n;
	struct signal_drift drift;
};

/* Noise, by the differences of neighbours about their median, so that a steady growth is not taken
 * for noise. */
static double baseline_spread_of(double *steps, size_t n)
{
	const double usual = stats_median(steps, n);
	return STATS_MAD_TO_SIGMA * stats_mad(steps, n, usual) / sqrt(2);
}

static struct signal_drift drift_of(const struct window *past, uint32_t entity,
	const struct baseline_signal *signal, struct still_drift *still)
{
	const int64_t length = (past->to_ns - past->from_ns) / PARTS;
	double earlier[PARTS], newest[NEWEST], steps[PARTS];
	size_t n = 0, m = 0;
	struct signal_drift d = {.newest_low = INFINITY, .earlier_high = -INFINITY};
	const struct series *num = window_series(past, entity, signal->metric);
	const struct series *den = NULL;
	if (signal->over != METRIC_COUNT)
		den = window_series(past, entity, signal->over);
	if (!num || (signal->over != METRIC_COUNT && !den))
		return d;
	const bool stands = num->flat && !den;
	if (stands && still->t_ns == num->t_ns && still->n == num->n)
		return still->drift;
	for (unsigned k = 0; k < PARTS; k++) {
		const double v = baseline_part_of(
			num, den, past->from_ns + k * length, past->from_ns + (k + 1) * length);
		if (isnan(v))
			continue;
		if (k >= PARTS - NEWEST) {
			newest[m++] = v;
			d.newest_low = fmin(d.newest_low, v);
		} else {
			if (n)
				steps[n - 1] = v - earlier[n - 1];
			earlier[n++] = v;
			d.earlier_high = fmax(d.earlier_high, v);
		}
	}
	d.known = n >= EARLIER_MIN && m == NEWEST;
	if (d.known) {
		d.before = stats_median(earlier, n);
		d.now = stats_median(newest, m);
		d.spread = baseline_spread_of(steps, n - 1);
	}
	if (stands)
		*still = (struct still_drift){num->t_ns, num->n, d};
	return d;
}

struct growth { /* of the signal of one queue that grew most */
	const struct baseline_signal *signal; /* NULL: none grew beyond its limit */
	struct signal_drift drift;
	double times; /* growth over its limit */
	bool known; /* some signal has a past */
};

static struct growth growth_of(const struct analyzer_in *in, const struct port_prio *prio,
	struct still_drift still[rw_countof(signals)])
{
	struct growth g = {0};
	/* the past has the same entities as the window */
	const uint32_t entity = prio->port->prio_entity[prio->priority];
	for (size_t k = 0; entity != ENTITY_NONE && k < rw_countof(signals); k++) {
		double floor;
		memcpy(&floor, (const char *)in->options + signals[k].floor, sizeof(floor));
		const struct signal_drift d = drift_of(in->past, entity, &signals[k], &still[k]);
		g.known = g.known || d.known;
		const double limit = fmax(floor, RARE * d.spread);
		double times = 0;
		if (d.known && limit > 0)
			times = (d.now - d.before) / limit;
		if (times > 1 && times > g.times && d.newest_low > d.earlier_high) {
			g.signal = &signals[k];
			g.drift = d;
			g.times = times;
		}
	}
	return g;
}

static void baseline_judge(const struct analyzer_in *in, const struct port_prio *prio,
	struct still_drift still[rw_countof(signals)], struct finding_list *out)
{
	const struct baseline_options *o = in->options;
	const struct growth g = growth_of(in, prio, still);
	if (!g.known)
		return;
	if (!g.signal && finding_is_clear(out, in, "baseline", prio->port->port->device->name, 1))
		return;
	struct draft t =
		finding_new(out, in, "baseline", g.signal ? FINDING_OVER : FINDING_UNDER, o->hold);
	finding_subject(&t, prio->port);
	t.f->priority = prio->priority;
	t.f->cause = CAUSE_BASELINE_DRIFT;
	t.f->severity = SEV_INFO;
	t.f->summary = "as before";
	if (!g.signal)
		return;
	t.f->value = g.times;
	t.f->warn = 1;
	t.f->confidence_ratio = 0.5;
	t.f->coverage_ratio = observed_coverage(prio->port);
	t.f->summary = arena_printf(in->arena,
		"%s priority %d, towards %s: %s grew from %.2f %% to %.2f %%; no rule has a limit "
		"for it",
		port_text(prio->port, in->arena), prio->priority,
		far_end_text(prio->port, in->arena), g.signal->what, 100 * g.drift.before,
		100 * g.drift.now);
	finding_evidence(&t, g.signal->name, prio->port, prio->priority, g.drift.now, "ratio",
		QUALITY_EXACT);
	finding_rests_on(&t,
		"the newest quarter of the last %.0f s against the rest, whose parts vary by %.3f "
		"%% (robust deviation)",
		(double)(in->past->to_ns - in->past->from_ns) / 1e9, 100 * g.drift.spread);
	finding_steps(&t, t.f->cause, 0);
}

static int baseline_run(const struct analyzer_in *in, struct finding_list *out)
{
	const struct observed *o = observe(in);
	struct still_drift still[rw_countof(signals)] = {0};
	for (size_t i = 0; i < o->n_prios; i++) {
		analyzer_pause(in);
		if (o->prios[i]->lossless && o->prios[i]->port->in_fabric)
			baseline_judge(in, o->prios[i], still, out);
	}
	return 0;
}

const struct analyzer analyzer_baseline = {
	.name = "baseline",
	.phase = 10,
	.doc = "pause and marks that have grown against their own past, below every rule's limit",
	.options = {"analyzers", "baseline", sizeof(struct baseline_options), rows,
		rw_countof(rows), "growth of pause and marks against their own past"},
	.strides = 1,
	.window_offset = offsetof(struct baseline_options, window_ns),
	.observes = true,
	.past_offset = offsetof(struct baseline_options, past_ns),
	.past = {.metrics = past_metrics, .n_metrics = rw_countof(past_metrics)},
	.run = baseline_run,
};
