/* tune_effect - see the header. */
#include "analyzers/tune/tune_effect.h"

#include "analyzers/measure/formulas.h"
#include "analyzers/measure/mean.h"
#include "analyzers/tune/tune.h"
#include "analyzers/tune/tune_rules.h"
#include "config/class_policy.h"

/* ---- tune_margin ----------------------------------------------------------- */

/*
 * tune_margin - how far a prediction of the queue model may be off, by what was asked: ranges are
 * widened so that 19 of 20 measurements of simulated fabrics lie in them (split conformal
 * prediction: Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2005; measured by
 * tests/score/whatif_score.py on 50 fabrics of tuning seeds). A quantity whose range would be wider
 * than what is measured now is not predicted. Pure.
 */

enum tune_ask_kind { ASK_PFC, ASK_ECN_LOWER, ASK_ECN_HIGHER, ASK_KINDS };

/* Shares of the larger of now and likely. NAN: not predicted. */
static const struct margin {
	const char *metric;
	struct {
		double below, above;
	} of[ASK_KINDS];
} margins[] = {
	{"pfc.tx_pause_ratio", {{0.50, 0.02}, {0.38, 0.38}, {NAN, NAN}}},
	{"queue.marked_ratio", {{0, 0.02}, {0, 0.02}, {0.83, 0.02}}},
	{"pg.drops", {{0, 0}, {0, 0}, {NAN, NAN}}},
	{"step_time", {{0.01, 0.02}, {0.01, 0.13}, {NAN, NAN}}},
	{"queue.watermark_bytes", {{0.05, 0.24}, {0.18, 0.21}, {NAN, NAN}}},
	{"pg.headroom_watermark_bytes", {{0.30, 0.02}, {0.46, 0.02}, {NAN, NAN}}},
};

static bool is_share(const struct tune_expect *expect)
{
	return str_eq(expect->unit, "ratio") && !str_eq(expect->metric, "step_time");
}

/* tune_margin_apply - widens @expect. False: it is not predicted. @losing: frames are lost now, and
 * what is sent again hides what the queues would do without. */
static bool tune_margin_apply(enum tune_ask_kind kind, bool losing, struct tune_expect *expect)
{
	if (losing && !str_eq(expect->metric, "pg.drops"))
		return false;
	for (size_t i = 0; i < rw_countof(margins); i++) {
		if (!str_eq(margins[i].metric, expect->metric))
			continue;
		const double below = margins[i].of[kind].below, above = margins[i].of[kind].above,
			     scale = fmax(expect->now, expect->likely);
		if (isnan(below))
			return false;
		expect->low = fmax(0, expect->low - below * scale);
		expect->high += above * scale;
		if (is_share(expect))
			expect->high = fmin(1, expect->high);
		return true;
	}
	return true;
}

/* ---- tune_spread ----------------------------------------------------------- */

/*
 * tune_spread - what came of sheets: by the kind of change, how the value that came lay around the
 * likely one of the model (step time and J: around now, which the model was seen to foretell no
 * better), as shares of the larger of now and likely. Quantiles at 10, 50 and 90 %: a new sheet's
 * value lies between the outer two in four cases of five (split conformal prediction, as above).
 * Printed by tests/score/tune_calibrate.py from sheets on fabrics that were drawn from a seed;
 * docs/accuracy/advice.md has how often it holds on others. Pure.
 */

enum sheet_kind {
	SHEET_HEADROOM, /* headroom up, alone or with alpha */
	SHEET_ALPHA, /* alpha up, and the ramp with it */
	SHEET_ALPHA_MIXED, /* the same, where hosts of several speeds share the pool */
	SHEET_ECN_UP,
	SHEET_KINDS /* another change: the margins above */
};

struct spread {
	double low, mid, high; /* NAN: not predicted */
	double worse; /* of 100 sheets: so many came out more than 1 % worse; NAN: not counted */
};
static const struct spreads {
	const char *metric;
	double least; /* scale: what is smaller than that is not told apart */
	struct spread of[SHEET_KINDS];
} spreads[] = {
	{"pfc.tx_pause_ratio", 0.001,
		{{NAN}, {-0.468, 0, 0, NAN}, {-0.914, -0.075, 0, NAN}, {0, 0, 0.132, NAN}}},
	{"queue.marked_ratio", 0.01,
		{{NAN}, {-0.861, 0, 0.531, NAN}, {-0.51, 0, 0.924, NAN},
			{-0.434, -0.161, 0.219, NAN}}},
	{"pg.drops", 0, {{0, 0, 0, NAN}, {0, 0, 0, NAN}, {0, 0, 0, NAN}, {0, 0, 0, NAN}}},
	{"queue.watermark_bytes", 0,
		{{NAN}, {-0.543, -0.01, 0.58, NAN}, {-0.537, 0.003, 0.625, NAN},
			{-0.378, 0.002, 0.457, NAN}}},
	{"pg.headroom_watermark_bytes", 0,
		{{NAN}, {-1, 0, 0.87, NAN}, {-1, -0.224, 0.863, NAN}, {0, 0, 0.193, NAN}}},
	{"step_time", 1,
		{{-0.96, -0.783, -0.067, 1.724}, {0, 0, 0.002, 7.801}, {-0.013, 0, 0, 5.556},
			{-0.292, -0.142, 0, 4.651}}},
	{"j", 1,
		{{-0.967, -0.685, -0.023, 3.448}, {-0.287, -0.167, 0, 1.418},
			{-0.244, -0.078, 0.067, 22.222}, {-0.441, -0.031, 0.035, 23.256}}},
};

static const struct spreads *spreads_of(const char *metric)
{
	for (size_t i = 0; i < rw_countof(spreads); i++)
		if (str_eq(spreads[i].metric, metric))
			return &spreads[i];
	return NULL;
}

/* @device may be NULL. */
static enum sheet_kind sheet_kind_of(
	const struct tune_device *device, const struct tune_sheet *sheet)
{
	enum sheet_kind kind = SHEET_KINDS;
	for (size_t i = 0; i < sheet->n_changes; i++) {
		const struct tune_change *change = &sheet->changes[i];
		if (!(change->proposed > change->current))
			continue;
		if (change->knob == KNOB_HEADROOM)
			return SHEET_HEADROOM;
		if (change->knob == KNOB_ALPHA)
			kind = SHEET_ALPHA;
		else if (change->knob == KNOB_KMIN && kind == SHEET_KINDS)
			kind = SHEET_ECN_UP;
	}
	if (kind == SHEET_ALPHA && device && tune_has_mixed_speeds(device))
		kind = SHEET_ALPHA_MIXED;
	return kind;
}

/* False: it is not predicted for this kind of change. */
static bool tune_spread_apply(enum sheet_kind kind, struct tune_expect *expect)
{
	const struct spreads *row = spreads_of(expect->metric);
	if (!row || isnan(row->of[kind].low))
		return false;
	const struct spread *spread = &row->of[kind];
	const double likely = expect->likely, scale = fmax(row->least, fmax(expect->now, likely));
	expect->low = fmax(0, likely + spread->low * scale);
	expect->high = fmax(0, likely + spread->high * scale);
	expect->likely = fmax(0, likely + spread->mid * scale);
	expect->worse_ratio = spread->worse / 100;
	if (is_share(expect) && !str_eq(expect->metric, "j"))
		expect->high = fmin(1, expect->high);
	return true;
}

/* ---- tune_effect ----------------------------------------------------------- */

/* A model that misses half of what is there now says nothing about what will be. */
#define MISS_MOST 0.5
#define MARKS_LEAST 1e-4
#define LOSS_STEP                                                                                  \
	0.7 /* what is won when nothing is sent again any more: 5 to 22 % in simulated fabrics */
#define HOT_RATIO 0.5 /* of the depth of the fullest queue */
#define STEP_LEAST 0.01
#define PAUSE_LEAST 1e-5 /* below, a share of pause cannot be scaled */
enum { NOTES_MAX = 8, EXPECTED_MAX = 8 };

static const struct whatif_settings nothing = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};

/* ---- the queue and what feeds it ----------------------------------------- */

static double tune_effect_load_of(const struct tune_prio *prio)
{
	if (isnan(prio->utilization_busy))
		return prio->utilization;
	return prio->utilization_busy;
}

/* Is @left the fuller queue? By depth where that is known, then by marks, then by load. */
static bool tune_effect_fuller(const struct tune_prio *left, const struct tune_prio *right)
{
	const double pairs[][2] = {{left->queue.max, right->queue.max},
		{tune_prio_marks(left), tune_prio_marks(right)},
		{tune_effect_load_of(left), tune_effect_load_of(right)}};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (isnan(pairs[i][0]) || isnan(pairs[i][1]) || pairs[i][0] == pairs[i][1])
			continue;
		return pairs[i][0] > pairs[i][1];
	}
	return false;
}

static bool one_of(const char *port, const char *const *ports, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(ports[i], port))
			return true;
	return n == 0;
}

static const struct tune_prio *tune_effect_fullest(
	const struct tune_device *device, int priority, const char *const *ports, size_t n)
{
	const struct tune_prio *best = NULL;
	for (size_t i = 0; i < device->n_prios; i++)
		if (device->prios[i].priority == priority &&
			one_of(device->prios[i].port->name, ports, n) &&
			(!best || tune_effect_fuller(&device->prios[i], best)))
			best = &device->prios[i];
	return best;
}

/* Ports of the switch that feed @queue: those it paused most, as many as its inputs. Returns how
 * many; 0: no pause is known. */
static size_t tune_effect_feeders(const struct tune_device *device, const struct tune_prio *queue,
	struct arena *a, const struct tune_prio ***ret)
{
	size_t want = 2;
	if (!isnan(queue->inputs))
		want = (size_t)fmax(1, round(queue->inputs));
	const struct tune_prio **v = arena_array(a, const struct tune_prio *, device->n_prios + 1);
	size_t n = 0;
	for (size_t i = 0; i < device->n_prios; i++) {
		const struct tune_prio *l = &device->prios[i];
		if (l == queue || l->priority != queue->priority || isnan(l->tx_pause_hi))
			continue;
		size_t at = n++;
		for (; at > 0 && v[at - 1]->tx_pause_hi < l->tx_pause_hi; at--)
			v[at] = v[at - 1];
		v[at] = l;
	}
	*ret = v;
	if (n < want)
		return n;
	return want;
}

static double tune_effect_speed_of(const struct tune_device *device, const struct tune_prio *prio)
{
	const struct tune_port *p = tune_port_at(device, prio->port);
	if (p && p->speed_bps > 0)
		return p->speed_bps;
	if (prio->port->speed_bps)
		return (double)prio->port->speed_bps;
	return NAN;
}

/* One way over the cable, ns. */
static double tune_effect_cable_of(const struct tune_device *device, const struct tune_prio *prio)
{
	const struct tune_port *p = tune_port_at(device, prio->port);
	double metres = NAN;
	if (prio->port->cable_mm)
		metres = (double)prio->port->cable_mm / 1e3;
	else if (p)
		metres = p->cable_m;
	return metres / CABLE_SPEED_M_S * 1e9;
}

/* fmin() would make 1 of what is not known. */
static double tune_effect_share_of(double value)
{
	if (value > 1)
		return 1;
	return value;
}

/* What is known of the ports that feed the queue. */
struct feeders {
	struct mean pause, speed, cable, drops, episodes;
	double pg_peak, headroom_peak; /* bytes; NAN unknown */
	bool pause_bound;
};

static double peak_or_nan(const struct tune_peak *peak)
{
	if (peak->standing)
		return NAN;
	return peak->max;
}

static double drops_per_s(const struct tune_prio *prio)
{
	if (prio->drops_watched_ns > 0)
		return prio->pg_drops * 1e9 / (double)prio->drops_watched_ns;
	return NAN;
}

/* The headroom peak of a feeder, as a share of its own size: ports with longer cables have more of
 * it. */
static double scaled_headroom(const struct tune_prio *feeder, double size_bytes)
{
	if (feeder->headroom.standing || feeder->headroom.censored)
		return NAN;
	if (feeder->headroom_bytes > 0)
		return feeder->headroom.max / feeder->headroom_bytes * size_bytes;
	return feeder->headroom.max;
}

static struct feeders feeders_of(
	const struct tune_device *device, const struct tune_prio *const *feed, size_t n)
{
	struct feeders f = {.pg_peak = NAN, .headroom_peak = NAN};
	for (size_t i = 0; i < n; i++) {
		const struct tune_prio *in = feed[i];
		mean_add(&f.pause, in->tx_pause_hi);
		mean_add(&f.speed, tune_effect_speed_of(device, in));
		mean_add(&f.cable, tune_effect_cable_of(device, in));
		mean_add(&f.episodes, in->episodes_per_s);
		mean_add(&f.drops, drops_per_s(in));
		f.pg_peak = fmax(f.pg_peak, peak_or_nan(&in->pg));
		f.headroom_peak =
			fmax(f.headroom_peak, scaled_headroom(in, feed[0]->headroom_bytes));
		f.pause_bound = f.pause_bound || !in->pause_measured;
	}
	return f;
}

/* Thresholds in force: XOFF where packets come in, ECN where they go out. */
static struct whatif_settings tune_effect_settings_of(
	const struct tune_prio *queue, const struct tune_prio *feeder)
{
	struct whatif_settings now = {.alpha = feeder->alpha,
		.headroom_bytes = feeder->headroom_bytes,
		.xoff_level_bytes = feeder->xoff_level,
		.xon_offset_bytes = feeder->xon_offset,
		.kmin_bytes = queue->kmin,
		.kmax_bytes = queue->kmax,
		.pmax = queue->pmax};
	if (queue->ecn_enabled == 0)
		now.kmin_bytes = now.kmax_bytes = now.pmax = NAN;
	return now;
}

/* What the model needs: the egress queue's own marks, depth and ECN; pause, headroom and drops of
 * the ports that feed it. */
static struct whatif_queue tune_effect_queue_of(const struct tune_evidence *evidence,
	const struct tune_device *device, const struct tune_prio *prio,
	const struct tune_prio *const *feed, size_t n, const struct tune_options *options)
{
	const struct fabric *fabric = evidence->fabric;
	const struct feeders feeders = feeders_of(device, feed, n);
	struct whatif_queue queue = {.pool_bytes = device->pool_bytes,
		.speed_bps = tune_effect_speed_of(device, prio),
		.input_bps = mean_of(&feeders.speed),
		.rtt_ns = (double)options->rtt_ns,
		.mtu_bytes = NAN,
		.cable_ns = mean_of(&feeders.cable),
		.inputs = prio->inputs,
		.now = tune_effect_settings_of(prio, feed[0]),
		.pause_ratio = tune_effect_share_of(mean_of(&feeders.pause)),
		.pause_bound = feeders.pause_bound,
		.marks_ratio = tune_effect_share_of(tune_prio_marks(prio)),
		.queue_peak_bytes = peak_or_nan(&prio->queue),
		.pg_peak_bytes = feeders.pg_peak,
		.headroom_peak_bytes = feeders.headroom_peak,
		.drops_per_s = mean_of(&feeders.drops),
		.utilization = tune_effect_share_of(prio->utilization),
		.episodes_per_s = mean_of(&feeders.episodes),
		.dcqcn = class_policy_of(class_congestion(fabric, prio->priority))->dcqcn};
	if (device->pool_slices > 1)
		queue.pool_bytes = device->pool_bytes / device->pool_slices;
	if (fabric->lossless_mtu_bytes)
		queue.mtu_bytes = (double)fabric->lossless_mtu_bytes;
	return queue;
}

/* ---- expectations -------------------------------------------------------- */

static void tune_effect_note(struct tune_effect *effect, const char *text)
{
	if (effect->n_notes < NOTES_MAX)
		effect->notes[effect->n_notes++] = text;
}

static void tune_effect_expect(struct tune_effect *effect, const char *metric, const char *unit,
	struct whatif_range range, double now, const char *of)
{
	if (!isnan(range.low) && !isnan(range.high) && effect->n_expected < EXPECTED_MAX)
		effect->expected[effect->n_expected++] = (struct tune_expect){
			metric, unit, range.low, range.high, range.mid, now, NAN, of};
}

/* What the whole switch shows; the model is of one queue. */
struct whole {
	/* of the ports that a person would look at: those to hosts; on a switch without any, all */
	struct mean pause;
	bool hosts;
	double most; /* the highest of them */
	double marked, packets, hot_packets; /* hot: out of queues about as full as the fullest */
	double drops_per_s, queue_peak, headroom_peak;
};

static double tune_effect_sum_known(double left, double right)
{
	if (isnan(right))
		return left;
	if (isnan(left))
		return right;
	return left + right;
}

static void tune_effect_add_pause(struct whole *whole, const struct tune_prio *prio)
{
	if (isnan(prio->tx_pause_hi))
		return;
	mean_add(&whole->pause, prio->tx_pause_hi);
	whole->most = fmax(whole->most, prio->tx_pause_hi);
}

static struct whole whole_of(const struct tune_device *device, const struct tune_prio *queue)
{
	struct whole w = {.marked = NAN,
		.packets = NAN,
		.hot_packets = NAN,
		.drops_per_s = NAN,
		.queue_peak = NAN,
		.headroom_peak = NAN};
	for (size_t i = 0; i < device->n_prios; i++) {
		const struct tune_prio *l = &device->prios[i];
		if (l->priority != queue->priority)
			continue;
		if (l->port->host)
			tune_effect_add_pause(&w, l);
		w.marked = tune_effect_sum_known(w.marked, l->marked);
		w.packets = tune_effect_sum_known(w.packets, l->out_packets);
		if (l == queue || l->queue.max >= HOT_RATIO * queue->queue.max)
			w.hot_packets = tune_effect_sum_known(w.hot_packets, l->out_packets);
		w.drops_per_s = tune_effect_sum_known(w.drops_per_s, drops_per_s(l));
		w.queue_peak = fmax(w.queue_peak, peak_or_nan(&l->queue));
		w.headroom_peak = fmax(w.headroom_peak, peak_or_nan(&l->headroom));
	}
	w.hosts = w.pause.n > 0;
	for (size_t i = 0; !w.hosts && i < device->n_prios; i++)
		if (device->prios[i].priority == queue->priority)
			tune_effect_add_pause(&w, &device->prios[i]);
	return w;
}

/* Scales the prediction for one queue to the whole switch: by the ratio of what both show now, or
 * by
 * @share where the queue shows nothing yet. */
static void expect_scaled(struct tune_effect *effect, const char *metric, const char *unit,
	const struct whatif_range *range, double whole, double queue, double least, double share,
	double most, const char *of)
{
	double by = share;
	if (queue > least)
		by = whole / queue;
	if (isnan(whole) || isnan(by))
		return;
	tune_effect_expect(effect, metric, unit,
		(struct whatif_range){fmin(most, range->low * by), fmin(most, range->mid * by),
			fmin(most, range->high * by)},
		whole, of);
}

/*
 * Hosts that are paused send nothing to anybody: time that is won when they no longer are, at most
 * all that the one paused most has lost. How much of it counts is not known from counters, so it
 * widens the range towards shorter steps.
 */
static void expect_step(struct tune_effect *effect, const struct whole *whole)
{
	const double before = effect->queue.pause_ratio, after = effect->model.pause_ratio.low;
	double kept = 1;
	if (before > PAUSE_LEAST)
		kept = fmin(1, after / before);
	struct whatif_range step = effect->model.step_ratio;
	if (!effect->queue.pause_bound)
		step.low = fmin(step.mid, fmax(STEP_LEAST, step.low - whole->most * (1 - kept)));
	if (effect->queue.drops_per_s > 0 &&
		effect->model.drops_per_s.low < effect->queue.drops_per_s)
		step.low *= LOSS_STEP;
	tune_effect_expect(effect, "step_time", "ratio", step, 1, "jobs");
}

static enum tune_ask_kind kind_of_ask(const struct tune_effect *effect)
{
	const struct whatif_settings *now = &effect->queue.now, *to = &effect->to;
	if (to->kmin_bytes > now->kmin_bytes || to->kmax_bytes > now->kmax_bytes)
		return ASK_ECN_HIGHER;
	if (!isnan(to->kmin_bytes) || !isnan(to->kmax_bytes) || !isnan(to->pmax))
		return ASK_ECN_LOWER;
	return ASK_PFC;
}

/* Widens what can be predicted to what was measured in simulated fabrics, and leaves out the rest.
 */
static void tune_effect_calibrate(struct tune_effect *effect, struct arena *a)
{
	const enum tune_ask_kind kind = kind_of_ask(effect);
	size_t n = 0;
	if (effect->model.residual > MISS_MOST) {
		effect->n_expected = 0;
		tune_effect_note(effect,
			arena_printf(a,
				"nothing is predicted: the model misses what is measured now by "
				"%.0f %%, more than %.0f %%",
				100 * effect->model.residual, 100 * MISS_MOST));
		return;
	}
	for (size_t i = 0; i < effect->n_expected; i++) {
		struct tune_expect expect = effect->expected[i];
		if (tune_margin_apply(kind, effect->queue.drops_per_s > 0, &expect))
			effect->expected[n++] = expect;
	}
	const bool left_out = n < effect->n_expected;
	effect->n_expected = n;
	if (left_out && effect->queue.drops_per_s > 0)
		tune_effect_note(effect,
			"pause, marks, depths and step time are not predicted while frames are "
			"lost: what is sent again hides them");
	else if (left_out)
		tune_effect_note(effect,
			"pause, depths and step time are not predicted for marking that begins "
			"later: in simulated fabrics they came out up to ten times as large");
}

/* The same for a sheet. Step time and J are there whatever the model knows, see expect_job(). */
static void tune_effect_spread(struct tune_effect *effect, enum sheet_kind kind)
{
	const bool losing = effect->queue.drops_per_s > 0,
		   misses = effect->model.residual > MISS_MOST;
	size_t n = 0;
	for (size_t i = 0; i < effect->n_expected; i++) {
		struct tune_expect expect = effect->expected[i];
		const bool drops = str_eq(expect.metric, "pg.drops"),
			   job = str_eq(expect.metric, "step_time");
		if (!job && (drops || (!losing && !misses)) && tune_spread_apply(kind, &expect))
			effect->expected[n++] = expect;
	}
	effect->n_expected = n;
}

static void tune_effect_tell(struct tune_effect *effect, const struct tune_device *device,
	size_t n_feeders, enum sheet_kind kind, struct arena *a)
{
	const struct whatif_result *m = &effect->model;
	const struct whatif_queue *q = &effect->queue;
	const struct whole w = whole_of(device, effect->prio);
	effect->expected = arena_array(a, struct tune_expect, EXPECTED_MAX);
	expect_scaled(effect, "pfc.tx_pause_ratio", "ratio", &m->pause_ratio, mean_of(&w.pause),
		q->pause_ratio, PAUSE_LEAST, fmin(1, (double)n_feeders / w.pause.n), 1,
		arena_printf(a, "mean of %.0f ports%s", (double)w.pause.n,
			str_if(w.hosts, " to hosts")));
	expect_scaled(effect, "queue.marked_ratio", "ratio", &m->marks_ratio,
		w.packets > 0 ? w.marked / w.packets : NAN, q->marks_ratio, MARKS_LEAST,
		w.hot_packets / w.packets, 1, "all queues");
	expect_scaled(effect, "pg.drops", "frames/s", &m->drops_per_s, w.drops_per_s,
		q->drops_per_s, 0, (double)n_feeders, INFINITY, "all ports");
	expect_step(effect, &w);
	expect_scaled(effect, "queue.watermark_bytes", "bytes", &m->queue_peak_bytes, w.queue_peak,
		q->queue_peak_bytes, 0, 1, INFINITY, "deepest queue");
	expect_scaled(effect, "pg.headroom_watermark_bytes", "bytes", &m->headroom_peak_bytes,
		w.headroom_peak, q->headroom_peak_bytes, 0, 1, INFINITY, "fullest headroom");
	effect->notes = arena_array(a, const char *, NOTES_MAX);
	if (kind == SHEET_KINDS)
		tune_effect_calibrate(effect, a);
	else
		tune_effect_spread(effect, kind);
	tune_effect_note(effect,
		arena_printf(a,
			"calibrated on %s:%s, priority %d, fed by %.1f inputs, with %u of 4 "
			"measured (pause time, marks, depth, load); the model misses them by %.0f "
			"%%",
			device->device->name, effect->prio->port->name, effect->prio->priority,
			isnan(effect->queue.inputs) ? 2.0 : effect->queue.inputs, m->known,
			100 * m->residual));
	if (isnan(effect->queue.inputs))
		tune_effect_note(effect, "number of inputs unknown: 2 are assumed");
	if (q->pause_bound)
		tune_effect_note(effect,
			"pause time is an upper bound from frames, now and after; the time that "
			"paused hosts would gain is unknown and not in step_time");
	if (isnan(effect->queue.marks_ratio))
		tune_effect_note(effect,
			"marks unknown: how senders react to them is open, so the ranges are wide");
	if (isnan(effect->queue.queue_peak_bytes))
		tune_effect_note(effect, "depth of the queue unknown");
	if (isnan(effect->queue.utilization))
		tune_effect_note(effect, "load unknown: bursts are assumed to last all the time");
	if (!effect->queue.dcqcn)
		tune_effect_note(effect,
			"senders are taken not to slow down when marked: the fabric's congestion "
			"policy is not dcqcn");
	tune_effect_note(effect,
		q->pause_bound
			? "one queue: what other switches pause is not in it"
			: "one queue: what other switches pause is not in it; step_time includes, "
			  "at its low end, all the time that the host paused most would win");
}

/* ---- the questions ------------------------------------------------------- */

static int tune_effect_ask(const struct tune_evidence *evidence, const struct tune_device *device,
	const struct tune_prio *prio, const struct whatif_settings *to, enum sheet_kind kind,
	const struct tune_options *options, struct arena *a, struct tune_effect *ret,
	struct err *err)
{
	const struct tune_prio **feed;
	struct whatif_fit fit;
	const size_t n = tune_effect_feeders(device, prio, a, &feed);
	*ret = (struct tune_effect){.prio = prio, .to = *to};
	if (!n)
		return err_set(err, -ENODATA,
			"%s: no pause time or PFC frames of other ports of it are known, or none "
			"ever moved while PFC is not known to be on; expected pfc.tx_* of the "
			"ports that "
			"feed %s: collect them, or read back the PFC settings",
			device->device->name, prio->port->name);
	ret->queue = tune_effect_queue_of(evidence, device, prio, feed, n, options);
	int r = whatif_calibrate(&ret->queue, &fit);
	if (r == -ENODATA)
		return err_set(err, r,
			"%s:%s: not enough is known to calibrate a model: expected the port's "
			"speed (read: %.0f bit/s), and alpha with the size of the pool (read: %g, "
			"%.0f bytes) or an XOFF "
			"level, or pause with the queue's watermark; declare what the switch does "
			"not tell under thresholds:",
			device->device->name, prio->port->name,
			isnan(ret->queue.speed_bps) ? 0 : ret->queue.speed_bps,
			ret->queue.now.alpha,
			isnan(ret->queue.pool_bytes) ? 0 : ret->queue.pool_bytes);
	if (r == 0)
		r = whatif_predict(&fit, to, &ret->model);
	if (r < 0)
		return err_set(err, r,
			"%s:%s: a threshold is out of range; expected alpha above 0, sizes of 0 or "
			"more, Kmax at or above Kmin (in force: %.0f and %.0f bytes), Pmax from 0 "
			"to 1",
			device->device->name, prio->port->name, ret->queue.now.kmin_bytes,
			ret->queue.now.kmax_bytes);
	tune_effect_tell(ret, device, n, kind, a);
	return 0;
}

int tune_effect_fit(const struct tune_evidence *evidence, const struct tune_device *device,
	const struct tune_prio *prio, const struct tune_options *options, struct arena *a,
	struct whatif_queue *ret, struct whatif_fit *fit)
{
	const struct tune_prio **feed;
	const size_t n = tune_effect_feeders(device, prio, a, &feed);
	if (!n)
		return -ENODATA;
	*ret = tune_effect_queue_of(evidence, device, prio, feed, n, options);
	return whatif_calibrate(ret, fit);
}

static const struct tune_device *tune_effect_device_of(
	const struct tune_evidence *evidence, const char *name)
{
	for (size_t i = 0; i < evidence->n_devices; i++)
		if (str_eq(evidence->devices[i].device->name, name))
			return &evidence->devices[i];
	return NULL;
}

int tune_whatif(const struct tune_evidence *evidence, const char *device, const char *port,
	int priority, const struct whatif_settings *to, const struct tune_options *options,
	struct arena *a, struct tune_effect *ret, struct err *err)
{
	const struct tune_device *d = tune_effect_device_of(evidence, device);
	if (!d)
		return err_set(err, -ENOENT, "%s: no such device in the fabric", device);
	const struct fabric_port *p = NULL;
	if (port)
		p = fabric_port(d->device, port);
	if (port && !p)
		return err_set(err, -ENOENT, "%s has no port %s in the fabric", device, port);
	const struct tune_prio *l;
	if (p)
		l = tune_prio_at(evidence, p, priority);
	else
		l = tune_effect_fullest(d, priority, NULL, 0);
	if (!l)
		return err_set(err, -ENOENT,
			"%s%s%s: nothing is known of lossless priority %d; expected one of "
			"lossless.priorities, with samples of it in the range",
			device, str_if(port, ":"), str_or(port, ""), priority);
	return tune_effect_ask(evidence, d, l, to, SHEET_KINDS, options, a, ret, err);
}

/* Does the change reach what stands in @to? */
static bool tune_effect_take(struct whatif_settings *to, const struct tune_change *change)
{
	double *const sites[TUNE_KNOBS] = {[KNOB_HEADROOM] = &to->headroom_bytes,
		[KNOB_XOFF_LEVEL] = &to->xoff_level_bytes,
		[KNOB_XON_OFFSET] = &to->xon_offset_bytes,
		[KNOB_ALPHA] = &to->alpha,
		[KNOB_KMIN] = &to->kmin_bytes,
		[KNOB_KMAX] = &to->kmax_bytes,
		[KNOB_PMAX] = &to->pmax};
	if (!sites[change->knob])
		return false;
	*sites[change->knob] = change->proposed;
	return true;
}

static bool is_ecn(enum tune_knob knob)
{
	return knob == KNOB_KMIN || knob == KNOB_KMAX || knob == KNOB_PMAX;
}

/* The port that feeds @queue most; NULL: none is known. */
static const char *main_feeder(
	const struct tune_device *device, const struct tune_prio *queue, struct arena *a)
{
	const struct tune_prio **feed;
	if (tune_effect_feeders(device, queue, a, &feed) > 0)
		return feed[0]->port->name;
	return NULL;
}

/* A change for some ports counts where it is for the port that feeds @queue, or where it is of
 * marks: for the port of @queue itself. */
static bool change_reaches(
	const struct tune_change *change, const struct tune_prio *queue, const char *feeder)
{
	const char *port = feeder;
	if (is_ecn(change->knob) && queue)
		port = queue->port->name;
	return !change->n_ports || (port && one_of(port, change->ports, change->n_ports));
}

/* Step time, and J: step time and p99 of flows that are not of the congestion, of now. */
static void expect_job(struct tune_sheet *sheet, enum sheet_kind kind)
{
	struct tune_expect step = {"step_time", "ratio", NAN, NAN, 1, 1, NAN, "jobs"},
			   all = {"j", "ratio", NAN, NAN, 1, 1, NAN,
				   "half step time, half p99 of the other flows"};
	if (kind == SHEET_KINDS)
		return;
	if (tune_spread_apply(kind, &step))
		sheet->expected[sheet->n_expected++] = step;
	if (tune_spread_apply(kind, &all))
		sheet->expected[sheet->n_expected++] = all;
}

/* What the model says of the queue that the sheet changes; NULL: .expected has it, else why not. */
static const char *expect_queue(const struct tune_in *in, const struct tune_device *d,
	struct tune_sheet *sheet, enum sheet_kind kind)
{
	struct whatif_settings to = nothing;
	struct tune_effect effect;
	struct err why = {0};
	bool any = false, ecn = false;
	for (size_t i = 0; i < sheet->n_changes; i++)
		ecn |= is_ecn(sheet->changes[i].knob);
	/* An ECN change acts on the queues of its own ports. A PFC change acts on the ports where
	 * packets come in, so the fullest queue may be any queue of the device: no ports, no limit.
	 */
	const char *const *ports = NULL;
	size_t n_ports = 0;
	if (ecn) {
		ports = sheet->ports;
		n_ports = sheet->n_ports;
	}
	const struct tune_prio *l = NULL;
	if (d)
		l = tune_effect_fullest(d, sheet->priority, ports, n_ports);
	const char *feeder = NULL;
	if (l)
		feeder = main_feeder(d, l, in->arena);
	for (size_t i = 0; i < sheet->n_changes; i++)
		if (change_reaches(&sheet->changes[i], l, feeder))
			any |= tune_effect_take(&to, &sheet->changes[i]);
	if (!any)
		return "the queue model does not know this threshold";
	if (!l)
		return "no queue of the switch was seen at this priority";
	if (tune_effect_ask(in->evidence, d, l, &to, kind, &in->options, in->arena, &effect, &why) <
		0)
		return arena_strdup(in->arena, why.text);
	memcpy(sheet->expected, effect.expected, effect.n_expected * sizeof(*effect.expected));
	sheet->n_expected = effect.n_expected;
	if (!effect.n_expected && effect.n_notes)
		return effect.notes[0];
	return NULL;
}

void tune_expected(const struct tune_in *in, struct tune_sheet *sheet)
{
	const struct tune_device *device = tune_effect_device_of(in->evidence, sheet->device);
	const enum sheet_kind kind = sheet_kind_of(device, sheet);
	sheet->expected = NULL;
	sheet->n_expected = 0;
	sheet->not_expected = NULL;
	if (!sheet->n_changes)
		return;
	sheet->expected = arena_array(in->arena, struct tune_expect, EXPECTED_MAX);
	sheet->not_expected = expect_queue(in, device, sheet, kind);
	expect_job(sheet, kind);
}
