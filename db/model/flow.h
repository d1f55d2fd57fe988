/*
 * flow - what a capture saw of one RoCEv2 flow at one port in one interval. History keeps, per
 * interval and port, a row of totals, the top 64 flows by octets, of the others the 64 that lost
 * most packets or do not slow down, and the 64 hosts of which the packets say most about congestion
 * control. Packet-based findings follow from these alone, so replay equals live.
 */
#pragma once

#include "base/base.h"

/*
 * reaction - does a sender slow down after a congestion notification (CNP), and does a receiver
 * send one for what came to it marked (CE)? Sums that add up over queue pairs and intervals, and
 * the verdict over them. Pure.
 *
 * A reaction is one CNP, or several close together, that came to a sender about a queue pair in
 * the middle of a burst: the rate of that queue pair in a window before and in one after. Bursts
 * that end in a window, and windows in which the link was paused, are left out: those say nothing
 * about the sender.
 *
 * Verdict of a sender:
 *   slows          the rate after is below REACTION_SLOWS of the rate before (of many:
 *                  REACTION_SLOWS_MANY), three standard errors included; or nearly all of three or
 *                  more reactions were clear: below REACTION_CLEAR, with even gaps
 *   does_not_slow  one of these proofs. Under pressure: so many CNPs came so closely that a sender
 *                  with the published parameters, at their mildest, would be at REACTION_PRESSED
 *                  of its link's rate or less, and this one sends several times as much as that
 *                  sender would (REACTION_DEFIES; REACTION_DEFIES_KNOWN where the speed of the link
 *                  was said). At line rate: CNPs that came alone, to a queue pair that fills a link
 * of a usual speed, left its rate as it was, within REACTION_LEVEL. In a capture of one packet in
 * N: at line rate round the CNPs, although they came at most REACTION_DENSE_S apart on average, N
 * to each one seen too_few        anything else, with what is needed An application that sends
 * below its limit is not held back by a moderate cut: so without pressure or line rate nothing is
 * said against a sender whose rate stays as it was.
 *
 * Published reaction: Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments",
 * SIGCOMM 2015, section 3: a CNP cuts the rate by alpha/2, recovery halves the distance to the old
 * rate every 55 us; a receiver sends at most one CNP in 50 us and queue pair.
 * The mean of ratios is that of sums; its error is that of a ratio estimator (W. G. Cochran,
 * "Sampling Techniques", 3rd edition, section 6.4).
 */

#define REACTION_CLEAR 0.6
#define REACTION_PRESSED 0.25
#define REACTION_SLOT_NS 50000 /* a receiver answers a mark in one slot at the latest once */

struct reaction_pairs { /* rates in bit/s before and after, summed */
	uint64_t n;
	double before, after, before_sq, after_sq, product;
};

struct reaction_sum {
	uint64_t cnp; /* that came to the sender, measured or not */
	uint64_t unattributed; /* of these: about an unknown queue pair */
	uint64_t left_out; /* the burst ended, the link was paused, the capture began */
	struct reaction_pairs all;
	/* of these: no other CNP came to the queue pair shortly before */
	struct reaction_pairs alone;
	uint64_t clear; /* of these: far slower, and evenly so */
	/* windows under pressure; in them, the sums of rate / own peak, and of what the mildest
	 * sender would send / full rate */
	uint64_t pressed;
	double held, held_sq, allowed;
	/* highest rate of one queue pair in a window, bit/s; of sums: the largest */
	double peak_bps;
	/* times between CNPs about the same queue pair, up to a second each */
	uint64_t spacings;
	double spacing_s;
};

enum reaction_verdict { REACTION_TOO_FEW, REACTION_SLOWS_DOWN, REACTION_DOES_NOT_SLOW };
const char *reaction_verdict_name(enum reaction_verdict verdict); /* "too_few", "slows", ... */

struct reaction_judged {
	enum reaction_verdict verdict;
	uint64_t n;
	/* NAN where n is 0; low and high: REACTION_ERRORS standard errors */
	double before_bps, after_bps, ratio, low, high;
	const char *needs; /* static text; NULL unless too few */
};

void reaction_pair_add(struct reaction_pairs *pairs, double before_bps, double after_bps);
void reaction_sum_add(struct reaction_sum *sum, const struct reaction_sum *more);

/*
 * reaction_judge - @sampling: one packet in N, >= 1. @line_bps: speed of the sender's link; 0 =
 * not known, then the usual Ethernet speeds are tried. @peak_bps: the highest rate of any queue
 * pair of the capture: whoever is far below it is not at line rate.
 */
void reaction_judge(const struct reaction_sum *sum, uint32_t sampling, double line_bps,
	double peak_bps, struct reaction_judged *ret);

/* reaction_line_bps - the least usual Ethernet speed that carries @bps; 0 beyond the fastest. */
double reaction_line_bps(double bps);

struct answer_sum {
	uint64_t ce; /* marked data packets that came to the host */
	uint64_t slots; /* of REACTION_SLOT_NS in which one came */
	uint64_t cnp; /* that the host sent */
	/* queue pairs that send to it, and those to which it is seen to answer with ACKs */
	uint64_t directions, answered;
};

enum answer_verdict { ANSWER_TOO_FEW, ANSWER_YES, ANSWER_NO };
const char *answer_verdict_name(enum answer_verdict verdict); /* "too_few", "answers", ... */

enum answer_verdict answer_judge(const struct answer_sum *sum, uint32_t sampling);
/* answer_needs - what is missing where the verdict is too few: static text. */
const char *answer_needs(const struct answer_sum *sum);

/* What became of packets that a capture misses or sees again, as far as it is proved: seen from the
 * place of the capture. The words are those of captures (loss_cause.def). */
enum flow_loss {
	FLOW_LOST_BEFORE, /* on the way to the capture */
	FLOW_LOST_BEYOND, /* it passed the capture, and the receiver missed it */
	FLOW_LOST_READ, /* READ responses, asked for again */
	FLOW_LOST_TIMER, /* sent again after silence: the side is not known */
	FLOW_LOST_ACK, /* the answer, not the packet */
	FLOW_LOST_RNR, /* the receiver had no buffer posted: nothing was lost on the way */
	FLOW_LOSS_KINDS
};
const char *flow_loss_word(enum flow_loss kind); /* "lost_before", "lost_beyond", ... */

#define FLOW_TOP 64
#define FLOW_LOST 64
#define FLOW_HOSTS 64
/* of one capture and interval */
#define FLOW_ROWS_MAX (1 + FLOW_TOP + FLOW_LOST + FLOW_HOSTS)
enum flow_dir { FLOW_DIR_UNKNOWN, FLOW_DIR_IN, FLOW_DIR_OUT }; /* seen from the port */
enum flow_dir flow_dir_of(const char *word); /* "in", "out", else unknown; NULL is fine */

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
	/* losses of each kind, and packets that are known to be missing here for the first of them;
	 * all 0 where gaps are not known (a sample; a capture that lost packets itself) */
	uint64_t lost[FLOW_LOSS_KINDS], missing;
	/* of a flow: enum reaction_verdict of its queue pair alone, by the CNPs of the interval */
	uint64_t reacts;
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
