/*
 * flow_table - what is known of each direction of a queue pair (source, destination, destination
 * QP) in a stream of RoCEv2 packets, and of the UDP source ports it used: a source port is one more
 * number of a queue pair, not a flow of its own, so a NIC that varies it by packet costs nothing.
 * Single-threaded; time comes with the packets.
 *
 * Memory. A direction takes 72 bytes (flow_qp), one that carries requests or READ responses 128
 * more (flow_stream), and 10 to 20 in the index, while it is small 20 to 40; other tables are
 * bounded apart (FLOW_HOSTS_MAX
 * ...). All together at most 64 MiB + 128 bytes for each direction up to the limit
 * (bench_flow_table measures it). Beyond the limit the least direction goes (flow_table.h:
 * Space-Saving), what is distinct is estimated (HyperLogLog), and flow_totals says which sums are
 * then lower bounds. Packets, octets and marks of the totals stay exact.
 *
 * Hosts are found by SipHash-1-3, directions by a keyed product of two numbers of hosts and the QP;
 * the key comes from the caller: a sender of packets cannot aim at one slot.
 *
 * Gaps and what is sent again are judged by loss.h, for captures of every packet only: with
 * sampling above 1 gaps, duplicates and retransmits are unknown and stay 0 (and so does the burst
 * rate): they are never reported as loss.
 *
 * CNP and NAK travel against the flow they are about, and name the sender's QP, not the receiver's.
 * They are attributed to a stream of the reversed address pair by the first of these rules that
 * gives one answer (below):
 *   1. an earlier packet of this QP decided it
 *   2. the pair has only one stream with requests
 *   3. only one has the same UDP source port (and, for an ACK or NAK, has sent its PSN)
 *   4. only one has sent the PSN of the ACK or NAK, among its last 65,536
 * Otherwise they are counted in the totals alone (.unattributed).
 */
#pragma once

#include "base/base.h"

#include "base/bytes.h"
#include "collectors/packet/flow/stream_clock.h"
#include "collectors/packet/frame/roce_parse.h"
#include "collectors/packet/loss/loss.h"
#include "db/model/flow.h"

struct flow_table;

/* Directions of queue pairs. Of a live capture: 24 MiB at most; of a file: 4/5 of 2^20, at which
 * the index is full. */
#define FLOW_TABLE_LIMIT 65536u
#define FLOW_TABLE_FILE_LIMIT 838860u
#define FLOW_NONE UINT32_MAX

/* ---- what is kept ------------------------------------------------------------ */

/* One direction of a queue pair; ids are dense, stay while it lives, and are used again after.
 * Counts are since the last flow_table_next(). One cache line: an ACK touches nothing else. */
struct flow_qp {
	uint64_t octets;
	int64_t last_ns;
	uint32_t packets, ce, not_ect;
	uint32_t src, dst; /* hosts: flow_table_host() */
	unsigned dst_qp : 24;
	/* what psn_first and _last are of: 3 requests, 2 responses, 1 other, 0 nothing yet */
	unsigned psn_rank : 2;
	unsigned idle : 3; /* intervals without a packet */
	unsigned dir : 2; /* enum flow_dir of the newest packet: set by who knows it */
	unsigned sole_peer : 1; /* .peer holds only while it is the only stream of its pair */
	uint32_t psn_first, psn_last; /* last: the most advanced */
	/* the stream that ACKs and CNPs of this direction are about; FLOW_NONE: not known yet */
	uint32_t peer;
	uint32_t stream; /* FLOW_NONE: has carried no request and no response */
	uint32_t rare; /* counts that most have not; 0: none */
	unsigned port : 16; /* newest source port */
	unsigned peer_mark : 15; /* generation of .peer; without one: how often it was looked for */
	unsigned many_ports : 1; /* .rare has them */
};

/* What is kept of a direction that carries requests or READ responses. Two cache lines. */
struct flow_stream {
	uint64_t payload_bytes;
	uint32_t data_packets; /* with payload */
	uint32_t bin, bin_octets, burst_octets; /* most in one aligned millisecond */
	uint32_t qp; /* id of its flow_qp; FLOW_NONE: free */
	uint32_t src, dst; /* hosts, as in its flow_qp */
	uint32_t pair_before, pair_after; /* streams of the same address pair */
	unsigned flow_label : 20; /* newest */
	unsigned sole : 1; /* the only stream of its pair */
	unsigned requests : 1; /* has sent one */
	uint16_t generation; /* of this id, 15 bits */
	uint16_t request_port; /* source port of the newest request, else of the newest packet */
	/* State of modules, embedded: zero at birth, at most 40 bytes each. What is rare stands
	 * elsewhere, and is let go when flow_table_on_drop() says so. */
	struct stream_psn psn;
	struct stream_clock clock;
};

struct flow_host {
	uint8_t address[16]; /* IPv4 in the first four bytes, the rest 0 */
	unsigned family : 4; /* 4, 6; 0: free */
	unsigned used : 28; /* by so many directions */
};

/* @limit: most directions kept. @sampling: one packet in N, >= 1. @seed: of the hash. */
struct flow_table *flow_table_new(uint32_t limit, uint32_t sampling, uint64_t seed);
void flow_table_free(struct flow_table *table); /* NULL is fine */

/* What modules are told of, so that they can let go of their own state: the stream is still whole,
 * the host's id will soon mean another host. Each may be NULL. */
struct flow_drops {
	void (*stream)(void *arg, struct flow_stream *stream);
	void (*host)(void *arg, uint32_t host);
	void *arg;
};
/* flow_table_on_drop - records go when they are idle or evicted. At the end of the table modules
 * let go of all they have. */
void flow_table_on_drop(struct flow_table *table, const struct flow_drops *drops);

/* flow_table_loss - what became of missing packets; NULL when the table was made for a sample. */
struct loss *flow_table_loss(const struct flow_table *table);

const struct flow_host *flow_table_host(const struct flow_table *table, uint32_t id);
const struct flow_stream *flow_table_stream(const struct flow_table *table, uint32_t id);
/* Ids that were ever in use are below this one; see .packets for free ones. */
uint32_t flow_table_stream_end(const struct flow_table *table);

/* ---- packets ----------------------------------------------------------------- */

/* Where a packet belongs. Lent until the next packet. */
struct flow_hit {
	struct flow_qp *qp; /* NULL: kept nowhere (a frame of version 1) */
	struct flow_stream *stream; /* of the same direction; NULL: it carries no data */
	struct flow_stream *about; /* ACK, NAK, CNP: the data it answers; NULL: not known */
	uint32_t id; /* of .qp; FLOW_NONE: none */
	enum roce_role role;
};

/* flow_table_add - @packet must be of kind PACKET_ROCE, or PACKET_ROCEV1: those have no flow, they
 * are counted together. @ret may be NULL. */
void flow_table_add(struct flow_table *table, const struct roce_packet *packet, int64_t t_ns,
	struct flow_hit *ret);

/* Where the direction of a packet is looked for. */
struct flow_aim {
	uint64_t hash;
	uint32_t src, dst; /* numbers of its hosts; FLOW_NONE: one is not known yet */
	uint32_t hosts_gone; /* as of when: a number is given to another host later */
};

/*
 * The same in steps, for a caller that has more packets at hand: each step for all of them, so that
 * memory is there when the next one needs it.
 *   flow_table_aim
 *   flow_table_fetch_qp       the id at which the packet's direction probably is, or FLOW_NONE
 *   flow_table_fetch_stream   of that id: the stream, or the one that the direction answers; where
 *                             neither is known, the pair of hosts
 *   flow_table_fetch_pair     of that pair: its newest stream
 *   flow_table_fetch_peer     the direction of that one, for an answer
 *   flow_table_add_aimed      @probably: that id
 */
void flow_table_aim(
	const struct flow_table *table, const struct roce_packet *packet, struct flow_aim *ret);
uint32_t flow_table_fetch_qp(const struct flow_table *table, const struct flow_aim *aim);
/* What is asked for one packet; zeroed, but .probably. For asking for more memory only: the packet
 * may belong elsewhere, and before it is added the streams may become those of other directions. */
struct flow_fetch {
	uint32_t probably; /* flow_table_fetch_qp() */
	bool answers; /* .pair is that of what the packet answers */
	uint64_t pair; /* hash; 0: not needed, or not known */
	const struct flow_stream *stream; /* NULL: not known */
	const struct flow_stream *newest; /* of the pair */
};
void flow_table_fetch_stream(const struct flow_table *table, const struct roce_packet *packet,
	const struct flow_aim *aim, struct flow_fetch *fetch);
void flow_table_fetch_pair(const struct flow_table *table, struct flow_fetch *fetch);
void flow_table_fetch_peer(const struct flow_table *table, const struct flow_fetch *fetch);
void flow_table_add_aimed(struct flow_table *table, const struct roce_packet *packet,
	const struct flow_aim *aim, uint32_t probably, int64_t t_ns, struct flow_hit *ret);

/*
 * flow_table_copy - a copy of a packet of this direction was captured: counted apart.
 *
 * @aim   flow_table_aim()
 * @odd   the capture does not show everything twice: then it is an event of its own
 */
void flow_table_copy(struct flow_table *table, const struct roce_packet *packet,
	const struct flow_aim *aim, int64_t t_ns, bool odd);

/* ---- answers ------------------------------------------------------------------ */

struct flow_totals {
	uint64_t packets, octets, ce, ect, not_ect, cnp, nak, rnr_nak;
	struct psn_counts psn;
	uint64_t unattributed; /* CNPs and NAKs */
	uint64_t burst_octets; /* most in one aligned millisecond, all flows together */
	/* Directions that were let go to make room since the last flow_table_next(). Above 0: .psn,
	 * .unattributed and the rows are lower bounds, .flows and .five_tuples are estimates with
	 * FLOW_DISTINCT_PRECISION, and the sums over 5-tuples take what was let go for spread
	 * evenly. */
	uint64_t evicted;
	uint64_t refused; /* packets that found no room at all: counted here alone */
	/* distinct since the last flow_table_next(): (source, destination, source port, QP), and
	 * without QP */
	uint32_t flows, five_tuples;
	uint32_t sprayed; /* directions that use source ports or flow labels in turn */
	double sum_sq_octets; /* over 5-tuples */
	double sum_octets; /* over the same */
};
enum { FLOW_DISTINCT_PRECISION = 14 };
/* flow_table_totals - walks the table. */
void flow_table_totals(struct flow_table *table, struct flow_totals *ret);

/* How evenly payload spreads over 5-tuples: packets with payload only, no ACK, CNP or request
 * without data. */
struct flow_entropy {
	uint64_t data_packets, payload_bytes;
	uint32_t five_tuples, queue_pairs; /* with data */
	double n_eff; /* 0: no data */
};
enum flow_side {
	FLOW_SIDE_ANY,
	FLOW_SIDE_LOW,
	FLOW_SIDE_HIGH
}; /* source below, above destination */
/* flow_table_entropy - of the directions last seen travelling in @dir, whose source address is on
 * @side of the address pair. */
void flow_table_entropy(
	struct flow_table *table, enum flow_dir dir, enum flow_side side, struct flow_entropy *ret);

/* A direction of a queue pair, or one source port of it, as reports show it. */
struct flow {
	uint32_t id; /* of its flow_qp */
	const struct flow_qp *qp;
	const struct flow_stream *stream; /* NULL: carries no data */
	struct flow_key key;
	uint64_t packets, octets;
	uint64_t ce, ect, not_ect;
	/* packets of this direction that are CNP, NAK, RNR NAK */
	uint64_t cnp_sent, nak_sent, rnr_nak_sent;
	/* attributed: sent by the receiver about this direction */
	uint64_t cnp_about, nak_about, rnr_nak_about;
	struct psn_counts psn;
	uint64_t copies; /* counted in nothing else */
	uint64_t payload_bytes;
	uint64_t burst_octets; /* most in one aligned millisecond; 0 without data */
	int64_t first_ns, last_ns;
	uint32_t psn_first, psn_last;
	uint32_t source_ports; /* distinct; beyond FLOW_PORTS_MAX an estimate */
	uint32_t flow_labels; /* IPv6, distinct, estimated; 0: none but 0 seen */
	/* Source ports in turn: one that was left came again. A queue pair that merely got a new
	 * port (a new connection) does not spray. */
	bool sprays;
};

/* flow_table_row - fills *ret from the direction @id, all source ports together; key.src_port is
 * the one used, or 0 when there were several. */
void flow_table_row(const struct flow_table *table, uint32_t id, struct flow *ret);

/* flow_table_fetch_row, flow_table_fetch_row_more - ask for the memory that flow_table_row() of @id
 * will need: the first some rows before the second, and that some rows before it. */
void flow_table_fetch_row(const struct flow_table *table, uint32_t id);
void flow_table_fetch_row_more(const struct flow_table *table, uint32_t id);

/* Which directions, in which order. Zeroed: all of them, most octets first. */
struct flow_choice {
	/* >= 0, larger first; equal ones by octets, then by key; NULL: octets */
	double (*weight)(const void *arg, const struct flow *flow);
	bool (*wanted)(const void *arg, const struct flow *flow); /* NULL: all */
	const void *arg; /* of both */
	size_t most; /* 0: no limit */
};

/* flow_table_choose - ids of directions with packets. *ret_n is how many are returned, the answer
 * how many are wanted. The caller frees *ret. */
size_t flow_table_choose(const struct flow_table *table, const struct flow_choice *choice,
	uint32_t **ret, size_t *ret_n);

/* So many source ports or flow labels of one direction in an interval are no reconnects: each
 * packet chooses its path. */
enum { FLOW_SPRAYS = 8 };

/*
 * flow_table_samples - the rows of one interval, as history keeps them: the totals, then the top
 * FLOW_TOP flows by source port. What a source port has no count of its own for (CNP, NAK, gaps,
 * retransmits, losses) stands at the port of the newest request. Frames of RoCE version 1, where
 * there were any, take the place of the last one. Of the other flows up to FLOW_LOST follow, those
 * that lost most.
 *
 * @psn_known  false when the capture lost packets itself in the interval: gaps and retransmits are
 * then unknown and 0
 * Returns how many rows of @ret were filled.
 */
size_t flow_table_samples(struct flow_table *table, int64_t from_ns, int64_t to_ns, uint32_t entity,
	enum flow_dir dir, bool psn_known, struct flow_sample ret[1 + FLOW_TOP + FLOW_LOST]);

/* flow_table_next - begin the next interval: counts go to 0, sequences are remembered, directions
 * idle for FLOW_IDLE intervals go. */
enum { FLOW_IDLE = 6 };
void flow_table_next(struct flow_table *table);

/* n_eff = (sum w)^2 / sum w^2: how many equal 5-tuples would spread as unevenly. 0 when nothing was
 * seen. */
double flow_n_eff(double sum, double sum_sq);
