/*
 * ecn_order - does a queue mark before its switch pauses? That order is behind every ECN threshold:
 * DCQCN is the brake, PFC the emergency brake. Pure: settings in, verdict out.
 *
 * With k inputs feeding one egress queue, PFC acts at q_PFC(k) = k a (B - u) / (1 + k a), from the
 * dynamic threshold of Choudhury and Hahne (docs/formulas.md, dt_pfc_queue_bytes). Kmin must be at
 * or below half of it, so that senders have time to react. A platform with static XOFF levels
 * pauses at k x that level.
 *
 * Simplification: one size for the pool. Many chips divide their buffer into slices; then B is
 * smaller than configured and PFC acts earlier than computed. So ECN_FIRST may be wrong, PFC_FIRST
 * is not.
 */
#pragma once

enum ecn_order {
	ECN_ORDER_UNKNOWN, /* a setting that is needed is not known */
	ECN_FIRST, /* Kmin leaves room before PFC */
	/* Kmin is above half of q_PFC(k): senders slow down too late to prevent pause */
	ECN_TIGHT,
	PFC_FIRST, /* Kmin is at or above q_PFC(k): nothing is marked before pause begins */
};

struct ecn_order_in { /* bytes; NAN = not known */
	double pool_bytes, used_bytes; /* used by others; 0 when not known */
	double alpha; /* dynamic threshold, 2^n */
	/* of platforms with static thresholds: used where alpha is not known */
	double xoff_level_bytes;
	double kmin_bytes;
	unsigned inputs; /* that feed the queue at once, at least 1 */
};

/* The verdict; @ret_q_pfc_bytes (may be NULL) is filled when there is one: the depth of the queue
 * when PFC fires. */
enum ecn_order ecn_order(const struct ecn_order_in *in, double *ret_q_pfc_bytes);
