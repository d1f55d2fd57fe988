/*
 * tune_effect - the expected effect of other thresholds, as a sheet shows it: the queue
 * model (whatif.h), calibrated from one queue's evidence.
 *
 * The queue: the one at @port, or the one of the device that is fullest where nothing says which.
 * Its load comes from its own evidence; pause is that of the priority groups that feed it, so of
 * the ports of the same switch that were paused most.
 *
 * Metrics of the expectations, canonical where there is one: pfc.tx_pause_ns (ratio of time, hosts
 * of the switch), queue.ecn_marked (ratio of packets), pg.drops (frames/s), queue.watermark_bytes,
 * pg.headroom_watermark_bytes (bytes), and step_time (ratio of now: 1.02 = 2 % longer). Every one
 * is a range, [low, high], with what is measured now; one that cannot be predicted is left out.
 *
 * Pure; results live in the arena. Bytes, ratios, ns.
 */
#pragma once

#include "base/base.h"

#include "analyzers/tune/tune.h"
#include "analyzers/tune/tune_evidence.h"
#include "analyzers/tune/whatif.h"

struct tune_effect {
	const struct tune_prio *prio; /* the queue it was calibrated on */
	/* input of the model; .now: thresholds in force */
	struct whatif_queue queue;
	struct whatif_settings to;
	struct whatif_result model; /* of that queue */
	struct tune_expect *expected;
	size_t n_expected; /* of the switch, as a sheet tells them */
	/* what the ranges rest on, and what is not known */
	const char **notes;
	size_t n_notes;
};

/*
 * tune_whatif - @port NULL: the fullest queue of @device. @to: NAN = as it is. 0; -ENOENT: no such
 * device, port or lossless priority; -ENODATA: there is not enough to calibrate the model by;
 * -EDOM: a value is out of range. @err says what is missing.
 */
int tune_whatif(const struct tune_evidence *evidence, const char *device, const char *port,
	int priority, const struct whatif_settings *to, const struct tune_options *options,
	struct arena *a, struct tune_effect *ret, struct err *err);

/*
 * tune_effect_fit - the model of one queue, for many questions: whatif_predict(fit, ...).
 * @ret: what it was fitted to. 0; -ENODATA: there is not enough to calibrate it by; -EDOM.
 */
int tune_effect_fit(const struct tune_evidence *evidence, const struct tune_device *device,
	const struct tune_prio *prio, const struct tune_options *options, struct arena *a,
	struct whatif_queue *ret, struct whatif_fit *fit);

/* tune_expected - fills .expected of a sheet from its device, ports, priority and changes; or
 * .not_expected, where nothing can be predicted. */
void tune_expected(const struct tune_in *in, struct tune_sheet *sheet);
