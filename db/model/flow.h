/*
 * flow - what a capture saw of one RoCEv2 flow at one port in one interval. History keeps, per
 * interval and port, a row of totals, the top 64 flows by octets, and the 64 hosts of which the
 * packets say most about congestion control. Packet-based findings follow from these alone, so
 * replay equals live.
 */
#ifndef RW_DB_FLOW_H
#define RW_DB_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "db/model/reaction.h"

#define FLOW_TOP 64
#define FLOW_HOSTS 64
#define FLOW_ROWS_MAX (1 + FLOW_TOP + FLOW_HOSTS) /* of one capture and interval */
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
	/* the row of one host, .key.src: .ce is the data it sent that carried CE, .reaction and
	 * .answer are its part in congestion control; all other counts are 0 */
	bool host;
	struct flow_key key;
	uint64_t packets, octets; /* octets: Ethernet frame lengths on the wire, without FCS */
	uint64_t ce, ect, cnp, nak, retransmits, psn_gaps;
	/* packets that carry data, no ACK and no CNP; of these ECT or CE. 0 data packets: not known
	 */
	uint64_t data_packets, data_ect;
	/* highest rate over any 1 ms of the interval; 0 = unknown (sampled) */
	uint64_t burst_bps;
	uint32_t flows;
	/* totals: sum of squared octets per 5-tuple over all flows seen, for n_eff = (sum w)^2 /
	 * sum w^2 */
	double sum_sq_octets;
	/* totals: packets that came a second time and are in no other count; packets that the
	 * capturing machine lost before they were counted */
	uint64_t copies, capture_lost;
	/* totals: octets whose packets choose their path one by one (a queue pair that varies its
	 * source port by packet, Ultra Ethernet): a hash has no say in where these go */
	uint64_t spray_octets;
	/* of a host row: as sender and as receiver */
	struct reaction_sum reaction;
	struct answer_sum answer;
};

/* flow_is_v1 - the row that counts frames of RoCE version 1 of an interval. */
static inline bool flow_is_v1(const struct flow_sample *flow)
{
	return !flow->total && !flow->host && flow->key.family == 0;
}

/* For qsort of struct flow_sample. flow_order: rows of hosts last; by entity, from, total first,
 * octets desc, the rest: total, so equal flows come in one order whoever sorts them.
 * flow_end_order: by end first, as they arrive live. */
int flow_order(const void *left, const void *right);
int flow_end_order(const void *left, const void *right);

#endif
