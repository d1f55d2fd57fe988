/* tune_effect - see the header. */
#include "analyzers/tune/tune_effect.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "analyzers/measure/formulas.h"
#include "analyzers/measure/mean.h"

#define MARKS_LEAST 1e-4
#define LOSS_STEP                                                                                  \
	0.7 /* what is won when nothing is sent again any more: 5 to 22 % in simulated fabrics */
#define HOT_RATIO 0.5 /* of the depth of the fullest queue */
#define STEP_LEAST 0.01
#define PAUSE_LEAST 1e-5 /* below, a share of pause cannot be scaled */
enum { NOTES_MAX = 8, EXPECTED_MAX = 6 };

static const struct whatif_settings nothing = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};

/* ---- the queue and what feeds it ----------------------------------------- */

static double load_of(const struct tune_lane *l)
{
	return isnan(l->utilization_busy) ? l->utilization : l->utilization_busy;
}

/* Is @a the one to look at rather than @b? By depth where it is told, then by marks, then by load.
 */
static bool fuller(const struct tune_lane *a, const struct tune_lane *b)
{
	const double pairs[][2] = {{a->queue.max, b->queue.max},
		{tune_lane_marks(a), tune_lane_marks(b)}, {load_of(a), load_of(b)}};
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

static const struct tune_lane *fullest(
	const struct tune_device *d, int priority, const char *const *ports, size_t n)
{
	const struct tune_lane *best = NULL;
	for (size_t i = 0; i < d->n_lanes; i++)
		if (d->lanes[i].priority == priority && one_of(d->lanes[i].port->name, ports, n) &&
			(!best || fuller(&d->lanes[i], best)))
			best = &d->lanes[i];
	return best;
}

/* Ports of the switch that feed @queue: those it paused most, as many as its inputs. Returns how
 * many; 0: no pause is known. */
static size_t feeders(const struct tune_device *d, const struct tune_lane *queue, struct arena *a,
	const struct tune_lane ***ret)
{
	const size_t want = isnan(queue->inputs) ? 2 : (size_t)fmax(1, round(queue->inputs));
	const struct tune_lane **v = arena_array(a, const struct tune_lane *, d->n_lanes + 1);
	size_t n = 0;
	for (size_t i = 0; i < d->n_lanes; i++) {
		const struct tune_lane *l = &d->lanes[i];
		if (l == queue || l->priority != queue->priority || isnan(l->tx_pause_hi))
			continue;
		size_t at = n++;
		for (; at > 0 && v[at - 1]->tx_pause_hi < l->tx_pause_hi; at--)
			v[at] = v[at - 1];
		v[at] = l;
	}
	*ret = v;
	return n < want ? n : want;
}

static const struct tune_port *port_of(const struct tune_device *d, const struct fabric_port *p)
{
	for (size_t i = 0; i < d->n_ports; i++)
		if (d->ports[i].port == p)
			return &d->ports[i];
	return NULL;
}

static double speed_of(const struct tune_device *d, const struct tune_lane *l)
{
	const struct tune_port *p = port_of(d, l->port);
	return p && p->speed_bps > 0 ? p->speed_bps
		: l->port->speed_bps ? (double)l->port->speed_bps
				     : NAN;
}

/* One way over the cable, ns. */
static double cable_of(const struct tune_device *d, const struct tune_lane *l)
{
	const struct tune_port *p = port_of(d, l->port);
	const double metres = l->port->cable_mm ? (double)l->port->cable_mm / 1e3
		: p                             ? p->cable_m
						: NAN;
	return metres / CABLE_SPEED_M_S * 1e9;
}

/* fmin() would make 1 of what is not known. */
static double share_of(double v)
{
	return v > 1 ? 1 : v;
}

/* What the model is told: the egress queue's own marks, depth, ECN; pause, headroom and drops of
 * what feeds it. */
static struct whatif_queue queue_of(const struct tune_evidence *e, const struct tune_device *d,
	const struct tune_lane *l, const struct tune_lane *const *feed, size_t n,
	const struct tune_options *o)
{
	const struct fabric *f = e->fabric;
	struct mean pause = {0}, speed = {0}, cable = {0}, drops = {0}, episodes = {0};
	double pg = NAN, headroom = NAN;
	for (size_t i = 0; i < n; i++) {
		const struct tune_lane *in = feed[i];
		mean_add(&pause, in->tx_pause_hi);
		mean_add(&speed, speed_of(d, in));
		mean_add(&cable, cable_of(d, in));
		mean_add(&episodes, in->episodes_per_s);
		mean_add(&drops,
			in->drops_watched_ns > 0 ? in->pg_drops * 1e9 / (double)in->drops_watched_ns
						 : NAN);
		pg = fmax(pg, in->pg.standing ? NAN : in->pg.max);
		/* by their own sizes: ports with longer cables have more of it */
		if (!in->headroom.standing && !in->headroom.censored)
			headroom = fmax(headroom,
				in->headroom_bytes > 0 ? in->headroom.max / in->headroom_bytes *
						feed[0]->headroom_bytes
						       : in->headroom.max);
	}
	const struct tune_lane *in = feed[0];
	bool bound = false;
	for (size_t i = 0; i < n; i++)
		bound = bound || !feed[i]->pause_measured;
	return (struct whatif_queue){
		.pool_bytes = d->pool_slices > 1 ? d->pool_bytes / d->pool_slices : d->pool_bytes,
		.speed_bps = speed_of(d, l),
		.input_bps = mean_of(&speed),
		.rtt_ns = (double)o->rtt_ns,
		.mtu_bytes = f->lossless_mtu_bytes ? (double)f->lossless_mtu_bytes : NAN,
		.cable_ns = mean_of(&cable),
		.inputs = l->inputs,
		.now = {.alpha = in->alpha,
			.headroom_bytes = in->headroom_bytes,
			.xoff_level_bytes = in->xoff_level,
			.xon_offset_bytes = in->xon_offset,
			.kmin_bytes = l->ecn_enabled == 0 ? NAN : l->kmin,
			.kmax_bytes = l->ecn_enabled == 0 ? NAN : l->kmax,
			.pmax = l->ecn_enabled == 0 ? NAN : l->pmax},
		.pause_ratio = share_of(mean_of(&pause)),
		.pause_bound = bound,
		.marks_ratio = share_of(tune_lane_marks(l)),
		.queue_peak_bytes = l->queue.standing ? NAN : l->queue.max,
		.pg_peak_bytes = pg,
		.headroom_peak_bytes = headroom,
		.drops_per_s = mean_of(&drops),
		.utilization = share_of(l->utilization),
		.episodes_per_s = mean_of(&episodes),
		.dcqcn = f->congestion == CC_DCQCN};
}

/* ---- telling ------------------------------------------------------------- */

static void note(struct tune_effect *r, const char *text)
{
	if (r->n_notes < NOTES_MAX)
		r->notes[r->n_notes++] = text;
}

static void expect(struct tune_effect *r, const char *metric, const char *unit,
	struct whatif_range v, double now)
{
	if (!isnan(v.low) && !isnan(v.high) && r->n_expected < EXPECTED_MAX)
		r->expected[r->n_expected++] =
			(struct tune_expect){metric, unit, v.low, v.high, v.mid, now};
}

/* What the switch as a whole shows, beside the one queue the model is of. */
struct whole {
	/* of the ports that a person would look at: those to hosts; on a switch without any, all */
	struct mean pause;
	double most; /* the highest of them */
	double marked, packets, hot_packets; /* hot: out of queues about as full as the fullest */
	double drops_per_s, queue_peak, headroom_peak;
};

static double sum_known(double a, double b)
{
	return isnan(b) ? a : isnan(a) ? b : a + b;
}

static void add_pause(struct whole *w, const struct tune_lane *l)
{
	if (isnan(l->tx_pause_hi))
		return;
	mean_add(&w->pause, l->tx_pause_hi);
	w->most = fmax(w->most, l->tx_pause_hi);
}

static struct whole whole_of(const struct tune_device *d, const struct tune_lane *queue)
{
	struct whole w = {.marked = NAN,
		.packets = NAN,
		.hot_packets = NAN,
		.drops_per_s = NAN,
		.queue_peak = NAN,
		.headroom_peak = NAN};
	for (size_t i = 0; i < d->n_lanes; i++) {
		const struct tune_lane *l = &d->lanes[i];
		if (l->priority != queue->priority)
			continue;
		if (l->port->host)
			add_pause(&w, l);
		w.marked = sum_known(w.marked, l->marked);
		w.packets = sum_known(w.packets, l->out_packets);
		if (l == queue || l->queue.max >= HOT_RATIO * queue->queue.max)
			w.hot_packets = sum_known(w.hot_packets, l->out_packets);
		w.drops_per_s = sum_known(w.drops_per_s,
			l->drops_watched_ns > 0 ? l->pg_drops * 1e9 / (double)l->drops_watched_ns
						: NAN);
		w.queue_peak = fmax(w.queue_peak, l->queue.standing ? NAN : l->queue.max);
		w.headroom_peak =
			fmax(w.headroom_peak, l->headroom.standing ? NAN : l->headroom.max);
	}
	const bool no_hosts = !w.pause.n;
	for (size_t i = 0; no_hosts && i < d->n_lanes; i++)
		if (d->lanes[i].priority == queue->priority)
			add_pause(&w, &d->lanes[i]);
	return w;
}

/* What is true of the queue, of the whole switch: in proportion to what both show now; @share of it
 * where the queue shows nothing yet. */
static void expect_scaled(struct tune_effect *r, const char *metric, const char *unit,
	const struct whatif_range *v, double whole, double queue, double least, double share,
	double most)
{
	const double by = queue > least ? whole / queue : share;
	if (isnan(whole) || isnan(by))
		return;
	expect(r, metric, unit,
		(struct whatif_range){
			fmin(most, v->low * by), fmin(most, v->mid * by), fmin(most, v->high * by)},
		whole);
}

/*
 * Hosts that are paused send nothing to anybody: time that is won when they no longer are, at most
 * all that the one paused most has lost. How much of it counts is not known from counters, so it
 * widens the range towards shorter steps.
 */
static void expect_step(struct tune_effect *r, const struct whole *h)
{
	const double before = r->queue.pause_ratio, after = r->model.pause_ratio.low,
		     kept = before > PAUSE_LEAST ? fmin(1, after / before) : 1;
	struct whatif_range step = r->model.step_ratio;
	if (!r->queue.pause_bound)
		step.low = fmin(step.mid, fmax(STEP_LEAST, step.low - h->most * (1 - kept)));
	if (r->queue.drops_per_s > 0 && r->model.drops_per_s.low < r->queue.drops_per_s)
		step.low *= LOSS_STEP;
	expect(r, "step_time", "ratio", step, 1);
}

static void tell(
	struct tune_effect *r, const struct tune_device *d, size_t n_feeders, struct arena *a)
{
	const struct whatif_result *m = &r->model;
	const struct whatif_queue *q = &r->queue;
	const struct whole w = whole_of(d, r->lane);
	r->expected = arena_array(a, struct tune_expect, EXPECTED_MAX);
	expect_scaled(r, "pfc.tx_pause_ratio", "ratio", &m->pause_ratio, mean_of(&w.pause),
		q->pause_ratio, PAUSE_LEAST, fmin(1, (double)n_feeders / w.pause.n), 1);
	expect_scaled(r, "queue.marked_ratio", "ratio", &m->marks_ratio,
		w.packets > 0 ? w.marked / w.packets : NAN, q->marks_ratio, MARKS_LEAST,
		w.hot_packets / w.packets, 1);
	expect_scaled(r, "pg.drops", "frames/s", &m->drops_per_s, w.drops_per_s, q->drops_per_s, 0,
		(double)n_feeders, INFINITY);
	expect_step(r, &w);
	expect_scaled(r, "queue.watermark_bytes", "bytes", &m->queue_peak_bytes, w.queue_peak,
		q->queue_peak_bytes, 0, 1, INFINITY);
	expect_scaled(r, "pg.headroom_watermark_bytes", "bytes", &m->headroom_peak_bytes,
		w.headroom_peak, q->headroom_peak_bytes, 0, 1, INFINITY);
	r->notes = arena_array(a, const char *, NOTES_MAX);
	note(r,
		arena_printf(a,
			"calibrated on %s:%s, priority %d, fed by %.1f inputs, with %u of 4 "
			"measured (pause time, marks, depth, load); the model misses them by %.0f "
			"%%",
			d->device->name, r->lane->port->name, r->lane->priority,
			isnan(r->queue.inputs) ? 2.0 : r->queue.inputs, m->known,
			100 * m->residual));
	if (r->queue.drops_per_s > 0)
		note(r, "frames are lost now: what is sent again is not in the model");
	if (isnan(r->queue.inputs))
		note(r, "how many inputs feed it is not known: 2 are assumed");
	if (q->pause_bound)
		note(r,
			"pause time is an upper bound from frames, now and after; the time that "
			"paused hosts would win is not known, and not in step_time");
	if (isnan(r->queue.marks_ratio))
		note(r,
			"marks are not known: how senders react to them is open, and the ranges "
			"are wide");
	if (isnan(r->queue.queue_peak_bytes))
		note(r, "the depth of the queue is not known");
	if (isnan(r->queue.utilization))
		note(r, "load is not known: bursts are taken to last all the time");
	if (!r->queue.dcqcn)
		note(r,
			"senders are taken not to slow down when marked: the fabric's congestion "
			"policy is not dcqcn");
	note(r,
		q->pause_bound
			? "one queue: what other switches pause is not in it"
			: "one queue: what other switches pause is not in it; step_time includes, "
			  "at its low end, all the time that the host paused most would win");
}

/* ---- the questions ------------------------------------------------------- */

static int ask(const struct tune_evidence *e, const struct tune_device *d,
	const struct tune_lane *l, const struct whatif_settings *to,
	const struct tune_options *options, struct arena *a, struct tune_effect *ret,
	struct err *err)
{
	const struct tune_lane **feed;
	struct whatif_fit fit;
	const size_t n = feeders(d, l, a, &feed);
	*ret = (struct tune_effect){.lane = l, .to = *to};
	if (!n)
		return err_set(err, -ENODATA,
			"%s: no pause time or PFC frames of other ports of it are known, or none "
			"ever moved while PFC is not known to be on; expected pfc.tx_* of the "
			"ports that "
			"feed %s: collect them, or read back the PFC settings",
			d->device->name, l->port->name);
	ret->queue = queue_of(e, d, l, feed, n, options);
	int r = whatif_calibrate(&ret->queue, &fit);
	if (r == -ENODATA)
		return err_set(err, r,
			"%s:%s: not enough is known to calibrate a model: expected the port's "
			"speed (read: %.0f bit/s), and alpha with the size of the pool (read: %g, "
			"%.0f bytes) or an XOFF "
			"level, or pause with the queue's watermark; declare what the switch does "
			"not tell under thresholds:",
			d->device->name, l->port->name,
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
			d->device->name, l->port->name, ret->queue.now.kmin_bytes,
			ret->queue.now.kmax_bytes);
	tell(ret, d, n, a);
	return 0;
}

static const struct tune_device *device_of(const struct tune_evidence *e, const char *name)
{
	for (size_t i = 0; i < e->n_devices; i++)
		if (str_eq(e->devices[i].device->name, name))
			return &e->devices[i];
	return NULL;
}

int tune_whatif(const struct tune_evidence *e, const char *device, const char *port, int priority,
	const struct whatif_settings *to, const struct tune_options *options, struct arena *a,
	struct tune_effect *ret, struct err *err)
{
	const struct tune_device *d = device_of(e, device);
	if (!d)
		return err_set(err, -ENOENT, "%s: no such device in the fabric", device);
	const struct fabric_port *p = port ? fabric_port(d->device, port) : NULL;
	if (port && !p)
		return err_set(err, -ENOENT, "%s has no port %s in the fabric", device, port);
	const struct tune_lane *l =
		p ? tune_lane_at(e, p, priority) : fullest(d, priority, NULL, 0);
	if (!l)
		return err_set(err, -ENOENT,
			"%s%s%s: nothing is known of lossless priority %d; expected one of "
			"lossless.priorities, with samples of it in the range",
			device, port ? ":" : "", port ? port : "", priority);
	return ask(e, d, l, to, options, a, ret, err);
}

/* Does the change reach what stands in @to? */
static bool take(struct whatif_settings *to, const struct tune_change *c)
{
	double *const places[TUNE_KNOBS] = {[KNOB_HEADROOM] = &to->headroom_bytes,
		[KNOB_XOFF_LEVEL] = &to->xoff_level_bytes,
		[KNOB_XON_OFFSET] = &to->xon_offset_bytes,
		[KNOB_ALPHA] = &to->alpha,
		[KNOB_KMIN] = &to->kmin_bytes,
		[KNOB_KMAX] = &to->kmax_bytes,
		[KNOB_PMAX] = &to->pmax};
	if (!places[c->knob])
		return false;
	*places[c->knob] = c->proposed;
	return true;
}

static bool is_ecn(enum tune_knob k)
{
	return k == KNOB_KMIN || k == KNOB_KMAX || k == KNOB_PMAX;
}

void tune_expected(const struct tune_in *in, struct tune_sheet *sheet)
{
	struct whatif_settings to = nothing;
	struct tune_effect effect;
	bool any = false, ecn = false;
	sheet->expected = NULL;
	sheet->n_expected = 0;
	sheet->not_expected = NULL;
	for (size_t i = 0; i < sheet->n_changes; i++) {
		any |= take(&to, &sheet->changes[i]);
		ecn |= is_ecn(sheet->changes[i].knob);
	}
	if (!sheet->n_changes)
		return;
	struct err why = {0};
	const struct tune_device *d = device_of(in->evidence, sheet->device);
	/* marking is of the queues it is changed for; what makes PFC fire is changed where packets
	 * come in, so any queue may be the one */
	const struct tune_lane *l = d
		? fullest(d, sheet->priority, ecn ? sheet->ports : NULL, ecn ? sheet->n_ports : 0)
		: NULL;
	if (!any)
		sheet->not_expected = "the queue model does not know this threshold";
	else if (!l)
		sheet->not_expected = "no queue of the switch was seen at this priority";
	else if (ask(in->evidence, d, l, &to, &in->options, in->arena, &effect, &why) < 0)
		sheet->not_expected = arena_strdup(in->arena, why.text);
	else {
		sheet->expected = effect.expected;
		sheet->n_expected = effect.n_expected;
	}
}
