/*
 * flow_table - the counts of each RoCEv2 flow of a capture: (source, destination, UDP source port,
 * destination QP), and of each direction of a queue pair: the same without the source port, which
 * some NICs vary by packet. Bounded; time comes with the packets. Single-threaded.
 *
 * PSN bookkeeping (psn.h) is done per direction of a queue pair, over request packets (SEND, WRITE,
 * READ request, atomics) and, separately, within the messages of READ responses; acknowledgements
 * and CNPs have no sequence of their own. A gap is counted for the flow of the packet that showed
 * it. After a READ request a jump by what its responses use at the smallest MTU, 256 bytes,
 * is no gap. All this holds only for captures of every packet: with sampling above 1 gaps,
 * duplicates and retransmits are unknown and stay 0 (and so does the burst rate): they are never
 * reported as loss.
 *
 * CNP and NAK travel against the flow they are about, and name the sender's QP, not the receiver's.
 * They are attributed to a queue pair of the reversed address pair by the first of these rules that
 * gives one answer:
 *   1. an earlier packet of this QP decided it
 *   2. the pair has only one QP with requests
 *   3. only one has the same UDP source port
 *   4. only one has sent the PSN of the ACK or NAK, among its last 65,536
 * Otherwise they are counted in the totals alone (.unattributed). Of a queue pair's flows the one
 * that carried the newest request gets them.
 */
#ifndef RW_COLLECTORS_FLOW_TABLE_H
#define RW_COLLECTORS_FLOW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/packet/psn.h"
#include "collectors/packet/roce_parse.h"
#include "db/model/flow.h"

#define FLOW_TABLE_LIMIT 65536u /* flows of a live capture: 24 MiB */
#define FLOW_TABLE_FILE_LIMIT 262144u /* of a file: 96 MiB */

/* Everything counted for one flow since the last flow_table_next(). */
struct flow {
	struct flow_key key;
	uint64_t packets, octets;
	uint64_t ce, ect, not_ect;
	/* packets of this flow that are CNP, NAK, RNR NAK */
	uint64_t cnp_sent, nak_sent, rnr_nak_sent;
	/* attributed: sent by the receiver about this flow */
	uint64_t cnp_about, nak_about, rnr_nak_about;
	struct psn_counts psn;
	uint64_t payload_bytes;
	uint64_t burst_octets; /* most in one aligned millisecond */
	int64_t first_ns, last_ns;
	/* Only in what flow_table_qps() returns: requests if any, else responses, else whatever
	 * came; last = the most advanced. */
	uint32_t psn_first, psn_last, source_ports;
	/* The table's own. */
	uint64_t bin, bin_octets;
	uint32_t tuple, qp;
	uint8_t idle; /* intervals without a packet */
};

struct flow_table;

/* @limit: most flows kept; packets of further ones are refused and counted. @sampling: one packet
 * in N, >= 1. @seed: of the hash. */
struct flow_table *flow_table_new(uint32_t limit, uint32_t sampling, uint64_t seed);
void flow_table_free(struct flow_table *table); /* NULL is fine */

/* flow_table_add - @packet must be of kind PACKET_ROCE, or PACKET_ROCEV1: those have no flow, they
 * are counted together. */
void flow_table_add(struct flow_table *table, const struct roce_packet *packet, int64_t t_ns);

struct flow_totals {
	uint64_t packets, octets, ce, ect, not_ect, cnp, nak, rnr_nak;
	struct psn_counts psn;
	/* packets of flows beyond the limit: counted here, kept nowhere else */
	uint64_t refused;
	uint64_t unattributed; /* CNPs and NAKs */
	uint64_t burst_octets; /* most in one aligned millisecond, all flows together */
	/* distinct since the last flow_table_next(); lower bounds when .refused > 0 */
	uint32_t flows, five_tuples;
	double sum_sq_octets; /* over 5-tuples */
	double sum_octets; /* over the same */
};
/* flow_table_totals - sums over the flows that had packets. Walks the table. */
void flow_table_totals(struct flow_table *table, struct flow_totals *ret);

/* Flows with packets, most octets first, equal ones by key: at most @max. Returns an array the
 * caller frees; flows are lent. */
const struct flow **flow_table_top(const struct flow_table *table, size_t max, size_t *ret_n);

/*
 * flow_table_qps - the same by direction of a queue pair: flows that differ in the source port only
 * are one. Most octets first. key.src_port is the one port used, or 0 when there were several.
 * burst_octets is the largest of its flows. Caller frees.
 */
struct flow *flow_table_qps(const struct flow_table *table, size_t *ret_n);

/*
 * flow_table_samples - the rows of one interval, as history keeps them: the totals, then the top
 * FLOW_TOP flows. Frames of RoCE version 1, where there were any, take the place of the last one.
 *
 * @psn_known  false when the capture lost packets itself in the interval: gaps and retransmits are
 * then unknown and 0
 * @ret        room for FLOW_TOP + 1; returns how many were filled
 */
size_t flow_table_samples(struct flow_table *table, int64_t from_ns, int64_t to_ns, uint32_t entity,
	enum flow_dir dir, bool psn_known, struct flow_sample ret[FLOW_TOP + 1]);

/* flow_table_next - begin the next interval: counts go to 0, sequences are remembered, flows idle
 * for FLOW_IDLE intervals go. */
enum { FLOW_IDLE = 6 };
void flow_table_next(struct flow_table *table);

/* n_eff = (sum w)^2 / sum w^2: how many equal 5-tuples would spread as unevenly. 0 when nothing was
 * seen. */
double flow_n_eff(double sum, double sum_sq);

#endif
