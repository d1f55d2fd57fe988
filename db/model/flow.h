/*
 * flow - what a capture saw of one RoCEv2 flow at one port in one interval. History keeps, per
 * interval and port, the top 64 flows by octets and a row of totals; packet-based findings follow
 * from these alone, so replay equals live.
 */
#ifndef RW_DB_FLOW_H
#define RW_DB_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#define FLOW_TOP 64
enum flow_dir { FLOW_DIR_UNKNOWN, FLOW_DIR_IN, FLOW_DIR_OUT }; /* seen from the port */

struct flow_key {
	/* 4 or 6; 0: all frames of RoCE version 1, which has no IP header, in one row */
	uint8_t family;
	uint8_t src[16], dst[16];
	uint16_t src_port; /* UDP; the destination is 4791 */
	uint32_t dst_qp; /* 24 bit */
};

struct flow_sample {
	int64_t from_ns, to_ns; /* interval, [from, to) */
	uint32_t entity; /* port the capture stands for */
	/* 1 = every packet, 4000 = one in 4000; counts below are as seen, not scaled */
	uint32_t sampling;
	uint8_t dir; /* enum flow_dir */
	/* the row of totals: key unset, .flows = distinct keys seen (exact up to the table's bound)
	 */
	bool total;
	struct flow_key key;
	uint64_t packets, octets; /* octets: Ethernet frame lengths on the wire, without FCS */
	uint64_t ce, ect, cnp, nak, retransmits, psn_gaps;
	/* highest rate over any 1 ms of the interval; 0 = unknown (sampled) */
	uint64_t burst_bps;
	uint32_t flows;
	/* totals: sum of squared octets per 5-tuple over all flows seen, for n_eff = (sum w)^2 /
	 * sum w^2 */
	double sum_sq_octets;
};

/* flow_is_v1 - the row that counts frames of RoCE version 1 of an interval. */
static inline bool flow_is_v1(const struct flow_sample *flow)
{
	return !flow->total && flow->key.family == 0;
}

/* For qsort of struct flow_sample. flow_order: by entity, from, total first, octets desc, the rest:
 * total, so equal flows come in one order whoever sorts them. flow_end_order: by end first, as they
 * arrive live. */
int flow_order(const void *left, const void *right);
int flow_end_order(const void *left, const void *right);

#endif
