/*
 * capture_analysis - everything that is kept of a stream of decoded frames, whatever they came
 * from: a file, a live capture, sFlow samples. One thread; time comes with the packets.
 *
 * The command "rocewatch pcap" and the agent's captures feed the same structure, so both give the
 * same answers.
 */
#pragma once

#include "base/base.h"

#include "collectors/packet/capture/capture_clock.h"
#include "collectors/packet/flow/flow_table.h"
#include "collectors/packet/frame/frame_count.h"
#include "collectors/packet/frame/roce_parse.h"
#include "collectors/packet/loss/copies.h"
#include "db/model/flow.h"

struct analysis_options {
	uint32_t flow_limit; /* flows kept at most */
	uint32_t sampling; /* one packet in N, >= 1 */
	/* of the hashes that find flows: not known to who sends the packets; it changes no answer
	 */
	uint64_t seed;
	int64_t bin_ns; /* of the rate over time; 0: RATE_BIN_NS */
	uint64_t speed_bps; /* of the captured link; 0: not known */
};
struct analysis_waiting {
	struct roce_packet packet;
	struct packet_origin origin;
	int64_t t_ns;
	struct flow_aim aim;
	struct flow_fetch fetch;
	struct copies_look look;
	bool same; /* of the same direction as the packet before: what it needs is there */
};

struct capture_analysis {
	struct roce_count count;
	struct encapsulation_count encapsulation;
	struct flow_table *flows; /* owned; flush before it is asked */
	struct capture_clock *clock; /* owned; the same */
	struct analysis_waiting *waiting; /* owned; a ring, by the numbers of packets */
	uint32_t oldest, next; /* numbers of those that wait: from, to */
	uint32_t last_id; /* direction of the packet taken last; FLOW_NONE: not known */
	/* of .count, up to the last capture_analysis_next() */
	struct {
		uint64_t data_packets, data_not_ect;
	} told;
	struct copies *copies; /* owned */
	struct analysis_waiting *first; /* owned; the first packets; NULL once they were taken */
	uint32_t n_first;
};

void capture_analysis_init(
	struct capture_analysis *analysis, const struct analysis_options *options);
void capture_analysis_end(struct capture_analysis *analysis);

/* capture_analysis_room - where the next packet may be written, so that it needs no copy on its
 * way: to be handed to capture_analysis_packet(), which may write something else there. Lent until
 * then. */
struct roce_packet *capture_analysis_room(struct capture_analysis *analysis);

/* capture_analysis_packet - add one frame of any kind. @origin: where it was seen; NULL when there
 * is one place only. Packets are taken in this order, some of them later: at the latest in
 * capture_analysis_flush(). */
void capture_analysis_packet(struct capture_analysis *analysis, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns);

/* capture_analysis_flush - take the packets that wait; before anything is read from the analysis.
 */
void capture_analysis_flush(struct capture_analysis *analysis);

/* capture_analysis_next - begin the next interval of a live capture: what is counted by flow, queue
 * pair and host goes to 0, sequences are remembered, what was idle for some intervals goes. .count
 * goes on. */
void capture_analysis_next(struct capture_analysis *analysis);

/*
 * flow_rows - what one interval of a capture leaves in history: the row of totals, the largest
 * flows, and the hosts of which the packets say most about congestion control (db/model/flow.h).
 * The same for a live capture, a recorded file and sFlow samples, so that replay equals live.
 */

/* Which interval of which capture. */
struct flow_rows_of {
	int64_t from_ns, to_ns;
	uint32_t entity;
	enum flow_dir dir;
	/* packets that the capturing machine lost in the interval: PSN gaps are then unknown */
	uint64_t capture_lost;
};

/* flow_rows - fills @ret and returns how many rows. Does not begin the next interval:
 * capture_analysis_next() does. */
size_t flow_rows(struct capture_analysis *analysis, const struct flow_rows_of *of,
	struct flow_sample ret[FLOW_ROWS_MAX]);
