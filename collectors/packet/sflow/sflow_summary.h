/*
 * sflow_summary - what sFlow datagrams say, beside the packets in them: who sampled how much, how
 * many packets the samples stand for, what was discarded and why, and which queue pairs stood in
 * which egress queue. Pure; bounded; single-threaded. Times are not needed.
 *
 * Estimates. Each sample of a source stands for as many packets as one in how many was taken.
 * Samples that were generated and did not arrive (gaps in the sequence of the source's samples, and
 * the agent's own count of drops) are made up for by the others. The interval is the one that holds
 * the truth in 95 of 100 cases: sum of N plus or minus 1.96 sqrt(sum of N(N - 1)) packets, and the
 * same weighted with the lengths of the frames for octets. With equal N and c samples that is the
 * relative error of 196 sqrt(1/c) % of sflow.org "Packet Sampling Basics".
 *
 * A packet that passes several sampling ports is estimated at each of them: estimates of one flow
 * are given per source, and those of different sources must not be added up.
 *
 * Queues. Of the samples that tell the depth of the egress queue or the delay, each queue pair gets
 * the share that it has in the sum of octets times delay (or depth, or octets alone): that is what
 * filled the queue.
 */
#pragma once

#include "collectors/packet/sflow/sflow_decode.h"
#include "collectors/packet/sflow/sflow_sequence.h"

/* Kept at most; what does not fit is in the totals alone and counted in .unlisted. */
enum {
	SFLOW_SOURCES_MAX = 8192,
	SFLOW_FLOWS_MAX = 16384,
	SFLOW_DISCARDS_MAX = 4096,
	SFLOW_REASONS_MAX = 512,
	SFLOW_QUEUES_MAX = 1024,
	SFLOW_STANDING_MAX = 16384
};

/* A direction of a queue pair. */
struct sflow_pair {
	uint8_t family; /* 0: the packet was no RoCEv2 */
	uint8_t src[16], dst[16];
	uint32_t dst_qp;
};

/* Sums over samples; before the losses are made up for. */
struct sflow_sums {
	uint64_t samples;
	double packets, octets; /* sums of N, of N times length */
	double packets_variance, octets_variance;
};

struct sflow_estimate {
	double value, low, high;
};

struct sflow_source { /* one data source of one agent */
	struct sflow_address agent;
	uint32_t sub_agent, source_class, source_index;
	uint32_t sampling; /* of the newest sample, >= 1 */
	uint64_t samples; /* arrived */
	uint64_t generated; /* by the sequence of samples, with drops of the agent; >= .samples */
	struct sflow_sums roce;
	uint32_t sequence, drops; /* of the newest sample */
};

struct sflow_flow {
	uint32_t source; /* index of the source */
	struct sflow_pair pair;
	struct sflow_sums sums;
};

struct sflow_discard {
	struct sflow_address agent;
	uint32_t input, output; /* ifIndex, 0 = not said */
	uint32_t reason;
	struct sflow_pair pair;
	uint64_t notifications;
};

struct sflow_reason {
	uint32_t reason;
	uint64_t notifications, roce;
};

/* What filled a queue, three ways; the first that is not 0 counts. */
struct sflow_blame {
	double by_delay, by_depth, by_octets;
};

struct sflow_queue {
	struct sflow_address agent;
	uint32_t output; /* ifIndex, 0 = not said */
	bool has_queue, has_depth, has_delay;
	uint32_t queue;
	uint64_t samples;
	uint32_t depth_max_bytes, delay_max_ns;
	struct sflow_blame blame; /* of all its packets */
};

struct sflow_standing { /* a queue pair in a queue */
	uint32_t queue; /* index of the queue */
	struct sflow_pair pair;
	uint64_t samples;
	struct sflow_blame blame;
};

struct sflow_totals {
	uint64_t flow_samples, counter_samples, notifications;
	uint64_t notifications_lost; /* that agents left out by their own count */
	uint64_t headers; /* raw headers that were read */
	uint64_t roce; /* RoCEv2 packets among them */
	/* datagrams: damaged (what came before the damage counts), of another version, cut by the
	 * capture */
	uint64_t bad_datagrams, other_versions, cut_datagrams;
	uint64_t skipped_samples, skipped_records; /* of kinds that are not read */
	uint64_t unlisted;
};

struct sflow_summary;
struct sflow_summary *sflow_summary_new(uint64_t seed); /* of the hashes */
void sflow_summary_free(struct sflow_summary *summary); /* NULL is fine */

/* sflow_summary_datagram - one datagram: its samples are counted, and each packet in them goes to
 * @fn; of flow samples only, because what was discarded did not pass. @cut: the capture has not all
 * of it. */
typedef void sflow_packet_fn(
	void *arg, const struct sflow_sample *sample, const struct roce_packet *packet);
void sflow_summary_datagram(struct sflow_summary *summary, const void *data, size_t n, bool cut,
	sflow_packet_fn *fn, void *arg);

/* sflow_summary_sample - one sample of a datagram that the caller reads itself; @packet: what is in
 * it, NULL for nothing. */
void sflow_summary_sample(struct sflow_summary *summary, const struct sflow_datagram *datagram,
	const struct sflow_sample *sample, const struct roce_packet *packet);

const struct sflow_totals *sflow_summary_totals(const struct sflow_summary *summary);
const struct sflow_sequence_counts *sflow_summary_sequence(const struct sflow_summary *summary);
/* Lent until the next call that adds; in the order in which they came. */
const struct sflow_source *sflow_summary_sources(const struct sflow_summary *summary, size_t *n);
const struct sflow_flow *sflow_summary_flows(const struct sflow_summary *summary, size_t *n);
const struct sflow_discard *sflow_summary_discards(const struct sflow_summary *summary, size_t *n);
const struct sflow_reason *sflow_summary_reasons(const struct sflow_summary *summary, size_t *n);
const struct sflow_queue *sflow_summary_queues(const struct sflow_summary *summary, size_t *n);
const struct sflow_standing *sflow_summary_standings(
	const struct sflow_summary *summary, size_t *n);

/* sflow_estimate_packets, _octets - what @sums of @source stand for. Without any sample: 0, and as
 * many packets as three samples would stand for as the upper end. */
struct sflow_estimate sflow_estimate_packets(
	const struct sflow_sums *sums, const struct sflow_source *source);
struct sflow_estimate sflow_estimate_octets(
	const struct sflow_sums *sums, const struct sflow_source *source);

/* sflow_blame_of - the measure by which a queue is judged; @ret_by names it: "octets*delay". */
double sflow_blame_of(
	const struct sflow_blame *blame, const struct sflow_queue *queue, const char **ret_by);
