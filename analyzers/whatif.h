/*
 * whatif - a model of one lossless queue under a burst, to say what other thresholds would do: pause time, marks, drops, throughput. Calibrated from
 * what the site's own queue has shown, so that it need not know the job. Own arithmetic; shares nothing with the simulated fabric it is scored against.
 *
 * Units: bytes, bit/s, ns, ratios 0..1. Pure; no allocation. Every result is a range: [low, high] by the spread of the calibration.
 */
#ifndef RW_ANALYZERS_WHATIF_H
#define RW_ANALYZERS_WHATIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct whatif_settings { /* thresholds; NAN = as it is */
	double alpha, headroom_bytes, xon_offset_bytes, kmin_bytes, kmax_bytes, pmax;
};

struct whatif_queue { /* what is known of the queue and of what feeds it */
	double pool_bytes, speed_bps, input_bps, rtt_ns, mtu_bytes, cable_ns;
	double inputs;            /* k that feed it at once */
	struct whatif_settings now;
	/* measured under .now: what the model is fitted to; NAN = not known */
	double pause_ratio, marks_ratio, queue_peak_bytes, pg_peak_bytes, headroom_peak_bytes, drops_per_s, utilization, busy_ratio;
	bool dcqcn;
};

struct whatif_range { double low, mid, high; };
struct whatif_result {
	struct whatif_range pause_ratio, marks_ratio, drops_per_s, throughput_ratio, queue_peak_bytes; /* throughput: of now, 1 = the same */
	double q_pfc_bytes;       /* depth of the egress queue at which PFC fires */
	double residual;          /* |model - measured| / measured at .now: how far to trust it; NAN nothing to compare with */
};

/* whatif_predict - the effect of @to on @q. 0; -ENODATA: not enough was measured to calibrate; -EDOM: a value is out of range. */
int whatif_predict(const struct whatif_queue *q, const struct whatif_settings *to, struct whatif_result *ret);

#endif
