/*
 * capture_analysis - everything that is kept of a stream of decoded frames, whatever they came
 * from: a file, a live capture, sFlow samples. One thread; time comes with the packets.
 *
 * The command "rocewatch pcap" and the agent's captures feed the same structure, so both give the
 * same answers.
 */
#ifndef RW_COLLECTORS_CAPTURE_ANALYSIS_H
#define RW_COLLECTORS_CAPTURE_ANALYSIS_H

#include <stdint.h>

#include "collectors/packet/encapsulation_count.h"
#include "collectors/packet/flow_table.h"
#include "collectors/packet/roce_count.h"
#include "collectors/packet/roce_parse.h"

struct analysis_options {
	uint32_t flow_limit; /* flows kept at most */
	uint32_t sampling; /* one packet in N, >= 1 */
	uint64_t seed; /* of the hashes: not known to who sends the packets */
};

struct capture_analysis {
	struct roce_count count;
	struct encapsulation_count encapsulation;
	struct flow_table *flows; /* owned */
};

void capture_analysis_init(
	struct capture_analysis *analysis, const struct analysis_options *options);
void capture_analysis_end(struct capture_analysis *analysis);

/* capture_analysis_packet - add one frame of any kind. @origin: where it was seen; NULL when there
 * is one place only. */
void capture_analysis_packet(struct capture_analysis *analysis, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns);

/* capture_analysis_next - begin the next interval of a live capture: what is counted by flow, queue
 * pair and host goes to 0, sequences are remembered, what was idle for some intervals goes. .count
 * goes on. */
void capture_analysis_next(struct capture_analysis *analysis);

#endif
