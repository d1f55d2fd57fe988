/*
 * capture_analysis - everything that is kept of a stream of decoded frames, whatever they came
 * from: a file, a live capture, sFlow samples. One thread; time comes with the packets.
 *
 * The command "rocewatch pcap" and the agent's captures feed the same structure, so both give the
 * same answers.
 */
#ifndef RW_COLLECTORS_CAPTURE_ANALYSIS_H
#define RW_COLLECTORS_CAPTURE_ANALYSIS_H

#include <stddef.h>
#include <stdint.h>

#include "collectors/packet/flow/flow_table.h"
#include "collectors/packet/flow/stream_clock.h"
#include "collectors/packet/frame/frame_count.h"
#include "collectors/packet/frame/roce_parse.h"
#include "collectors/packet/loss/copies.h"
#include "collectors/packet/loss/slowdown.h"
#include "db/model/flow.h"

struct capture_clock;

/*
 * capture_clock - what the times of the packets say: rates, silences, messages, reactions to
 * congestion notifications, answers to marks, pauses. All times are those of the capture, in ns
 * since 1970 (UTC), so that they line up with whatever else is known. Single-threaded; lives beside
 * a flow table, which knows queue pairs and hosts; bounded (limits below).
 *
 * A data packet touches the 32 bytes of its direction (stream_clock.h) and one bin of the capture's
 * rate. Rare things have records of their own: at messages, silences, marks, CNPs.
 *
 * A gap longer than STALL_MIN_NS and STALL_TIMES the usual one is silence; the others are active
 * time, which the rate of a direction is over.
 */

#define CLOCK_NO_HOST UINT32_MAX

/* @bin_ns: of the rate; 0 = RATE_BIN_NS. @speed_bps: of the captured link; 0 = not known. */
struct capture_clock *capture_clock_new(int64_t bin_ns, uint64_t speed_bps);
void capture_clock_free(struct capture_clock *clock); /* NULL is fine */

/* ---- packets, in order of time -------------------------------------------------- */

/* capture_clock_data - a request or a READ response of @stream, from host @src to host @dst: small
 * numbers that name one host each until capture_clock_next(). */
void capture_clock_data(struct capture_clock *clock, struct stream_clock *stream, uint32_t src,
	uint32_t dst, const struct roce_packet *packet, int64_t t_ns);

/* capture_clock_answer - an ACK or NAK that host @src sent about @about; NULL: not known. */
void capture_clock_answer(struct capture_clock *clock, struct stream_clock *about, uint32_t src,
	const struct roce_packet *packet, int64_t t_ns);

/* capture_clock_cnp - a CNP that host @src sent to host @dst about @about; NULL: not known. */
void capture_clock_cnp(struct capture_clock *clock, struct stream_clock *about, uint32_t src,
	uint32_t dst, int64_t t_ns);

/* capture_clock_pause - a PFC or pause frame. */
void capture_clock_pause(
	struct capture_clock *clock, const struct roce_packet *packet, int64_t t_ns);

/* capture_clock_drop - @stream goes: what is kept beside it, too. */
void capture_clock_drop(struct capture_clock *clock, struct stream_clock *stream);

/* capture_clock_next - begin the next interval: bins, hosts and pauses start anew; directions go
 * on. */
void capture_clock_next(struct capture_clock *clock);

/* ---- answers -------------------------------------------------------------------- */

struct stream_times {
	double packets_per_s; /* over the active time; NAN when there is none */
	uint64_t messages;
	uint32_t message_median, message_max; /* bytes */
	bool sized; /* of all the size was seen */
	bool median_known; /* there were few different sizes */
	int credits_least; /* -1: none was seen */
	const struct stalls *stalls; /* NULL: none */
};
void capture_clock_stream(const struct capture_clock *clock, const struct stream_clock *stream,
	struct stream_times *ret);

struct clock_host {
	uint32_t host; /* number that the caller gave; CLOCK_NO_HOST: forgotten since */
	uint64_t ce_sent;
	struct reaction_sum reaction; /* as sender */
	struct answer_sum answer; /* as receiver */
	/* The clock's own. */
	int64_t slot;
};
/* capture_clock_hosts - with marks or CNPs, in the order in which they were seen. Lent. */
const struct clock_host *capture_clock_hosts(struct capture_clock *clock, size_t *ret_n);

/* What one direction of a queue pair measured in this interval, and its host with all of them. */
struct clock_qp_reaction {
	const struct reaction_sum *own;
	const struct clock_host *host;
};
/* capture_clock_reaction - false: no CNP came for it. As of the last capture_clock_hosts(); lent as
 * that is. */
bool capture_clock_reaction(const struct capture_clock *clock, const struct stream_clock *stream,
	struct clock_qp_reaction *ret);

/*
 * qp_reaction_judge - does this queue pair slow down? By its own reactions alone where they prove
 * it (reaction_judge()). Else beside the others of its host: they slow down after their CNPs, and
 * this one, which sends at least as fast as they do and gets CNPs as often, stays as it is. A queue
 * pair that sends less than its limit is slower than those that are held at theirs, so it is never
 * taken for deaf. Captures of every packet only. @judged may be NULL.
 */
enum reaction_verdict qp_reaction_judge(const struct clock_qp_reaction *reaction, uint32_t sampling,
	double line_bps, struct reaction_judged *judged);

/* capture_clock_rates - of packets with payload. */
const struct rate_bins *capture_clock_rates(const struct capture_clock *clock);
const struct pause_log *capture_clock_pauses(const struct capture_clock *clock);

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
	uint64_t hash;
	uint32_t probably; /* id of its direction */
	const struct flow_stream *fetched; /* probably its stream; NULL: not known yet, or none */
	struct copies_look look;
	bool same; /* of the same direction as the packet before: what it needs is there */
};

struct capture_analysis {
	struct roce_count count;
	struct encapsulation_count encapsulation;
	struct flow_table *flows; /* owned; flush before it is asked */
	struct capture_clock *clock; /* owned; the same */
	struct analysis_waiting *waiting; /* owned; a ring of ANALYSIS_RING */
	uint32_t first_waiting, n_waiting;
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

#endif
