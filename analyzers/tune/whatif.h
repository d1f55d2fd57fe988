/*
 * whatif - a model of one lossless queue under bursts, to say what other thresholds would do: pause
 * time, marks, drops, throughput. Calibrated from what the site's own queue has shown, so that it
 * need not know the job. Own arithmetic; shares nothing with the simulated fabric it is scored
 * against.
 *
 * The model (fluid, steps of about an eighth of a round trip):
 *   - k inputs at line rate feed one egress queue; a burst is a fixed volume, since a training
 *       step moves the same bytes whatever the thresholds;
 *   - the queue is held at the depth where PFC fires, k a (B-u) / (1 + k a) under a dynamic
 *       threshold (formulas.h), k x level under a static one: what arrives
 *     faster than it leaves is then time paused. What is under way when XOFF is sent must fit
 *         the headroom, else the rest of it is lost, once per episode;
 *     an episode lasts as long as it takes to drain and refill the XON offset and what is under
 *         way;
 *   - packets are marked by depth between Kmin and Kmax; senders hear of it a round trip later;
 *   - senders are DCQCN's mean field: rate, target and average of marking, cut at most once per
 *       CNP interval, half of the way back per timer that ran out
 *     unmarked, plus an additive step (Zhu et al., SIGCOMM 2015, sections 3 and 5, in
 *         expectation over flows);
 *   - a burst begins between line rate and the rate the last one ended with.
 *
 * What counters do not tell (burst volume, how far inputs together exceed the queue, flows, CNP
 * interval, timer, additive step, how much of the rates a pause between bursts resets) is
 * calibrated: a fixed set of draws over their ranges, narrowed around those that reproduce what was
 * measured. What fits is kept with its weight; a prediction is the spread over all of it. Nothing
 * is drawn by chance: the same input gives the same bytes.
 *
 * Not in it: other queues (a paused port holds back traffic to other places too: whatif's
 * throughput is of this queue only), other switches' pause, routing.
 *
 * Units: bytes, bit/s, ns, ratios 0..1. Pure; no allocation. Every result is a range: [low, high]
 * by the spread of the calibration, widened by its residual.
 */
#ifndef RW_ANALYZERS_WHATIF_H
#define RW_ANALYZERS_WHATIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* thresholds; NAN = as it is, in .now: not known. xoff_level is of switches with static thresholds,
 * and then stands for alpha */
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
	/* it is what frames could hold at most: the truth is somewhere below, and what comes of it
	 * is told in the same measure */
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
	/* time between bursts of the same volume, of now: bursts last longer by the throughput
	 * lost, the rest is the same */
	struct whatif_range step_ratio;
	/* depth of the egress queue at which PFC fires, with @to; NAN unknown */
	double q_pfc_bytes;
	unsigned known; /* see whatif_fit */
	/* of the best fit: |model - measured| / measured, mean over what was measured: how far to
	 * trust it; NAN nothing to compare with */
	double residual;
};

struct whatif_burst { /* of one burst in its steady repetition; shares are of its time */
	double length_ns, pause, marks, peak, throughput, episodes_per_ns;
};
enum { WHATIF_PARAMS = 8, WHATIF_KEPT = 20 };
struct whatif_fit { /* a calibrated queue: one fit, many predictions */
	struct whatif_queue q;
	/* of the four that say most: measured pause, marks, depth, load. The fewer, the wider the
	 * ranges */
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

#endif
