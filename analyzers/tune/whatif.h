/*
 * whatif - a model of one lossless queue under bursts: what would other thresholds do to its pause
 * time, marks, drops and throughput? It is calibrated from what the site's own queue has shown, so
 * it need not know the job. It shares no code with the simulated fabric that it is scored against.
 *
 * The model (fluid; steps of about an eighth of a round trip):
 *   - k inputs at line rate feed one egress queue. A burst is a fixed volume: a training step moves
 *     the same bytes whatever the thresholds are.
 *   - PFC holds the queue at the depth q_PFC: k a (B-u) / (1 + k a) under a dynamic threshold
 *     (docs/formulas.md), k x level under a static one. What arrives faster than it leaves is
 *     counted as time paused.
 *   - What is in flight when XOFF is sent must fit the headroom; the rest is lost, once per pause
 *     episode. An episode lasts until the XON offset and what is in flight have drained and
 *     refilled.
 *   - Packets are marked by depth between Kmin and Kmax; senders learn of it a round trip later.
 *   - Senders are the mean field of DCQCN: rate, target and average of marking; a cut at most once
 *     per CNP interval; half of the way back for each timer that ran out without a mark, plus an
 *     additive step (Zhu et al., SIGCOMM 2015, sections 3 and 5, in expectation over flows).
 *   - A burst begins between line rate and the rate at which the last one ended.
 *
 * Calibration. Counters do not show burst volume, how far the inputs together exceed the queue, the
 * number of flows, CNP interval, timer, additive step, and how much of its rate a sender keeps
 * between bursts. A fixed set of draws over their ranges is tried, and narrowed around those that
 * reproduce what was measured. What fits is kept with its weight; a prediction is the spread over
 * all of it. Nothing is random: the same input gives the same bytes.
 *
 * Not in the model: other queues (a paused port also holds back traffic to other places, so the
 * throughput is of this queue only), pause by other switches, routing.
 *
 * Units: bytes, bit/s, ns, ratios 0..1. Pure; no allocation. Every result is a range: [low, high]
 * by the spread of the calibration, widened by its residual.
 */
#pragma once

#include "base/base.h"

/* Thresholds. NAN: unchanged; in .now: not known. xoff_level belongs to switches with static
 * thresholds, and then replaces alpha. */
struct whatif_settings {
	double alpha, headroom_bytes, xoff_level_bytes, xon_offset_bytes, kmin_bytes, kmax_bytes,
		pmax;
};

struct whatif_queue { /* what is known of the queue and of what feeds it */
	/* cable_ns: one way, of the ports that feed it */
	double pool_bytes, speed_bps, input_bps, rtt_ns, mtu_bytes, cable_ns;
	double inputs; /* k that feed it at once */
	struct whatif_settings now;
	/* measured under .now: what the model is fitted to; NAN = not known. Shares are of all time
	 */
	double pause_ratio; /* of the inputs, mean; needed */
	/* .pause_ratio is an upper bound, from frames; predicted pause is then a bound as well */
	bool pause_bound;
	double marks_ratio, queue_peak_bytes, pg_peak_bytes, headroom_peak_bytes, drops_per_s;
	double utilization; /* of the queue's port */
	double episodes_per_s; /* pauses sent per input */
	bool dcqcn; /* false: senders do not slow down when marked */
};

struct whatif_range {
	double low, mid, high;
};
struct whatif_result {
	struct whatif_range pause_ratio, marks_ratio, drops_per_s, queue_peak_bytes,
		headroom_peak_bytes;
	/* of this queue while it is busy, of now: 1 = the same */
	struct whatif_range throughput_ratio;
	/* time between bursts of the same volume, of now: a burst lasts longer by the throughput
	 * that is lost, the rest of the step stays the same */
	struct whatif_range step_ratio;
	/* depth of the egress queue at which PFC fires, with @to; NAN unknown */
	double q_pfc_bytes;
	unsigned known; /* see whatif_fit */
	/* of the best fit: mean of |model - measured| / measured, how far to trust it; NAN nothing
	 * to compare with */
	double residual;
};

struct whatif_burst { /* of one burst in its steady repetition; shares are of its time */
	double length_ns, pause, marks, peak, throughput, episodes_per_ns;
};
enum { WHATIF_PARAMS = 8, WHATIF_KEPT = 20 };
struct whatif_fit { /* a calibrated queue: one fit, many predictions */
	struct whatif_queue q;
	/* how many of the four most telling values were measured: pause, marks, depth, load. The
	 * fewer, the wider the ranges */
	unsigned known;
	unsigned n;
	struct {
		double p[WHATIF_PARAMS], weight;
		struct whatif_burst now;
	} v[WHATIF_KEPT];
	double residual;
};

/* whatif_calibrate - 0; -ENODATA: not enough was measured to calibrate; -EDOM: a value is out of
 * range. A few milliseconds. */
int whatif_calibrate(const struct whatif_queue *queue, struct whatif_fit *ret);
/* whatif_predict - the effect of @to. 0; -EDOM: a value is out of range. Below a millisecond. */
int whatif_predict(
	const struct whatif_fit *fit, const struct whatif_settings *to, struct whatif_result *ret);
