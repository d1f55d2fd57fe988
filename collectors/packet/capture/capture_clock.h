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
#pragma once

#include "base/base.h"

#include "collectors/packet/flow/stream_clock.h"
#include "collectors/packet/frame/roce_parse.h"
#include "collectors/packet/loss/slowdown.h"
#include "db/model/flow.h"

struct capture_clock;

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

/* capture_clock_fetch, capture_clock_fetch_reaction - ask for the memory that a packet of @stream
 * will need: the first some packets before the second, and that some packets before
 * capture_clock_data(). They change nothing. */
void capture_clock_fetch(const struct capture_clock *clock, const struct stream_clock *stream);
void capture_clock_fetch_reaction(
	const struct capture_clock *clock, const struct stream_clock *stream);

/* capture_clock_forget - the number @host is given to another host. What was counted for it stays,
 * under no number. */
void capture_clock_forget(struct capture_clock *clock, uint32_t host);

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
