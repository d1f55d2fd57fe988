/*
 * ecn_order - does a queue mark before its switch pauses? The invariant behind every ECN threshold:
 * DCQCN is the brake, PFC the emergency one. Pure: settings in, verdict out.
 *
 * Source: tuning facts b.4, on the dynamic threshold of Choudhury and Hahne (a.6, held against
 * packet simulation within 5 %): with k inputs feeding one egress queue PFC fires at q_PFC(k) = k a
 * (B - u) / (1 + k a). Kmin has to lie at or below half of it, so that senders have time to react,
 * and below the level a single input reaches. A platform with static XOFF levels pauses at k x that
 * level. Simplification: one size for the pool. Many chips share their buffer per slice: then B is
 * smaller than declared, PFC fires earlier than computed here, and "ECN first" is said too easily,
 * never "PFC first".
 */
#ifndef RW_ANALYZERS_ECN_ORDER_H
#define RW_ANALYZERS_ECN_ORDER_H

enum ecn_order {
	ECN_ORDER_UNKNOWN, /* a setting it takes is not known */
	ECN_FIRST, /* Kmin leaves room before PFC */
	/* Kmin is above half of q_PFC(k): senders are told too late to prevent pause */
	ECN_TIGHT,
	PFC_FIRST, /* Kmin is at or above q_PFC(k): nothing is marked before pause begins */
};

struct ecn_order_in { /* bytes; NAN = not known */
	double pool_bytes, used_bytes; /* used by others; 0 when not known */
	double alpha; /* dynamic threshold, 2^n */
	/* static platforms: replaces the threshold where it is known and alpha is not */
	double xoff_level_bytes;
	double kmin_bytes;
	unsigned inputs; /* that feed the queue at once, at least 1 */
};

/* The verdict; @ret_q_pfc_bytes (may be NULL) is filled when there is one: the depth of the queue
 * when PFC fires. */
enum ecn_order ecn_order(const struct ecn_order_in *in, double *ret_q_pfc_bytes);

#endif
